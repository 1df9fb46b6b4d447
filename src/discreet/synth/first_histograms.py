"""The first step of every fit: a noisy histogram of each column, and the model's cells that follow from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import ReservationEvent
from discreet.inference.fit_inputs import MeasuredMarginal
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.synth.attribute import Attribute

#: A value whose noisy count is below so many standard deviations is kept with the other rare ones; more where there
#: are many values (`rare_below`).
RARE = 2.0

#: Bins aim at this many for a column, fewer where noise would drown them.
MOST_BINS = 32

#: This part of what a histogram costs decides about its cells, by noise of its own: what is merged by the noise that is
#: then summed comes out too small, and what is left too large.
DECIDING = Fraction(1, 4)

#: From so many standard deviations above what is rare on there was nothing to decide: then both parts count.
CLEAR = 3.0

#: At an absurd epsilon noise is 0 to the last float; nothing divides by it.
LEAST_VARIANCE = 1e-9

#: NULL, and what bought bounds or words may have brought in too much, is kept where it holds more rows than this many
#: standard deviations of its noise; else nobody has it.
SEEN = 2.5

#: Of what histograms cost this part is split evenly, the rest by their sizes: small columns are asked about most.
EVEN = Fraction(1, 2)

#: In standard deviations of either noise: a limit that the truth is below with 95% confidence or more.
LIMIT = 2.12


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredHistograms:
    """What the histograms told: attributes with their cells, the table cut by them, and about how many rows.

    `outside`: for each attribute the most rows that lie outside its ends, with 95% confidence; 0 where none can.
    """

    attributes: tuple[Attribute, ...]
    cut: BinnedTable
    measured: tuple[MeasuredMarginal, ...]
    total: float
    total_sd: float
    outside: tuple[float, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(attribute.size for attribute in self.attributes)


def measure_histograms(
    program: Program,
    attributes: Sequence[Attribute],
    share: Fraction,
    *,
    more: Fraction = Fraction(0),
    few: Callable[[float], bool] = lambda total: False,
) -> MeasuredHistograms:
    """Measure every column once, with this share in all, and group its cells.

    Where there are `few` rows, which the noisy histograms tell, they are measured once more with `more`.
    """
    cut = BinnedTable(program, tuple(attribute.axis(outside=True) for attribute in attributes))
    noisy = _histograms(program, cut, attributes, share)
    if more and few(_total(noisy)[0]):
        noisy = [
            one.with_(other) for one, other in zip(noisy, _histograms(program, cut, attributes, more), strict=True)
        ]
    return group_cells(attributes, cut, noisy)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyHistogram:
    """Noisy counts of a column's cells, and their variance."""

    values: NDArray[np.float64]
    variance: float

    @property
    def sd(self) -> float:
        return math.sqrt(self.variance)

    def with_(self, other: NoisyHistogram) -> NoisyHistogram:
        """The mean of both by inverse variance."""
        total = self.variance + other.variance
        mean = (self.values * other.variance + other.values * self.variance) / total
        return NoisyHistogram(values=mean, variance=self.variance * other.variance / total)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramPair:
    """Two histograms of one column by independent noise: one to decide about its cells, one for their counts."""

    deciding: NoisyHistogram
    counting: NoisyHistogram

    @property
    def both(self) -> NoisyHistogram:
        return self.deciding.with_(self.counting)

    def with_(self, other: HistogramPair) -> HistogramPair:
        """Each with its like."""
        return HistogramPair(deciding=self.deciding.with_(other.deciding), counting=self.counting.with_(other.counting))


def _histograms(
    program: Program, cut: BinnedTable, attributes: Sequence[Attribute], share: Fraction
) -> list[HistogramPair]:
    parts = split_with_floor(program.event, [_cells(attribute) for attribute in attributes], share)
    laws = [program.law(part * own) for part in parts for own in (DECIDING, 1 - DECIDING)]
    noisy = cut.measure([(place,) for place in range(len(attributes)) for _ in range(2)], laws)
    histograms = [
        NoisyHistogram(values=values.astype(np.float64), variance=max(float(law.variance()), LEAST_VARIANCE))
        for values, law in zip(noisy, laws, strict=True)
    ]
    return [
        HistogramPair(deciding=one, counting=other)
        for one, other in zip(histograms[::2], histograms[1::2], strict=True)
    ]


def split_share(event: ReservationEvent, sizes: Sequence[int], share: Fraction) -> list[Fraction]:
    """A share split over histograms so that their expected distances from the truth have the smallest sum.

    Because: a histogram of k cells is wrong by k * sd in all; with sd^-2 in proportion to its part of rho the sum
    of k_i * rho_i^(-1/2) is smallest at rho_i ~ k_i^(2/3), and with epsilon at epsilon_i ~ k_i^(1/2).
    """
    power = 2 / 3 if event.epsilon is None else 1 / 2
    weights = [round(1000 * size**power) for size in sizes]
    return [share * weight / sum(weights) for weight in weights]


