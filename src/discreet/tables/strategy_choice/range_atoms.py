"""Cells that no given range tells apart, taken as one: fewer cells, less noise."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.tables.workload import GivenRanges

if TYPE_CHECKING:
    from discreet.tables.strategy_choice.strategy_plan import StrategyPlan


def atoms(workload: GivenRanges) -> tuple[NDArray[np.int64], GivenRanges]:
    """For each cell the atom it belongs to, or -1 where no range holds it; and the ranges as ranges of atoms.

    >>> groups, inner = atoms(GivenRanges(8, np.array([1, 3]), np.array([4, 6])))
    >>> groups.tolist(), inner.lows.tolist(), inner.highs.tolist()
    ([-1, 0, 0, 1, 1, 2, 2, -1], [0, 1], [1, 2])
    """
    edges = np.unique(np.concatenate([workload.lows, workload.highs + 1]))
    used = workload.uses() > 0.5
    piece = np.searchsorted(edges, np.arange(workload.size), side="right")
    pieces, number = np.unique(piece[used], return_inverse=True)
    groups = np.full(workload.size, -1, dtype=np.int64)
    groups[used] = number
    return groups, GivenRanges(len(pieces), groups[workload.lows], groups[workload.highs])


def plan_over_cells(workload: GivenRanges, groups: NDArray[np.int64], atom_plan: StrategyPlan) -> StrategyPlan:
    """A plan over atoms as one over cells."""
    return replace(
        atom_plan,
        workload=workload,
        strategy=MergeStrategy(groups, atom_plan.strategy),
        words=f"{atom_plan.workload.cells:,} groups of cells that the ranges do not separate: {atom_plan.words}",
    )
