"""Released tables: cells of declared columns, measured together by one strategy, that any sum of cells is read from.

A release of ranges, of marginals or of published tables is not a list of numbers but a few weighted sums of cells with
noise. What it tells about a region is the least-squares answer, a weighted sum of what was drawn, so that its exact law
of error is known.

Guarantee: where something is told, its expectation is the number of rows in the region, for every table that fits the
    declaration, and `parts` is the law of its error.
Because: a region is taken only where it is exactly a union of cells (`TableAxis.selection` counts the possible codes on
    both sides); the weights w of the rows A fulfil A'w = b for the cells b of the region; and noise has mean 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import ONLY_NULL, Box, Region, Value, ValueSet
from discreet.answers.reconcile.earlier_estimate import EstimatedCell
from discreet.errors import Refused
from discreet.inference.linear.residual_fit import ResidualPrecision
from discreet.inference.linear.residual_part import ResidualPart, informative_axes, subsets
from discreet.inference.linear.solver_interface import Solver
from discreet.inference.reconcile import ColumnDomains
from discreet.inference.reconcile.region_pieces import Piece, disjoint_pieces
from discreet.kernel.measurement import Law
from discreet.mechanisms.strategy.node_tables import NodeStrategy
from discreet.mechanisms.weighted_sum import WeightedPart
from discreet.schema.column import Label

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: Of each axis, which of its cells are meant.
Selection = tuple[Flags, ...]

#: Codes of columns without bounds end here: no axis reaches so far.
_FAR = 2**62

#: So many cells of published tables are fitted by least squares; of more the best single table is read.
MOST_FITTED = 1_024

#: A release of more cells times the cells of a question than this is not looked at: an answer should come at once.
MOST_WORK = 2**25

#: Noise of a smaller variance counts as this much.
_LEAST_VARIANCE = 1e-9


#: Selections of axes of so many cells are remembered: the cells of a question share most of their sides.
_MOST_REMEMBERED_CELLS = 4_096


@dataclass(frozen=True, eq=False, kw_only=True)
class TableAxis:
    """A declared column, cut: cell i holds the codes in [edges[i], edges[i + 1]), and the last one NULL if `null`."""

    column: str
    edges: NDArray[np.int64]
    null: bool
    labels: tuple[Label, ...] = ()

    @property
    def size(self) -> int:
        return len(self.edges) - 1 + self.null

    def values(self, cell: int) -> ValueSet:
        """The values of one cell."""
        if cell == len(self.edges) - 1:
            return ONLY_NULL
        return ValueSet.interval(int(self.edges[cell]), int(self.edges[cell + 1]))

    def label(self, cell: int) -> Label:
        """What people call a cell."""
        return self.labels[cell] if cell < len(self.labels) else cell

    def selection(self, allowed: ValueSet, possible: ValueSet) -> Flags | None:
        """The cells that hold just the allowed values, of those that are possible; None where they cut a cell.

        Because: codes are counted. A cell is taken where all of its possible codes are allowed and left where none is;
            and all that is allowed lies in some cell.
        """
        wished, there = self._codes(allowed & possible), self._codes(possible)
        if wished is None or there is None:
            return None
        (inside, outside), full = wished, there[0]
        if outside or bool(((inside != 0) & (inside != full)).any()):
            return None
        # All that can be: then the cells that nobody can be in are taken, too, for the sake of totals.
        return np.ones(self.size, dtype=np.bool_) if np.array_equal(inside, full) else np.asarray(inside != 0)

    def _codes(self, values: ValueSet) -> tuple[NDArray[np.int64], int] | None:
        """How many codes of a set lie in each cell, and how many in none; NULL counts as one. None for texts."""
        below = np.zeros(len(self.edges), dtype=np.int64)
        total = 0
        for low, high in values.runs:
            if isinstance(low, str) or isinstance(high, str):
                return None
            first, last = _near(low, -_FAR), _near(high, _FAR)
            below += np.clip(self.edges, first, last) - first
            total += last - first
        inside = np.diff(below)
        outside = total - int(inside.sum())
        if self.null:
            return np.append(inside, np.int64(values.null)), outside
        return inside, outside + values.null


def _near(code: Value | None, end: int) -> int:
    return end if code is None else max(-_FAR, min(_FAR, int(code)))


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedRows:
    """How much noisy rows of one law count in an answer; `times`: each row is the sum of so many that were drawn."""

    weights: Floats
    noisy: Floats
    law: Law
    times: int = 1


class TableSums(Protocol):
    """What a release says about sums of its cells."""

    @property
    def work(self) -> int:
        """About how many numbers one answer looks at."""

    def weights(self, boxes: Sequence[Selection]) -> list[WeightedRows] | None:
        """The rows that answer a sum over disjoint boxes of cells; None where they do not determine it."""

    def is_told(self, box: Selection) -> bool:
        """Whether the release itself shows the number of this box, and not only what follows from several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedTable:
    """One release: axes over declared columns, the records that it counts (a box), and what it says of its cells."""

    release: str
    family: str
    axes: tuple[TableAxis, ...]
    sums: TableSums
    rows: Box = field(default_factory=Box)

    def estimate(self, region: Region, domain: ColumnDomains) -> tuple[EstimatedCell, bool] | None:
        """What is told about a region, and whether that is a number that the release itself shows; None: nothing."""
        try:
            pieces = disjoint_pieces(region, domain)
        except Refused:
            return None
        if not pieces:  # nobody can be in it
            return EstimatedCell(value=0.0, variance=0.0, parts=(), releases=()), True
        selections = [self._selection(piece, domain) for piece in pieces]
        boxes = [selection for selection in selections if selection is not None]
        if len(boxes) != len(selections):
            return None
        rows = self.sums.weights(boxes)
        if rows is None:
            return None
        cell = EstimatedCell(
            value=math.fsum(float(part.weights @ part.noisy) for part in rows),
            variance=math.fsum(
                part.times * float(part.weights @ part.weights) * max(float(part.law.variance()), _LEAST_VARIANCE)
                for part in rows
            ),
            parts=tuple(weighted for part in rows if (weighted := _part(part)) is not None),
            releases=(self.release,),
        )
        return cell, len(boxes) == 1 and self.sums.is_told(boxes[0])

    def _selection(self, piece: Piece, domain: ColumnDomains) -> Selection | None:
        """The cells of a box of records; None where it is not exactly made of cells of this release."""
        chosen = []
        for axis in self.axes:
            possible = domain.possible(axis.column) & self.rows.sides.get(axis.column, domain.possible(axis.column))
            allowed = piece.get(axis.column, domain.possible(axis.column))
            # What lies outside the records of the release is not told by it.
            if not (allowed & domain.possible(axis.column) & possible.complement()).empty:
                return None
            select = _remembered_selection if axis.size <= _MOST_REMEMBERED_CELLS else TableAxis.selection
            own = select(axis, allowed, possible)
            if own is None:
                return None
            chosen.append(own)
        columns = {axis.column for axis in self.axes}
        for column in (set(piece) | set(self.rows.sides)) - columns:
            possible = domain.possible(column)
            sides = [box.get(column, possible) & possible for box in (piece, self.rows.sides)]
            if sides[0] != sides[1]:
                return None
        return tuple(chosen)