def split_with_floor(event: ReservationEvent, sizes: Sequence[int], share: Fraction) -> list[Fraction]:
    """As `split_share`, but a part of it evenly: no column has much more noise than an even split would give it.

    >>> event = ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0))
    >>> [str(part) for part in split_with_floor(event, [1, 4], Fraction(1))]
    ['5/12', '7/12']
    """
    evenly = share * EVEN / len(sizes)
    return [evenly + part for part in split_share(event, sizes, share * (1 - EVEN))]


def _cells(attribute: Attribute) -> int:
    """How many cells of a column its noise is spread over, about: fine cells are grouped into bins."""
    return min(attribute.fine, MOST_BINS + attribute.null) if attribute.binned else attribute.fine


def group_cells(
    attributes: Sequence[Attribute], cut: BinnedTable, noisy: Sequence[HistogramPair]
) -> MeasuredHistograms:
    """Cells of the model from noisy histograms. Post-processing."""
    total, total_sd = _total(noisy)
    grouped_attributes, measured, counted, outside = [], [], [], []
    for place, (attribute, own) in enumerate(zip(attributes, noisy, strict=True)):
        fine, in_use = attribute.fine_of_counted(), _cells_in_use(attribute, own)
        deciding = np.bincount(fine[in_use], weights=own.deciding.values[in_use], minlength=attribute.fine)
        groups, clear = choose_cells(attribute, deciding, own.deciding.sd, total)
        weights = np.bincount(fine[in_use], weights=own.both.values[in_use], minlength=attribute.fine)
        unseen = _unseen_cells(attribute, groups, weights, own.both.sd)
        groups = split_groups(join_unseen(groups, weights, unseen), attribute.apart)
        unseen &= np.isin(groups, groups[~unseen])  # not where a public constraint leaves one alone
        in_use &= ~unseen[fine]
        grouped_attributes.append(attribute.with_groups(groups, kept_weights(groups, weights, unseen)))
        counted.append(groups[fine])
        values = np.where(clear[fine], own.both.values, own.counting.values)
        variances = np.where(clear[fine], own.both.variance, own.counting.variance)
        measured.append(
            sum_to_total(place, counted[-1][in_use], values[in_use], variances[in_use], total=total, total_sd=total_sd)
        )
        outside.append(_most_outside(attribute, own.both))
    return MeasuredHistograms(
        attributes=tuple(grouped_attributes),
        cut=cut.merged(tuple(counted)),
        measured=tuple(measured),
        total=total,
        total_sd=total_sd,
        outside=tuple(outside),
    )


def _cells_in_use(attribute: Attribute, own: HistogramPair) -> NDArray[np.bool_]:
    """Which counted cells make up the histogram: not those outside open ends that seem to hold nobody."""
    deciding = own.deciding
    in_use = np.ones(len(deciding.values), dtype=np.bool_)
    if attribute.open:
        outer = [0, len(attribute.edges)]
        in_use[outer] = deciding.values[outer] > RARE * deciding.sd
    return in_use


def _unseen_cells(
    attribute: Attribute, groups: NDArray[np.int64], weights: NDArray[np.float64], sd: float
) -> NDArray[np.bool_]:
    """Which fine cells nobody seems to have: NULL below its noise, and rare values that nobody declared, together."""
    unseen = np.zeros(attribute.fine, dtype=np.bool_)
    if attribute.null:
        unseen[-1] = weights[-1] < SEEN * sd
    if (attribute.open or attribute.of is not None) and not _has_bins(attribute):
        for cell in range(int(groups.max()) + 1):
            own = np.flatnonzero((groups == cell) & ~unseen)
            is_last_null = attribute.null and attribute.fine - 1 in own
            unseen[own] |= not is_last_null and weights[own].sum() < SEEN * sd * math.sqrt(len(own))
    unseen &= not unseen.all()
    return unseen


