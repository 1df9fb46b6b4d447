"""Strategies for numbers over a grid, compared: single cells, questions, trees and ranges, tables, products, unions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.answers.workload.box_sides import BoxSides, box_sides, different_rows
from discreet.answers.workload.grid_answers import atoms_of, rows_over
from discreet.inference.linear.residual_part import ResidualPart
from discreet.inference.linear.row_weights import MOST_LINES, row_weights
from discreet.inference.strategy_choice.p_identity import improve_rows
from discreet.inference.strategy_choice.scaled_strategy import scaled_strategy, shared_budget, stacked
from discreet.inference.strategy_choice.strategy_plan import integer_p_identity
from discreet.inference.strategy_choice.strategy_text import strategy_text
from discreet.inference.strategy_choice.sum_plan import SumPlan, plan_sums, sum_error
from discreet.inference.strategy_choice.sum_workload import SumWorkload
from discreet.inference.strategy_choice.table_weights import (
    MOST_AXES,
    WeighedTable,
    residual_costs,
    table_information,
    weigh_tables,
)
from discreet.inference.strategy_choice.workload_error import sensitivity_squared
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.contrasts import ContrastStrategy
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
    Strategy,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

#: Up to so many cells every kind of strategy is tried; beyond, only those that stay small.
MOST_PLANNED = 4_096

#: Rows over cells that are written out.
_MOST_ENTRIES = 2**25

#: Rows of a union of several sets of axes: its least squares take the cube of them, a second or so for these.
_MOST_UNITED = 1_536

#: Rows of a product, and how far one cell may move them: beyond, noise is drawn slowly.
_MOST_ROWS, _MOST_MOVED = 2**20, 2**40

#: The weights of tables in whole numbers; rounds over the axes of a product; sets of axes that share a budget.
_TABLE, _ROUNDS, _MOST_SETS = 2**10, 2, 12

#: Costs below this share of the largest are rounding; weights are at least so many, so that they are that exact; so
#: many separate sets of cells are looked at closely.
_NOTHING, _FINE, _FEW = 1e-12, 64, 16


@dataclass(frozen=True, eq=False, kw_only=True)
class CellNumbers:
    """Different numbers over the cells of a grid, each a sum, and how much a squared error in each matters."""

    shape: tuple[int, ...]
    cells: tuple[Places, ...]
    weights: Floats

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def some(self, chosen: Sequence[int]) -> CellNumbers:
        """Some of the numbers."""
        return CellNumbers(
            shape=self.shape, cells=tuple(self.cells[number] for number in chosen), weights=self.weights[list(chosen)]
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class GridStrategy:
    """A strategy over groups of cells (-1: in none); `error`: the weighted sum of variances at sensitivity 1."""

    groups: Places
    inner: Strategy
    error: float
    words: str


def plan_numbers(numbers: CellNumbers, *, gaussian: bool, seconds: float) -> GridStrategy:
    """The best strategy found with about so many seconds of work. Numbers that share no cell do not compete."""
    groups = atoms_of(numbers.size, numbers.cells)
    islands = _islands(groups, numbers.cells)
    if len(islands) == 1:
        return _best(numbers, groups, gaussian=gaussian, seconds=seconds)
    return _beside(numbers, islands, gaussian=gaussian, seconds=seconds)


def _islands(groups: Places, cells: Sequence[Places]) -> list[list[int]]:
    """The numbers, those together that share atoms with each other, in one step or more."""
    labels = np.arange(int(groups.max()) + 1)
    for own in sorted(cells, key=len, reverse=True):
        named = labels[groups[own]]
        if named.min() < named.max():
            touched = np.unique(named)
            labels[np.isin(labels, touched)] = touched[0]
    islands: dict[int, list[int]] = {}
    for number, own in enumerate(cells):
        islands.setdefault(int(labels[groups[own[0]]]), []).append(number)
    return list(islands.values())


def _beside(numbers: CellNumbers, islands: list[list[int]], *, gaussian: bool, seconds: float) -> GridStrategy:
    """A strategy for each island, all of one sensitivity: a row moves one of them."""
    # A number that shares no cell with others is one atom.
    single = [island[0] for island in islands if len(island) == 1]
    wide = [numbers.some(island) for island in islands if len(island) > 1]
    own = seconds / max(1, len(wide))
    alone = [_single_cells(numbers.some(single))] if single else []
    plans = [_island_plan(each, gaussian=gaussian, seconds=own, few=len(wide) <= _FEW) for each in wide] + alone
    inner = _side_by_side(plans, gaussian=gaussian)
    if inner is None:  # whole numbers so far apart that none of them would stay moderate
        plans = [_single_cells(each) for each in wide] + alone
        inner = _side_by_side(plans, gaussian=gaussian)
        assert inner is not None  # single cells have no matrix
    words = "; ".join(dict.fromkeys(plan.words for plan in plans))
    return GridStrategy(
        groups=_joined_groups(plans),
        inner=inner,
        error=sum(plan.error for plan in plans),
        words=f"{len(islands):,} separate sets of cells: {words}",
    )


def _joined_groups(plans: Sequence[GridStrategy]) -> Places:
    """The groups of all plans, one plan's after another's."""
    base, total = np.full(len(plans[0].groups), -1, dtype=np.int64), 0
    for plan in plans:
        base = np.where(plan.groups >= 0, plan.groups + total, base)
        total += plan.inner.cells
    return base


def _side_by_side(plans: Sequence[GridStrategy], *, gaussian: bool) -> Strategy | None:
    """Plans over cells of their own as one strategy of one sensitivity; None where `stacked` has none."""
    sizes = [plan.inner.cells for plan in plans]
    parts = []
    for place, plan in enumerate(plans):
        own, start = np.full(sum(sizes), -1, dtype=np.int64), sum(sizes[:place])
        own[start : start + sizes[place]] = np.arange(sizes[place])
        parts.append((MergeStrategy(own, plan.inner), 1.0))
    return stacked(parts, gaussian=gaussian)


def _single_cells(numbers: CellNumbers) -> GridStrategy:
    """Every atom of some numbers by itself."""
    groups = atoms_of(numbers.size, numbers.cells)
    used = [len(np.unique(groups[own])) for own in numbers.cells]
    return GridStrategy(
        groups=groups,
        inner=IdentityStrategy(int(groups.max()) + 1),
        error=float(numbers.weights @ np.array(used, dtype=np.float64)),
        words="single cells",
    )


def _island_plan(numbers: CellNumbers, *, gaussian: bool, seconds: float, few: bool) -> GridStrategy:
    groups = atoms_of(numbers.size, numbers.cells)
    return _best(numbers, groups, gaussian=gaussian, seconds=seconds, boxes=few)


def _best(numbers: CellNumbers, groups: Places, *, gaussian: bool, seconds: float, boxes: bool = True) -> GridStrategy:
    """The best of all kinds, for numbers that hang together."""
    sides = box_sides(numbers.shape, numbers.cells) if boxes else None
    share = seconds if sides is None else seconds / 2
    plans = [_over_atoms(numbers, groups, gaussian=gaussian, seconds=share)]
    if sides is not None:
        plans += _over_axes(sides, numbers.weights, gaussian=gaussian, seconds=share)
    return min(plans, key=lambda plan: plan.error)


def _over_atoms(numbers: CellNumbers, groups: Places, *, gaussian: bool, seconds: float) -> GridStrategy:
    """Of strategies over atoms the best: their order is that of the cells, and all that is known of them."""
    count = int(groups.max()) + 1
    if len(numbers.cells) * count > _MOST_ENTRIES:
        return _single_cells(numbers)
    workload = SumWorkload(rows_over(groups, count, numbers.cells), numbers.weights)
    plan = plan_sums(workload, gaussian=gaussian, seconds=seconds)
    return GridStrategy(groups=groups, inner=plan.strategy, error=plan.error, words=plan.words)


def _over_axes(sides: BoxSides, weights: Floats, *, gaussian: bool, seconds: float) -> Iterator[GridStrategy]:
    """Strategies for boxes: tables over some axes, products of one strategy for each axis, unions of such."""
    yield from _tables(sides, weights, gaussian=gaussian, seconds=seconds / 3)
    if all(bool(((side.sum(axis=1) == 1) | side.all(axis=1)).all()) for side in sides.sides):
        return  # cells of tables alone: tables are what they are best read off
    product = _product(sides, weights, gaussian=gaussian, seconds=seconds / 3)
    if product is not None:
        yield GridStrategy(groups=sides.groups, inner=product.strategy, error=product.error, words=product.words)
    yield from _unions(sides, weights, gaussian=gaussian, seconds=seconds / 3)


def _tables(sides: BoxSides, weights: Floats, *, gaussian: bool, seconds: float) -> Iterator[GridStrategy]:
    """Tables over sets of axes; and from there, every cell and some rows more."""
    if len(sides.sizes) > MOST_AXES:
        return
    costs = residual_costs(sides.sizes, [side.astype(np.float64) for side in sides.sides], weights)
    if gaussian:
        strategy, error = _residuals(sides, costs)
        if strategy is not None:
            yield GridStrategy(
                groups=sides.groups, inner=strategy, error=error, words=f"contrasts of {_tables_text(strategy)}"
            )
    tables = weigh_tables(sides.sizes, costs, sides.signatures(), gaussian=gaussian)
    strategy = _table_strategy(sides, tables)
    if strategy is not None:
        shares = [table.share for table in tables]
        error = table_error(sides.sizes, costs, tables) * (math.fsum(shares) ** 2 if not gaussian else 1.0)
        yield GridStrategy(groups=sides.groups, inner=strategy, error=error, words=_tables_text(strategy))
    if gaussian or sides.size > MOST_PLANNED:
        return
    workload = SumWorkload(sides.rows(), weights)
    whole = next((table.share for table in tables if len(table.axes) == len(sides.sizes) and not table.signed), 0.1)
    levels = [
        table.share / whole * np.abs(_table_rows(sides, table))
        for table in tables
        if len(table.axes) < len(sides.sizes)
    ]
    improved = improve_rows(workload, levels, np.ones(len(levels)), seconds=seconds) if levels else None
    if improved is not None:
        better = integer_p_identity(improved.rows)
        yield GridStrategy(
            groups=sides.groups,
            inner=better,
            error=sum_error(workload, better, gaussian=gaussian),
            words=strategy_text(better),
        )


def _table_rows(sides: BoxSides, table: WeighedTable) -> Floats:
    """The rows of a table over the cells of the grid."""
    rows: Floats = np.ones((1, 1))
    for axis, size in enumerate(sides.sizes):
        rows = np.asarray(np.kron(rows, _factor(axis, size, table.axes, table.signed)), dtype=np.float64)
    return rows


def _factor(axis: int, size: int, axes: Sequence[int], signed: Sequence[int]) -> Floats:
    if axis in signed:
        return np.array([[1.0, -1.0]])
    return np.eye(size) if axis in axes else np.ones((1, size))


def _table_strategy(sides: BoxSides, tables: Sequence[WeighedTable]) -> Strategy | None:
    """The tables as one strategy, in whole numbers; the whole grid first. None where there are too many rows."""
    largest = max(table.share for table in tables)
    parts: list[Strategy] = []
    for table in sorted(tables, key=lambda own: (-len(own.axes), len(own.signed))):
        times = max(1, round(table.share / largest * _TABLE))
        sizes = [sides.sizes[axis] for axis in table.axes]
        if len(sizes) == len(sides.sizes) and not table.signed:
            parts.append(DiagonalStrategy(np.full(sides.size, times, dtype=np.int64)))
            continue
        inner: Strategy = DiagonalStrategy(np.full(math.prod(sizes), times, dtype=np.int64))
        if table.signed:
            rows = np.ones((1, 1), dtype=np.int64)
            for axis in table.axes:
                factor = _factor(axis, sides.sizes[axis], table.axes, table.signed).astype(np.int64)
                rows = np.kron(rows, factor)
            inner = MatrixStrategy(rows * times)
        parts.append(MergeStrategy(sides.table_groups(table.axes), inner))
    return _readable(parts, sides.size)


def _readable(parts: Sequence[Strategy], cells: int) -> Strategy | None:
    """Parts as one strategy; None where least squares over them would take long."""
    rows = sum(part.rows for part in parts)
    if len(parts) == 1 and isinstance(parts[0], DiagonalStrategy):
        return IdentityStrategy(cells)
    if isinstance(parts[0], DiagonalStrategy):
        rows -= cells
        if rows > min(MOST_PLANNED, cells) or rows * cells > _MOST_ENTRIES:
            return None
    elif min(rows, cells) > MOST_LINES or rows > MOST_LINES:
        return None
    return StackStrategy(tuple(parts)) if len(parts) > 1 else parts[0]


def _residuals(sides: BoxSides, costs: Mapping[tuple[int, ...], float]) -> tuple[Strategy | None, float]:
    """What is best of all tables under Gaussian noise: of each residual its contrasts, none of them measured twice.

    Because: one row tells the residual of S with information i k^2 and is k^2 l long in squares, k its weight; the sum
        of c / (i k^2) times the sum of k^2 l is least for k^4 in proportion to c / (i l).
    """
    parts: list[tuple[ResidualPart, float, float]] = []
    for subset, cost in costs.items():
        if cost > _NOTHING * max(costs.values()):
            part = ResidualPart(axes=subset, centred=subset)
            outside = math.prod(float(size) for axis, size in enumerate(sides.sizes) if axis not in subset)
            own = outside * math.prod(2.0 if sides.sizes[axis] == 2 else sides.sizes[axis] ** 2.0 for axis in subset)
            parts.append((part, cost / own, float(part.norms(sides.sizes)[1])))
    wished = [(cost / length) ** 0.25 for _, cost, length in parts]
    times = [max(1, round(own / min(wished) * _FINE)) for own in wished]
    if max(times) * max(part.norms(sides.sizes)[0] for part, _, _ in parts) > _MOST_MOVED:
        return None, math.inf
    error = sum(cost / own**2 for (_, cost, _), own in zip(parts, times, strict=True)) * sum(
        own**2 * length for (_, _, length), own in zip(parts, times, strict=True)
    )
    strategies: list[Strategy] = []
    for (part, _, _), own in zip(parts, times, strict=True):
        inner = scaled_strategy(_integer_product(part.strategy(sides.sizes)), own)
        strategies.append(MergeStrategy(sides.table_groups(part.axes), inner))
    return _readable(strategies, sides.size), error


def _integer_product(strategy: Strategy) -> Strategy:
    """A residual's strategy with its contrasts written out, so that it can be stored."""
    if not isinstance(strategy, ProductStrategy):
        return strategy
    factors = [
        MatrixStrategy(factor.matrix()) if isinstance(factor, ContrastStrategy) else factor
        for factor in strategy.factors
    ]
    return ProductStrategy(tuple(factors))


