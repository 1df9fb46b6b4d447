"""One console for a folder: a second one is refused, and told where the first is.

Two would each count questions at once, jobs and logins for themselves, and while there is no owner the link of the
second would end that of the first.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from discreet.errors import UsageError

NAME = "console.lock"


class ConsoleLock:
    """Held while a console serves; a process that dies lets go of it. The file tells where it is found."""

    def __init__(self, folder: Path, *, address: str) -> None:
        self._handle = os.open(folder / ".discreet" / NAME, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # Not flock: a forked child would hold that on after this process.
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            where = os.pread(self._handle, 300, 0).decode(errors="replace").strip()
            os.close(self._handle)
            raise UsageError(
                f"a console already serves this folder{f', at {where}' if where else ''}",
                hint="use that console, or stop it first",
            ) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{address}\n".encode(), 0)

    def close(self) -> None:
        """Let go."""
        os.close(self._handle)
