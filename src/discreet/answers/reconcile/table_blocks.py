"""Released tables as blocks: their cells with what was measured of them, to be made to agree with other answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import MOST_BOXES, ONLY_NULL, Box, Region, ValueSet
from discreet.answers.reconcile.released_numbers import ExclusionReason
from discreet.answers.reconcile.released_tables import (
    MarginalSums,
    NodeSums,
    ReleasedTable,
    StrategySums,
    TableAxis,
    row_of_cell,
)
from discreet.inference.reconcile.block_fit import MeasuredBlock
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import ProductStrategy
from discreet.schema.column import Label

#: A release of more cells, or measured sums, than this is not made to agree with others: it would take minutes.
MOST_CELLS = 1_500

_LEAST_VARIANCE = 1e-9

Keys = tuple[tuple[str, Label], ...]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBlock:
    """The cells of a release, what people call them, and the block that measured them."""

    release: str
    keys: tuple[Keys, ...]
    block: MeasuredBlock


def table_block(table: ReleasedTable) -> TableBlock | ExclusionReason:
    """A released table as a block, if it is small enough."""
    too_large = ExclusionReason(reason=f"more than {MOST_CELLS:,} cells at once")
    match table.sums:
        case StrategySums():
            cells = _strategy_cells(table, table.sums)
        case MarginalSums():
            cells = _marginal_cells(table, table.sums)
        case NodeSums():
            cells = _node_cells(table, table.sums)
        case _:
            return ExclusionReason(reason="it is a workload, whose numbers are not used here")
    if cells is None:
        return too_large
    (regions, keys), rows, noisy, variances = cells
    block = MeasuredBlock(
        regions=tuple(regions), rows=rows, noisy=noisy, variances=np.maximum(variances, _LEAST_VARIANCE)
    )
    return TableBlock(release=table.release, keys=tuple(keys), block=block)


_Cells = tuple[list[Region], list[Keys]]
_Block = tuple[_Cells, Floats, Floats, Floats]


def _strategy_cells(table: ReleasedTable, sums: StrategySums) -> _Block | None:
    strategy = sums.solver.strategy
    if strategy.rows > 2 * MOST_CELLS or (isinstance(strategy, ProductStrategy) and _has_merged(strategy)):
        return None
    variances = np.full(strategy.rows, float(sums.law.variance()))
    if isinstance(strategy, MergeStrategy):
        (axis,) = table.axes
        if strategy.inner.cells > MOST_CELLS:
            return None
        places = [np.flatnonzero(strategy.groups == group) for group in range(strategy.inner.cells)]
        regions = [Region((Box({axis.column: _union(axis, own)}) & table.rows,)) for own in places]
        keys: list[Keys] = [((axis.column, _run_label(axis, own)),) for own in places]
        return (regions, keys), strategy.inner.matrix().astype(np.float64), sums.noisy, variances
    if strategy.cells > MOST_CELLS:
        return None
    return _grid(table, range(len(table.axes))), strategy.matrix().astype(np.float64), sums.noisy, variances


def _has_merged(strategy: ProductStrategy) -> bool:
    return any(isinstance(factor, MergeStrategy) for factor in strategy.factors)


def _marginal_cells(table: ReleasedTable, sums: MarginalSums) -> _Block | None:
    sizes, parts = sums.precision.sizes, sums.precision.parts
    sets = [axes for axes in sums.precision.of if not any(set(axes) < set(other) for other in sums.precision.of)]
    counts = [math.prod(sizes[axis] for axis in axes) for axes in sets]
    if sum(counts) > MOST_CELLS or sum(len(noisy) for noisy in sums.noisy) > 2 * MOST_CELLS:
        return None
    regions: list[Region] = []
    keys: list[Keys] = []
    for axes in sets:
        own_regions, own_keys = _grid(table, axes)
        regions += own_regions
        keys += own_keys
    starts = list(itertools.accumulate(counts, initial=0))
    rows = []
    for part in parts:
        place = next(number for number, axes in enumerate(sets) if set(part.axes) <= set(axes))
        cells = np.eye(counts[place]).reshape(*(sizes[axis] for axis in sets[place]), counts[place])
        gathered = tuple(number for number, axis in enumerate(sets[place]) if axis not in part.axes)
        measured = part.strategy(sizes).multiply(cells.sum(axis=gathered).reshape(-1, counts[place]))
        wide = np.zeros((len(measured), len(regions)))
        wide[:, starts[place] : starts[place + 1]] = measured
        rows.append(wide)
    variances = [np.full(len(own), float(law.variance())) for own, law in zip(rows, sums.laws, strict=True)]
    return (regions, keys), np.concatenate(rows), np.concatenate(sums.noisy), np.concatenate(variances)


def _node_cells(table: ReleasedTable, sums: NodeSums) -> _Block | None:
    row_numbers = np.stack([row_of_cell(strategy) for strategy, _, _ in sums.parts])
    atoms, atom_of = np.unique(row_numbers, axis=1, return_inverse=True)
    atom_of = atom_of.reshape(-1)
    counted = np.flatnonzero((atoms >= 0).any(axis=0))
    if len(counted) > MOST_CELLS or sum(strategy.rows for strategy, _, _ in sums.parts) > 2 * MOST_CELLS:
        return None
    if np.bincount(atom_of)[counted].max() > MOST_BOXES:
        return None
    all_regions, all_keys = _grid(table, range(len(table.axes)))
    regions: list[Region] = []
    keys: list[Keys] = []
    for atom in counted.tolist():
        cells = np.flatnonzero(atom_of == atom).tolist()
        regions.append(Region(tuple(box for cell in cells for box in all_regions[cell].boxes)))
        keys.append(all_keys[cells[0]])
    rows = []
    for own, (strategy, _, _) in zip(atoms, sums.parts, strict=True):
        part = np.zeros((strategy.rows, len(counted)))
        there = np.flatnonzero(own[counted] >= 0)
        part[own[counted][there], there] = 1.0
        rows.append(part)
    variances = [np.full(strategy.rows, float(law.variance())) for strategy, law, _ in sums.parts]
    noisy = [own for _, _, own in sums.parts]
    return (regions, keys), np.concatenate(rows), np.concatenate(noisy), np.concatenate(variances)


def _grid(table: ReleasedTable, axes: Sequence[int]) -> _Cells:
    """The cells of some axes, row-major: the records of each, and what people call it."""
    chosen = [table.axes[axis] for axis in axes]
    sides = [[(axis, cell) for cell in range(axis.size)] for axis in chosen]
    regions, keys = [], []
    for cells in itertools.product(*sides):
        box = Box({axis.column: axis.values(cell) for axis, cell in cells}) & table.rows
        regions.append(Region((box.tidy(),)) if not box.empty else Region(()))
        keys.append(tuple((axis.column, axis.label(cell)) for axis, cell in cells))
    return regions, keys


def _union(axis: TableAxis, cells: NDArray[np.int64]) -> ValueSet:
    return ValueSet.union(axis.values(cell) for cell in cells.tolist()) if len(cells) else ONLY_NULL


def _run_label(axis: TableAxis, cells: NDArray[np.int64]) -> Label:
    first, last = axis.label(int(cells[0])), axis.label(int(cells[-1]))
    return first if len(cells) == 1 else f"{str(first).split(' to ')[0]} to {str(last).split(' to ')[-1]}"
