"""How long a budget lasts at the pace of the last days: public facts alone, from what the ledger says was charged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.console.pages.budget_history import BudgetChange

#: The pace is that of so many days; a history that is shorter than LEAST_DAYS says nothing about a pace.
PACE_DAYS, LEAST_DAYS = 30, 7
#: Nor do fewer charges than these.
LEAST_CHARGES = 3
#: A budget that lasts longer than this lasts "more than a hundred years".
_LONGEST_DAYS = 36_525


def forecast_json(changes: Sequence[BudgetChange], remaining: Fraction, now: datetime) -> dict[str, Any]:
    """When a budget is used up if spending goes on as it did, in words and as the end of a line for the chart."""
    charges = [(datetime.fromisoformat(each.when), each.cost) for each in changes if each.kind == "charge"]
    if remaining <= 0:
        return _forecast_data("used up", "The budget is used up: every further query that costs something is refused.")
    history = (now - min(when for when, _ in charges)) if charges else timedelta(0)
    if len(charges) < LEAST_CHARGES or history < timedelta(days=LEAST_DAYS):
        words = (
            f"There is too little history for a forecast: it needs at least {LEAST_CHARGES} charges and "
            f"{LEAST_DAYS} days since the first one."
        )
        return _forecast_data("too little history", words)
    window = min(history, timedelta(days=PACE_DAYS))
    spent = sum((cost for when, cost in charges if when >= now - window), Fraction(0))
    if spent == 0:
        return _forecast_data(
            "idle", f"Nothing was spent in the last {PACE_DAYS} days: at this pace the budget does not run out."
        )
    days = remaining * Fraction(int(window.total_seconds()), 86_400) / spent
    pace = f"At the pace of the last {window.days} days (epsilon {exact.show(spent, up=True)})"
    if days > _LONGEST_DAYS:
        return _forecast_data("lasts", f"{pace} the budget lasts for more than a hundred years.", spent=spent)
    end = now + timedelta(days=float(days))
    data = _forecast_data("ends", f"{pace} the budget lasts until about {end.day} {end:%B %Y}.", spent=spent)
    return {**data, "until": f"{end:%Y-%m-%d}", "line": _line(now, end, history, remaining)}


def _forecast_data(state: str, words: str, *, spent: Fraction = Fraction(0)) -> dict[str, Any]:
    return {
        "state": state,
        "words": words,
        "spent_in_window": exact.as_float(spent, up=True),
        "until": None,
        "line": None,
    }


def _line(now: datetime, end: datetime, history: timedelta, remaining: Fraction) -> dict[str, Any]:
    """The line ahead, no longer than twice the history: else what was spent would be a dot at the left."""
    shown = min(end, now + 2 * max(history, timedelta(days=LEAST_DAYS)))
    share = (end - shown) / (end - now) if end > now else 0.0
    return {
        "begin": now.isoformat(timespec="minutes"),
        "end": shown.isoformat(timespec="minutes"),
        "remaining": share * exact.as_float(remaining, up=False),
    }
