"""What a batch would cost, and what it cost, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.release import Release, Spending

#: Longer lists of statements are cut, on a screen.
_MOST_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchExplanation:
    """What a batch would cost, how it is measured and the error of each statement. `data` is what `--json` prints."""

    data: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def price(self) -> str:
        """What it costs, in words."""
        if self.data["already_charged"]:
            return "nothing: it was charged earlier"
        cost = self.data["cost"]
        epsilon = exact.show_float(cost.get("budget", cost["epsilon"]), up=True)
        return f"epsilon {epsilon} in total" + (f", delta {cost['delta']}" if cost["delta"] else "")

    def __str__(self) -> str:
        return "\n".join(f"{name:10}" + text.replace("\n", "\n" + " " * 10) for name, text in self._parts())

    def _parts(self) -> Iterator[tuple[str, str]]:
        data = self.data
        after = exact.show_float(data["spent"]["epsilon"], up=True)
        left = exact.show_float(data["remaining"]["epsilon"], up=False)
        yield "costs", f"{self.price}; afterwards {after} is spent and {left} remains"
        yield "measures", data["strategy"] + (f"\n({data['because']})" if data["because"] else "")
        if data["error_apart"] is not None:
            yield "gains", f"asked apart for the same price, errors would be {data['error_apart']:,.3g} times as large"
        lines = [self._line(number, each) for number, each in enumerate(data["statements"], start=1)]
        more = [f"… {len(lines) - _MOST_SHOWN:,} more statements"] if len(lines) > _MOST_SHOWN else []
        sure = f"{100 * data['confidence']:g}%"
        yield "errors", "\n".join([f"at {sure} confidence:", *lines[:_MOST_SHOWN], *more])

    def _line(self, number: int, statement: dict[str, Any]) -> str:
        if statement["stored"] is not None:
            error = f"free: release {statement['stored']} answers it"
        elif statement["plus_minus"] is None:
            error = "its error depends on the data, and is shown with the answer"
        else:
            error = f"within {statement['plus_minus']:,.4g}"
            if self.data["together"] and statement["measured"] == "together" and statement["apart"] is not None:
                error += f" (asked apart: {statement['apart']:,.4g})"
        weight = "" if statement["weight"] == 1 else f", weight {statement['weight']:g}"
        return f"{number}. {statement['title']}: {error}{weight}"


def is_together(releases: Sequence[Release]) -> bool:
    """Whether some answers of a batch were measured as one."""
    return any(isinstance(release.event, ReservationEvent) for release in releases)


def total_cost(releases: Sequence[Release]) -> Spending:
    """What the answers of a batch cost together, now."""
    costs = [release.cost for release in releases]
    pure = [cost.epsilon for cost in costs if cost.epsilon is not None]
    return Spending(
        epsilon=sum(pure, Fraction(0)) if len(pure) == len(costs) else None,
        rho=sum((cost.rho or Fraction(0) for cost in costs), Fraction(0)),
        delta=sum((cost.delta for cost in costs), Fraction(0)),
        budget=sum((cost.budget or Fraction(0) for cost in costs), Fraction(0)),
    )
