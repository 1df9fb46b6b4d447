"""CPU seconds of a process with all that it started, and of a server with its own. Linux only."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def tree_seconds(server: int | None) -> float:
    """This process by its own clock; its descendants, and those of `server`, by theirs."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError, IndexError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                parents.setdefault(parent, []).append(int(folder.name))
    waiting = [*parents.get(os.getpid(), []), *([] if server is None else [server])]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            waiting += parents.get(one, [])
    return time.process_time() + sum(map(_seconds, seen))


def _seconds(process: int) -> float:
    """CPU of one process by its clock, whose number is made of the process's, and of its children that have ended."""
    found = 0.0
    with suppress(OSError):
        found += time.clock_gettime((~process << 3) | 2)
    with suppress(OSError, IndexError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        found += (int(fields[13]) + int(fields[14])) / _TICKS
    return found
