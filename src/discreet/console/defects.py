"""Defects: errors that nobody expected, the latest of them, for the owner who was said to be told.

What an error says may quote a cell, so its words are kept nowhere: only its kind, where in the code, and at which
address as the table of routes spells it.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

from discreet.console.people.clock import Clock, iso_time, wall_clock

#: So many are kept, in memory: the log has all.
KEPT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One error. `id_`: of its line in the log."""

    id_: str
    time: int
    kind: str
    place: str
    method: str
    route: str

    def data(self) -> dict[str, Any]:
        """As JSON."""
        details = {"kind": self.kind, "place": self.place, "method": self.method, "route": self.route, "id": self.id_}
        return {"time": iso_time(self.time), **details}


class Defects:
    """The last of them since the server was started."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        self._clock = clock
        self._latest: deque[Defect] = deque(maxlen=KEPT)
        self._lock = threading.Lock()

    def keep(self, *, id_: str, kind: str, place: str, method: str, route: str) -> None:
        """Write one down."""
        defect = Defect(id_=id_, time=int(self._clock()), kind=kind, place=place, method=method, route=route)
        with self._lock:
            self._latest.appendleft(defect)

    def all(self) -> list[Defect]:
        """The newest first."""
        with self._lock:
            return list(self._latest)

    def close(self) -> None:
        """Nothing is held."""
