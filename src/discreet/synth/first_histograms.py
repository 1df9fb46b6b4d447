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
from discreet.synth.cell_choice import MOST_BINS, RARE, choose_cells, has_bins, split_groups
from discreet.synth.fine_cells import fine_weights, is_by_octaves
from discreet.synth.noisy_histogram import LEAST_VARIANCE, HistogramPair, NoisyHistogram
from discreet.synth.seen_cells import join_unseen, kept_weights, unseen_cells, unseen_together

#: This part of what a histogram costs decides about its cells, by noise of its own: what is merged by the noise that is
#: then summed comes out too small, and what is left too large.
DECIDING = Fraction(1, 4)

#: Of what the histogram of a column with bins costs, this part counts the bins themselves.
BINS = Fraction(1, 3)

#: Of what histograms cost this part is split evenly, the rest by their sizes: small columns are asked about most.
#: Of a pure epsilon more of it where bounds were bought, so that codes are seen, too.
EVEN, EVEN_OF_BOUGHT = Fraction(1, 2), Fraction(3, 4)

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
    parts = _split(event, attributes, share)
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


def _histograms(
    program: Program, cut: BinnedTable, attributes: Sequence[Attribute], share: Fraction
) -> list[HistogramPair]:
    parts = _split(program.event, attributes, share)
    steps = [(place, own) for place, attribute in enumerate(attributes) for own in _parts(attribute)]
    laws = [program.law(parts[place] * own) for place, own in steps]
    noisy = cut.measure([(place,) for place, _ in steps], laws)
    pairs: dict[int, list[NoisyHistogram]] = {}
    for (place, _), values, law in zip(steps, noisy, laws, strict=True):
        histogram = NoisyHistogram(
            values=values.astype(np.float64),
            variance=max(float(law.variance()), LEAST_VARIANCE),
            is_laplace=program.is_pure,
        )
        pairs.setdefault(place, []).append(histogram)
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


def split_with_floor(
    event: ReservationEvent, sizes: Sequence[int], share: Fraction, *, even: Fraction = EVEN
) -> list[Fraction]:
    """As `split_share`, but a part of it evenly: no column has much more noise than an even split would give it.

    >>> event = ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0))
    >>> [str(part) for part in split_with_floor(event, [1, 4], Fraction(1))]
    ['5/12', '7/12']
    """
    evenly = share * even / len(sizes)
    return [evenly + part for part in split_share(event, sizes, share * (1 - even))]


def _split(event: ReservationEvent, attributes: Sequence[Attribute], share: Fraction) -> list[Fraction]:
    """What each column's histogram gets of a share."""
    is_bought = event.epsilon is not None and any(attribute.open for attribute in attributes)
    sizes = [_cells(attribute) for attribute in attributes]
    return split_with_floor(event, sizes, share, even=EVEN_OF_BOUGHT if is_bought else EVEN)


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
        fine, in_use = attribute.fine_of_counted(), cells_in_use(attribute, own.deciding)
        deciding, weights = (
            np.bincount(fine[in_use], weights=each.values[in_use], minlength=attribute.fine).astype(np.float64)
            for each in (own.deciding, own.both)
        )
        unseen = unseen_cells(attribute, weights, own.both, by_octaves=is_by_octaves(attribute))
        deciding = fine_weights(attribute, np.where(unseen, 0.0, deciding), own.deciding)
        groups, clear = choose_cells(attribute, deciding, own.deciding.sd, total)
        unseen |= unseen_together(attribute, groups, np.where(unseen, 0.0, weights), own.both)
        groups = split_groups(join_unseen(groups, weights, unseen), attribute.apart)
        unseen &= np.isin(groups, groups[~unseen])  # not where a public constraint leaves one alone
        in_use &= ~unseen[fine]
        weights = fine_weights(attribute, np.where(unseen, 0.0, weights), own.both)
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