@lru_cache(maxsize=2048)
def _remembered_selection(axis: TableAxis, allowed: ValueSet, possible: ValueSet) -> Flags | None:
    return axis.selection(allowed, possible)


def _part(part: WeightedRows) -> WeightedPart | None:
    """The weights that are something, for the law of the error."""
    weights = np.abs(part.weights)
    kept = part.weights[weights > 1e-12 * weights.max(initial=0.0)]
    return (kept, part.law, part.times) if len(kept) else None


def single_or_all(flags: Flags) -> bool:
    """Whether one cell of an axis is meant, or all of them."""
    return bool(flags.all()) or int(flags.sum()) == 1


def is_run(flags: Flags) -> bool:
    """Whether the cells that are meant lie side by side."""
    places = np.flatnonzero(flags)
    return len(places) > 0 and int(places[-1] - places[0]) == len(places) - 1


@dataclass(frozen=True, kw_only=True)
class StrategySums:
    """One strategy over all cells, row-major, under noise of one law. `ranges`: it shows all runs of the last axis."""

    solver: Solver
    law: Law
    noisy: Floats
    ranges: bool = True

    @property
    def work(self) -> int:
        return self.solver.strategy.cells + self.solver.strategy.rows

    def weights(self, boxes: Sequence[Selection]) -> list[WeightedRows] | None:
        wished = sum((_flat(box) for box in boxes), np.zeros(self.solver.strategy.cells))
        try:
            return [WeightedRows(weights=self.solver.row_weights(wished), noisy=self.noisy, law=self.law)]
        except ValueError:
            return None

    def is_told(self, box: Selection) -> bool:
        return all(map(single_or_all, box[:-1])) and (is_run(box[-1]) if self.ranges else single_or_all(box[-1]))


def _flat(box: Selection) -> Floats:
    """A box of cells, row-major."""
    return reduce(np.multiply.outer, [flags.astype(np.float64) for flags in box], np.ones(())).reshape(-1)


