"""Sets of codes as intervals, and the codes of a model's cell that lie in one: drawn by the cell's noisy weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.synth.attribute import Attribute
from discreet.synth.cell_decoder import NULL

#: Beyond every code, with room for sums.
FAR = 2**62

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeSpan:
    """A set of codes: intervals with both ends in them, apart and rising, and perhaps NULL.

    >>> CodeSpan.of([(5, 9), (1, 2), (3, 4)]).intervals
    ((1, 9),)
    """

    intervals: tuple[tuple[int, int], ...]
    null: bool = False

    def __post_init__(self) -> None:
        ends = [end for interval in self.intervals for end in interval]
        apart = all(high + 1 < low for (_, high), (low, _) in zip(self.intervals, self.intervals[1:], strict=False))
        if not apart or any(low > high for low, high in self.intervals) or any(abs(end) > FAR for end in ends):
            raise ValueError("the intervals of a span must be disjoint and increasing")

    @staticmethod
    def of(intervals: Iterable[tuple[int, int]], *, null: bool = False) -> CodeSpan:
        """The union of intervals."""
        joined: list[tuple[int, int]] = []
        for low, high in sorted(intervals):
            if joined and low <= joined[-1][1] + 1:
                joined[-1] = joined[-1][0], max(joined[-1][1], high)
            else:
                joined.append((low, high))
        return CodeSpan(intervals=tuple(joined), null=null)

    def holds(self, codes: Codes) -> NDArray[np.bool_]:
        """Which codes are in it."""
        if not self.intervals:
            return np.asarray((codes == NULL) & self.null)
        lows, highs = np.array(self.intervals, dtype=np.int64).T
        place = np.searchsorted(lows, codes, side="right") - 1
        inside = (place >= 0) & (codes <= highs[np.maximum(place, 0)])
        return np.asarray(np.where(codes == NULL, self.null, inside))

    def others(self) -> CodeSpan:
        """All that is not in it."""
        starts = [-FAR, *(high + 1 for _, high in self.intervals)]
        stops = [*(low - 1 for low, _ in self.intervals), FAR]
        gaps = [(low, high) for low, high in zip(starts, stops, strict=True) if low <= high]
        return CodeSpan(intervals=tuple(gaps), null=not self.null)


def fine_of(attribute: Attribute, codes: Codes) -> Codes:
    """The fine cell of each code; -1 where the column has no such code."""
    edges = np.array(attribute.edges, dtype=np.int64)
    fine_cells = np.searchsorted(edges, codes, side="right") - 1
    fine_cells = np.where((codes >= edges[0]) & (codes < edges[-1]), fine_cells, -1)
    return np.where(codes == NULL, attribute.fine - 1 if attribute.null else -1, fine_cells)


def cells_of(attribute: Attribute, codes: Codes) -> Codes:
    """The model's cell of each code; -1 where there is none."""
    fine = fine_of(attribute, codes)
    return np.where(fine < 0, -1, attribute.groups[fine])


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedIntervals:
    """The codes of one cell that may be drawn: intervals with both ends, and what each weighs. NULL is one, too.

    `attribute`: whose shape codes have within an interval; without it they lie evenly.
    """

    lows: Codes
    highs: Codes
    weights: NDArray[np.float64]
    attribute: Attribute | None = None

    @property
    def empty(self) -> bool:
        return not len(self.lows)

    def draw(self, count: int, generator: np.random.Generator) -> Codes:
        """So many codes by weight; evenly over the pieces where none has any."""
        total = self.weights.sum()
        chances = self.weights / total if total > 0 else np.full(len(self.lows), 1 / len(self.lows))
        place = generator.choice(len(self.lows), size=count, p=chances)
        lows, highs = self.lows[place], self.highs[place]
        if self.attribute is None or self.attribute.shape is None:
            return generator.integers(lows, highs, endpoint=True)
        here = lows != NULL
        drawn = lows.copy()
        drawn[here] = self.attribute.draw_between(lows[here], highs[here] + 1, generator)
        return drawn


def intervals_in_cell(attribute: Attribute, cell: int, within: CodeSpan | None = None) -> WeightedIntervals:
    """The codes of a cell of the model, or those of them that lie in a span."""
    fine = np.flatnonzero(attribute.groups == cell)
    weights = attribute.weights[fine]
    if weights.sum() <= 0:
        weights = np.ones(len(fine))
    null = fine == len(attribute.edges) - 1
    edges = np.array(attribute.edges, dtype=np.int64)
    lows, highs = edges[fine[~null]], edges[fine[~null] + 1] - 1
    intervals = (
        [(lows, highs, weights[~null])]
        if within is None
        else _clip_to_span(attribute, lows, highs, weights[~null], within)
    )
    if null.any() and (within is None or within.null):
        one = np.array([NULL], dtype=np.int64)
        intervals.append((one, one, weights[null]))
    if not intervals:
        nothing = np.zeros(0, dtype=np.int64)
        return WeightedIntervals(lows=nothing, highs=nothing, weights=np.zeros(0))
    columns = [np.concatenate(parts) for parts in zip(*intervals, strict=True)]
    return WeightedIntervals(lows=columns[0], highs=columns[1], weights=columns[2], attribute=attribute)


def _clip_to_span(
    attribute: Attribute, lows: Codes, highs: Codes, weights: NDArray[np.float64], within: CodeSpan
) -> list[tuple[Codes, Codes, NDArray[np.float64]]]:
    """Intervals cut down to a span, each with its part of the weight."""
    clipped = []
    for low, high in within.intervals:
        starts, stops = np.maximum(lows, low), np.minimum(highs, high)
        inside = starts <= stops
        whole = attribute.mass_between(lows[inside], highs[inside] + 1)
        share = attribute.mass_between(starts[inside], stops[inside] + 1) / np.maximum(whole, 1e-300)
        clipped.append((starts[inside], stops[inside], weights[inside] * share))
    return clipped
