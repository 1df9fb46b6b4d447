"""Batches cut into cells: each number of each statement is exactly the sum of its cells, whatever the rows."""

import numpy as np
import pytest

from answers.reconcile.worlds import DOMAIN, World, _cell, _term, exact_cells
from discreet.answers.workload.batch_cells import cut_cells
from tiers import size


def exact_grid(grid, records):
    """What an engine would count in the cells of a grid over a declared table, record by record."""
    counts = np.zeros(grid.size, dtype=np.int64)
    for record in records:
        counts[_cell(grid.axes, record)] += _term(grid.statistic, record)
    return counts


def wrong_numbers(queries, records, cut=None):
    """How many numbers there are, and how many are not the sum of their cells."""
    cut = cut or cut_cells(queries, DOMAIN)
    seen, wrong = 0, 0
    for grid in cut.grids:
        counts = exact_grid(grid, records)
        for number in grid.numbers:
            expected = exact_cells(queries[number.statement].inquiry, number.place, number.index, records)[number.cell]
            seen, wrong = seen + 1, wrong + (counts[number.cells].sum() != expected)
    return seen, wrong


def complete(queries, cut):
    """Is every number of every statement in one grid, or is the statement measured by itself?"""
    named = sorted((n.statement, n.place, n.index, n.cell) for grid in cut.grids for n in grid.numbers)
    wished = sorted(
        (statement, place, index, cell)
        for statement, query in enumerate(queries)
        if statement not in cut.alone
        for place, axes in enumerate(query.inquiry.sets)
        for index in range(len(query.inquiry.statistics))
        for cell in range(int(np.prod([axis.size for axis in axes], dtype=int)))
    )
    return named == wished


@pytest.mark.parametrize("seed", range(size(12, 60)))
def test_numbers_are_sums_of_their_cells(seed):
    world = World(seed)
    queries = [world.question() for _ in range(12)]
    cut = cut_cells(queries, DOMAIN)
    seen, wrong = wrong_numbers(queries, world.records, cut)
    assert complete(queries, cut) and seen and not wrong