@dataclass(frozen=True, kw_only=True)
class MarginalSums:
    """Parts of marginals: each a table by cells, or by contrasts along some axes (docs/proofs/tables-marginals.md).

    Because: a marginal is put together from residuals, each a mean of what the parts say of it; a sum of cells along
        each axis goes through the same formulas the other way round, axis by axis.
    """

    precision: ResidualPrecision
    laws: tuple[Law, ...]
    noisy: tuple[Floats, ...]

    @property
    def work(self) -> int:
        return 4 * sum(part.size for part in self.noisy)

    def weights(self, boxes: Sequence[Selection]) -> list[WeightedRows] | None:
        narrow = [tuple(axis for axis, flags in enumerate(box) if not flags.all()) for box in boxes]
        if not all(self._determines(axes) for axes in narrow):
            return None
        cut = set(itertools.chain(*narrow))
        rows = []
        for place, part in enumerate(self.precision.parts):
            if not set(part.centred) <= cut:
                continue  # contrasts along an axis that nobody cuts say nothing here
            kept = tuple(axis in cut for axis in part.axes)
            total = sum(self._weights(place, part, box, axes, kept) for box, axes in zip(boxes, narrow, strict=True))
            if np.any(total):
                noisy, times = self._gathered(place, kept)
                weights = np.asarray(total, dtype=np.float64).reshape(-1)
                rows.append(WeightedRows(weights=weights, noisy=noisy, law=self.laws[place], times=times))
        return rows

    @cached_property
    def _sums(self) -> dict[tuple[int, tuple[bool, ...]], tuple[Floats, int]]:
        return {}

    def _gathered(self, place: int, kept: tuple[bool, ...]) -> tuple[Floats, int]:
        """The numbers of a part, added up along the axes that are not kept, and how many each is the sum of."""
        if (place, kept) not in self._sums:
            table = np.asarray(self.noisy[place]).reshape(self.precision.parts[place].shape(self.precision.sizes))
            gathered = tuple(number for number, keep in enumerate(kept) if not keep)
            times = math.prod(table.shape[number] for number in gathered)
            self._sums[place, kept] = table.sum(axis=gathered).reshape(-1), times
        return self._sums[place, kept]

    @cached_property
    def _shares(self) -> dict[tuple[int, tuple[int, ...]], float]:
        return {}

    def _share(self, place: int, subset: tuple[int, ...]) -> float:
        if (place, subset) not in self._shares:
            self._shares[place, subset] = self.precision.share(place, subset)
        return self._shares[place, subset]

    def _determines(self, axes: tuple[int, ...]) -> bool:
        return all(subset in self.precision.of for subset in subsets(informative_axes(axes, self.precision.sizes)))

    def _weights(
        self, place: int, part: ResidualPart, box: Selection, axes: tuple[int, ...], kept: Sequence[bool]
    ) -> Floats:
        """The weights of one part's numbers in the sum over a box; along what is not kept they are all alike."""
        sizes = self.precision.sizes
        own = [axis for axis in informative_axes(axes, sizes) if axis in part.axes]
        shape = [size if keep else 1 for size, keep in zip(part.shape(sizes), kept, strict=True)]
        total = np.zeros(shape)
        for subset in subsets(own):
            if not set(part.centred) <= set(subset):
                continue
            amount = self._share(place, subset)
            amount *= math.prod(float(box[axis].sum()) / sizes[axis] for axis in axes if axis not in subset)
            vectors = [
                _along(box[axis].astype(np.float64), centred=axis in part.centred) if axis in subset else np.ones(size)
                for axis, size in zip(part.axes, shape, strict=True)
            ]
            total += amount * reduce(np.multiply.outer, vectors, np.ones(()))
        return total

    def is_told(self, box: Selection) -> bool:
        return all(map(single_or_all, box))


def _along(chosen: Floats, *, centred: bool) -> Floats:
    """What a sum over these cells of an axis takes from a part: by cells, or by the part's contrasts."""
    contrast = np.asarray(chosen - chosen.mean())
    if not centred:
        return contrast
    return np.array([(chosen[0] - chosen[1]) / 2]) if len(chosen) == 2 else contrast / len(chosen)


