"""What a strategy is, and the plain ones: single cells, groups of cells, a matrix, stacks and products of others."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.sensitivity import Sensitivity
from discreet.mechanisms.integer_arrays import Integers

#: Sums below this are taken in 64 bits, larger ones in Python's numbers.
_WIDE = 2**62

#: The largest number of a dense matrix.
MOST_ENTRY = 2**31


class Strategy(ABC):
    """An integer matrix, seldom written out: `rows` whole-number combinations of `cells` counts.

    Guarantee: adding or removing a unit of at most R rows, each in one cell, moves `apply(counts)` by at most
        `sensitivity(R).l1` in total and `sensitivity(R).l2_squared` in squared length.
    Because: such a unit adds at most R columns of the matrix, with repetitions; the norm of a sum is at most the sum
        of the norms, so at most R times the largest column's. R equal rows in that column attain it.
    """

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells it reads: its columns."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many numbers it makes."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """At least the absolute value of every entry, so that sums can be known to fit."""

    @property
    @abstractmethod
    def column_l1(self) -> NDArray[Any]:
        """For each column the sum of the absolute values of its entries, exact."""

    @property
    @abstractmethod
    def column_l2_squared(self) -> NDArray[Any]:
        """For each column the sum of the squares of its entries, exact."""

    @abstractmethod
    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        """The matrix times `values`, in the arithmetic of their type: integers stay exact."""

    @abstractmethod
    def to_data(self) -> Any:
        """What it is, as short JSON data: equal strategies have equal data. `keeping` writes one out whole."""

    def apply(self, exact_counts: Integers) -> Integers:
        """The matrix times exact counts, exactly."""
        counts = np.asarray(exact_counts)
        if counts.shape != (self.cells,):
            raise ValueError("the strategy has another number of cells")
        return self.multiply(counts.astype(object if absolute_total(counts) * self.largest >= _WIDE else np.int64))

    def sensitivity(self, rows: int) -> Sensitivity:
        """How far what is measured moves when a unit of at most so many rows comes or goes."""
        l1, l2_squared = int(self.column_l1.max()), int(self.column_l2_squared.max())
        if min(l1, l2_squared) < 1:
            raise ValueError("the strategy measures nothing")
        return Sensitivity(
            l0=self.rows,
            l1=rows * l1,
            l2_squared=rows**2 * l2_squared,
            linf=rows * self.largest,
            because=(
                f"a row moves what is measured by at most {l1:,} in total, {math.sqrt(l2_squared):.6g} in length",
            ),
        )

    def matrix(self) -> NDArray[Any]:
        """The matrix itself. For small ones: tests, and dense algebra."""
        return self.multiply(np.eye(self.cells, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class IdentityStrategy(Strategy):
    """Every cell once."""

    size: int

    @property
    def cells(self) -> int:
        return self.size

    @property
    def rows(self) -> int:
        return self.size

    @property
    def largest(self) -> int:
        return 1

    @property
    def column_l1(self) -> NDArray[Any]:
        return np.ones(self.size, dtype=np.int64)

    @property
    def column_l2_squared(self) -> NDArray[Any]:
        return np.ones(self.size, dtype=np.int64)

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        return values

    def to_data(self) -> Any:
        return ["identity", self.size]


@dataclass(frozen=True, eq=False)
class GroupStrategy(Strategy):
    """Sums over groups of cells: cell i is in group `groups[i]`, of `count` groups. A group may be empty."""

    groups: NDArray[np.int64]
    count: int

    def __post_init__(self) -> None:
        if (
            self.groups.ndim != 1
            or not len(self.groups)
            or not 0 <= self.groups.min() <= self.groups.max() < self.count
        ):
            raise ValueError("every cell needs a group")

    @property
    def cells(self) -> int:
        return len(self.groups)

    @property
    def rows(self) -> int:
        return self.count

    @property
    def largest(self) -> int:
        return 1

    @property
    def column_l1(self) -> NDArray[Any]:
        return np.ones(self.cells, dtype=np.int64)

    @property
    def column_l2_squared(self) -> NDArray[Any]:
        return np.ones(self.cells, dtype=np.int64)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64] | None, NDArray[np.int64], NDArray[np.int64]]:
        """The cells in the order of their groups, where each group starts, and which groups there are."""
        order = None if bool(np.all(self.groups[1:] >= self.groups[:-1])) else np.argsort(self.groups, kind="stable")
        ordered = self.groups if order is None else self.groups[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        return order, starts, ordered[starts]

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        order, starts, present = self._sorted
        sums = np.add.reduceat(values if order is None else values[order], starts, axis=0)
        group_sums = np.zeros((self.count, *values.shape[1:]), dtype=values.dtype)
        group_sums[present] = sums
        return group_sums

    def to_data(self) -> Any:
        return ["groups", self.count, _digest(self.groups)]


@dataclass(frozen=True, eq=False)
class MatrixStrategy(Strategy):
    """A dense integer matrix."""

    entries: NDArray[np.int64]

    def __post_init__(self) -> None:
        if (
            self.entries.ndim != 2
            or not self.entries.size
            or self.entries.dtype != np.int64
            or self.largest > MOST_ENTRY
        ):
            raise ValueError("the matrix must have whole numbers of moderate size")

    @property
    def cells(self) -> int:
        return int(self.entries.shape[1])

    @property
    def rows(self) -> int:
        return int(self.entries.shape[0])

    @property
    def largest(self) -> int:
        return max(int(self.entries.max()), -int(self.entries.min()))

    @property
    def column_l1(self) -> NDArray[Any]:
        return np.asarray(np.abs(self.entries).sum(axis=0))

    @cached_property
    def column_l2_squared(self) -> NDArray[Any]:
        wide = self.largest**2 * self.rows >= _WIDE
        entries = self.entries.astype(object) if wide else self.entries
        return np.asarray((entries * entries).sum(axis=0))

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(np.tensordot(self.entries.astype(values.dtype), values, axes=1))

    def to_data(self) -> Any:
        return ["matrix", self.rows, _digest(self.entries)]


@dataclass(frozen=True, eq=False)
class DiagonalStrategy(Strategy):
    """Every cell so many times; a cell of weight 0 is left out of what is measured but keeps its row."""

    weights: NDArray[np.int64]

    @property
    def cells(self) -> int:
        return len(self.weights)

    @property
    def rows(self) -> int:
        return len(self.weights)

    @property
    def largest(self) -> int:
        return int(np.abs(self.weights).max())

    @property
    def column_l1(self) -> NDArray[Any]:
        return np.abs(self.weights)

    @property
    def column_l2_squared(self) -> NDArray[Any]:
        return np.asarray(self.weights.astype(object) ** 2)

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        weights = self.weights.astype(values.dtype)
        return np.asarray(weights.reshape(-1, *([1] * (values.ndim - 1))) * values)

    def to_data(self) -> Any:
        return ["diagonal", _digest(self.weights)]


@dataclass(frozen=True, eq=False)
class StackStrategy(Strategy):
    """What several strategies over the same cells measure, one after the other, under one law of noise."""

    parts: tuple[Strategy, ...]

    def __post_init__(self) -> None:
        if not self.parts or len({part.cells for part in self.parts}) != 1:
            raise ValueError("stacked strategies must have the same cells")

    @property
    def cells(self) -> int:
        return self.parts[0].cells

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def largest(self) -> int:
        return max(part.largest for part in self.parts)

    @cached_property
    def column_l1(self) -> NDArray[Any]:
        return _sum([part.column_l1 for part in self.parts])

    @cached_property
    def column_l2_squared(self) -> NDArray[Any]:
        return _sum([part.column_l2_squared for part in self.parts])

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([part.multiply(values) for part in self.parts])

    def to_data(self) -> Any:
        return ["stack", [part.to_data() for part in self.parts]]


@dataclass(frozen=True, eq=False)
class ProductStrategy(Strategy):
    """The Kronecker product: over cells of several axes, row-major, every combination of what each axis measures.

    Because a column is the product of one column of each factor, so are its norms.
    """

    factors: tuple[Strategy, ...]

    def __post_init__(self) -> None:
        if not self.factors:
            raise ValueError("a product needs at least one factor")

    @property
    def cells(self) -> int:
        return math.prod(factor.cells for factor in self.factors)

    @property
    def rows(self) -> int:
        return math.prod(factor.rows for factor in self.factors)

    @property
    def largest(self) -> int:
        return math.prod(max(1, factor.largest) for factor in self.factors)

    @cached_property
    def column_l1(self) -> NDArray[Any]:
        return _outer([factor.column_l1 for factor in self.factors])

    @cached_property
    def column_l2_squared(self) -> NDArray[Any]:
        return _outer([factor.column_l2_squared for factor in self.factors])

    def multiply(self, values: NDArray[Any]) -> NDArray[Any]:
        rest = values.shape[1:]
        product = values.reshape(*(factor.cells for factor in self.factors), *rest)
        for axis, factor in enumerate(self.factors):
            product = np.moveaxis(factor.multiply(np.moveaxis(product, axis, 0)), 0, axis)
        return product.reshape(self.rows, *rest)

    def to_data(self) -> Any:
        return ["product", [factor.to_data() for factor in self.factors]]


def absolute_total(counts: NDArray[Any]) -> int:
    """At least the sum of the absolute values, and hardly more."""
    if counts.dtype == object:
        return sum(abs(int(count)) for count in counts.tolist())
    return int(np.abs(counts.astype(np.float64)).sum() * (1 + 1e-6)) + 1


def _digest(numbers: NDArray[Any]) -> str:
    """Many numbers, told apart by few."""
    return hashlib.sha256(np.ascontiguousarray(numbers, dtype="<i8").tobytes()).hexdigest()


def _sum(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    wide = sum(int(column.max()) for column in columns) >= _WIDE
    return np.asarray(np.sum([column.astype(object if wide else np.int64) for column in columns], axis=0))


def _outer(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    wide = math.prod(max(1, int(column.max())) for column in columns) >= _WIDE
    product = np.ones(1, dtype=object if wide else np.int64)
    for column in columns:
        product = np.multiply.outer(product, column.astype(product.dtype)).ravel()
    return product
