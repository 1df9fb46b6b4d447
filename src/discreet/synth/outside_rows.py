"""Rows outside bought bounds: counted with noise in cells that widen away from the bounds, which then move outward.

An end that is chosen with little epsilon comes out too near, and nothing in the choice shows it. A noisy histogram of
what lies outside does: a cell that holds more rows than noise explains is taken in. From noisy values and public
facts alone, but for the one measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.answers.bounds.end_search import EndSearch
from discreet.answers.bounds.round_bounds import first_code, last_code, round_outward
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.plan.cells import Axis
from discreet.sql.typed_expression import column_expression
from discreet.synth.attribute import FAR

#: With this chance, at most, noise alone moves an end to the first cell outside; to each one after it with an
#: eighth of that, but not less than the last: an end shall hardly ever be absurd.
BY_CHANCE = Fraction(1, 100)
LEAST_CHANCE = Fraction(1, 10**12)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideCells:
    """Cells around the bounds of one column; `below` and `above` are their edges, from the bounds outward.

    Beside the bounds lie two cells of half their width; each one after them is as wide as all before it.

    >>> from discreet.schema.column import NumberColumn
    >>> column = NumberColumn(name="x", type="integer")
    >>> search = EndSearch(column=column, missing_ends=("low", "high"), codes={}, low=0, high=3)
    >>> [OutsideCells.of(search).above[:5], OutsideCells.of(search).below[:5]]
    [(4, 6, 8, 12, 20), (0, -2, -4, -8, -16)]
    """

    search: EndSearch
    low: int
    high: int
    below: tuple[int, ...]
    above: tuple[int, ...]

    @staticmethod
    def of(search: EndSearch) -> OutsideCells:
        """The cells outside the bounds that were chosen, rounded; none at an end that is declared."""
        assert search.low is not None and search.high is not None
        low, high = round_outward(search.column, search.low, search.high)
        half = max(1, (high - low + 1) // 2)
        above = _edges(high + 1, half, last_code(search.column) + 1) if "high" in search.missing_ends else (high + 1,)
        below = _edges(-low, half, -first_code(search.column)) if "low" in search.missing_ends else (-low,)
        return OutsideCells(search=search, low=low, high=high, below=tuple(-edge for edge in below), above=above)

    def axis(self) -> Axis:
        """All cells, rising: those below, what lies within the bounds, those above; and NULL."""
        edges = (-FAR, *reversed(self.below[:-1]), *self.above[:-1], FAR)
        return Axis(of=column_expression(self.search.column).expression, edges=edges, null=True, labels=())

    def moved_bounds(self, noisy_counts: NDArray[np.int64], limits: Sequence[float]) -> tuple[int, int]:
        """The bounds, moved out to the last cell on each side that holds more rows than its limit; never one value."""
        below = noisy_counts[: len(self.below) - 1][::-1]
        above = noisy_counts[len(self.below) : -1]
        low, high = self.below[_last(below, limits)], self.above[_last(above, limits)] - 1
        if low < high:
            return low, high
        return self._two_values(float(below[0]) if len(below) else -FAR, float(above[0]) if len(above) else -FAR)

    def _two_values(self, below: float, above: float) -> tuple[int, int]:
        """One value and the next one, on the side where more rows seem to be; few columns have values below 0."""
        if (above >= below or self.low == 0 < len(self.above) - 1) and self.high < last_code(self.search.column):
            return self.low, self.high + 1
        return self.low - 1, self.high


def _edges(start: int, half: int, most: int) -> tuple[int, ...]:
    """From a bound outward, up to where codes end."""
    widths = [0, half, *(half * 2**power for power in range(1, 64))]
    edges = [start + width for width in widths if start + width < most]
    return (*edges, most) if edges else (start,)


def _last(noisy_counts: NDArray[np.int64], limits: Sequence[float]) -> int:
    """How many cells, from the bound outward, are taken in."""
    populated = [place + 1 for place, count in enumerate(noisy_counts.tolist()) if count > limits[place]]
    return max(populated, default=0)


def widen_bounds(program: Program, outside_cells: Sequence[OutsideCells], *, share: Fraction) -> list[tuple[int, int]]:
    """The bounds of columns, moved outward as far as rows were seen there, for this share in all, as one step.

    Guarantee: the step's loss is `share` of the reservation, for neighbours under the version's unit.
    Because: cells of one column share no row, so a unit of so many rows moves the counts of a column by no more than
        that, for which `program.law` makes the noise; the shares of the columns add up; the rest is
        post-processing of noisy counts.
    """
    law = program.law(share / len(outside_cells))
    cut = BinnedTable(program, tuple(outside.axis() for outside in outside_cells))
    noisy = cut.measure(
        [(place,) for place in range(len(outside_cells))], [law] * len(outside_cells), word="describing"
    )
    most = max(len(edges) for outside in outside_cells for edges in (outside.below, outside.above))
    limits = [float(law.half_width(1 - 2 * max(BY_CHANCE / 8**place, LEAST_CHANCE))) for place in range(most)]
    return [outside.moved_bounds(values, limits) for outside, values in zip(outside_cells, noisy, strict=True)]
