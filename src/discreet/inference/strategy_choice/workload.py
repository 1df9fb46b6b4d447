"""Workloads: which sums over cells will be asked. A public fact; planning looks at nothing else.

A workload is a 0/1 matrix W with a row for each query and a column for each cell, never written out. Planning needs
its Gram matrix W'W alone, and mostly only that matrix times something.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

#: More cells than this are not planned for.
MOST_CELLS = 2**24


class Workload(ABC):
    """Sums over ranges of cells of one axis, or over boxes of two."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells there are."""

    @property
    @abstractmethod
    def queries(self) -> int:
        """How many sums are asked."""

    @abstractmethod
    def gram(self) -> Floats:
        """W'W: for each two cells the number of queries that hold both. For small ones."""

    @abstractmethod
    def times(self, values: Floats) -> Floats:
        """W'W times `values`, along their last axis."""

    @abstractmethod
    def uses(self) -> Floats:
        """For each cell the number of queries that hold it: the diagonal of W'W."""

    def product_seconds(self, rows: int) -> float:
        """About how long `times` takes for so many rows beyond a few running sums, on a slow core."""
        del rows
        return 0.0

    @abstractmethod
    def block_energy(self, size: int) -> float:
        """The squared length of the queries after each is averaged over blocks of so many cells: tr(P W'W).

        The last block counts as if it were whole, with empty cells.
        """


def _check_size(size: int) -> None:
    if not 1 <= size <= MOST_CELLS:
        raise UsageError(f"a workload must have between 1 and {MOST_CELLS:,} cells, got {size:,}")


@dataclass(frozen=True, slots=True)
class AllRanges(Workload):
    """Every range low..high of consecutive cells: n (n + 1) / 2 queries.

    >>> AllRanges(3).gram().astype(int).tolist()
    [[3, 2, 1], [2, 4, 2], [1, 2, 3]]
    """

    size: int

    def __post_init__(self) -> None:
        _check_size(self.size)

    @property
    def cells(self) -> int:
        return self.size

    @property
    def queries(self) -> int:
        return self.size * (self.size + 1) // 2

    def gram(self) -> Floats:
        place = np.arange(1.0, self.size + 1)
        return np.asarray(np.minimum.outer(place, place) * (self.size + 1 - np.maximum.outer(place, place)))

    def times(self, values: Floats) -> Floats:
        # sum over j of min(i, j) (n + 1 - max(i, j)) x_j, split at j = i.
        place = np.arange(1.0, self.size + 1)
        after = self.size + 1 - place
        left = np.cumsum(values * place, axis=-1)
        right = values * after
        right = right.sum(axis=-1, keepdims=True) - np.cumsum(right, axis=-1)
        return np.asarray(after * left + place * right)

    def uses(self) -> Floats:
        place = np.arange(1.0, self.size + 1)
        return np.asarray(place * (self.size + 1 - place))

    def block_energy(self, size: int) -> float:
        start, length = _blocks(self.size, size)
        after = self.size + 1 - start
        least, most = _sums_of_least_and_most(length)
        product = (length * (length + 1) / 2) ** 2
        return float((length**2 * start * after + after * least - start * most - product).sum()) / size


@dataclass(frozen=True, slots=True)
class Prefixes(Workload):
    """The n ranges that begin with the first cell.

    >>> Prefixes(3).gram().astype(int).tolist()
    [[3, 2, 1], [2, 2, 1], [1, 1, 1]]
    """

    size: int

    def __post_init__(self) -> None:
        _check_size(self.size)

    @property
    def cells(self) -> int:
        return self.size

    @property
    def queries(self) -> int:
        return self.size

    def gram(self) -> Floats:
        place = np.arange(1.0, self.size + 1)
        return np.asarray(self.size + 1 - np.maximum.outer(place, place))

    def times(self, values: Floats) -> Floats:
        prefix = np.cumsum(values, axis=-1)
        return np.asarray(np.cumsum(prefix[..., ::-1], axis=-1)[..., ::-1])

    def uses(self) -> Floats:
        return np.arange(float(self.size), 0, -1)

    def block_energy(self, size: int) -> float:
        start, length = _blocks(self.size, size)
        _, most = _sums_of_least_and_most(length)
        return float((length**2 * (self.size + 1 - start) - most).sum()) / size