@dataclass(frozen=True, kw_only=True)
class NodeSums:
    """Tables of nodes of a hierarchy, each level and query under its own law. `nodes`: for each level, measured or
    not, the node of each place; `places`: how many axes say the place."""

    parts: tuple[tuple[NodeStrategy, Law, Floats], ...]
    nodes: tuple[NDArray[np.int64], ...]
    places: int

    @property
    def work(self) -> int:
        return self.parts[0][0].cells + sum(strategy.rows for strategy, _, _ in self.parts)

    @cached_property
    def _row_of_cell(self) -> NDArray[np.int64]:
        """For each table, a line each, the row that counts each cell; -1 where none does."""
        return np.stack([row_of_cell(strategy) for strategy, _, _ in self.parts])

    @cached_property
    def _fit(self) -> tuple[NDArray[np.int64], Floats, Floats] | None:
        """The atom of each cell: cells that every table counts together are one. Rows over atoms, weighed, and the
        inverse of the normal matrix. None where there are too many atoms."""
        atoms, atom_of = np.unique(self._row_of_cell, axis=1, return_inverse=True)
        if atoms.shape[1] > MOST_FITTED or sum(strategy.rows for strategy, _, _ in self.parts) > 4 * MOST_FITTED:
            return None
        blocks = []
        for rows, (strategy, law, _) in zip(atoms, self.parts, strict=True):
            block = np.zeros((strategy.rows, atoms.shape[1]))
            there = np.flatnonzero(rows >= 0)
            block[rows[there], there] = 1 / _variance(law)
            blocks.append(block)
        weighed = np.concatenate(blocks)
        normal = np.concatenate([block * _variance(law) for block, (_, law, _) in zip(blocks, self.parts, strict=True)])
        inverse = np.linalg.pinv(normal.T @ weighed, hermitian=True)
        return atom_of.reshape(-1).astype(np.int64), weighed, np.asarray(inverse, dtype=np.float64)

    def weights(self, boxes: Sequence[Selection]) -> list[WeightedRows] | None:
        wished = sum((_flat(box) for box in boxes), np.zeros(self._row_of_cell.shape[1]))
        if wished[(self._row_of_cell < 0).all(axis=0)].any():
            return None
        if self._fit is None:
            return self._of_one_table(wished)
        atom_of, weighed, inverse = self._fit
        counts = np.bincount(atom_of)
        inside = np.bincount(atom_of, wished, len(counts)) / counts
        if not np.array_equal(inside[atom_of], wished):
            return None
        weights = weighed @ (inverse @ inside)
        ends = list(itertools.accumulate((strategy.rows for strategy, _, _ in self.parts), initial=0))
        rows = [
            WeightedRows(weights=weights[low:high], noisy=noisy, law=law)
            for (low, high), (_, law, noisy) in zip(itertools.pairwise(ends), self.parts, strict=True)
        ]
        given = sum(np.append(part.weights, 0.0)[own] for part, own in zip(rows, self._row_of_cell, strict=True))
        return rows if np.allclose(given, wished, rtol=0, atol=1e-9) else None  # else the tables do not determine it

    def _of_one_table(self, wished: Floats) -> list[WeightedRows] | None:
        """The table whose groups make up what is wished for with the least noise."""
        fitting = []
        for own, (strategy, law, noisy) in zip(self._row_of_cell, self.parts, strict=True):
            there = own >= 0
            counts = np.bincount(own[there], minlength=strategy.rows)
            chosen = np.bincount(own[there], wished[there], strategy.rows) / np.maximum(counts, 1)
            if np.array_equal(np.append(chosen, 0.0)[own], wished):
                noise = float(chosen @ chosen) * _variance(law)
                fitting.append((noise, WeightedRows(weights=chosen, noisy=noisy, law=law)))
        return [min(fitting, key=lambda each: each[0])[1]] if fitting else None

    def is_told(self, box: Selection) -> bool:
        if not all(map(single_or_all, box[self.places :])):
            return False
        chosen = _flat(box[: self.places]) > 0 if self.places else np.ones(1, dtype=np.bool_)
        return any(
            len(own := np.unique(nodes[chosen & (nodes >= 0)])) == 1 and bool((chosen | (nodes != own[0])).all())
            for nodes in self.nodes
        )


def row_of_cell(strategy: NodeStrategy) -> NDArray[np.int64]:
    """The row that counts each cell, row-major over places and cells; -1 where none does."""
    rows = strategy.places[:, None] * strategy.kinds + strategy.groups[None, :]
    counted = (strategy.places[:, None] >= 0) & (strategy.groups[None, :] >= 0)
    return np.where(counted, rows, -1).reshape(-1)


def _variance(law: Law) -> float:
    return max(float(law.variance()), _LEAST_VARIANCE)


def column_axis(column: str, edges: Sequence[int], *, null: bool, labels: tuple[Label, ...] = ()) -> TableAxis:
    """An axis of a declared column."""
    return TableAxis(column=column, edges=np.asarray(edges, dtype=np.int64), null=null, labels=labels)


def in_one_box(region: Region) -> Box | None:
    """The box that a region is; None where it is several, or nobody."""
    return region.boxes[0] if len(region.boxes) == 1 and not region.boxes[0].empty else None
