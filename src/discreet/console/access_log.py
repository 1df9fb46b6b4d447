"""Logs: one JSON line for each visit, for whoever runs the console.

A line holds when (by the second), which method and route (as the table of routes spells it), the status, who, how many
whole ticks it took, and a number of its own. It never holds what a path, query, body or answer said, a token, a cookie
or an address: what is not written down need not be guarded.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from discreet.console.people.clock import iso_time, wall_clock


class AccessLog:
    """Lines, to a stream. A line that cannot be written is lost; the visit is not."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        grid_ms: int = 250,
        clock: Callable[[], float] = wall_clock,
        passing: Callable[[], float] = time.monotonic,
    ) -> None:
        """`stream`: standard error where none is given."""
        self._stream = stream
        self._grid_ms = grid_ms
        self._clock = clock
        self._passing = passing
        self._lock = threading.Lock()

    @staticmethod
    def to_file(path: Path, *, grid_ms: int = 250) -> AccessLog:
        """Lines at the end of a file that only its owner reads."""
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        stream = os.fdopen(handle, "w", encoding="utf-8")
        access_log = AccessLog(stream, grid_ms=grid_ms)
        weakref.finalize(access_log, stream.close)
        return access_log

    def close(self) -> None:
        """Let go of a file. Standard error stays open."""
        if self._stream is not None:
            self._stream.close()

    def line(self, *, method: str, route: str, status: int, who: str | None, since: float) -> None:
        """One visit. `since`: when it came, by the clock of what passes. Finer than a tick is nobody's business."""
        ticks = int((self._passing() - since) * 1000 // self._grid_ms)
        self._write({"method": method, "route": route, "status": status, "who": who, "ticks": max(0, ticks)})

    def defect(self, problem: BaseException, *, id_: str) -> None:
        """An error that nobody expected: its kind and the places in the code. Its words may quote a cell."""
        self._write({"defect": type(problem).__name__, "places": code_places(problem)[-20:]}, id_=id_)

    def _write(self, fields: dict[str, Any], *, id_: str = "") -> None:
        text = json.dumps({"time": iso_time(int(self._clock())), "id": id_ or secrets.token_hex(4), **fields})
        stream = sys.stderr if self._stream is None else self._stream
        with self._lock, suppress(OSError, ValueError):  # a full disk, or a stream that was closed
            stream.write(text + "\n")
            stream.flush()


def code_places(problem: BaseException) -> list[str]:
    """The places in the code that an error came through, the innermost last."""
    frames = traceback.extract_tb(problem.__traceback__)
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames]
