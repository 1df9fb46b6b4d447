"""How large the numbers of a column are, by powers of two: one noisy histogram for both ends, and what it shows.

A choice of one end weighs what few rows lie beyond it against how far away it is; at a small epsilon distance wins,
and a column of zeros and ones comes out as all zeros. Here every power of two that holds more rows than noise explains
lies within the ends, whatever its distance. Where noise could hide rows that matter, the ends go one power further.
From noisy values and public facts alone, but for the one measurement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.answers.bounds.row_limit import FAR
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code

#: With this chance noise alone lets a power of two seem to hold rows, where it lies within `NEAR` powers of the
#: fullest one; with a half of it for each power farther away, and a tenth of it below 0 where the fullest is not: an
#: end shall hardly ever be absurd.
BY_CHANCE = Fraction(1, 5000)
NEAR = 10
LEAST_CHANCE = Fraction(1, 10**9)
BELOW_ZERO = Fraction(1, 10)

#: Where a power of two could hide more than this share of the rows, an end goes one further; a column of few values
#: (codes 0 and 1) may have more hidden, for each value that it gains by this is one that it may not have. Not where
#: the last power that is seen holds so many times what could be hidden: there the rows end, and are no tail.
MOST_HIDDEN = Fraction(1, 100)
MOST_HIDDEN_OF_FEW = Fraction(1, 10)
FEW_VALUES = 32
CLIFF = 3

#: So many powers beyond an end are looked at together; they hold rows where their sum is more than this many standard
#: deviations of its noise.
FAINT = 8
FAINTLY = 3.5

#: Two ends no farther apart than this are near enough: nothing is gained by looking closer.
FEW = 256

#: Where a power could hide more than this share of the rows that are seen, the ends are a guess; where it could hide no
#: more than `RELIABLE`, they can be relied on.
MOST_UNKNOWN = Fraction(1, 4)
RELIABLE = Fraction(1, 20)

#: Where no power by itself is seen, so many in a row are looked at together; they are seen where they hold more rows
#: than this many standard deviations of their noise. Where they do not, the fullest of those that lie no farther than
#: `NEARBY` powers from 0 are a guess.
TOGETHER = 4
CLEARLY = 5
NEARBY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEnds:
    """What a histogram of magnitudes shows: ends, about how many rows, and whether anything was seen at all."""

    low: int
    high: int
    rows: int
    is_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Magnitudes:
    """Cells of codes by powers of two, away from `origin` on the sides that are looked at.

    `lows`, `highs`: the candidates of each end, from the nearest to the farthest; empty where an end is declared.
    `unit`: the code of the number 1. `is_half`: the other end is missing too, and has a histogram of its own.

    >>> code = Code("x", None, None, null=True)
    >>> Magnitudes(code=code, origin=0, lows=(0, -1, -2, -9), highs=(0, 1, 2, 4, 9)).axis().edges[1:-1]
    (-2, -1, 0, 1, 2, 3, 5)
    """

    code: Code
    origin: int
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    unit: int = 1
    is_half: bool = False

    def axis(self) -> Axis:
        """A cell for each candidate, in the order of the codes; the farthest one's holds all that lies beyond."""
        below = sorted(self.lows[:-1])
        above = [code + 1 for code in self.highs[:-1]]
        return Axis(of=self.code, edges=(-FAR, *below, *above, FAR), null=False, labels=())

    def seen(self, noisy_counts: Sequence[int], law: DiscreteLaplace | DiscreteGaussian) -> SeenEnds:
        """The ends that hold every cell with more rows than noise explains."""
        cells = self._cells()
        fullest = int(np.argmax(noisy_counts))
        limits = [_limit(law, self._chance(place, fullest, cells)) for place in range(len(cells))]
        populated = [place for place, count in enumerate(noisy_counts) if count > limits[place]]
        if not populated:
            return self._seen_together(noisy_counts, law, cells)
        rows = sum(int(noisy_counts[place]) for place in populated)
        first, last = self._with_faint(noisy_counts, populated[0], populated[-1], math.sqrt(float(law.variance())))
        least = cells[first][0]
        size, limit = cells[last][1] - cells[first][0] + 1, limits[fullest]
        is_known = limit <= rows * MOST_UNKNOWN
        if size == 1 and limit > rows * MOST_HIDDEN and not self._holds_all_above():
            first, last, is_known = *self._with_second(noisy_counts, first, math.sqrt(float(law.variance()))), False
        elif limit > rows * (MOST_HIDDEN if size > FEW_VALUES else MOST_HIDDEN_OF_FEW):
            is_tail = [noisy_counts[end] < CLIFF * limit for end in (first, last)]
            first, last = max(0, first - is_tail[0]), min(len(cells) - 1, last + is_tail[1])
        return self._ends(first, last, least, rows, is_known=is_known)

    def _with_faint(self, noisy_counts: Sequence[int], first: int, last: int, sd: float) -> tuple[int, int]:
        """Cells that hold rows, and on each side those beyond them that hold rows only together.

        Rows that are spread over several powers, as those below 0 of a column around 0, may be seen in none of them.
        """
        below, above = (
            list(noisy_counts[max(0, first - FAINT) : first])[::-1],
            noisy_counts[last + 1 : last + 1 + FAINT],
        )
        return first - _faint_cells(below, sd), last + _faint_cells(above, sd)

    def _holds_all_above(self) -> bool:
        """Whether the cell of the origin holds every code above it: the other end has a histogram of its own."""
        return self.is_half and not self.highs

    def _with_second(self, noisy_counts: Sequence[int], only: int, sd: float) -> tuple[int, int]:
        """One value is never all: the cell that holds it, and the likeliest one near it on a side that is looked at.

        A power away from the number 1 weighs as much as one standard deviation of the noise.
        """
        cells = self._cells()
        places = range(only + 1, min(len(cells), only + NEARBY + 1))
        if not self.highs or not places:
            places = range(max(0, only - NEARBY), only)

        def likelihood(place: int) -> float:
            far = max(abs(end - self.origin) for end in cells[place])
            return noisy_counts[place] - sd * abs(math.log2(max(1, far) / self.unit))

        second = max(places, key=likelihood)
        return min(only, second), max(only, second)

    def _seen_together(
        self, noisy_counts: Sequence[int], law: DiscreteLaplace | DiscreteGaussian, cells: Sequence[tuple[int, int]]
    ) -> SeenEnds:
        """The ends of the few cells in a row that hold most."""
        sums = np.convolve(np.array(noisy_counts, dtype=float), np.ones(TOGETHER), mode="valid")
        first = int(np.argmax(sums))
        is_known = bool(sums[first] > CLEARLY * math.sqrt(TOGETHER * float(law.variance())))
        if not is_known:
            origin = cells.index((self.origin, self.origin))
            near = slice(max(0, origin - (NEARBY if not self.highs else 0)), origin + NEARBY)
            first = near.start + int(np.argmax(sums[near]))
        return self._ends(first, first + TOGETHER - 1, cells[first][0], max(1, int(sums[first])), is_known=is_known)

    def _ends(self, first: int, last: int, least: int, rows: int, *, is_known: bool = True) -> SeenEnds:
        """The ends of these cells, where they are looked for; `least`: the least code of a cell with rows.

        They reach to 0 where that is near beside their width, and below it only where rows were seen there.
        """
        cells = self._cells()
        low = cells[first][0] if self.lows else self.origin
        high = cells[last][1] if self.highs else self.origin
        if self.lows and self.origin == 0 and (low < 0 <= least or 0 < low <= high // 4):
            low = 0
        if self.highs and self.origin == 0 and low // 4 <= high < 0:
            high = 0
        return SeenEnds(low=low, high=high, rows=rows, is_known=is_known)

    def _cells(self) -> list[tuple[int, int]]:
        """The least and the largest candidate code of each cell."""
        below = [(low, near - 1) for near, low in zip(self.lows, self.lows[1:], strict=False)]
        above = [(near + 1, high) for near, high in zip(self.highs, self.highs[1:], strict=False)]
        return [*reversed(below), (self.origin, self.origin), *above]

    def _chance(self, place: int, fullest: int, ends: Sequence[tuple[int, int]]) -> Fraction:
        distance = abs(place - fullest)
        chance: Fraction = BY_CHANCE / int(2 ** max(0, distance - NEAR))
        if self.origin == 0 and ends[place][1] < 0 <= ends[fullest][0]:
            chance *= BELOW_ZERO
        return max(chance, LEAST_CHANCE)


def _faint_cells(outward: Sequence[int], sd: float) -> int:
    """How many of these cells, from an end outward, are taken in: up to the last that stands out, if they do."""
    if not outward or sum(outward) <= FAINTLY * sd * math.sqrt(len(outward)):
        return 0
    standing_out = [place + 1 for place, count in enumerate(outward) if count > 2 * sd]
    return max(standing_out, default=1 + int(np.argmax(outward)))


def rows_to_rely_on(law: DiscreteLaplace | DiscreteGaussian) -> int:
    """From about so many rows on the ends that noise of this law shows can be relied on. Before any data."""
    return math.ceil(_limit(law, BY_CHANCE) / RELIABLE)


@lru_cache(maxsize=1024)  # the cells of one column have a few chances between them
def _limit(law: DiscreteLaplace | DiscreteGaussian, chance: Fraction) -> int:
    """What noise alone stays at or below, but for this chance."""
    return law.half_width(1 - 2 * chance)
