"""Success beside a control: the same attack on people whose rows the synthetic table was not made from.

What an attack learns about them it learned about everybody; only what it does better on the original is a leak.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.lab.evidence import Evidence, clopper_pearson, replacement_guarantee

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessRate:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledRate:
    """How often an attack succeeds, and how often on people who were not used; at which confidence that is told."""

    success: SuccessRate
    control: SuccessRate
    confidence: float

    def intervals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Where the two true shares lie: each fails half as often as the confidence allows."""
        half = (1 + self.confidence) / 2
        return self.success.interval(half), self.control.interval(half)

    def excess(self) -> tuple[float, float]:
        """Where the difference of the two true shares lies, at least so often."""
        one, other = self.intervals()
        return one[0] - other[1], one[1] - other[0]


def allowed_share(control: float, epsilon: float, delta: float = 0.0) -> float:
    """The most often that a guess about people in the original is right, if it is about other people this often.

    Guarantee: holds for any guess about one person that is made from the synthetic table and from public facts, where
        it was left to chance which of two people is in the original and which in the control.
    Because: with these two exchanged the guess about the one is as the guess about the other was, and the tables differ
        by one person in another's place: right <= e^(2 epsilon) control + 2 steps' delta, and the same of being wrong.
    """
    both, lost = replacement_guarantee(epsilon, delta)
    grown = math.exp(min(both, 700.0))
    return min(1.0, grown * control + lost, 1 - (1 - control - lost) / grown)


def evidence_with_control(
    attack: str,
    rate: ControlledRate,
    *,
    seconds: float,
    story: tuple[str, ...],
    details: Mapping[str, Any],
    claim: tuple[float, float] | None = None,
    judged: bool = True,
) -> Evidence:
    """Evidence whose chance is the control's success. `claim`: an epsilon and a delta that bound it, see
    `allowed_share`.

    The control is measured, too, so the interval allows for both: it lies above chance just where the difference
    surely is above 0, at the stated confidence. Under a claim the bound is that of the most the control may reach, and
    the interval is the success's own; each of the two fails half as often.
    """
    success, control, confidence = rate.success, rate.control, rate.confidence
    low, high = rate.excess()
    one, other = rate.intervals()
    return Evidence(
        attack=attack,
        success=success.share,
        chance=control.share,
        bound=None if claim is None else allowed_share(other[1], *claim),
        n=success.n,
        seconds=seconds,
        interval=one
        if claim is not None
        else (min(max(control.share + low, 0.0), 1.0), max(min(control.share + high, 1.0), 0.0)),
        confidence=confidence,
        judged=judged,
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
