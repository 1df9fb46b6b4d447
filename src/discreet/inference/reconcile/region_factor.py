"""The basis: regions that are independent, and every other one as a combination of them.

Pivoted Cholesky of the Gram matrix proposes, in floats; `proof` decides, exactly. A region whose relation does not
round to small fractions, or does not pass, counts as independent: perhaps less agreement, never a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.inference.reconcile.column_axes import Floats, Integers
from discreet.inference.reconcile.identity_proof import PRIME

#: A region of which less than this share is new, as far as floats can tell, is proposed as dependent.
LEAST_NEW = 1e-10

#: The next pivot is the smallest region of which this share of the largest remainder is new: small ones first makes
#: the others sums of them, with coefficients 1, where largest remainders first makes halves and long differences.
ENOUGH = 0.1

#: Columns of the factor that are found before the rest of the matrix is brought up to date.
BLOCK = 64

#: Coefficients are sought with a common denominator up to this, and this close to it.
MOST_DENOMINATOR = 24
CLOSE = 1e-4

#: Far above any coefficient that small fractions of a few thousand regions have; far below the prime.
LARGEST = 2.0**30


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRelation:
    """denominator * dependent = sum of numerators * basis, proved. Places in the list of different regions."""

    dependent: int
    denominator: int
    numerators: tuple[tuple[int, int], ...]

    def coefficients(self) -> list[tuple[int, Fraction]]:
        return [(place, Fraction(numerator, self.denominator)) for place, numerator in self.numerators]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionFactor:
    """`pivots`: regions that span all others, as far as floats can tell. `inverse`: of the triangular factor of
    their scaled Gram matrix; `scale`: of each region the square root of its measure."""

    pivots: Integers
    inverse: Floats
    scale: Floats

    def coefficients(self, shared: Floats) -> Floats:
        """The combination of pivots nearest to a region, from what it shares with each of them."""
        scale = self.scale[self.pivots]
        half = self.inverse @ (shared[self.pivots] / scale)
        return np.asarray((half @ self.inverse) / scale)


def factor_gram(gram: Floats) -> tuple[RegionFactor, Floats]:
    """The factor of a Gram matrix, and the combination of pivots nearest to every other region, a row for each of
    `others(factor)`."""
    scale = np.sqrt(np.diagonal(gram))
    order = np.argsort(scale, kind="stable")
    scaled = gram / np.outer(scale, scale)
    pivots, sorted_lower = _cholesky(scaled[np.ix_(order, order)])
    pivots, lower = order[pivots], np.empty_like(sorted_lower)
    lower[order] = sorted_lower
    inverse = inverted(lower[pivots])
    region_factor = RegionFactor(pivots=pivots, inverse=inverse, scale=scale)
    rest = non_pivots(region_factor)
    return region_factor, (lower[rest] @ inverse) * (scale[rest][:, None] / scale[pivots][None, :])


def non_pivots(factor: RegionFactor) -> Integers:
    """The regions that are no pivots, in order."""
    free = np.ones(len(factor.scale), dtype=np.bool_)
    free[factor.pivots] = False
    return np.flatnonzero(free)


def _cholesky(left: Floats) -> tuple[Integers, Floats]:
    """Pivots and the columns of the factor; overwrites its argument. Largest remainder first; ties go to the first."""
    size = len(left)
    remains = np.diagonal(left).copy()
    done = np.zeros(size, dtype=np.bool_)
    columns = np.zeros((size, size), order="F")
    pivots: list[int] = []
    while len(pivots) < size and remains.max() > LEAST_NEW:
        start = len(pivots)
        while len(pivots) < min(size, start + BLOCK) and remains.max() > LEAST_NEW:
            pivot, rank = int((remains >= ENOUGH * remains.max()).argmax()), len(pivots)
            column = left[:, pivot] - columns[:, start:rank] @ columns[pivot, start:rank]
            column[done] = 0.0  # what floats leave there is rounding
            column /= np.sqrt(column[pivot])
            columns[:, rank] = column
            remains -= column * column
            pivots.append(pivot)
            done[pivot] = True
            remains[pivot] = -1.0
        fresh = columns[:, start : len(pivots)]
        left -= fresh @ fresh.T
        remains = np.where(done, -1.0, np.diagonal(left))
    return np.array(pivots, dtype=np.int64), columns[:, : len(pivots)]


def inverted(lower: Floats) -> Floats:
    """The inverse of a lower triangular matrix, by halves."""
    size = len(lower)
    if size <= BLOCK:
        return np.asarray(np.tril(np.linalg.inv(lower)))
    half = size // 2
    inverse = np.zeros_like(lower)
    inverse[:half, :half] = top = inverted(lower[:half, :half])
    inverse[half:, half:] = bottom = inverted(lower[half:, half:])
    inverse[half:, :half] = -bottom @ (lower[half:, :half] @ top)
    return inverse


def find_relation(
    dependent: int, print_: int, pivots: Integers, coefficients: Floats, print_of: Callable[[int], int]
) -> RegionRelation | None:
    """The relation that these coefficients are near, if there is one and it is proved by the regions' prints."""
    near = np.flatnonzero(np.abs(coefficients) > CLOSE)
    near_coefficients = coefficients[near]
    if len(near) == 0 or not np.isfinite(near_coefficients).all() or np.abs(near_coefficients).max() > LARGEST:
        return None
    for denominator in range(1, MOST_DENOMINATOR + 1):
        scaled = near_coefficients * denominator
        nearest = np.rint(scaled)
        if np.abs(scaled - nearest).max() <= CLOSE * denominator:
            terms = [(int(pivots[place]), int(number)) for place, number in zip(near, nearest, strict=True) if number]
            total = sum(numerator * print_of(place) for place, numerator in terms)
            if (denominator * print_ - total) % PRIME == 0:
                return RegionRelation(dependent=dependent, denominator=denominator, numerators=tuple(terms))
    return None
