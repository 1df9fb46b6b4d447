"""Workloads of any sums over cells: rows of 0 and 1, each with a weight."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.strategy_choice.workload import Floats, Workload

Flags = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SumWorkload(Workload):
    """`rows[i]`: the cells of the sum i; `weights[i]`: how much a squared error in it matters.

    The Gram matrix is W' diag(weights) W, so that an error summed over queries is a weighted one.

    >>> SumWorkload(np.array([[True, True, False], [False, True, True]]), np.array([1.0, 2.0])).uses().tolist()
    [1.0, 3.0, 2.0]
    """

    rows: Flags
    weights: Floats

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or not self.rows.size or self.weights.shape != (len(self.rows),):
            raise UsageError("sums need cells, and a weight each")
        if not (self.weights > 0).all():
            raise UsageError("the weight of a sum must be above 0")

    @property
    def cells(self) -> int:
        return int(self.rows.shape[1])

    @property
    def queries(self) -> int:
        return len(self.rows)

    @cached_property
    def weighed(self) -> Floats:
        """The rows times the roots of their weights."""
        return np.asarray(self.rows * np.sqrt(self.weights)[:, None], dtype=np.float64)

    @cached_property
    def ends(self) -> tuple[Places, Places] | None:
        """First cells and last cells, where every sum is of consecutive cells."""
        lows = np.argmax(self.rows, axis=1)
        highs = self.cells - 1 - np.argmax(self.rows[:, ::-1], axis=1)
        return (lows, highs) if np.array_equal(self.rows.sum(axis=1), highs - lows + 1) else None

    @cached_property
    def _gram(self) -> Floats:
        return self.weighed.T @ self.weighed

    @property
    def _writes_gram(self) -> bool:
        """Is the Gram matrix worth being written out?"""
        return self.queries >= self.cells / 2 and self.queries * self.cells**2 < _SHORT

    def gram(self) -> Floats:
        return self._gram

    def times(self, values: Floats) -> Floats:
        if self.ends is not None and self.cells > _FEW:
            return self._times_ranges(values, *self.ends)
        if self._writes_gram:
            return values @ self._gram
        return (values @ self.weighed.T) @ self.weighed

    def _times_ranges(self, values: Floats, lows: Places, highs: Places) -> Floats:
        """By running sums: what a range begins to add at its low end, it stops adding after its high end."""
        sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
        answers = (sums[..., highs + 1] - sums[..., lows]) * self.weights
        steps = np.zeros(sums.shape)
        for ends, sign in ((lows, 1.0), (highs + 1, -1.0)):
            order = np.argsort(ends, kind="stable")
            places, first = np.unique(ends[order], return_index=True)
            steps[..., places] += sign * np.add.reduceat(answers[..., order], first, axis=-1)
        return np.asarray(np.cumsum(steps, axis=-1)[..., :-1])

    def product_seconds(self, rows: int) -> float:
        if self.ends is not None and self.cells > _FEW:
            return 2e-8 * rows * (self.cells + self.queries)
        if self._writes_gram:
            return 1e-10 * rows * self.cells**2
        return 2e-10 * rows * self.cells * self.queries

    def uses(self) -> Floats:
        return np.asarray(self.weights @ self.rows, dtype=np.float64)

    def block_energy(self, size: int) -> float:
        if self.ends is not None:
            lows, highs = self.ends
            first, last = lows // size, highs // size
            head = np.minimum((first + 1) * size, highs + 1) - lows
            tail = np.where(last > first, highs + 1 - last * size, 0)
            between = np.maximum(last - first - 1, 0)
            squares = (head.astype(np.float64) ** 2 + tail.astype(np.float64) ** 2) / size + size * between
            return float(self.weights @ squares)
        sums = np.add.reduceat(self.weighed, np.arange(0, self.cells, size), axis=1)
        return float(np.einsum("ij,ij->", sums, sums)) / size


#: With so few cells a matrix is as fast as running sums; so many products take a tenth of a second.
_FEW, _SHORT = 256, 1e9
