"""What a model is fitted to, checked: noisy marginals, and facts that are public.

Everything is brought to sorted attributes here, so that the same marginal in another order of axes is the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import UsageError
from discreet.inference.axes import Axes, Table, check_attributes, shape_of

Scalar = TypeVar("Scalar", bound=np.generic)

#: A total and the sum of a public table may differ by this share: the caller adds floats.
_TOTAL_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredMarginal:
    """A noisy marginal: `values` has one axis for each of `attributes`, each cell with noise of this variance.

    `variances`: of each cell, where they differ; `variance` is then what a fit weighs the marginal by.
    `groups`: of a marginal over coarser cells: cell c of attribute i is counted in cell `groups[i][c]` of its axis.
    """

    attributes: Axes
    values: Table
    variance: float
    variances: Table | None = None
    groups: tuple[NDArray[np.int64], ...] | None = None

    def __post_init__(self) -> None:
        values = np.asarray(self.values, dtype=np.float64)
        if not self.attributes or values.ndim != len(self.attributes):
            raise ValueError(f"a noisy marginal needs one axis per attribute: {self.attributes}, {values.shape}")
        if not np.isfinite(values).all() or not 0 < self.variance < math.inf:
            raise ValueError("a noisy marginal needs finite numbers and a variance above 0")
        object.__setattr__(self, "values", values)
        if self.variances is not None:
            variances = np.asarray(self.variances, dtype=np.float64)
            if variances.shape != values.shape or not (np.isfinite(variances) & (variances > 0)).all():
                raise ValueError("a noisy marginal needs one variance above 0, or one for each cell")
            object.__setattr__(self, "variances", variances)
        if self.groups is not None:
            groups = tuple(np.asarray(group, dtype=np.int64) for group in self.groups)
            if tuple(cells_in(group) for group in groups) != values.shape:
                raise ValueError("the groups of a noisy marginal do not match its axes")
            object.__setattr__(self, "groups", groups)

    @property
    def cell_variances(self) -> Table:
        """The variance of each cell's noise."""
        return np.full(self.values.shape, self.variance) if self.variances is None else self.variances


def cells_in(group: NDArray[np.int64]) -> int:
    """How many groups cells were put into; 0 where they are not numbered from 0 on."""
    numbers = np.unique(group)
    return len(numbers) if np.array_equal(numbers, np.arange(len(numbers))) else 0


def sum_groups(table: Table, groups: Sequence[NDArray[np.int64]]) -> Table:
    """A table over coarser cells: cell c of axis i is added to cell `groups[i][c]`.

    >>> sum_groups(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [np.array([0, 0, 1]), np.array([0, 1])]).tolist()
    [[4.0, 6.0], [5.0, 6.0]]
    """
    shape = tuple(int(group.max()) + 1 for group in groups)
    sums = np.bincount(coarse_cells(groups), weights=table.ravel(), minlength=math.prod(shape))
    return sums.astype(np.float64).reshape(shape)


