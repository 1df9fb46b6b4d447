"""What the reports say at home: unbiased numbers, how wrong the noise may have made them, and repairs
that are labelled as such."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

UNBIASED = "unbiased"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """How many of `n` respondents hold each of `labels`: unbiased, so that it can leave 0 to n.

    `variances` are those of the coins alone: about the people who answered, not about those who did not.
    `reach` is the most that one report, replaced by a liar's, can change a count.
    """

    labels: tuple[str, ...]
    n: int
    counts: NDArray[np.float64]
    variances: NDArray[np.float64]
    reach: float
    made: str = UNBIASED

    def __post_init__(self) -> None:
        if not len(self.labels) == self.counts.size == self.variances.size or self.n < 0:
            raise ValueError("not an estimate: one count and one variance for each label")

    @property
    def shares(self) -> dict[str, float]:
        """Each label's share of the respondents."""
        return dict(zip(self.labels, (self.counts / max(self.n, 1)).tolist(), strict=True))

    def interval(self, confidence: float = 0.95) -> dict[str, tuple[float, float]]:
        """Each share's noise interval. A repaired estimate has none: ask the unbiased one."""
        if self.made != UNBIASED:
            raise UsageError("Only an unbiased estimate has intervals.", hint="Ask for them before repairing it.")
        wide = width(confidence) * np.sqrt(self.variances) / max(self.n, 1)
        middle = self.counts / max(self.n, 1)
        pairs = zip((middle - wide).tolist(), (middle + wide).tolist(), strict=True)
        return dict(zip(self.labels, pairs, strict=True))

    def moved_by(self, fakes: int) -> float:
        """The most by which so many reports of liars, among the n, could have moved any share."""
        return min(fakes, self.n) * self.reach / max(self.n, 1)

    def clipped(self) -> Estimate:
        """Counts below 0 as 0 and above n as n. Biased upwards where counts are small."""
        return self._as(np.clip(self.counts, 0, self.n), "clipped")

    def norm_sub(self) -> Estimate:
        """No count below 0, and all of them n together: what is over is taken off the rest alike."""
        return self._as(norm_sub(self.counts, float(self.n)), "norm-sub")

    def isotonic(self, *, rising: bool = True) -> Estimate:
        """The nearest counts that never fall (or never rise) from label to label."""
        return self._as(isotonic(self.counts, rising=rising), "isotonic")

    def _as(self, counts: NDArray[np.float64], made: str) -> Estimate:
        return replace(self, counts=counts, made=made)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """The mean of a number over n respondents: unbiased, so that it can leave the bounds."""

    n: int
    value: float
    variance: float
    reach: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The noise interval."""
        wide = width(confidence) * float(np.sqrt(self.variance))
        return self.value - wide, self.value + wide

    def moved_by(self, fakes: int) -> float:
        """The most by which so many reports of liars, among the n, could have moved the mean."""
        return min(fakes, self.n) * self.reach


def width(confidence: float) -> float:
    """Half the width of an interval, in standard deviations."""
    if not 0 < confidence < 1:
        raise UsageError(f"A confidence is between 0 and 1, for example 0.95; this is {confidence}.")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def norm_sub(counts: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """The nearest vector to `counts` that is nowhere negative and sums to `total` >= 0."""
    ordered = np.sort(counts)[::-1]
    over = (np.cumsum(ordered) - total) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(ordered > over)
    return np.asarray(np.maximum(counts - over[kept[-1] if kept.size else 0], 0.0))


def isotonic(counts: NDArray[np.float64], *, rising: bool = True) -> NDArray[np.float64]:
    """The nearest vector that never falls (or never rises): neighbours that disagree are averaged."""
    blocks: list[tuple[float, int]] = []
    for value in (counts if rising else counts[::-1]).tolist():
        mean, size = value, 1
        while blocks and blocks[-1][0] > mean:
            other, many = blocks.pop()
            mean, size = (mean * size + other * many) / (size + many), size + many
        blocks.append((mean, size))
    found = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    return found if rising else found[::-1]
