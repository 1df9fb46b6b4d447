"""How budgets burned down: what was left after each charge, grant or gap, read from the ledger once and then onwards.

Times are cut to the minute. A charge comes before its own count, but in a batch after another's: how long that took is
nobody's business.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.console.request_context import RequestContext
from discreet.ledger.chain import LedgerEntry
from discreet.ledger.ledger import Ledger
from discreet.ledger.state import LedgerState

#: More steps than this are not told apart on a chart: of neighbours the last is drawn.
MOST_STEPS = 300

NOBODY = "unnamed analyst"
#: Who pays for what is no charge of anybody, and yet leaves less.
_OWNER_ACTS = {"gap": "missing charges (a restored backup)", "adopt": "a moved ledger", "invariant": "exact totals"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetChange:
    """One act. `who`: who was charged, empty for an act of the owner. `cost`: what it cost the budget."""

    when: str
    kind: str
    who: str
    table: str
    cost: Fraction
    remaining: Fraction
    limit: Fraction

    @property
    def payer(self) -> str:
        """Under which name its cost is summed up."""
        return self.who or _OWNER_ACTS.get(self.kind, "the owner")


class BudgetHistory:
    """The acts of each population, as far as the ledger was read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = LedgerState()
        self._changes: dict[str, list[BudgetChange]] = {}

    def changes_by_population(self, ledger: Ledger) -> dict[str, list[BudgetChange]]:
        """Every act that moved a budget, in order, by population."""
        with self._lock:
            seen = self._state.seq
            entries = list(ledger.entries(after=seen - 1 if seen else None))  # the last one that was read comes again
            if seen and (not entries or entries.pop(0).digest != self._state.digest):
                self._state, self._changes = LedgerState(), {}  # another history: a ledger was restored
                entries = list(ledger.entries())
            for entry in entries:
                self._state.apply(entry)
                self._apply_entry(entry)
            return {name: list(acts) for name, acts in self._changes.items()}

    def close(self) -> None:
        """Nothing is held open."""

    def _apply_entry(self, entry: LedgerEntry) -> None:
        body = entry.data()
        if entry.kind in ("charge", "grant", "invariant", "population"):
            self._append_changes(entry, [body["population"]], body)
        elif entry.kind == "gap":
            self._append_changes(
                entry, {part["population"] for part in body["charges"]} | set(body["guarantees"]), body
            )
        elif entry.kind == "adopt":
            self._append_changes(entry, body["sealed"], body)

    def _append_changes(self, entry: LedgerEntry, populations: Iterable[str], body: dict[str, Any]) -> None:
        charged = entry.kind == "charge"
        for name in sorted(populations):
            standing, changes = self._state.account(name).status(), self._changes.setdefault(name, [])
            before = changes[-1].limit - changes[-1].remaining if changes else Fraction(0)
            lost = max(Fraction(0), standing.limit.epsilon - standing.remaining.epsilon - before)
            changes.append(
                BudgetChange(
                    when=f"{entry.time[:16]}:00+00:00",
                    kind=entry.kind,
                    who=(body["analyst"] or NOBODY) if charged else "",
                    table=body["table"] if charged else "",
                    cost=self._state.charges[body["id"]].moved if charged else lost,
                    remaining=standing.remaining.epsilon,
                    limit=standing.limit.epsilon,
                )
            )


def budget_history_of(context: RequestContext) -> dict[str, list[BudgetChange]]:
    """The acts of the house's ledger."""
    return context.handle.singleton(BudgetHistory, BudgetHistory).changes_by_population(context.handle.project.ledger)


def thin_changes(acts: Sequence[BudgetChange]) -> list[BudgetChange]:
    """So many that they can be seen: of neighbours the last one."""
    size = -(-len(acts) // MOST_STEPS) or 1
    return [acts[min(place + size, len(acts)) - 1] for place in range(0, len(acts), size)]


def chart_steps(acts: Sequence[BudgetChange]) -> list[dict[str, Any]]:
    """The steps of the chart. They come in the order of the ledger: where a clock was set back, time stands still."""
    moments = itertools.accumulate((act.when for act in acts), max)
    return [
        {
            "when": when,
            "remaining": exact.as_float(act.remaining, up=False),
            "limit": exact.as_float(act.limit, up=True),
            "who": act.who,
        }
        for when, act in zip(moments, acts, strict=True)
    ]
