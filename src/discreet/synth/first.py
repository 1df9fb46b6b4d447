"""The first step of every fit: a noisy histogram of each column, and the model's cells that follow from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import Reserved
from discreet.cut import Cut
from discreet.inference.facts import Measured
from discreet.program import Program
from discreet.synth.attribute import Attribute

#: A value whose noisy count is below so many standard deviations is kept with the other rare ones.
RARE = 3.0

#: Bins aim at this many for a column, fewer where noise would drown them.
MOST_BINS = 32


#: At an absurd epsilon noise is 0 to the last float; nothing divides by it.
LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """What the histograms told: attributes with their cells, the table cut by them, and about how many rows."""

    attributes: tuple[Attribute, ...]
    cut: Cut
    measured: tuple[Measured, ...]
    total: float
    total_sd: float

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(attribute.size for attribute in self.attributes)


def first(
    program: Program,
    attributes: Sequence[Attribute],
    share: Fraction,
    *,
    more: Fraction = Fraction(0),
    few: Callable[[float], bool] = lambda total: False,
) -> First:
    """Measure every column once, with this share in all, and group its cells.

    Where there are `few` rows, which the noisy histograms tell, they are measured once more with `more`.
    """
    cut = program.cut(tuple(attribute.axis() for attribute in attributes))
    noisy = _histograms(program, cut, attributes, share)
    if more and few(_total(noisy)[0]):
        noisy = [
            one.with_(other) for one, other in zip(noisy, _histograms(program, cut, attributes, more), strict=True)
        ]
    return grouped(attributes, cut, noisy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Noisy counts of a column's fine cells, and their variance."""

    values: NDArray[np.float64]
    variance: float

    @property
    def sd(self) -> float:
        return math.sqrt(self.variance)

    def with_(self, other: Histogram) -> Histogram:
        """The mean of both by inverse variance."""
        total = self.variance + other.variance
        mean = (self.values * other.variance + other.values * self.variance) / total
        return Histogram(values=mean, variance=self.variance * other.variance / total)


def _histograms(program: Program, cut: Cut, attributes: Sequence[Attribute], share: Fraction) -> list[Histogram]:
    parts = shares(program.event, [attribute.fine for attribute in attributes], share)
    laws = [program.law(part) for part in parts]
    noisy = cut.measure([(place,) for place in range(len(attributes))], laws)
    return [
        Histogram(values=values.astype(np.float64), variance=max(float(law.variance()), LEAST_VARIANCE))
        for values, law in zip(noisy, laws, strict=True)
    ]


def shares(event: Reserved, sizes: Sequence[int], share: Fraction) -> list[Fraction]:
    """A share split over histograms so that their expected distances from the truth have the smallest sum.

    Because: a histogram of k cells is wrong by k * sd in all; with sd^-2 in proportion to its part of rho the sum
    of k_i * rho_i^(-1/2) is smallest at rho_i ~ k_i^(2/3), and with epsilon at epsilon_i ~ k_i^(1/2).
    """
    power = 2 / 3 if event.epsilon is None else 1 / 2
    weights = [round(1000 * size**power) for size in sizes]
    return [share * weight / sum(weights) for weight in weights]


def grouped(attributes: Sequence[Attribute], cut: Cut, noisy: Sequence[Histogram]) -> First:
    """Cells of the model from noisy histograms. Post-processing."""
    total, total_sd = _total(noisy)
    found, measured = [], []
    for place, (attribute, own) in enumerate(zip(attributes, noisy, strict=True)):
        groups = bins(attribute, own.values, own.sd, total) if attribute.binned else merged_rare(own.values, own.sd)
        groups = split(groups, attribute.apart)
        found.append(attribute.regrouped(groups, np.maximum(own.values, 0)))
        measured.append(summed(place, groups, own, total, total_sd))
    groups_of = tuple(attribute.groups for attribute in found)
    return First(
        attributes=tuple(found), cut=cut.merged(groups_of), measured=tuple(measured), total=total, total_sd=total_sd
    )


def summed(place: int, groups: NDArray[np.int64], own: Histogram, total: float, total_sd: float) -> Measured:
    """A histogram on the model's cells, which sums to the total.

    A cell of many fine ones has the noise of all of them. Inference knows one variance a marginal, and would share out
    over all cells alike what its sum is away from the total; so that is shared out here, in proportion to variances,
    which is the least-squares answer. What noise is left of cell g, of k_g fine ones of K, has the variance
    v k_g (1 - k_g / K), and its part of the total's own; the marginal gets the mean of that over its cells.
    """
    parts = np.bincount(groups) / len(groups)
    values = np.bincount(groups, weights=own.values) + (total - own.values.sum()) * parts
    variances = own.variance * len(groups) * parts * (1 - parts) + (total_sd * parts) ** 2
    return Measured(attributes=(place,), values=values, variance=max(float(variances.mean()), LEAST_VARIANCE))


def _total(noisy: Sequence[Histogram]) -> tuple[float, float]:
    """The number of rows: the mean of the histograms' sums by inverse variance, at least 1; and how uncertain it is."""
    precisions = [1 / (own.variance * len(own.values)) for own in noisy]
    whole = math.fsum(precisions)
    mean = math.fsum(part * float(own.values.sum()) for part, own in zip(precisions, noisy, strict=True)) / whole
    return max(1.0, mean), 1 / math.sqrt(whole)


def merged_rare(values: NDArray[np.float64], sd: float) -> NDArray[np.int64]:
    """Cells whose noisy count says little share one cell of the model, where they are at least two."""
    rare = values < RARE * sd
    if rare.sum() < 2:
        return np.arange(len(values))
    groups = np.cumsum(~rare) - 1
    return np.where(rare, int((~rare).sum()), groups)


def split(groups: NDArray[np.int64], apart: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups in which no two cells of different `apart` are together.

    >>> split(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])).tolist()
    [0, 1, 2, 2]
    """
    found: NDArray[np.int64] = np.unique(groups * (int(apart.max()) + 1) + apart, return_inverse=True)[1]
    return found


def bins(attribute: Attribute, values: NDArray[np.float64], sd: float, total: float) -> NDArray[np.int64]:
    """Bins of even fine cells: of about equal numbers of rows where the noise allows it, else of equal width."""
    cells = len(attribute.edges) - 1
    if cells <= MOST_BINS:
        return merged_rare(values, sd)
    noise = RARE * sd * math.sqrt(cells / MOST_BINS)
    if total / MOST_BINS <= noise:
        count = max(2, min(MOST_BINS, int(total / (RARE * sd * math.sqrt(cells)) + 1)))
        groups = np.arange(cells) * count // cells
    else:
        filled = np.cumsum(np.maximum(values[:cells], 0))
        levels = filled - np.maximum(values[:cells], 0) / 2
        groups = np.minimum((levels * MOST_BINS / max(filled[-1], 1e-9)).astype(np.int64), MOST_BINS - 1)
        groups = np.unique(groups, return_inverse=True)[1]
    return np.append(groups, groups[-1] + 1) if attribute.null else groups
