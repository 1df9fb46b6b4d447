"""One process at a time works on a folder of this machine; one that dies leaves it free.

Guarantee: of all who enter `lock_folder` of one folder, one at a time is let in.
Because: the lock is the kernel's, on a file of the folder; it goes with its holder, however that one ends. The
    file is taken away by its holder, and whoever got the lock of a file that lies there no more asks again.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: The file that is locked. It lies there while somebody works, and after a kill.
LOCK = ".lock"


@contextmanager
def lock_folder(folder: str, *, patience_s: float) -> Iterator[bool | None]:
    """Whether nobody else works on a folder within. Others are waited for until patience is over."""
    file, until = os.path.join(folder, LOCK), time.monotonic() + patience_s
    while (descriptor := _lock(file)) is None and time.monotonic() < until:
        time.sleep(0.05)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(file)):  # else it was swept, and this is another's
                    os.unlink(file)
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # not only close: a fork may hold a copy
            os.close(descriptor)


def _lock(file: str) -> int | None:
    """The locked file, open; None where it is another's."""
    os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)  # whoever swept it was right until now
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(file)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None
