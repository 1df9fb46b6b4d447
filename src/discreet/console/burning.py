"""How budgets burned down: what was left after each charge, grant or gap, read from the ledger once and then onwards.

Times are cut to the minute. A charge comes before its own count, but in a batch after another's: how long that took is
nobody's business.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.console.visit import Visit
from discreet.ledger.chain import Entry
from discreet.ledger.ledger import Ledger
from discreet.ledger.state import State

#: More steps than this are not told apart on a chart: of neighbours the last is drawn.
MOST_STEPS = 300

NOBODY = "nobody named"


@dataclass(frozen=True, slots=True, kw_only=True)
class Burned:
    """One act. `who`: who was charged, empty for an act of the owner. `price`: what the question was priced at."""

    when: str
    kind: str
    who: str
    table: str
    price: Fraction
    remaining: Fraction
    limit: Fraction

    def step(self) -> dict[str, Any]:
        """As a step of the chart."""
        return {
            "when": self.when,
            "remaining": exact.as_float(self.remaining, up=False),
            "limit": exact.as_float(self.limit, up=True),
            "who": self.who,
        }


class Burning:
    """The acts of each population, as far as the ledger was read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = State()
        self._acts: dict[str, list[Burned]] = {}

    def acts(self, ledger: Ledger) -> dict[str, list[Burned]]:
        """Every act that moved a budget, in order, by population."""
        with self._lock:
            entries = list(ledger.entries())
            known = self._state.seq
            if known > len(entries) or (known and entries[known - 1].digest != self._state.digest):
                self._state, self._acts, known = State(), {}, 0  # another history: a ledger was restored
            for entry in entries[known:]:
                self._state.apply(entry)
                self._take(entry)
            return {name: list(acts) for name, acts in self._acts.items()}

    def close(self) -> None:
        """Nothing is held open."""

    def _take(self, entry: Entry) -> None:
        body = entry.data()
        if entry.kind in ("charge", "grant", "invariant", "population"):
            self._note(entry, [body["population"]], body)
        elif entry.kind == "gap":
            self._note(entry, {part["population"] for part in body["charges"]} | set(body["guarantees"]), body)
        elif entry.kind == "adopt":
            self._note(entry, body["sealed"], body)

    def _note(self, entry: Entry, populations: Iterable[str], body: dict[str, Any]) -> None:
        charged = entry.kind == "charge"
        for name in sorted(populations):
            standing = self._state.account(name).standing()
            self._acts.setdefault(name, []).append(
                Burned(
                    when=f"{entry.time[:16]}:00+00:00",
                    kind=entry.kind,
                    who=(body["analyst"] or NOBODY) if charged else "",
                    table=body["table"] if charged else "",
                    price=exact.read(body["price"]) if charged else Fraction(0),
                    remaining=standing.remaining.epsilon,
                    limit=standing.limit.epsilon,
                )
            )


def burning_of(visit: Visit) -> dict[str, list[Burned]]:
    """The acts of the house's ledger."""
    return visit.desk.shared(Burning, Burning).acts(visit.desk.project.ledger)


def thinned(acts: Sequence[Burned]) -> list[Burned]:
    """So many that they can be seen: of neighbours the last one."""
    size = -(-len(acts) // MOST_STEPS) or 1
    return [acts[min(place + size, len(acts)) - 1] for place in range(0, len(acts), size)]
