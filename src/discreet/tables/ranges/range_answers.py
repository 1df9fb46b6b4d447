"""A release of ranges as answers: any interval, prefix or quantile, from the same noisy numbers. Free."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import Flag, Message, UsageError
from discreet.inference.linear.bucket_solver import BucketSolver
from discreet.inference.linear.solvers import Solver, solver_for
from discreet.kernel.measurement import Law
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import Strategy
from discreet.plan.price import confidence_of
from discreet.release import Spending
from discreet.schema.column import Label
from discreet.tables.ranges.ruler import Ruler

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeCount:
    """How many rows have a value from `low` to `high`, both included; without noise it lies within `interval`.

    The value is the least-squares one: unbiased, and all intervals of a release add up. It may be below 0.
    """

    low: Label
    high: Label
    value: float
    interval: tuple[float, float]

    def to_data(self) -> list[Any]:
        return [self.low, self.high, self.value, list(self.interval)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeQuantile:
    """The least value, of those that end a cell, that a fraction of the rows lies at or below, by the noisy numbers.

    `interval`: without noise the quantile lies between these values, with the confidence asked for. The value is None
    where the noise hides it: there may be no row, or the interval is all of the column.
    """

    fraction: float
    value: Label
    interval: tuple[Label, Label]

    def to_data(self) -> list[Any]:
        return [self.fraction, self.value, list(self.interval)]


@dataclass(frozen=True, kw_only=True, repr=False)
class Ranges:
    """A release of the ranges of a column: ask it for intervals, prefixes and quantiles as often as you like."""

    release: str
    table: str
    version: int
    ruler: Ruler
    strategy: Strategy
    law: Law
    noisy: NDArray[Any]
    words: str
    expected_rmse: float
    cost: Spending
    cached: bool = False
    warnings: tuple[str, ...] = ()
    requested_cells: tuple[tuple[int, int], ...] = ()
    spread: bool = False
    where: str | None = None

    @cached_property
    def solver(self) -> Solver:
        if self.spread and isinstance(self.strategy, MergeStrategy):
            return BucketSolver(self.strategy, solver_for(self.strategy.inner))
        return solver_for(self.strategy)

    def determines(self, places: Sequence[tuple[int, int]]) -> bool:
        """Whether the release determines all of these ranges; one that was planned for others may not."""
        if not places:
            return True
        lows, highs = (np.array(ends, dtype=np.int64) for ends in zip(*places, strict=True))
        return bool(np.isfinite(self.solver.range_variances(lows, highs)).all())

    @property
    def only(self) -> bool:
        """Whether it was planned for a few ranges and tells no others."""
        return isinstance(self.strategy, MergeStrategy) and not self.spread

    @cached_property
    def cells(self) -> Floats:
        """The least-squares number of rows in each cell: unbiased, and together they fit what was measured best."""
        return self.solver.fit(self.noisy)

    @cached_property
    def _sums(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self.cells)])

    def between(self, low: object = None, high: object = None, *, confidence: object = "0.95") -> RangeCount:
        """How many rows lie from `low` to `high`, both included; an end left out is the column's own."""
        return self._intervals([self.ruler.cells_of(low, high)], confidence)[0]

    def upto(self, high: object, *, confidence: object = "0.95") -> RangeCount:
        """How many rows lie at or below a value."""
        return self.between(None, high, confidence=confidence)

    def intervals(
        self, ranges: Iterable[tuple[object, object]] | None = None, *, confidence: object = "0.95"
    ) -> list[RangeCount]:
        """Several intervals at once; those that were asked for, where none are given."""
        places = self.requested_cells if ranges is None else [self.ruler.cells_of(low, high) for low, high in ranges]
        return self._intervals(places, confidence)

    def _intervals(self, places: Sequence[tuple[int, int]], confidence: object) -> list[RangeCount]:
        if not places:
            return []
        if not self.determines(places):
            raise UsageError(
                "this release was planned for other ranges and cannot answer these",
                hint=Message(Flag("epsilon", 1), " makes one that can"),
            )
        lows, highs = (np.array(ends, dtype=np.int64) for ends in zip(*places, strict=True))
        values = self._sums[highs + 1] - self._sums[lows]
        widths = self.solver.half_widths(lows, highs, self.law, confidence_of(confidence))
        range_rows = zip(lows.tolist(), highs.tolist(), values.tolist(), widths.tolist(), strict=True)
        return [
            RangeCount(
                low=self.ruler.low(low),
                high=self.ruler.high(high),
                value=_shown(value, width),
                interval=(_shown(value - width, width), _shown(value + width, width)),
            )
            for low, high, value, width in range_rows
        ]

    def quantile(self, fraction: object, *, confidence: object = "0.95") -> RangeQuantile:
        """The value that a fraction of the rows lies at or below, and an interval that holds it.

        The interval holds the exact quantile with at least this confidence: it ends where the number of rows below,
        and its noise, and the noise of the number of all rows, leave no doubt. Both noises are bounded at once.
        """
        checked_fraction = quantile_of(fraction)
        if self.only:
            raise UsageError("this release was planned for given ranges only and has no quantiles")
        sums, total = self._monotone, max(float(self._monotone[-1]), 0.0)
        place = min(int(np.searchsorted(sums[1:], float(checked_fraction) * total)), self.ruler.cells - 1)
        first, last = self._quantile_ends(float(checked_fraction), place, confidence_of(confidence))
        hidden = self.ruler.cells > 1 and (self._may_be_empty or (first, last) == (0, self.ruler.cells - 1))
        first, last = (0, self.ruler.cells - 1) if hidden else (first, last)
        ends = (self.ruler.low(first), self.ruler.high(last))
        return RangeQuantile(
            fraction=float(checked_fraction), value=None if hidden else self.ruler.high(place), interval=ends
        )

    @cached_property
    def _may_be_empty(self) -> bool:
        """Whether the noise leaves open that there is any row."""
        ends = np.array([0]), np.array([self.ruler.cells - 1])
        return float(self._sums[-1]) <= float(self.solver.half_widths(*ends, self.law, Fraction(99, 100))[0])

    @cached_property
    def _monotone(self) -> Floats:
        """The numbers of rows below each edge, made to rise from 0 to all of them, as they must, noise or not.

        Half way between the smallest rising numbers that are nowhere below, and the largest that are nowhere above.
        """
        above = np.maximum.accumulate(self._sums)
        below = np.minimum.accumulate(self._sums[::-1])[::-1]
        rising = np.clip((above + below) / 2, 0.0, max(0.0, float(self._sums[-1])))
        rising[0] = 0.0
        return np.asarray(rising)

    @cached_property
    def _tested_widths(self) -> dict[tuple[int, Fraction], Floats]:
        """The bounds of both parts at a cell: other quantiles, and the other end of one, are tested there as well."""
        return {}

    def _quantile_ends(self, fraction: float, place: int, confidence: Fraction) -> tuple[int, int]:
        """The first and the last cell that may hold the quantile.

        Guarantee: they hold the exact one between them with this confidence.
        Because: whether the quantile c lies beyond a cell is told by F(cell) - q N, whose noise is bounded. The search
            by halving would go to c along a path that the data fix; it ends on the wrong side of c only if a test at
            a cell on that path errs on that side. There are at most log2(cells) of those for each end, and
            each test rests on two bounds: they share the doubt.
        """
        last = self.ruler.cells - 1
        tests = 2 * max(1, math.ceil(math.log2(self.ruler.cells)))
        level = 1 - (1 - confidence) / (2 * tests)
        return (
            min(place, self._bisect(lambda cell: self._surely_below(cell, fraction, level), 0, last)),
            max(place, self._bisect(lambda cell: not self._surely_reached(cell, fraction, level), 0, last)),
        )

    def _bisect(self, holds: Callable[[int], bool], low: int, high: int) -> int:
        """The first cell from `low` to `high` at which `holds` is false, by halving."""
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if holds(middle) else (low, middle)
        return low

    def _surely_below(self, cell: int, fraction: float, level: Fraction) -> bool:
        """Whether surely less than the fraction of the rows lies at or below a cell."""
        value, width = self._test(cell, fraction, level)
        return value + width < 0

    def _surely_reached(self, cell: int, fraction: float, level: Fraction) -> bool:
        value, width = self._test(cell, fraction, level)
        return value - width >= 0

    def _test(self, cell: int, fraction: float, level: Fraction) -> tuple[float, float]:
        """F(c) - q N = (1 - q) F(c) - q (N - F(c)), and a bound on its noise: the bounds of both parts."""
        last = self.ruler.cells - 1
        below, above = self._sums[cell + 1], self._sums[-1] - self._sums[cell + 1]
        widths = self._tested_widths.get((cell, level))
        if widths is None:
            lows = np.array([0, min(cell + 1, last)])
            highs = np.array([cell, last])
            widths = self._tested_widths[cell, level] = self.solver.half_widths(lows, highs, self.law, level)
        width = (1 - fraction) * widths[0] + (fraction * widths[1] if cell < last else 0.0)
        return (1 - fraction) * below - fraction * above, float(width)

    @cached_property
    def whole(self) -> NDArray[np.int64]:
        """Whole numbers of rows, none below 0, that add up: the numbers below each edge, made to rise and rounded.

        Taking what is below 0 away makes small cells too large and large ones too small; for unbiased numbers with
        intervals use `cells` and `intervals`.
        """
        return np.diff(np.rint(self._monotone)).astype(np.int64)

    def __repr__(self) -> str:
        paid = "stored, free" if self.cached else f"cost {self.cost}"
        return f"<Ranges {self.release}: {self.ruler.column.name} of {self.table}, {self.ruler.cells:,} cells, {paid}>"

    def to_data(
        self, *, confidence: object = "0.95", quantiles: Sequence[object] = (), whole: bool = False
    ) -> dict[str, Any]:
        """The answers that were asked for as JSON data; the keys are a contract.

        `whole`: numbers from one table of whole numbers, none below 0; intervals stay those of the unbiased ones.
        """
        rows = [interval.to_data() for interval in self.intervals(confidence=confidence)]
        if whole:
            sums = np.concatenate([[0], np.cumsum(self.whole)])
            for row, (low, high) in zip(rows, self.requested_cells, strict=True):
                row[2] = int(sums[high + 1] - sums[low])
        return {
            "release": self.release,
            "version": self.version,
            "column": self.ruler.column.name,
            "where": self.where,
            "by": [],
            "rows": rows,
            "quantiles": [self.quantile(each, confidence=confidence).to_data() for each in quantiles],
            "confidence": float(confidence_of(confidence)),
            "expected_rmse": self.expected_rmse,
            "strategy": self.words,
            "only": self.only,
            "cells": self.ruler.cells,
            "cost": self.cost.to_data(up=True),
            "cached": self.cached,
            "warnings": list(self.warnings),
        }


def quantile_of(fraction: object) -> Fraction:
    """A quantile from 0 to 1."""
    number = exact.number(fraction, name="quantile")
    if not 0 <= number <= 1:
        raise UsageError(f"a quantile must be between 0 and 1, got {exact.show(number)}", hint="0.5 for the median")
    return number


def _shown(value: float, width: float) -> float:
    """A number without the digits that its noise drowns: a thousandth of the width is kept."""
    digits = max(0, 3 - math.floor(math.log10(width))) if width > 0 else 6
    return round(value, min(digits, 12))
