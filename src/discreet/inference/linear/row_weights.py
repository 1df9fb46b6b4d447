"""Weights over the rows of a strategy that make sums of cells: least squares for any sums, not ranges alone.

Every row has independent noise of one law. Of all weights R with R A = W the shortest are taken, which are those of
least squares, and so of the least variance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.inference.linear.solvers import solver_for
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

#: Entries of a matrix that is written out, and lines of one that is inverted.
MOST_ENTRIES, MOST_LINES = 2**25, 4608

#: From here on parts that merge cells are looked at by what their groups share.
_DENSE_ENTRIES = 2**22

#: A share of the mean diagonal that is added to it, and taken away again by repeating.
_RIDGE, _REPEATS = 1e-9, 5

#: A tree of more levels than this over more cells than that is solved step by step, until the squares of what is
#: left are this share of those at first.
_FEW_LEVELS, _MANY, _MOST_ROUNDS, _SMALL = 4, 1024, 400, 1e-24

#: How far R A may be from W.
_NEAR = 1e-6


class RowWeights(ABC):
    """The weights of sums over the rows of one strategy."""

    @abstractmethod
    def weights(self, wished: Floats) -> Floats:
        """For each line of `wished`, a sum of cells, the shortest weights that make it."""

    def variances(self, wished: Floats) -> Floats:
        """The variance of each sum, where every row has noise of variance 1."""
        own = self.weights(wished)
        return np.asarray(np.einsum("ij,ij->i", own, own))


def row_weights(strategy: Strategy) -> RowWeights:
    """The weights for a strategy; Refused where it is too large."""
    if isinstance(strategy, ProductStrategy):
        return _ProductWeights(strategy)
    merged = _merged_parts(strategy)
    if merged and np.sum([part.groups >= 0 for part in merged], axis=0).max() <= 1:
        return _BlockWeights(merged)
    if merged and strategy.rows * strategy.cells > _DENSE_ENTRIES and strategy.rows <= MOST_LINES:
        return _MergedWeights(merged)
    if isinstance(strategy, LevelStrategy) and len(strategy.levels) > _FEW_LEVELS and strategy.cells > _MANY:
        return _LevelWeights(strategy)
    diagonal, rest = _diagonal_and_rest(strategy)
    if diagonal is not None and diagonal.all() and len(rest) <= min(MOST_LINES, strategy.cells):
        return _WoodburyWeights(diagonal.astype(np.float64), rest)
    if strategy.rows * strategy.cells > MOST_ENTRIES or min(strategy.rows, strategy.cells) > MOST_LINES:
        raise Refused("the strategy has too many rows and cells to be read")
    return _DenseWeights(float_matrix(strategy))


def _merged_parts(strategy: Strategy) -> tuple[MergeStrategy, ...]:
    """The parts of a strategy that is made of sums over groups of cells alone; else none."""
    parts = strategy.parts if isinstance(strategy, StackStrategy) else (strategy,)
    merged = tuple(part for part in parts if isinstance(part, MergeStrategy))
    return merged if len(merged) == len(parts) else ()


def float_matrix(strategy: Strategy) -> Floats:
    """The matrix of a strategy, in float64: `Strategy.matrix` is exact, and slower."""
    match strategy:
        case IdentityStrategy(size):
            return np.eye(size)
        case DiagonalStrategy(weights):
            return np.diag(weights.astype(np.float64))
        case MatrixStrategy(entries):
            return entries.astype(np.float64)
        case MergeStrategy(groups, inner):
            return np.pad(float_matrix(inner), ((0, 0), (0, 1)))[:, groups]
        case StackStrategy(parts):
            return np.concatenate([float_matrix(part) for part in parts])
        case ProductStrategy(factors):
            product: Floats = np.ones((1, 1))
            for factor in factors:
                product = np.asarray(np.kron(product, float_matrix(factor)), dtype=np.float64)
            return product
        case _:
            return strategy.multiply(np.eye(strategy.cells))


def _diagonal_and_rest(strategy: Strategy) -> tuple[NDArray[np.int64] | None, Floats]:
    """The rows that are single cells, all of them in order, if the strategy begins with such, and all other rows."""
    none = np.zeros((0, strategy.cells))
    match strategy:
        case IdentityStrategy(size):
            return np.ones(size, dtype=np.int64), none
        case DiagonalStrategy(weights):
            return weights, none
        case LevelStrategy(size, ((1, weight), *levels)):
            rest = float_matrix(LevelStrategy(size, tuple(levels))) if levels else none
            return np.full(size, weight, dtype=np.int64), rest
        case StackStrategy(parts) if sum(part.rows for part in parts[1:]) * strategy.cells <= MOST_ENTRIES:
            diagonal, rest = _diagonal_and_rest(parts[0])
            return diagonal, np.concatenate([rest, *map(float_matrix, parts[1:])])
        case _:
            return None, none


class _WoodburyWeights(RowWeights):
    """Every cell by itself, and some rows more: A = (diag(d); M). See `solvers.WoodburySolver`."""

    def __init__(self, diagonal: Floats, rest: Floats) -> None:
        self._diagonal, self._rest = diagonal, rest
        self._single = 1 / diagonal**2
        spread = rest * self._single
        inner = spread @ rest.T
        inner[np.diag_indices(len(inner))] += 1
        self._low_rank = np.linalg.solve(np.linalg.cholesky(inner), spread) if len(rest) else spread

    def weights(self, wished: Floats) -> Floats:
        cells = wished * self._single - (wished @ self._low_rank.T) @ self._low_rank
        return np.concatenate([cells * self._diagonal, cells @ self._rest.T], axis=1)

    def variances(self, wished: Floats) -> Floats:
        shared = wished @ self._low_rank.T
        return np.asarray(wished**2 @ self._single - np.einsum("ij,ij->i", shared, shared))


class _LevelWeights(RowWeights):
    """A tree of many rows, by conjugate gradients.

    Because: A'A has as many different values as there are levels where blocks come out even, and few more where the
        last ones do not; so many steps are enough, but for rounding.
    """

    def __init__(self, strategy: LevelStrategy) -> None:
        self._strategy = strategy

    def variances(self, wished: Floats) -> Floats:
        """Of ranges at once, where all sums are such or nothing."""
        filled = wished.any(axis=1)
        lines = wished[filled] != 0
        lows = np.argmax(lines, axis=1)
        highs = lines.shape[1] - 1 - np.argmax(lines[:, ::-1], axis=1)
        if not (np.array_equal(lines.sum(axis=1), highs - lows + 1) and bool((wished[filled][lines] == 1).all())):
            return super().variances(wished)
        variances = np.zeros(len(wished))
        variances[filled] = solver_for(self._strategy).range_variances(lows, highs)
        return variances

    def _times(self, values: Floats) -> Floats:
        """A'A times columns."""
        total = np.zeros_like(values)
        for size, weight in self._strategy.levels:
            sums = np.add.reduceat(values, np.arange(0, len(values), size), axis=0)
            total += float(weight) ** 2 * np.repeat(sums, size, axis=0)[: len(values)]
        return total

    def weights(self, wished: Floats) -> Floats:
        right = wished.T
        solution, left = np.zeros_like(right), right.copy()
        direction, squares = left.copy(), (left**2).sum(axis=0)
        first = np.where(squares > 0, squares, 1.0)
        for _ in range(_MOST_ROUNDS):
            turned = self._times(direction)
            curvature = (direction * turned).sum(axis=0)
            step = np.where(squares > 0, squares / np.where(curvature > 0, curvature, 1.0), 0.0)
            solution += step * direction
            left -= step * turned
            last, squares = squares, (left**2).sum(axis=0)
            if float((squares / first).max(initial=0.0)) < _SMALL:
                return np.asarray(self._strategy.multiply(solution).T)
            direction = left + np.where(last > 0, squares / np.where(last > 0, last, 1.0), 0.0) * direction
        raise ValueError("the strategy does not determine every sum")


