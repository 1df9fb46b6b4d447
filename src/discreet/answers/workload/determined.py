"""What a batch tells about a later question: where its cells determine every number of it, the question is free.

Because: a number of the question is a sum over whole cells of a grid that the batch measured, so it is a weighted sum
of the numbers that were drawn; `GridAnswers` refuses what they do not determine.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.answers.reconcile.earlier_estimate import EarlierEstimate, EstimatedCell
from discreet.answers.reconcile.history import last_erasure_seq
from discreet.answers.workload.batch_cells import CellGrid, GridNumber, cut_cells
from discreet.answers.workload.drawn_batch import DrawnBatch, drawn_batch, stored_batches
from discreet.answers.workload.grid_answers import GridAnswers
from discreet.answers.workload.stored_batch import StoredGrid
from discreet.inference.reconcile import ColumnDomains
from discreet.kernel.version import Version
from discreet.ledger.ledger import Ledger
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code
from discreet.sql.parsed_query import ParsedQuery

#: A question of more numbers is not looked for in batches: it should be answered at once.
_MOST_NUMBERS = 500


def estimate_from_batches(
    query: ParsedQuery, *, version: Version, ledger: Ledger, without: Collection[str] = ()
) -> EarlierEstimate | None:
    """The most exact that a batch of a version tells about a question; None where none determines all of it.

    `without`: releases that are not looked at, as are those from before a person was forgotten.
    """
    since, charges = last_erasure_seq(ledger, version.table), ledger.state.charges
    ids = [id_ for id_ in stored_batches(ledger, version) if id_ not in without and charges[id_].seq > since]
    if not ids:
        return None
    cut = cut_cells([query], ColumnDomains.of(version.schema.columns))
    if cut.alone or sum(len(grid.numbers) for grid in cut.grids) > _MOST_NUMBERS:
        return None
    drawn = [batch for id_ in ids if (batch := drawn_batch(ledger, id_)) is not None]
    estimates = [own for batch in drawn if (own := estimate_from_batch(query, cut.grids, batch)) is not None]
    return min(estimates, key=largest_variance, default=None)


def largest_variance(estimate: EarlierEstimate) -> float:
    """The largest variance of any number of an estimate."""
    return max((cell.variance for cells in estimate.cells.values() for cell in cells), default=0.0)


def estimate_from_batch(query: ParsedQuery, grids: Sequence[CellGrid], batch: DrawnBatch) -> EarlierEstimate | None:
    """What one batch tells about a question that is cut into these grids."""
    cells: dict[tuple[int, int], dict[int, EstimatedCell]] = {}
    for grid in grids:
        estimates = [
            own
            for number, stored in enumerate(batch.stored.grids)
            if stored.is_of(grid) and (own := _estimates(grid, stored, batch.noisy[number], batch.id)) is not None
        ]
        if not estimates:
            return None
        best = min(estimates, key=lambda own: max(cell.variance for cell in own))
        for each, estimate in zip(grid.numbers, best, strict=True):
            cells.setdefault((each.place, each.index), {})[each.cell] = estimate
    return EarlierEstimate(
        query=query,
        cells={key: tuple(own[cell] for cell in sorted(own)) for key, own in cells.items()},
    )


def _estimates(
    grid: CellGrid, stored: StoredGrid, noisy: NDArray[np.int64] | NDArray[np.object_], release: str
) -> list[EstimatedCell] | None:
    """The numbers of a grid by what was measured of another one over the same rows; None where that does not do."""
    places = _stored_places(grid, stored.axes)
    if places is None:
        return None
    try:
        answers = GridAnswers.of_cells([places(number) for number in grid.numbers], stored.strategy)
        values = answers.answers(noisy)
    except ValueError:  # not whole cells, cells that were not measured, or not determined
        return None
    variances = answers.variances * float(stored.law.variance())
    return [
        EstimatedCell(
            value=float(values[at]),
            variance=float(variances[at]),
            parts=tuple(answers.parts(at, stored.law)),
            releases=(release,),
        )
        for at in range(len(grid.numbers))
    ]


class _Places:
    """For a number of one grid its cells in another one, which is cut finer."""

    def __init__(self, shape: tuple[int, ...], maps: Sequence[NDArray[np.int64]]) -> None:
        self._shape, self._maps = shape, maps

    def __call__(self, number: GridNumber) -> NDArray[np.int64]:
        inside = np.zeros(int(np.prod(self._shape, dtype=np.int64)), dtype=np.bool_)
        inside[number.cells] = True
        return np.flatnonzero(inside.reshape(self._shape)[np.ix_(*self._maps)]) if self._maps else number.cells


def _stored_places(grid: CellGrid, axes: Sequence[Axis]) -> _Places | None:
    """How the cells of a grid lie in a grid of these axes; None where it is cut where they are not."""
    own = {axis.of.column: axis for axis in grid.axes if isinstance(axis.of, Code)}
    stored = {axis.of.column: axis for axis in axes if isinstance(axis.of, Code)}
    if len(own) != len(grid.axes) or len(stored) != len(axes) or not set(own) <= set(stored):
        return None
    if [column for column in stored if column in own] != list(own):
        return None
    shape, maps = [], []
    for column, axis in stored.items():
        mine = own.get(column)
        if mine is None:
            shape.append(1)
            maps.append(np.zeros(axis.size, dtype=np.int64))
            continue
        edges, coarse = np.array(axis.edges), np.array(mine.edges)
        if (
            mine.null != axis.null
            or (edges[0], edges[-1]) != (coarse[0], coarse[-1])
            or not np.isin(coarse, edges).all()
        ):
            return None
        place = np.searchsorted(coarse, edges[:-1], side="right") - 1
        shape.append(mine.size)
        maps.append(np.concatenate([place, [mine.size - 1]]) if axis.null else place)
    return _Places(tuple(shape), maps)