def join_unseen(
    groups: NDArray[np.int64], weights: NDArray[np.float64], unseen: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The groups with cells that nobody seems to have in the one, of those seen, that holds fewest.

    >>> join_unseen(np.array([0, 1, 2]), np.array([9.0, 5.0, 0.0]), np.array([False, False, True])).tolist()
    [0, 1, 1]
    """
    seen = np.unique(groups[~unseen])
    sums = np.bincount(groups[~unseen], weights=weights[~unseen])[seen]
    joined = np.where(unseen, seen[int(np.argmin(sums))], groups)
    new_groups: NDArray[np.int64] = np.unique(joined, return_inverse=True)[1]
    return new_groups


def kept_weights(
    groups: NDArray[np.int64], weights: NDArray[np.float64], unseen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The weights, none below 0; an unseen cell has none, and is never drawn."""
    kept: NDArray[np.float64] = np.where(unseen, 0.0, np.maximum(weights, 0))
    empty = np.bincount(groups, weights=kept)[groups] <= 0
    return np.where(empty & ~unseen, 1.0, kept)


def _most_outside(attribute: Attribute, own: NoisyHistogram) -> float:
    """A limit that the number of rows outside open ends is below: they were counted apart."""
    if not attribute.open:
        return 0.0
    above = len(attribute.edges)
    return max(0.0, float(own.values[0] + own.values[above]) + LIMIT * math.sqrt(2) * own.sd)


def sum_to_total(
    place: int,
    groups: NDArray[np.int64],
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    *,
    total: float,
    total_sd: float,
) -> MeasuredMarginal:
    """A histogram on the model's cells, which sums to the total.

    A cell of many fine ones has the noise of all of them. Inference knows one variance a marginal, and would share out
    over all cells alike what its sum is away from the total; so that is shared out here, in proportion to variances,
    which is the least-squares answer. What noise is left of cell g, of variance v_g of V in all, has the variance
    v_g (1 - v_g / V), and its part of the total's own; inference gets the mean of that over the cells.
    """
    own = np.bincount(groups, weights=variances)
    parts = own / own.sum()
    counts = np.bincount(groups, weights=values).astype(np.float64)
    counts += (total - counts.sum()) * parts
    left = np.maximum(own * (1 - parts) + (total_sd * parts) ** 2, LEAST_VARIANCE)
    return MeasuredMarginal(attributes=(place,), values=counts, variance=float(left.mean()), variances=left)


def _total(noisy: Sequence[HistogramPair]) -> tuple[float, float]:
    """The number of rows: the mean of the histograms' sums by inverse variance, at least 1; and how uncertain it is."""
    histograms = [own.both for own in noisy]
    precisions = [1 / (own.variance * len(own.values)) for own in histograms]
    whole = math.fsum(precisions)
    mean = math.fsum(part * float(own.values.sum()) for part, own in zip(precisions, histograms, strict=True)) / whole
    return max(1.0, mean), 1 / math.sqrt(whole)


def choose_cells(
    attribute: Attribute, values: NDArray[np.float64], sd: float, total: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The model's cell of each fine cell, and which fine cells are clear: their own noise decided nothing."""
    if _has_bins(attribute):
        return choose_bins(attribute, values, sd, total)
    return merge_rare_cells(values, sd), values >= rare_below(len(values), sd) + CLEAR * sd


def _has_bins(attribute: Attribute) -> bool:
    """Whether its fine cells are grouped into bins."""
    return attribute.binned and len(attribute.edges) - 1 > MOST_BINS


def rare_below(cells: int, sd: float) -> float:
    """Below this a noisy count of so many cells says little: noise alone lifts about one of them so far.

    >>> [round(rare_below(cells, 1.0), 2) for cells in (1, 10, 1000)]
    [2.0, 2.15, 3.72]
    """
    return max(RARE, math.sqrt(2 * math.log(cells))) * sd


def merge_rare_cells(values: NDArray[np.float64], sd: float) -> NDArray[np.int64]:
    """Cells whose noisy count says little share one cell of the model, where they are at least two."""
    rare = values < rare_below(len(values), sd)
    if rare.sum() < 2:
        return np.arange(len(values))
    groups = np.cumsum(~rare) - 1
    return np.where(rare, int((~rare).sum()), groups)


def split_groups(groups: NDArray[np.int64], apart: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups in which no two cells of different `apart` are together.

    >>> split_groups(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])).tolist()
    [0, 1, 2, 2]
    """
    new_groups: NDArray[np.int64] = np.unique(groups * (int(apart.max()) + 1) + apart, return_inverse=True)[1]
    return new_groups


def choose_bins(
    attribute: Attribute, values: NDArray[np.float64], sd: float, total: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Bins of even fine cells: of about equal numbers of rows where the noise allows it, else of equal width.

    And which fine cells are clear: those whose noise did not draw the bins.
    """
    cells = len(attribute.edges) - 1
    noise = RARE * sd * math.sqrt(cells / MOST_BINS)
    even = total / MOST_BINS <= noise
    if even:
        count = max(2, min(MOST_BINS, int(total / (RARE * sd * math.sqrt(cells)) + 1)))
        groups = np.arange(cells) * count // cells
    else:
        filled = np.cumsum(np.maximum(values[:cells], 0))
        levels = filled - np.maximum(values[:cells], 0) / 2
        groups = np.minimum((levels * MOST_BINS / max(filled[-1], 1e-9)).astype(np.int64), MOST_BINS - 1)
        groups = np.unique(groups, return_inverse=True)[1]
    groups = np.append(groups, groups[-1] + 1) if attribute.null else groups
    clear = np.full(len(groups), even)
    clear[cells:] = True
    return groups, clear