class _DenseWeights(RowWeights):
    """A matrix that need not have full rank."""

    def __init__(self, matrix: Floats) -> None:
        self._scale = max(1.0, float(np.abs(matrix).max()))
        self._matrix = matrix / self._scale
        self._wide = matrix.shape[0] <= matrix.shape[1]
        self._inverse = _RidgeInverse(self._matrix @ self._matrix.T if self._wide else self._matrix.T @ self._matrix)

    def weights(self, wished: Floats) -> Floats:
        matrix, inverse = self._matrix, self._inverse
        if self._wide:
            own = inverse.solve(wished @ matrix.T)
        else:
            own = inverse.solve(wished) @ matrix.T
        if float(np.abs(wished - own @ matrix).max(initial=0.0)) > _NEAR:
            raise ValueError("the strategy does not determine every sum")
        return own / self._scale


class _RidgeInverse:
    """Solutions of X G = Y, G symmetric and perhaps singular, where there are any; the shortest.

    Because: with a ridge G has an inverse; what that leaves out is put right by solving for the rest, again and again.
    """

    def __init__(self, gram: Floats) -> None:
        self._gram = gram
        ridged = gram.copy()
        ridged[np.diag_indices(len(gram))] += _RIDGE * float(gram.diagonal().mean())
        self._inverse = np.linalg.inv(np.linalg.cholesky(ridged))

    def solve(self, right: Floats) -> Floats:
        solution, left = np.zeros_like(right), right
        small = 1e-14 * float(np.abs(right).max(initial=0.0))
        for _ in range(_REPEATS):
            solution = solution + (left @ self._inverse.T) @ self._inverse
            left = right - solution @ self._gram
            if float(np.abs(left).max(initial=0.0)) <= small:
                break
        return solution


class _BlockWeights(RowWeights):
    """Sums over groups of cells, of which no cell is in two parts: each part by itself.

    A sum must hold whole groups.
    """

    def __init__(self, parts: tuple[MergeStrategy, ...]) -> None:
        self._parts = [(part.groups, part.inner.cells, row_weights(part.inner)) for part in parts]

    def weights(self, wished: Floats) -> Floats:
        blocks = [inner.weights(_by_group(wished, groups, count)) for groups, count, inner in self._parts]
        return np.concatenate(blocks, axis=1)

    def variances(self, wished: Floats) -> Floats:
        return np.asarray(
            np.sum([inner.variances(_by_group(wished, groups, count)) for groups, count, inner in self._parts], axis=0)
        )


