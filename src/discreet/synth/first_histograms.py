"""The first step of every fit: a noisy histogram of each column, and the model's cells that follow from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import ReservationEvent
from discreet.inference.fit_inputs import MeasuredMarginal
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.synth.attribute import Attribute
from discreet.synth.fine_cells import fine_weights, is_by_octaves

#: A value whose noisy count is below so many standard deviations is kept with the other rare ones; more where there
#: are many values (`rare_below`).
RARE = 2.0

#: Bins aim at this many for a column, fewer where noise would drown them.
MOST_BINS = 32

#: A bin is halved if each half would hold more than so many standard deviations of the noise in its fine cells.
HALVED = 1.5

#: This part of what a histogram costs decides about its cells, by noise of its own: what is merged by the noise that is
#: then summed comes out too small, and what is left too large.
DECIDING = Fraction(1, 4)

#: Of what the histogram of a column with bins costs, this part counts the bins themselves.
BINS = Fraction(1, 3)

#: From so many standard deviations above what is rare on there was nothing to decide: then both parts count.
CLEAR = 3.0

#: At an absurd epsilon noise is 0 to the last float; nothing divides by it.
LEAST_VARIANCE = 1e-9

#: In standard deviations of either noise: a limit that the truth is below with 95% confidence or more.
LIMIT = 2.12


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredHistograms:
    """What the histograms told: attributes with their cells, the table cut by them, and about how many rows.

    `outside`: for each attribute the most rows that lie outside its ends, with 95% confidence; 0 where none can.
    `noisy`: the histograms as they were drawn, for whoever groups their cells in another way (`coarser_cells`).
    """

    attributes: tuple[Attribute, ...]
    cut: BinnedTable
    measured: tuple[MeasuredMarginal, ...]
    total: float
    total_sd: float
    outside: tuple[float, ...]
    noisy: tuple[HistogramPair, ...] = ()

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

    Where there are `few` rows, which the noisy histograms tell, they are measured once more with `more`. A part of
    the share counts the bins that were chosen: noise falls on all the fine cells that they are chosen by.
    """
    cut = BinnedTable(program, tuple(attribute.axis(outside=True) for attribute in attributes))
    again = _share_of_bins(program.event, attributes, share)
    noisy = _histograms(program, cut, attributes, share - again)
    if more and few(_total(noisy)[0]):
        noisy = [
            one.with_(other) for one, other in zip(noisy, _histograms(program, cut, attributes, more), strict=True)
        ]
    return _count_bins(program, group_cells(attributes, cut, noisy), again)


def _share_of_bins(event: ReservationEvent, attributes: Sequence[Attribute], share: Fraction) -> Fraction:
    """What of a share counts bins once more."""
    parts = split_share(event, [attribute.fine for attribute in attributes], share)
    return sum((BINS * part for part, each in zip(parts, attributes, strict=True) if has_bins(each)), Fraction(0))


def _count_bins(program: Program, histograms: MeasuredHistograms, share: Fraction) -> MeasuredHistograms:
    """The histograms with their bins counted once more, for this share in all, as one step.

    A bin that was summed from fine cells has the noise of all of them, and one of a tail has many.
    """
    if not share:
        return histograms
    places = [place for place, attribute in enumerate(histograms.attributes) if has_bins(attribute)]
    laws = [
        program.law(part) for part in split_share(program.event, [histograms.sizes[place] for place in places], share)
    ]
    measured = list(histograms.measured)
    for place, values, law in zip(
        places, histograms.cut.measure([(place,) for place in places], laws), laws, strict=True
    ):
        first, variance = measured[place], max(float(law.variance()), LEAST_VARIANCE)
        variances = first.cell_variances * variance / (first.cell_variances + variance)
        mean = variances * (first.values / first.cell_variances + values / variance)
        measured[place] = MeasuredMarginal(
            attributes=(place,), values=mean, variance=float(variances.mean()), variances=variances
        )
    return replace(histograms, measured=tuple(measured))


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
    """Two histograms of one column by independent noise: one to decide about its cells, one for their counts.

    Where bins are counted once more, one is both.
    """

    deciding: NoisyHistogram
    counting: NoisyHistogram

    @property
    def both(self) -> NoisyHistogram:
        return self.deciding if self.deciding is self.counting else self.deciding.with_(self.counting)

    def with_(self, other: HistogramPair) -> HistogramPair:
        """Each with its like."""
        if self.deciding is self.counting:
            both = self.both.with_(other.both)
            return HistogramPair(deciding=both, counting=both)
        return HistogramPair(deciding=self.deciding.with_(other.deciding), counting=self.counting.with_(other.counting))


def _histograms(
    program: Program, cut: BinnedTable, attributes: Sequence[Attribute], share: Fraction
) -> list[HistogramPair]:
    parts = split_share(program.event, [attribute.fine for attribute in attributes], share)
    steps = [(place, own) for place, attribute in enumerate(attributes) for own in _parts(attribute)]
    laws = [program.law(parts[place] * own) for place, own in steps]
    noisy = cut.measure([(place,) for place, _ in steps], laws)
    pairs: dict[int, list[NoisyHistogram]] = {}
    for (place, _), values, law in zip(steps, noisy, laws, strict=True):
        variance = max(float(law.variance()), LEAST_VARIANCE)
        pairs.setdefault(place, []).append(NoisyHistogram(values=values.astype(np.float64), variance=variance))
    return [HistogramPair(deciding=own[0], counting=own[-1]) for own in pairs.values()]


