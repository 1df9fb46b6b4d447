"""Grids of cells without statements, for tests."""

import itertools

import numpy as np

from discreet.answers.workload.batch_cells import CellGrid, GridNumber
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code
from discreet.plan.relation import Scan


def grid_of(shape, numbers):
    """A grid whose numbers are these cells, a statement each."""
    axes = tuple(
        Axis(of=Code(f"c{place}", 0, own - 1, null=False), edges=tuple(range(own + 1)), null=False, labels=())
        for place, own in enumerate(shape)
    )
    listed = tuple(
        GridNumber(statement=place, place=0, index=0, cell=0, cells=np.asarray(own, dtype=np.int64))
        for place, own in enumerate(numbers)
    )
    return CellGrid(plan=Scan(table="t", version=1), axes=axes, statistic=RowCount(), numbers=listed)


def table_numbers(shape, orders):
    """The cells of all tables of so many axes."""
    cells = np.arange(int(np.prod(shape))).reshape(shape)
    numbers = []
    for order in orders:
        for axes in itertools.combinations(range(len(shape)), order):
            for cell in itertools.product(*(range(shape[axis]) for axis in axes)):
                place = [slice(None)] * len(shape)
                for axis, own in zip(axes, cell, strict=True):
                    place[axis] = own
                numbers.append(np.sort(cells[tuple(place)].ravel()))
    return numbers
