"""Success beside a control: the same attack on people whose rows the synthetic table was not made from.

What an attack learns about them it learned about everybody; only what it does better on the original is a leak.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.lab.evidence import Evidence, clopper_pearson

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many successes in so many trials. What is told of is `times` as often, and never more than `most`."""

    successes: int
    n: int
    times: float = 1.0
    most: float = 1.0

    @property
    def share(self) -> float:
        """0 where there was no trial."""
        return min(self.most, self.times * self.successes / self.n) if self.n else 0.0

    def interval(self, confidence: float) -> tuple[float, float]:
        """Where the true share lies."""
        low, high = clopper_pearson(self.successes, self.n, confidence) if self.n else (0.0, 1.0)
        return min(self.most, self.times * low), min(self.most, self.times * high)


def excess(success: Rate, control: Rate, confidence: float) -> tuple[float, float]:
    """Where the difference of the two true shares lies, at least so often: each interval fails half as often."""
    one, other = (rate.interval((1 + confidence) / 2) for rate in (success, control))
    return one[0] - other[1], one[1] - other[0]


def beside(
    attack: str,
    success: Rate,
    control: Rate,
    *,
    seconds: float,
    confidence: float,
    story: tuple[str, ...],
    details: Mapping[str, Any],
) -> Evidence:
    """Evidence whose chance is the control's success.

    The control is measured, too, so the interval allows for both: it lies above chance just where the difference
    surely is above 0, at the stated confidence.
    """
    low, high = excess(success, control, confidence)
    return Evidence(
        attack=attack,
        success=success.share,
        chance=control.share,
        n=success.n,
        seconds=seconds,
        interval=(min(max(control.share + low, 0.0), 1.0), max(min(control.share + high, 1.0), 0.0)),
        confidence=confidence,
        story=story,
        details={
            "control": control.share,
            "control_interval": list(control.interval(confidence)),
            "control_n": control.n,
            "excess": success.share - control.share,
            "excess_interval": [low, high],
            **details,
        },
    )
