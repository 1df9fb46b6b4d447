"""Every cell, and a few wide rows more: p-Identity strategies, made better step by step. For pure privacy.

A = (1; T) diag(1 / c) with c = 1 + the sums of the columns of T >= 0, so that every column adds up to 1 whatever T is
(McKenna, Miklau, Hay and Machanavajjhala 2018). With G = W'W and K = 1 + T T', by Woodbury,

    tr(G (A'A)^-1) = sum of G_ii c_i^2 - tr(K^-1 T diag(c) G diag(c) T').

G times something takes a few running sums, so a look costs little more than T T'. It starts from the best tree, whose
blocks are turned into overlapping bumps: that alone is worth a tenth of the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.lbfgs import minimise
from discreet.inference.strategy_choice.level_trees import LevelTree
from discreet.inference.strategy_choice.workload import GivenRanges, Workload

Floats = NDArray[np.float64]

#: More entries of T than this are not planned for.
MOST_ENTRIES = 2**21

#: More cells than this are not planned for: so few bumps as there may be then do not pay. Or these, where the ranges
#: are given one by one.
_MOST_CELLS, _MOST_GIVEN = 12_000, 2048

#: What entries that are 0 begin with, so that they can grow: their total in each column.
_FLOOR = 0.3

#: Fewer looks than this are better spent on the bumps as they are.
_FEW_LOOKS = 30

#: Looks at the weights of whole levels, before entries are changed one by one. A look then costs a quarter.
_LEVEL_LOOKS = 8

#: What a look takes at least.
_LOOK = 2e-4

#: Steps that the search remembers: enough, and memory grows with them.
_MEMORY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PIdentity:
    """The rows T beside the single cells, before columns are scaled to 1, and the mean variance at sensitivity 1."""

    rows: Floats
    variance: float


def look_seconds(workload: Workload, rows: int) -> float:
    """About how long one step with all entries takes, on a slow core; a look at whole levels takes a quarter.

    A formula, so that a plan does not depend on the load.
    """
    return _LOOK + rows * workload.cells * (1.8e-7 + 6e-10 * rows) + workload.product_seconds(rows)


def optimise_p_identity(workload: Workload, tree: LevelTree, *, seconds: float) -> PIdentity | None:
    """The best bumps that are found from this tree with so much work; None where there is too little."""
    levels, weights = _start(workload, tree, seconds)
    if not levels:
        return None
    return improve_rows(workload, [_level(size, workload.cells) for size in levels], weights, seconds=seconds)


def improve_rows(workload: Workload, levels: list[Floats], weights: Floats, *, seconds: float) -> PIdentity | None:
    """The best rows that are found from these, with so much work: first a weight for each level, then every entry.

    None where there is too little work for a look at the levels.
    """
    each = look_seconds(workload, sum(map(len, levels)))
    if sum(map(len, levels)) * workload.cells > MOST_ENTRIES or _LEVEL_LOOKS / 4 * each > seconds:
        return None
    search = _PIdentitySearch(workload)
    search.levels(levels, weights, looks=_LEVEL_LOOKS)
    looks = int(seconds / each - _LEVEL_LOOKS / 4)
    if looks > 0:
        search.entries(looks)
    return PIdentity(rows=search.best, variance=search.variance)


def _start(workload: Workload, tree: LevelTree, seconds: float) -> tuple[list[int], Floats]:
    """Lengths and weights of the bumps that a search begins with: the tree's blocks, longer where those would be too
    many to look at. Nothing, where a few long ones are too many."""
    cells = workload.cells
    most = _MOST_GIVEN if isinstance(workload, GivenRanges) else _MOST_CELLS
    if cells > most or cells < 3:
        return [], np.zeros(0)
    sizes, weights = np.array(tree.sizes[1:]), np.array(tree.weights[1:]) / tree.weights[0]
    if not len(sizes):
        # Single cells alone are the best tree, but seldom the best.
        sizes, weights = np.array([max(2, cells // 3)]), np.array([0.2])
    while sizes[0] < cells:
        count = int((-(-cells // sizes)).sum())
        if count * cells <= MOST_ENTRIES and _LEVEL_LOOKS / 4 * look_seconds(workload, count) <= seconds:
            return sizes.tolist(), weights
        sizes = np.ceil(sizes * 1.25).astype(np.int64)
    return [], np.zeros(0)


def _level(size: int, cells: int) -> Floats:
    """For each block of so many cells a row that falls from 1 in its middle to 0 a block's length away."""
    middles = np.arange(0, cells, size) + (size - 1) / 2
    return np.maximum(0.0, 1 - np.abs(np.arange(cells) - middles[:, None]) / size)


class _PIdentitySearch:
    """Looks at rows, and remembers the best."""

    def __init__(self, workload: Workload) -> None:
        self._workload, self._uses = workload, workload.uses()
        self.best, self.variance = np.zeros((0, workload.cells)), math.inf

    def levels(self, levels: list[Floats], weights: Floats, *, looks: int) -> None:
        """The best weights of whole levels."""

        def function(logs: Floats) -> tuple[float, Floats]:
            scaled = [math.exp(log) * level for log, level in zip(logs.tolist(), levels, strict=True)]
            value, gradient = self._look(np.concatenate(scaled))
            slopes = np.split(gradient, np.cumsum([len(level) for level in levels])[:-1])
            return value, np.array([float((one * two).sum()) for one, two in zip(scaled, slopes, strict=True)])

        minimise(
            function, np.log(weights), scaling=np.ones(len(levels)), residual=_size, tolerance=1e-4, evaluations=looks
        )

    def entries(self, looks: int) -> None:
        """The best entries, as squares, which keeps them from falling below 0."""
        shape = self.best.shape
        floor = _FLOOR / shape[0] if looks >= _FEW_LOOKS else 0.0

        def function(roots: Floats) -> tuple[float, Floats]:
            table = roots.reshape(shape)
            value, gradient = self._look(table**2)
            return value, (2 * table * gradient).reshape(-1)

        start = np.sqrt(self.best + floor).reshape(-1)
        minimise(
            function,
            start,
            scaling=np.ones(start.size),
            residual=_size,
            tolerance=1e-9,
            evaluations=looks,
            memory=_MEMORY,
        )

    def _look(self, rows: Floats) -> tuple[float, Floats]:
        value, gradient = error(self._workload, self._uses, rows)
        if not value > 0:  # rounding, far out
            return math.inf, np.zeros_like(gradient)
        if value < self.variance:
            self.best, self.variance = rows, value
        return math.log(value), gradient / value


def _size(gradient: Floats) -> float:
    return float(np.abs(gradient).max())


def error(workload: Workload, uses: Floats, rows: Floats) -> tuple[float, Floats]:
    """The mean variance at sensitivity 1 with these rows beside the single cells, and its gradient by their entries."""
    columns = 1 + rows.sum(axis=0)
    inner = rows @ rows.T
    inner[np.diag_indices(len(inner))] += 1
    inverse = np.linalg.inv(inner)
    solved = inverse @ rows
    turned = workload.times(rows * columns) * columns
    both = inverse @ turned
    value = float((uses * columns**2).sum() - np.einsum("ij,ij->", both, rows))
    gradient = 2 * ((both @ rows.T) @ solved - both)
    gradient += 2 * (uses * columns**2 - np.einsum("ij,ij->j", solved, turned)) / columns
    return value / workload.queries, gradient / workload.queries
