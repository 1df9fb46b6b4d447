"""Coordinates in which several ways of grouping cells do not disturb each other.

Sums over groups of cells, measured with noise, inform about the cells through matrices that say which cells are in
the same group. Where these commute they have common eigenvectors, and in those coordinates each measurement is a
separate number with a precision of its own. Marginals of a full table commute; so does anything with single cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

#: More cells than this are not turned into other coordinates: the turning would take longer than all the rest.
MOST_ROTATED_CELLS = 1500


class GroupingsDoNotCommute(ValueError):
    """Two groupings, by their places in the list, that have no common coordinates."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__("two groupings of cells do not commute")
        self.one, self.other = one, other


@dataclass(frozen=True, kw_only=True)
class Basis:
    """Orthonormal coordinates of `cells` cells; `vectors` None: the cells themselves.

    `strengths[q][j]`: how many cells of grouping q stand behind coordinate j: the eigenvalue.
    """

    cells: int
    vectors: Floats | None
    eigenvalues: tuple[Wholes, ...]

    def coordinates(self, values: Floats) -> Floats:
        """Cells by nodes, as coordinates by nodes."""
        return values if self.vectors is None else self.vectors.T @ values

    def values(self, coordinates: Floats) -> Floats:
        """Coordinates by nodes, as cells by nodes."""
        return coordinates if self.vectors is None else self.vectors @ coordinates

    def weights(self, classes: Wholes) -> Floats:
        """A cell's variance as a sum of the variances of classes of coordinates: cells by classes."""
        if self.vectors is None:
            return np.equal.outer(classes, np.arange(int(classes.max()) + 1)).astype(np.float64)
        return _by_class(self.vectors**2, classes)

    def total_weights(self, classes: Wholes) -> Floats:
        """The variance of the sum of all cells as a sum of the variances of classes."""
        sums = np.ones(self.cells) if self.vectors is None else self.vectors.sum(axis=0)
        # What rounding leaves of coordinates that sum to nothing would make exact totals look inexact.
        sums = np.where(np.abs(sums) < 1e-7, 0.0, sums)
        return _by_class(sums[None, :] ** 2, classes).reshape(-1)

    def place_of(self, grouping: int) -> int:
        """The one coordinate behind a grouping of all cells into one."""
        (place,) = np.flatnonzero(self.eigenvalues[grouping])
        return int(place)


def _by_class(values: Floats, classes: Wholes) -> Floats:
    sums = np.zeros((len(values), int(classes.max()) + 1))
    np.add.at(sums.T, classes, values.T)
    return sums


def common_basis(groupings: Sequence[Wholes]) -> Basis:
    """Coordinates that suit all of these: `groupings[q][c]` is the group of cell c. Raises Disturbing.

    Because: commuting symmetric matrices are diagonal in the eigenvectors of a combination whose eigenvalues tell
    theirs apart. Eigenvalues are whole numbers, and square roots of different primes are independent over the
    rationals, so those combine them without two coming out the same.
    """
    cells = len(groupings[0])
    if all(len(np.unique(each)) == cells for each in groupings):
        return Basis(cells=cells, vectors=None, eigenvalues=tuple(np.ones(cells, dtype=np.int64) for _ in groupings))
    if cells > MOST_ROTATED_CELLS:
        raise ValueError("too many cells for a change of coordinates")
    firsts = [next(turn for turn, other in enumerate(groupings) if np.array_equal(each, other)) for each in groupings]
    same = {turn: np.equal.outer(groupings[turn], groupings[turn]).astype(np.float64) for turn in sorted(set(firsts))}
    _refuse_noncommuting(same)
    _, vectors = np.linalg.eigh(_mix_matrices(list(same.values())))
    eigenvalues = {turn: _eigenvalues(each, vectors) for turn, each in same.items()}
    return Basis(cells=cells, vectors=vectors, eigenvalues=tuple(eigenvalues[turn] for turn in firsts))


def _refuse_noncommuting(same: Mapping[int, Floats]) -> None:
    """Entries are whole numbers of at most MOST_TURNED squared, so that products are exact in floats."""
    for one, first in same.items():
        for other, second in same.items():
            if one < other and not np.array_equal(first @ second, second @ first):
                raise GroupingsDoNotCommute(one, other)


def _mix_matrices(same: Sequence[Floats]) -> Floats:
    mixture = np.zeros_like(same[0])
    for prime, each in zip(_primes(len(same)), same, strict=True):
        mixture += math.sqrt(prime) * each
    return mixture


def _eigenvalues(same: Floats, vectors: Floats) -> Wholes:
    """The eigenvalues of a grouping's matrix, which are whole numbers."""
    turned = same @ vectors
    eigenvalues: Wholes = np.rint(np.einsum("cj,cj->j", vectors, turned)).astype(np.int64)
    if np.abs(turned - vectors * eigenvalues).max() > 1e-7 * len(same):
        raise ValueError("the coordinates are not exact enough")
    return eigenvalues


def _primes(count: int) -> list[int]:
    primes: list[int] = []
    number = 2
    while len(primes) < count:
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    return primes