def table_error(sizes: Sequence[int], costs: Mapping[tuple[int, ...], float], tables: Sequence[WeighedTable]) -> float:
    """The weighted sum of variances where tables have their shares as weights, and every row noise of variance 1."""
    error = 0.0
    for subset, cost in costs.items():
        information = math.fsum(
            table.share**2 * table_information((table.axes, table.signed), subset, sizes) for table in tables
        )
        if cost > _NOTHING * max(costs.values()):
            error += cost / information if information else math.inf
    return error


def _tables_text(strategy: Strategy) -> str:
    count = len(strategy.parts) if isinstance(strategy, StackStrategy) else 1
    return f"{count:,} table{'s' * (count > 1)} of single cells and their sums"


def _product(sides: BoxSides, weights: Floats, *, gaussian: bool, seconds: float) -> SumPlan | None:
    """One strategy for each axis, each the best for its own sides when the others are as they are."""
    if sides.size > _MOST_ROWS:
        return None
    axes = range(len(sides.sizes))
    different = [different_rows(side) for side in sides.sides]
    variances = [side.sum(axis=1).astype(np.float64) for side in sides.sides]
    plans: list[SumPlan] = [SumPlan(strategy=IdentityStrategy(size), error=0.0, words="") for size in sides.sizes]
    for turn in range(_ROUNDS):
        for axis in axes:
            others = math.prod((variances[other] for other in axes if other != axis), start=weights)
            rows, which = different[axis]
            own = np.bincount(which, others, len(rows))
            workload = SumWorkload(rows, own / own.mean())
            plans[axis] = plan_sums(workload, gaussian=gaussian, seconds=turn * seconds / len(axes))
            scale = sensitivity_squared(plans[axis].strategy, gaussian=gaussian)
            each = row_weights(plans[axis].strategy).variances(rows.astype(np.float64)) * scale
            variances[axis] = each[which]
    strategy = ProductStrategy(tuple(plan.strategy for plan in plans))
    if strategy.rows > _MOST_ROWS or strategy.sensitivity(1).l1 > _MOST_MOVED:
        return None
    words = " and ".join(f"({plan.words})" for plan in plans)
    error = float(math.prod(variances, start=weights).sum())
    return SumPlan(strategy=strategy, error=error, words=f"every combination of {words}")