@dataclass(frozen=True, eq=False)
class GivenRanges(Workload):
    """These ranges: cell numbers from 0, both ends included. One that is listed twice counts twice."""

    size: int
    lows: Places
    highs: Places

    def __post_init__(self) -> None:
        _check_size(self.size)
        lows, highs = self.lows, self.highs
        if lows.ndim != 1 or lows.shape != highs.shape or not lows.size:
            raise UsageError("ranges need as many lows as highs, and at least one")
        if lows.dtype.kind != "i" or highs.dtype.kind != "i":
            raise UsageError("the ends of ranges must be whole numbers of cells")
        if not (lows.min() >= 0 and highs.max() < self.size and bool((lows <= highs).all())):
            raise UsageError(f"a range must be within cells 0 to {self.size - 1:,}, with low at most high")

    @property
    def cells(self) -> int:
        return self.size

    @property
    def queries(self) -> int:
        return len(self.lows)

    @cached_property
    def _gram(self) -> Floats:
        # A corner at (low, low) minus those past the high end, summed along both axes, is a block of ones.
        corners = np.zeros((self.size + 1, self.size + 1))
        for rows, one in ((self.lows, 1.0), (self.highs + 1, -1.0)):
            np.add.at(corners, (rows, self.lows), one)
            np.add.at(corners, (rows, self.highs + 1), -one)
        return np.asarray(np.cumsum(np.cumsum(corners, axis=0), axis=1)[:-1, :-1])

    def gram(self) -> Floats:
        return self._gram

    def times(self, values: Floats) -> Floats:
        return np.asarray(values @ self._gram)

    def product_seconds(self, rows: int) -> float:
        # The Gram matrix of ranges that are given is written out.
        return 1e-10 * rows * self.size**2

    def uses(self) -> Floats:
        ends = np.zeros(self.size + 1)
        np.add.at(ends, self.lows, 1.0)
        np.add.at(ends, self.highs + 1, -1.0)
        return np.asarray(np.cumsum(ends)[:-1])

    def block_energy(self, size: int) -> float:
        first, last = self.lows // size, self.highs // size
        head = np.minimum((first + 1) * size, self.highs + 1) - self.lows
        tail = np.where(last > first, self.highs + 1 - last * size, 0)
        between = np.maximum(last - first - 1, 0)
        return float((head.astype(np.float64) ** 2 + tail.astype(np.float64) ** 2).sum()) / size + size * float(
            between.sum()
        )


@dataclass(frozen=True, slots=True)
class ProductWorkload(Workload):
    """Boxes: every pair of a query over the rows of a table and one over its columns, cells row-major."""

    first: Workload
    second: Workload

    def __post_init__(self) -> None:
        if isinstance(self.first, ProductWorkload) or isinstance(self.second, ProductWorkload):
            raise UsageError("boxes must have two axes")
        _check_size(self.cells)

    @property
    def cells(self) -> int:
        return self.first.cells * self.second.cells

    @property
    def queries(self) -> int:
        return self.first.queries * self.second.queries

    def gram(self) -> Floats:
        return np.asarray(np.kron(self.first.gram(), self.second.gram()))

    def times(self, values: Floats) -> Floats:
        shaped = values.reshape(*values.shape[:-1], self.first.cells, self.second.cells)
        products = self.second.times(shaped)
        products = np.swapaxes(self.first.times(np.swapaxes(products, -1, -2)), -1, -2)
        return np.asarray(products.reshape(values.shape))

    def uses(self) -> Floats:
        return np.outer(self.first.uses(), self.second.uses()).reshape(-1)

    def block_energy(self, size: int) -> float:
        raise TypeError("boxes must be planned one axis at a time")


def _blocks(cells: int, size: int) -> tuple[Floats, Floats]:
    """How many cells lie before each block of so many, and how many lie in it."""
    start = np.arange(0.0, cells, size)
    return start, np.minimum(float(size), cells - start)


def _sums_of_least_and_most(length: Floats) -> tuple[Floats, Floats]:
    """The sums of min(u, v) and of max(u, v) over all u and v from 1 to length."""
    pairs = length * (length + 1) / 6
    return pairs * (2 * length + 1), pairs * (4 * length - 1)
