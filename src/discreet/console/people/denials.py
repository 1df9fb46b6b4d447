"""Denials: what was refused lately, for an owner who wonders why. No address, no value of a path, no typed text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.console.people.clock import Clock, iso_time
from discreet.console.people.people_store import PeopleStore

#: Of nobody, and of each person: nobody can push out what a person did, and no person what another did.
KEPT, EACH = 1_000, 200
#: Here a name is what somebody typed, not who came.
_TYPED = "/login"
#: The same denial is written down once in so long: a flood of them must not keep the disk busy.
_AGAIN_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """One visit that was refused. `route`: the pattern, as it stands in the table of routes."""

    time: int
    who: str
    method: str
    route: str
    why: str

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "time": iso_time(self.time), "who": self.who, "method": self.method, "route": self.route, "why": self.why
        }  # fmt: skip


class Denials:
    """Keeps the last of them, of nobody and of each person apart."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._recent: dict[tuple[str, str, str, str], float] = {}

    def keep(self, *, who: str, method: str, route: str, why: str, always: bool = False) -> None:
        """Write one down. `why` is a sentence of ours, never a text that came.

        `always`: even if the same was written just now. Failed logins are: whether the disk is waited for must not
        tell whether the name was one that there is.
        """
        denial = (who[:100], method[:10], route[:200], why[:300])
        now = self._clock()
        if not always and 0 <= now - self._recent.get(denial, -_AGAIN_S) < _AGAIN_S:
            return
        if len(self._recent) >= KEPT:
            self._recent.clear()
        self._recent[denial] = now
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO denials (time, who, method, route, why) VALUES (?, ?, ?, ?, ?)", (int(now), *denial)
            )
            if not who or route == _TYPED:
                room, least, names = "(who = ? OR route = ?)", KEPT, ("", _TYPED)
            else:
                room, least, names = "(who = ? AND route <> ?)", EACH, (who[:100], _TYPED)
            connection.execute(
                f"DELETE FROM denials WHERE {room} AND number <="
                f" (SELECT number FROM denials WHERE {room} ORDER BY number DESC LIMIT 1 OFFSET ?)",
                (*names, *names, least),
            )

    def all(self) -> list[Denial]:
        """The newest first."""
        with self._store.reading() as connection:
            rows = connection.execute("SELECT time, who, method, route, why FROM denials ORDER BY number DESC")
            return [
                Denial(time=time, who=who, method=method, route=route, why=why)
                for time, who, method, route, why in rows
            ]