def _unions(sides: BoxSides, weights: Floats, *, gaussian: bool, seconds: float) -> Iterator[GridStrategy]:
    """A strategy for each set of axes that numbers narrow, or for each of the largest; they share the budget."""
    signatures = sides.signatures()
    tried: set[tuple[tuple[int, ...], ...]] = set()
    for only_largest in (False, True):
        sets = sorted(set(signatures), key=lambda axes: (len(axes), axes))
        if only_largest:
            sets = [axes for axes in sets if not any(set(axes) < set(other) for other in sets)]
        if not 1 < len(sets) <= _MOST_SETS or tuple(sets) in tried:
            continue
        tried.add(tuple(sets))
        home = [
            min(
                (axes for axes in sets if set(own) <= set(axes)),
                key=lambda axes: math.prod(sides.sizes[a] for a in axes),
            )
            for own in signatures
        ]
        parts: list[tuple[Strategy, float]] = []
        errors: list[float] = []
        for axes in sets:
            chosen = [number for number, own in enumerate(home) if own == axes]
            plan = _marginal_plan(
                sides, axes, chosen, weights[chosen], gaussian=gaussian, seconds=seconds / 2 / len(sets)
            )
            parts.append((MergeStrategy(sides.table_groups(axes), plan.strategy), 1.0))
            errors.append(plan.error)
        shares = shared_budget(errors, gaussian=gaussian)
        union = stacked(
            [(part, float(share)) for (part, _), share in zip(parts, shares, strict=True)], gaussian=gaussian
        )
        if union is None or union.rows > _MOST_UNITED:
            continue
        rows = sides.rows()
        workload = SumWorkload(rows, weights) if rows.size <= _MOST_ENTRIES else None
        error = sum(own / share**2 for own, share in zip(errors, shares, strict=True))
        if workload is not None:
            error = sum_error(workload, union, gaussian=gaussian)
        yield GridStrategy(
            groups=sides.groups, inner=union, error=error, words=f"{len(sets):,} sets of columns, each by itself"
        )


def _marginal_plan(
    sides: BoxSides, axes: tuple[int, ...], chosen: list[int], weights: Floats, *, gaussian: bool, seconds: float
) -> SumPlan:
    """The best strategy over the table of some axes, for the numbers that are read off it."""
    if not axes:
        return SumPlan(strategy=IdentityStrategy(1), error=float(weights.sum()), words="the total")
    own = BoxSides(
        groups=sides.groups,
        sizes=tuple(sides.sizes[axis] for axis in axes),
        sides=tuple(sides.sides[axis][chosen] for axis in axes),
    )
    if own.size * len(chosen) > _MOST_ENTRIES:
        inside = [side.sum(axis=1).astype(np.float64) for side in own.sides]
        error = float(math.prod(inside, start=weights).sum())
        return SumPlan(strategy=IdentityStrategy(own.size), error=error, words="single cells")
    plan = plan_sums(SumWorkload(own.rows(), weights), gaussian=gaussian, seconds=seconds)
    if len(axes) > 1:
        product = _product(own, weights, gaussian=gaussian, seconds=seconds)
        if product is not None and product.error < plan.error:
            return product
    return plan
