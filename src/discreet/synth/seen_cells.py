"""Which cells of a column nobody seems to have: below the noise, or beyond where rows are seen. Post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.synth.attribute import Attribute
from discreet.synth.cell_choice import RARE, has_bins
from discreet.synth.cell_weights import rows_beyond
from discreet.synth.noisy_histogram import NoisyHistogram

#: NULL, and what bought bounds or words may have brought in too much, is kept where it holds more rows than noise alone
#: would show with this chance; else nobody has it.
SEEN = 0.003

#: A NULL must be seen more clearly: there is one in nearly every column, and many columns have none.
NULL_SEEN = 0.0005

#: One of a few codes of bought bounds is kept though all that are rare together seem to be noise, where it holds more
#: rows than noise alone would show with this chance.
ALONE = 0.01

#: With this chance noise alone shows rows in a cell outside bounds that were bought, next to one that has rows: an end
#: that is a little too far out costs less than one that leaves out rows. Then where that one is a tail, and where a
#: cell lies between; after every cell without rows with an eighth of that, but not less than the last: an end shall
#: hardly ever be absurd.
NEXT_CHANCE = 0.01
IN_TAIL = 0.03
BY_CHANCE = 0.0005
LEAST_CHANCE = 1e-12

#: So many standard deviations stand out of the noise of some 1,000 cells, alone or with their neighbours. One cell of
#: Laplace noise must have more.
STANDING_OUT = 4.0
LONG_TAIL = 7.6

#: The neighbour of a sharp end holds rows where it is so many standard deviations above 0.
NEXT = 1.28

#: A tail goes on beyond what stands out of the noise by this part of what does.
TAIL = 1 / 4

#: A tail that would go on by this part of the rows is taken to, unless the noisy count is so many standard deviations
#: below half of that.
GOES_ON, BELOW_HALF = 0.003, 1.5

#: Of that, this part is enough for the first cell outside: an end that is a little too far out costs less than one that
#: leaves out rows.
FIRST = 0.15

#: Cells beyond a sharp end hold rows where their sum is above so many standard deviations of their noise; those beyond
#: a tail do unless it is certain that they hold less than this part of the rows.
BEYOND, CERTAIN, FEW_ROWS = 2.33, 2.0, 0.004


def unseen_cells(
    attribute: Attribute, weights: NDArray[np.float64], own: NoisyHistogram, *, by_octaves: bool = False
) -> NDArray[np.bool_]:
    """Which fine cells nobody seems to have: NULL below its noise; and, where ends were bought, what lies beyond.

    Cells outside the bounds that were bought are seen one by one, the farther the harder; bins within them from the
    first place to the last where rows stand out of the noise.
    """
    unseen = np.zeros(attribute.fine, dtype=np.bool_)
    if attribute.null:
        unseen[-1] = weights[-1] < own.deviations(NULL_SEEN) * own.sd
    if attribute.open:
        below, above = attribute.outer
        last = len(attribute.edges) - 1 - above
        inner, edges = weights[below:last], np.array(attribute.edges)
        is_positive = attribute.edges[below] >= 0
        is_tail = [RARE * own.sd < count < 2 * STANDING_OUT * own.sd for count in (inner[0], inner[-1])]
        seen = SeenRange(first=0, end=len(inner), is_tail=(is_tail[0], is_tail[1]))
        if has_bins(attribute):
            seen = seen_range(inner, own.sd, margin=TAIL, is_laplace=own.is_laplace)
        cells = len(edges) - 1
        outward = partial(_Outward.of, is_smooth=has_bins(attribute), by_octaves=by_octaves, sd=own.sd)
        low_side = outward(weights[:last][::-1], -edges[: last + 1][::-1], below)
        high_side = outward(weights[below:cells], edges[below:], above)
        is_below_zero = edges[:below][::-1] < 0 if is_positive else np.zeros(below, dtype=np.bool_)
        low_side = replace(  # nothing goes on below 0 by itself
            low_side, is_unlikely=is_below_zero, expected=np.where(is_below_zero, 0.0, low_side.expected)
        )
        least = GOES_ON * float(weights.sum())
        lower = _seen_outward(low_side, own, is_tail=seen.is_tail[0], least=least)
        upper = _seen_outward(high_side, own, is_tail=seen.is_tail[1], least=least)
        unseen[:below], unseen[last : last + above] = ~lower[::-1], ~upper
        # Where rows lie outside the bounds, some lie everywhere up to them.
        few = FEW_ROWS * float(weights.sum())
        unseen[below : below + seen.first] = not lower.any() and not _has_rows(
            inner[: seen.first], own, is_tail=seen.is_tail[0], few=few
        )
        unseen[below + seen.end : last] = not upper.any() and not _has_rows(
            inner[seen.end :], own, is_tail=seen.is_tail[1], few=few
        )
    unseen &= not unseen[: len(attribute.edges) - 1].all()
    return unseen


def _has_rows(beyond: NDArray[np.float64], own: NoisyHistogram, *, is_tail: bool, few: float) -> bool:
    """Whether cells between what is seen and the bound hold rows: beyond a tail they do unless noise rules it out."""
    rows, sd = float(beyond.sum()), own.sd * math.sqrt(len(beyond))
    return rows + CERTAIN * sd > few if is_tail else rows > BEYOND * sd


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outward:
    """Cells outside a bound, from it outward, with their widths; and how rows fall towards it.

    `expected`: how many rows a cell holds if they go on as they fall within the bound; none where values are codes,
    which have no tail. `rows`: of the last stretch within that is as wide as the first cell. `is_unlikely`: a cell
    beyond 0, where no value within the bound is.
    """

    counts: NDArray[np.float64]
    widths: NDArray[np.float64]
    expected: NDArray[np.float64]
    is_unlikely: NDArray[np.bool_]
    rows: float = 0.0
    is_smooth: bool = False

    @classmethod
    def of(
        cls,
        counts: NDArray[np.float64],
        edges: NDArray[np.int64],
        outside: int,
        *,
        is_smooth: bool,
        by_octaves: bool,
        sd: float,
    ) -> _Outward:
        """`counts` and `edges` of all cells in this direction, of which the last are so many outside."""
        inner = len(counts) - outside
        widths = np.diff(edges[inner:]).astype(np.float64)
        expected, rows = np.zeros(outside), 0.0
        if outside and is_smooth:
            expected = rows_beyond(counts[:inner], edges, sd, by_octaves=by_octaves)
            start = int(np.searchsorted(edges[:inner], edges[inner] - int(widths[0])))
            rows = float(counts[start:inner].sum())
            rows = rows if rows > CERTAIN * sd * math.sqrt(inner - start) else 0.0
        return cls(
            counts=counts[inner:],
            widths=widths,
            expected=expected,
            is_unlikely=np.zeros(outside, dtype=np.bool_),
            rows=rows,
            is_smooth=is_smooth,
        )

    def goes_on(self, sd: float, least: float) -> NDArray[np.bool_]:
        """Which cells hold rows because those within the bound fall so that `least` rows or more are expected there or
        farther, unless the counts up to them, or their own, say otherwise.
        """
        beyond = np.cumsum(self.expected[::-1])[::-1]
        limit = BELOW_HALF * sd
        together = np.cumsum(self.counts - self.expected / 2) > -limit * np.sqrt(np.arange(1, len(self.counts) + 1))
        allowed = together & (self.counts > self.expected / 2 - limit)
        least_rows = np.full(len(beyond), least)
        least_rows[:1] *= FIRST
        return (beyond > least_rows) & np.logical_and.accumulate(allowed)


def _seen_outward(outward: _Outward, own: NoisyHistogram, *, is_tail: bool, least: float) -> NDArray[np.bool_]:
    """Which cells outside a bound hold rows, from the bound outward.

    `is_tail`: there are few rows at the bound, so that they may go on; beside many, or none, they have ended. Where
    rows go on as they fell, within the bound or from cell to cell outside, and that comes to `least` rows, a cell holds
    some unless its count says otherwise.
    """
    seen, gap = np.zeros(len(outward.counts), dtype=np.bool_), 0
    here, fall, last_count, twice_as_far = outward.rows, 0.0, 0.0, 0.0
    units, goes_on = outward.widths / outward.widths[:1], outward.goes_on(own.sd, least)
    for place, (count, unit) in enumerate(zip(outward.counts.tolist(), units.tolist(), strict=True)):
        chance = (IN_TAIL if is_tail else NEXT_CHANCE if gap == 0 else BY_CHANCE) / 8**gap
        chance = max(chance / (10 if outward.is_unlikely[place] else 1), LEAST_CHANCE)
        expected = 0.0
        if outward.is_smooth and not outward.is_unlikely[place]:
            expected = max(here * fall * min(unit, 1 / (1 - fall) if fall < 1 else unit), twice_as_far)
        seen[place] = goes_on[place] or count > own.deviations(chance) * own.sd
        seen[place] |= expected > least and count > expected / 2 - BELOW_HALF * own.sd
        if seen[place]:
            is_tail, gap = count < 2 * STANDING_OUT * own.sd, 0
        else:
            gap += 1
        own_count = max(0.0, count) if seen[place] else 0.0
        twice_as_far = own_count * min(1.0, own_count / last_count) if last_count > 0 else 0.0
        density, last_count = own_count / unit, own_count
        here, fall = density, min(1.0, density / here) if here > 0 else 0.0
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

    An end that stands out clearly in one cell is sharp, and moves out only by neighbours that seem to hold rows. Others
    are tails, and move out by `margin` of what is seen, and by twice the cells that had to be seen together, of which
    there may be no more than `most`.

    >>> seen_range(np.array([1.0, -2, 1, 90, 80, 2, 70, -1]), 3.0, margin=1)
    SeenRange(first=3, end=7, is_tail=(False, False))
    >>> seen_range(np.array([1.0, -2, 1, 6, 11, 12, 90, 80, 2, 70, -1]), 3.0, margin=0.25)
    SeenRange(first=0, end=10, is_tail=(True, False))
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
    while not first[2] and start > 0 and values[start - 1] > NEXT * sd:
        start -= 1
    while not last[2] and end < len(values) and values[end] > NEXT * sd:
        end += 1
    return SeenRange(first=max(0, start), end=min(len(values), end), is_tail=(first[2], last[2]))


def unseen_together(
    attribute: Attribute, groups: NDArray[np.int64], weights: NDArray[np.float64], own: NoisyHistogram
) -> NDArray[np.bool_]:
    """Rare values that nobody declared, where together they are below their noise: a word, or a code, too many."""
    unseen = np.zeros(attribute.fine, dtype=np.bool_)
    if (attribute.open or attribute.of is not None) and not has_bins(attribute):
        cells = np.bincount(groups, weights=weights != 0)
        is_noise = np.bincount(groups, weights=weights) <= own.deviations(SEEN) * own.sd * np.sqrt(cells)
        if not is_noise.all():
            unseen = is_noise[groups] & ~_is_clear(attribute, weights, own)
    return unseen


def _is_clear(attribute: Attribute, weights: NDArray[np.float64], own: NoisyHistogram) -> NDArray[np.bool_]:
    """Which cells of a column with bought bounds stand out of the noise by themselves: a code that few have lies beside
    others that nobody has.
    """
    clear: NDArray[np.bool_] = weights > own.deviations(ALONE) * own.sd
    clear[len(clear) - attribute.null :] = False
    return clear if attribute.open else np.zeros_like(clear)


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
