"""What the reports say at home: unbiased numbers, how wrong the noise may have made them, and repairs
that are labelled as such."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.nearest_counts import isotonic, norm_sub
from discreet.surveys.protocols.support_law import SupportLaw

UNBIASED = "unbiased"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VarianceCurve:
    """How an estimate's variance depends on the truth c, constant + linear c + square c^2, for an interval by scores.

    `grain` is how far one report moves the estimate.

    Guarantee: about the confidence that was asked for. (An interval from the variance at the estimate falls to 0.4
        where few people hold something, and to nothing where nobody seems to.)
    Because: it holds each c from which the estimate is not further than the noise that it would have at that c;
        half a grain is forgiven, since estimates come in grains. A law with long tails can do worse for few people:
        where it is known, `SupportLaw` takes its place.
    """

    constant: Floats | float
    linear: Floats | float
    square: Floats | float = 0.0
    grain: Floats | float = 0.0
    #: It is at least this at any c.
    least: Floats | float = 0.0

    def ends(self, counts: Floats | float, wide: float) -> tuple[Floats, Floats]:
        """The least and the largest c with |count - c| - grain / 2 <= wide sqrt(variance(c)): a quadratic equation."""
        low, high = counts - self.grain / 2, counts + self.grain / 2
        flat = wide * np.sqrt(self.least)
        return np.minimum(self._root(low, wide, -1), low - flat), np.maximum(self._root(high, wide, 1), high + flat)

    def _root(self, counts: Floats | float, wide: float, side: int) -> Floats:
        """Of (c - count)^2 = wide^2 variance(c) the lower root (side -1) or the upper. `square` is never above 0."""
        bend = 1 - wide**2 * self.square
        middle = counts + wide**2 * self.linear / 2
        under = middle**2 - bend * (counts**2 - wide**2 * self.constant)
        return np.asarray((middle + side * np.sqrt(np.maximum(under, 0))) / bend)

    def of_part(self, part: int, n: int) -> VarianceCurve:
        """The same about n people of whom a random `part` was asked: see `several.about_all`."""
        scale, drawn = n / part, n**2 / part * (1 - part / n) * n / max(n - 1, 1)
        return VarianceCurve(
            constant=self.constant * scale**2,
            linear=self.linear * scale + drawn / n,
            square=self.square - drawn / n**2,
            grain=self.grain * scale,
            least=self.least * scale**2,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """How many of `n` respondents have each of `labels`. It is unbiased, so counts can be below 0 or above n.

    `variances` are the variances of the noise only: about the people who answered, not about those who did not.
    `reach` is the most that one fake report, in place of a real one, can change a count.
    """

    labels: tuple[str, ...]
    n: int
    counts: Floats
    variances: Floats
    reach: float
    #: The law of each count where it is known, or its variance as a function of the true count; else intervals are from
    #: the variance as it is.
    law: SupportLaw | VarianceCurve | None = None
    made: str = UNBIASED

    def __post_init__(self) -> None:
        if not len(self.labels) == self.counts.size == self.variances.size or self.n < 0:
            raise ValueError("an estimate needs one count and one variance for each label")

    @property
    def shares(self) -> dict[str, float]:
        """Each label's share of the respondents."""
        return dict(zip(self.labels, (self.counts / max(self.n, 1)).tolist(), strict=True))

    def interval(self, confidence: float = 0.95) -> dict[str, tuple[float, float]]:
        """Return the confidence interval of each share. A repaired estimate has none: use the unbiased one."""
        if self.made != UNBIASED:
            raise UsageError(
                "Only an unbiased estimate has intervals.", hint="ask for the interval before repairing the estimate"
            )
        low, high = self._ends(confidence)
        pairs = zip((low / max(self.n, 1)).tolist(), (high / max(self.n, 1)).tolist(), strict=True)
        return dict(zip(self.labels, pairs, strict=True))

    def _ends(self, confidence: float) -> tuple[Floats, Floats]:
        """Of counts: within 0 and n, but for an estimate that is not."""
        wide = normal_half_width(confidence)
        match self.law:
            case SupportLaw():
                low, high = self.law.ends(confidence)
            case VarianceCurve():
                low, high = self.law.ends(self.counts, wide)
            case None:
                low, high = (self.counts + side * wide * np.sqrt(self.variances) for side in (-1, 1))
        low, high = np.clip(low, 0, self.n), np.clip(high, 0, self.n)
        return np.minimum(low, self.counts), np.maximum(high, self.counts)

    def moved_by(self, fakes: int) -> float:
        """Return the most by which this many fake reports, among the n, could have changed any share."""
        return min(fakes, self.n) * self.reach / max(self.n, 1)

    def clipped(self) -> Estimate:
        """Return the estimate with counts clipped to 0 and n. It is biased upwards for small counts."""
        return self._as(np.clip(self.counts, 0, self.n), "clipped")

    def norm_sub(self) -> Estimate:
        """Return an estimate without negative counts whose sum is n: the excess is subtracted evenly from the rest."""
        return self._as(norm_sub(self.counts, float(self.n)), "norm-sub")

    def isotonic(self, *, rising: bool = True) -> Estimate:
        """Return the nearest counts that never decrease (or never increase) from label to label."""
        return self._as(isotonic(self.counts, rising=rising), "isotonic")

    def _as(self, counts: Floats, made: str) -> Estimate:
        return replace(self, counts=counts, made=made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of a number over n respondents. It is unbiased, so it can be outside the bounds."""

    n: int
    value: float
    variance: float
    reach: float
    #: The least and the largest that the true mean can be.
    bounds: tuple[float, float]
    #: The variance as a function of how far the true mean is above the lower bound.
    score: VarianceCurve

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval. It is within the bounds, unless the estimate itself is not."""
        least, most = self.bounds
        below, above = self.score.ends(self.value - least, normal_half_width(confidence))
        low, high = (min(max(least + float(end), least), most) for end in (below, above))
        return min(low, self.value), max(high, self.value)

    def moved_by(self, fakes: int) -> float:
        """Return the most by which this many fake reports, among the n, could have changed the mean."""
        return min(fakes, self.n) * self.reach


def normal_half_width(confidence: float) -> float:
    """Half the width of an interval, in standard deviations."""
    if not 0 < confidence < 1:
        raise UsageError(f"A confidence must be between 0 and 1, for example 0.95, not {confidence}.")
    return NormalDist().inv_cdf((1 + confidence) / 2)