def coarse_cells(groups: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """For each cell of a table, row-major, the number of the coarser cell that it is a part of."""
    cell = np.zeros((), dtype=np.int64)
    for group in groups:
        cell = cell[..., np.newaxis] * (int(group.max()) + 1) + group
    return cell.ravel()


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarseMarginal:
    """A noisy marginal over groups of cells, by sorted attributes. `cells`: of each finer cell, the coarser one."""

    axes: Axes
    cells: NDArray[np.int64]
    values: NDArray[np.float64]
    variance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FitInputs:
    """All that a fit knows, by sorted attributes: noisy marginals with their variances, public counts, public zeros.

    `coarse`: noisy marginals over coarser cells than the model's.
    """

    sizes: tuple[int, ...]
    total: float
    noisy: Mapping[Axes, tuple[Table, float]]
    public_counts: Mapping[Axes, Table]
    allowed: tuple[tuple[Axes, NDArray[np.bool_]], ...]
    coarse: tuple[CoarseMarginal, ...] = ()

    def __post_init__(self) -> None:
        if any(size < 1 for size in self.sizes):
            raise ValueError(f"an attribute needs at least one value: {self.sizes}")
        if not 0 <= self.total < math.inf:
            raise ValueError(f"a total must be finite and non-negative, got {self.total}")
        for counts in self.public_counts.values():
            if abs(counts.sum() - self.total) > _TOTAL_TOLERANCE * max(self.total, 1):
                raise UsageError("the public totals do not sum to the number of rows")

    @property
    def factors(self) -> tuple[Axes, ...]:
        """The marginals that shape the model; those over coarser cells last."""
        return (*self.noisy, *self.public_counts, *(marginal.axes for marginal in self.coarse))


def gather_inputs(
    sizes: Sequence[int],
    total: float,
    measurements: Iterable[MeasuredMarginal],
    allowed: Iterable[tuple[Sequence[int], ArrayLike]],
    totals: Iterable[tuple[Sequence[int], ArrayLike]],
) -> FitInputs:
    """Check and put together. What is known exactly need not be measured; where it is 0, nothing is allowed."""
    public_counts: dict[Axes, Table] = {}
    for attributes, given in totals:
        axes, counts = _sorted(sizes, attributes, np.asarray(given, dtype=np.float64))
        if not np.isfinite(counts).all() or (counts < 0).any():
            raise ValueError("public totals must be finite and non-negative")
        public_counts[axes] = counts
    measurements = list(measurements)
    ruled = [_sorted(sizes, attributes, np.asarray(given, dtype=np.bool_)) for attributes, given in allowed]
    ruled += [(axes, counts > 0) for axes, counts in public_counts.items() if total > 0]
    return FitInputs(
        sizes=tuple(int(size) for size in sizes),
        total=float(total),
        noisy={
            axes: fact
            for axes, fact in _merged(sizes, [each for each in measurements if each.groups is None]).items()
            if axes not in public_counts
        },
        public_counts=public_counts,
        allowed=tuple((axes, table) for axes, table in ruled if not table.all()),
        coarse=tuple(each for each in _merged_coarse(sizes, measurements) if each.axes not in public_counts),
    )


def _merged(sizes: Sequence[int], measurements: Iterable[MeasuredMarginal]) -> dict[Axes, tuple[Table, float]]:
    """One noisy marginal for each set of attributes: the mean by inverse variance, which has the least variance."""
    sums: dict[Axes, tuple[Table, float]] = {}
    for marginal in measurements:
        axes, values = _sorted(sizes, marginal.attributes, marginal.values)
        weighted, precision = sums.get(axes, (np.zeros(values.shape), 0.0))
        sums[axes] = weighted + values / marginal.variance, precision + 1 / marginal.variance
    return {axes: (weighted / precision, 1 / precision) for axes, (weighted, precision) in sums.items()}


def _merged_coarse(sizes: Sequence[int], measurements: Iterable[MeasuredMarginal]) -> list[CoarseMarginal]:
    """One noisy marginal for each set of attributes and groups of their cells."""
    merged: dict[tuple[Axes, bytes], CoarseMarginal] = {}
    for marginal in measurements:
        if marginal.groups is None:
            continue
        axes = check_attributes(sizes, marginal.attributes)
        if tuple(map(len, marginal.groups)) != shape_of(sizes, axes):
            raise ValueError(f"the groups of a marginal over {axes} do not match its cells")
        order = sorted(range(len(axes)), key=axes.__getitem__)
        own = CoarseMarginal(
            axes=tuple(axes[place] for place in order),
            cells=coarse_cells([marginal.groups[place] for place in order]),
            values=marginal.values.transpose(order).ravel(),
            variance=marginal.variance,
        )
        key = own.axes, own.cells.tobytes()
        merged[key] = _mean(merged[key], own) if key in merged else own
    return list(merged.values())


def _mean(one: CoarseMarginal, other: CoarseMarginal) -> CoarseMarginal:
    """The mean by inverse variance."""
    whole = one.variance + other.variance
    values = (one.values * other.variance + other.values * one.variance) / whole
    return replace(one, values=values, variance=one.variance * other.variance / whole)


def _sorted(sizes: Sequence[int], attributes: Sequence[int], table: NDArray[Scalar]) -> tuple[Axes, NDArray[Scalar]]:
    axes = check_attributes(sizes, attributes)
    if table.shape != shape_of(sizes, axes):
        raise ValueError(f"a table over {axes} must have the shape {shape_of(sizes, axes)}, not {table.shape}")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return tuple(axes[place] for place in order), table.transpose(order)
