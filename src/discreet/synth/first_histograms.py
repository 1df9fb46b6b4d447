"""The first step of every fit: a noisy histogram of each column, and the model's cells that follow from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

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

#: NULL, and what bought bounds or words may have brought in too much, is kept where it holds more rows than noise alone
#: would show with this chance; else nobody has it.
SEEN = 0.003

#: With this chance noise alone shows rows in the first cell outside bounds that were bought, where rows have ended, and
#: where they are a tail; after every cell without rows with an eighth of that, but not less than the last: an end shall
#: hardly ever be absurd.
BY_CHANCE = 0.0005
IN_TAIL = 0.03
LEAST_CHANCE = 1e-12

#: So many standard deviations stand out of the noise of some 1,000 cells, alone or with their neighbours (one cell of
#: Laplace noise must have more); and close a bin.
STANDING_OUT = 4.0
LONG_TAIL = 7.6
BIN = 3.0

#: What another step of a smoothed histogram costs, in variances of the noise.
CUT = 10.0

#: A tail goes on beyond what stands out of the noise by this part of what does.
TAIL = 1 / 4

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
    is_laplace: bool = False

    @property
    def sd(self) -> float:
        return math.sqrt(self.variance)

    def deviations(self, chance: float) -> float:
        """So many standard deviations the noise exceeds with this chance, about."""
        return math.log(1 / (2 * chance)) / math.sqrt(2) if self.is_laplace else NormalDist().inv_cdf(1 - chance)

    def with_(self, other: NoisyHistogram) -> NoisyHistogram:
        """The mean of both by inverse variance."""
        total = self.variance + other.variance
        mean = (self.values * other.variance + other.values * self.variance) / total
        variance = self.variance * other.variance / total
        return NoisyHistogram(values=mean, variance=variance, is_laplace=self.is_laplace)


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
        NoisyHistogram(
            values=values.astype(np.float64),
            variance=max(float(law.variance()), LEAST_VARIANCE),
            is_laplace=program.is_pure,
        )
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
        fine, in_use = attribute.fine_of_counted(), _cells_in_use(attribute, own.deciding)
        deciding, weights = (
            np.bincount(fine[in_use], weights=each.values[in_use], minlength=attribute.fine)
            for each in (own.deciding, own.both)
        )
        unseen = unseen_cells(attribute, weights, own.both)
        groups, clear = choose_cells(attribute, np.where(unseen, 0.0, deciding), own.deciding.sd, total)
        unseen |= _unseen_together(attribute, groups, np.where(unseen, 0.0, weights), own.both)
        groups = split_groups(join_unseen(groups, weights, unseen), attribute.apart)
        unseen &= np.isin(groups, groups[~unseen])  # not where a public constraint leaves one alone
        in_use &= ~unseen[fine]
        if _has_bins(attribute):
            weights = _smooth_weights(attribute, weights, own.both.sd)
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


def _cells_in_use(attribute: Attribute, deciding: NoisyHistogram) -> NDArray[np.bool_]:
    """Which counted cells make up the histogram: not those outside open ends that seem to hold nobody."""
    in_use = np.ones(len(deciding.values), dtype=np.bool_)
    if attribute.open:
        outer = [0, len(attribute.edges)]
        in_use[outer] = deciding.values[outer] > RARE * deciding.sd
    return in_use


def unseen_cells(attribute: Attribute, weights: NDArray[np.float64], own: NoisyHistogram) -> NDArray[np.bool_]:
    """Which fine cells nobody seems to have: NULL below its noise; and, where ends were bought, what lies beyond.

    Cells outside the bounds that were bought are seen one by one, the farther the harder; bins within them from the
    first place to the last where rows stand out of the noise.
    """
    unseen = np.zeros(attribute.fine, dtype=np.bool_)
    if attribute.null:
        unseen[-1] = weights[-1] < own.deviations(SEEN) * own.sd
    if attribute.open:
        below, above = attribute.outer
        last = len(attribute.edges) - 1 - above
        inner, is_positive = weights[below:last], attribute.edges[below] >= 0
        is_tail = [RARE * own.sd < count < 2 * STANDING_OUT * own.sd for count in (inner[0], inner[-1])]
        seen = SeenRange(first=0, end=len(inner), is_tail=(is_tail[0], is_tail[1]))
        if _has_bins(attribute):
            seen = seen_range(inner, own.sd, margin=TAIL, is_laplace=own.is_laplace)
        lower = _seen_outward(weights[:below][::-1], own, is_tail=seen.is_tail[0], is_below_zero=is_positive)
        upper = _seen_outward(weights[last : last + above], own, is_tail=seen.is_tail[1])
        unseen[:below], unseen[last : last + above] = ~lower[::-1], ~upper
        # Where rows lie outside the bounds, some lie everywhere up to them.
        unseen[below : below + seen.first] = not lower.any() and not _is_tail_long(
            inner[: seen.first], seen.is_tail[0], own
        )
        unseen[below + seen.end : last] = not upper.any() and not _is_tail_long(inner[seen.end :], seen.is_tail[1], own)
    unseen &= not unseen[: len(attribute.edges) - 1].all()
    return unseen


def _is_tail_long(beyond: NDArray[np.float64], is_tail: bool, own: NoisyHistogram) -> bool:
    """Whether a tail seems to go on to the bound: all cells beyond what is seen together hold more than their noise."""
    return is_tail and float(beyond.sum()) > own.sd * math.sqrt(len(beyond))


def _seen_outward(
    outward: NDArray[np.float64], own: NoisyHistogram, *, is_tail: bool, is_below_zero: bool = False
) -> NDArray[np.bool_]:
    """Which cells outside a bound hold rows, from the bound outward.

    `is_tail`: there are few rows at the bound, so that they may go on; beside many, or none, they have ended.
    """
    seen, gap = np.zeros(len(outward), dtype=np.bool_), 0
    for place, count in enumerate(outward.tolist()):
        chance = max((IN_TAIL if is_tail else BY_CHANCE) / 8**gap / (10 if is_below_zero else 1), LEAST_CHANCE)
        seen[place] = count > own.deviations(chance) * own.sd
        if seen[place]:
            is_tail, gap = count < 2 * STANDING_OUT * own.sd, 0
        else:
            gap += 1
    return seen


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRange:
    """From which cell to before which one rows are seen; and whether each end is a tail: there noise hides more."""

    first: int
    end: int
    is_tail: tuple[bool, bool]


def seen_range(
    values: NDArray[np.float64], sd: float, *, margin: float, is_laplace: bool = False, most: int | None = None
) -> SeenRange:
    """Where rows stand out of the noise, alone or with their neighbours; everywhere if they do nowhere.

    An end that stands out clearly in one cell is sharp, and stays there. Others are tails, and move out by `margin` of
    what is seen, and by twice the cells that had to be seen together, of which there may be no more than `most`.

    >>> seen_range(np.array([1.0, -2, 1, 90, 80, 2, 70, -1]), 3.0, margin=1)
    SeenRange(first=3, end=7, is_tail=(False, False))
    >>> seen_range(np.array([1.0, -2, 1, 6, 11, 12, 90, 80, 2, 70, -1]), 3.0, margin=0.25)
    SeenRange(first=3, end=10, is_tail=(True, False))
    """
    seen: list[tuple[int, int, bool]] = []
    is_narrower, width = np.zeros(len(values), dtype=np.bool_), 1
    while width <= (most or len(values)):
        sums = np.add.reduceat(values, np.arange(0, len(values), width))
        # A sum of Laplace noise has its long tails at first, and those of a Gaussian in the end.
        least = sd * max(STANDING_OUT * math.sqrt(width), LONG_TAIL if is_laplace else 0.0)
        for place in np.flatnonzero(sums > least).tolist():
            own = slice(place * width, min((place + 1) * width, len(values)))
            if not is_narrower[own].any():
                seen.append((own.start, own.stop, not (width == 1 and sums[place] > 2 * least)))
            is_narrower[own] = True
        width *= 2
    if not seen:
        return SeenRange(first=0, end=len(values), is_tail=(True, True))
    first, last = min(seen), max(seen, key=lambda each: each[1])
    tail = math.ceil(margin * (last[1] - first[0]))
    start = first[0] - first[2] * max(tail, 2 * (first[1] - first[0]))
    end = last[1] + last[2] * max(tail, 2 * (last[1] - last[0]))
    return SeenRange(first=max(0, start), end=min(len(values), end), is_tail=(first[2], last[2]))


def smooth_counts(values: NDArray[np.float64], sd: float) -> NDArray[np.float64]:
    """Noisy counts of neighbouring cells as steps: the mean of each stretch that noise does not tell apart.

    Of all ways to halve a stretch, and its halves again, the one of least squares, where every cut costs `CUT`. Between
    steps that are seen others are 0; beyond them, in the tails, they are as they were measured, but never below 0.

    >>> noisy = np.array([3.0, -4, 2, 3, 95, 105, 2, -3])
    >>> smooth_counts(noisy, 3.0).tolist()
    [1.0, 1.0, 1.0, 1.0, 100.0, 100.0, 0.0, 0.0]
    """
    sums, squares = (np.concatenate([[0.0], np.cumsum(values**power)]) for power in (1, 2))

    def best(low: int, high: int) -> tuple[float, list[int]]:
        """The least cost of a stretch, in variances, and where its steps end."""
        size = high - low
        whole = (squares[high] - squares[low] - (sums[high] - sums[low]) ** 2 / size) / sd**2
        if size == 1 or whole <= CUT:
            return whole, [high]
        middle = (low + high) // 2
        (left, left_ends), (right, right_ends) = best(low, middle), best(middle, high)
        cut = left + right + CUT
        return (cut, left_ends + right_ends) if cut < whole else (whole, [high])

    ends = best(0, len(values))[1] if len(values) else []
    starts = [0, *ends[:-1]]
    rows = [sums[high] - sums[low] for low, high in zip(starts, ends, strict=True)]
    is_seen = [own > RARE * sd * math.sqrt(high - low) for own, low, high in zip(rows, starts, ends, strict=True)]
    first, last = (is_seen.index(True), len(ends) - is_seen[::-1].index(True)) if any(is_seen) else (len(ends), 0)
    steps = np.zeros(len(values))
    for place, (low, high) in enumerate(zip(starts, ends, strict=True)):
        if is_seen[place] or not first <= place < last:
            steps[low:high] = max(0.0, rows[place] / (high - low))
    return steps


def _unseen_together(
    attribute: Attribute, groups: NDArray[np.int64], weights: NDArray[np.float64], own: NoisyHistogram
) -> NDArray[np.bool_]:
    """Rare values that nobody declared, where together they are below their noise: a word, or a code, too many."""
    unseen = np.zeros(attribute.fine, dtype=np.bool_)
    if (attribute.open or attribute.of is not None) and not _has_bins(attribute):
        cells = np.bincount(groups, weights=weights != 0)
        is_noise = np.bincount(groups, weights=weights) < own.deviations(SEEN) * own.sd * np.sqrt(cells)
        if not is_noise.all():
            unseen = is_noise[groups]
    return unseen


def _smooth_weights(attribute: Attribute, weights: NDArray[np.float64], sd: float) -> NDArray[np.float64]:
    """The weights with those of even cells smoothed: what is drawn within a bin is no noise."""
    below, last = attribute.outer[0], len(attribute.edges) - 1 - attribute.outer[1]
    return np.concatenate([weights[:below], smooth_counts(weights[below:last], sd), weights[last:]])


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
    """Bins of fine cells, from the least value on: each closed as soon as it stands out of its noise.

    Where there is little noise they have about equal numbers of rows; where there is much they are narrow where rows
    are, and wide where few are. At least two. And which fine cells are clear: those whose noise did not draw the bins.
    """
    cells = len(attribute.edges) - 1
    steps = smooth_counts(values[:cells], sd)
    groups, bin_, rows, seen = np.zeros(cells, dtype=np.int64), 0, 0.0, 0
    for place, count in enumerate(steps.tolist()):
        groups[place] = bin_
        rows, seen = rows + count, seen + (count != 0)
        is_last_of_step = place + 1 == cells or steps[place + 1] != count
        least = BIN * sd * math.sqrt(seen)
        if seen and rows >= (least if is_last_of_step else max(total / MOST_BINS, least)):
            bin_, rows, seen = bin_ + 1, 0.0, 0
    groups = np.minimum(groups, min(max(bin_ - 1, 0), MOST_BINS - 1))  # what was not closed belongs to the last
    if bin_ < 2:
        groups = np.arange(cells) * 2 // cells
    groups = np.append(groups, groups[-1] + 1) if attribute.null else groups
    clear = np.full(len(groups), bin_ < 2)
    clear[cells:] = True
    return groups, clear