def _by_group(wished: Floats, groups: Places, count: int) -> Floats:
    """What sums hold of each group: all of it, so many times, or nothing."""
    first = np.zeros(count, dtype=np.int64)
    inside = np.flatnonzero(groups >= 0)
    first[groups[inside[::-1]]] = inside[::-1]
    own = wished[:, first]
    # A group that does not occur among the cells is in no sum.
    own[:, np.bincount(groups[inside], minlength=count) == 0] = 0.0
    if not np.array_equal(own[:, groups[inside]], wished[:, inside]):
        raise ValueError("the strategy does not determine every sum")
    return own


class _MergedWeights(RowWeights):
    """Several strategies over groups of many cells, together few rows: by A A', which needs only how many cells each
    two groups share."""

    def __init__(self, parts: tuple[MergeStrategy, ...]) -> None:
        self._parts = [(part.groups, float_matrix(part.inner)) for part in parts]
        self._scale = max(1.0, max(float(np.abs(matrix).max()) for _, matrix in self._parts))
        gram = np.block([[self._shared(one, two) for two in self._parts] for one in self._parts])
        self._gram = gram / self._scale**2
        self._inverse = _RidgeInverse(self._gram)

    @staticmethod
    def _shared(one: tuple[Places, Floats], two: tuple[Places, Floats]) -> Floats:
        both = (one[0] >= 0) & (two[0] >= 0)
        rows, columns = one[1].shape[1], two[1].shape[1]
        shared = np.bincount(one[0][both] * columns + two[0][both], minlength=rows * columns).reshape(rows, columns)
        return one[1] @ shared @ two[1].T

    def weights(self, wished: Floats) -> Floats:
        right = np.concatenate([_summed(wished, groups, m.shape[1]) @ m.T for groups, m in self._parts], axis=1)
        right /= self._scale
        own = self._inverse.solve(right)
        # |W - R A|^2, without writing A out.
        squares = np.einsum("ij,ij->i", wished, wished)
        missing = squares - 2 * np.einsum("ij,ij->i", own, right) + np.einsum("ij,ij->i", own @ self._gram, own)
        if float((missing / squares).max(initial=0.0)) > _NEAR:
            raise ValueError("the strategy does not determine every sum")
        return own / self._scale


def _summed(wished: Floats, groups: Places, count: int) -> Floats:
    """Sums over groups, line by line."""
    inside = np.flatnonzero(groups >= 0)
    order = inside[np.argsort(groups[inside], kind="stable")]
    present, starts = np.unique(groups[order], return_index=True)
    summed = np.zeros((len(wished), count))
    summed[:, present] = np.add.reduceat(wished[:, order], starts, axis=1)
    return summed


class _ProductWeights(RowWeights):
    """Products over axes: of a sum over a box, the weights are products; of others, those of (A'A)^-1 times A'."""

    def __init__(self, strategy: ProductStrategy) -> None:
        self._shape = tuple(factor.cells for factor in strategy.factors)
        self._factors = [row_weights(factor) for factor in strategy.factors]

    def _sides(self, line: Floats) -> list[Floats] | None:
        """The sides of a box, or None where the sum is of another form."""
        table = line.reshape(self._shape)
        total = float(line.sum())
        sides = [np.asarray(table.sum(axis=tuple(set(range(table.ndim)) - {axis}))) for axis in range(table.ndim)]
        box = np.ones(1)
        for side in sides:
            box = np.multiply.outer(box, side / total).ravel()
        if not np.allclose(box * total, line, rtol=1e-9, atol=1e-12):
            return None
        return [sides[0], *(side / total for side in sides[1:])]

    def weights(self, wished: Floats) -> Floats:
        return np.stack([self._line(line) for line in wished])

    def _line(self, line: Floats) -> Floats:
        sides = self._sides(line) if line.any() else None
        if sides is not None:
            own = np.ones(1)
            for factor, side in zip(self._factors, sides, strict=True):
                own = np.multiply.outer(own, factor.weights(side[None])[0]).ravel()
            return own
        table = line.reshape(self._shape)
        for axis, factor in enumerate(self._factors):
            lines = np.moveaxis(table, axis, -1)
            turned = factor.weights(lines.reshape(-1, lines.shape[-1]))
            table = np.moveaxis(turned.reshape(*lines.shape[:-1], -1), -1, axis)
        return table.reshape(-1)

    def variances(self, wished: Floats) -> Floats:
        variances = np.zeros(len(wished))
        for number, line in enumerate(wished):
            sides = self._sides(line) if line.any() else None
            if sides is None:
                variances[number] = float((self._line(line) ** 2).sum())
            else:
                variances[number] = np.prod(
                    [f.variances(side[None])[0] for f, side in zip(self._factors, sides, strict=True)]
                )
        return variances