def _parts(attribute: Attribute) -> tuple[Fraction, ...]:
    """The parts of a histogram's cost: for deciding and for counting; one for both where bins are counted again."""
    return (Fraction(1),) if has_bins(attribute) else (DECIDING, 1 - DECIDING)


def split_share(event: ReservationEvent, sizes: Sequence[int], share: Fraction) -> list[Fraction]:
    """A share split over histograms so that their expected distances from the truth have the smallest sum.

    Because: a histogram of k cells is wrong by k * sd in all; with sd^-2 in proportion to its part of rho the sum
    of k_i * rho_i^(-1/2) is smallest at rho_i ~ k_i^(2/3), and with epsilon at epsilon_i ~ k_i^(1/2).
    """
    power = 2 / 3 if event.epsilon is None else 1 / 2
    weights = [round(1000 * size**power) for size in sizes]
    return [share * weight / sum(weights) for weight in weights]


def group_cells(
    attributes: Sequence[Attribute], cut: BinnedTable, noisy: Sequence[HistogramPair]
) -> MeasuredHistograms:
    """Cells of the model from noisy histograms. Post-processing."""
    total, total_sd = _total(noisy)
    grouped_attributes, measured, counted, outside = [], [], [], []
    for place, (attribute, own) in enumerate(zip(attributes, noisy, strict=True)):
        fine, in_use = attribute.fine_of_counted(), cells_in_use(attribute, own.deciding)
        deciding = np.bincount(fine[in_use], weights=own.deciding.values[in_use]).astype(np.float64)
        groups, clear = choose_cells(
            attribute, fine_weights(attribute, deciding, own.deciding.sd), own.deciding.sd, total
        )
        groups = split_groups(groups, attribute.apart)
        weights = np.bincount(fine[in_use], weights=own.both.values[in_use]).astype(np.float64)
        grouped_attributes.append(
            attribute.with_groups(groups, np.maximum(fine_weights(attribute, weights, own.both.sd), 0))
        )
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
        noisy=tuple(noisy),
    )


def cells_in_use(attribute: Attribute, deciding: NoisyHistogram) -> NDArray[np.bool_]:
    """Which counted cells make up the histogram: not those outside open ends that seem to hold nobody."""
    in_use = np.ones(len(deciding.values), dtype=np.bool_)
    if attribute.open:
        outer = [0, len(attribute.edges)]
        in_use[outer] = deciding.values[outer] > RARE * deciding.sd
    return in_use


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
    if has_bins(attribute):
        return choose_bins(attribute, values, sd, total)
    return merge_rare_cells(values, sd), values >= rare_below(len(values), sd) + CLEAR * sd


def has_bins(attribute: Attribute) -> bool:
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
    """Bins of even fine cells: of about equal numbers of rows where the noise allows it, else halves of halves.

    And which fine cells are clear: those whose noise did not draw the bins.
    """
    cells = len(attribute.edges) - 1
    is_noisy = total / MOST_BINS <= RARE * sd * math.sqrt(cells / MOST_BINS)
    if is_noisy and not is_by_octaves(attribute):
        groups = halved_bins(values[:cells], sd)
    else:
        filled = np.cumsum(np.maximum(values[:cells], 0))
        levels = filled - np.maximum(values[:cells], 0) / 2
        groups = np.minimum((levels * MOST_BINS / max(filled[-1], 1e-9)).astype(np.int64), MOST_BINS - 1)
        groups = np.unique(groups, return_inverse=True)[1]
    groups = np.append(groups, groups[-1] + 1) if attribute.null else groups
    clear = np.full(len(groups), groups[cells - 1] <= 1)  # two halves are what they are without any look
    clear[cells:] = True
    return groups, clear


def halved_bins(values: NDArray[np.float64], sd: float) -> NDArray[np.int64]:
    """Two bins or more, by halving the one of most rows, as long as each half would hold more than its noise.

    Where nobody is, nothing is halved: a few rows in a wide range get narrow bins where they are.

    >>> halved_bins(np.array([0.0, 0, 0, 0, 0, 0, 90, 80]), 10.0).tolist()
    [0, 0, 0, 0, 1, 1, 2, 3]
    """
    sums = np.concatenate([[0.0], np.cumsum(values)])
    done: list[tuple[int, int]] = []
    waiting = [(0, len(values))]
    while waiting:
        start, stop = max(waiting, key=lambda bin_: sums[bin_[1]] - sums[bin_[0]])
        waiting.remove((start, stop))
        is_full = sums[stop] - sums[start] > 2 * HALVED * sd * math.sqrt((stop - start) / 2)
        is_whole = stop - start == len(values)
        if len(done) + len(waiting) + 2 <= MOST_BINS and stop - start > 1 and (is_full or is_whole):
            middle = (start + stop) // 2
            waiting += [(start, middle), (middle, stop)]
        else:
            done.append((start, stop))
    groups = np.zeros(len(values), dtype=np.int64)
    for number, (start, stop) in enumerate(sorted(done)):
        groups[start:stop] = number
    return groups
