"""The grid: the finite world that the regions of a history can tell apart.

Every column's line is cut at each endpoint that some region has named. Between two cuts no region
changes, so what lies between them is one cell; NULL is a cell of its own. The cells of all columns lie on
one axis, a column after the other: NULL first, then the values in order. Any record is one cell in each
column, and any choice of cells is a possible record.

Regions are cut into disjoint boxes ("pieces") first, so that a record lies in at most one of them and
unions need no care later. Cuts are remembered by number; only their positions move when a new one comes,
so a charge appends and rewrites nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import ANYTHING, Box, Region, Value, ValueSet, hull

#: A region that takes more pieces than this is replaced by its hull. Wider is always safe.
MOST_PIECES = 256

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def disjoint(region: Region) -> list[Box]:
    """The region as boxes of which no record lies in two.

    >>> either = Region.of([Box({"sex": ValueSet.of([1])}), Box({"age": ValueSet.interval(60, None)})])
    >>> [list(piece.sides) for piece in disjoint(either)]
    [['sex'], ['age', 'sex']]
    """
    boxes = sorted((box.tidy() for box in region.boxes if is_possible(box)), key=lambda box: len(box.sides))
    pieces: list[Box] = []
    for number, box in enumerate(boxes):
        fresh = [box]
        for earlier in boxes[:number]:
            fresh = [part for piece in fresh for part in _box_difference(piece, earlier)]
            if len(pieces) + len(fresh) > MOST_PIECES:
                return [hull(boxes)]
        pieces += fresh
    return pieces


def is_possible(box: Box) -> bool:
    """Is there a record in the box? No text sorts below the empty one."""
    return all(allowed.null or any(high != "" for _, high in allowed.runs) for allowed in box.sides.values())


def _box_difference(box: Box, other: Box) -> list[Box]:
    """What of `box` lies outside `other`: a part for each side of `other`, in which it is the first to be left."""
    if not is_possible(box & other):
        return [box]
    parts, sides = [], dict(box.sides)
    for column, allowed in other.sides.items():
        mine = sides.get(column, ANYTHING)
        parts.append(Box(sides | {column: mine & allowed.complement()}).tidy())
        sides[column] = mine & allowed
    return [part for part in parts if is_possible(part)]


@dataclass(frozen=True, slots=True, kw_only=True)
class GridArrays:
    """All pieces of a history on the axis, as arrays. A piece has a side for each column that it narrows, a side
    has runs of cells [start, stop); sides are in the order of their pieces and runs in that of their sides.

    `event`: of each piece; `piece`, `column`: of each side; `side`, `start`, `stop`: of each run; `first`: of each
    column its first cell, and at the end the number of cells; `void`: cells without a value.
    """

    event: Integers
    piece: Integers
    column: Integers
    side: Integers
    start: Integers
    stop: Integers
    first: Integers
    void: Integers


@dataclass(slots=True)
class _Column:
    """One column's cuts in order, and the numbers of their marks. Three more marks stand for the ends of the line."""

    number: int
    null: int
    cuts: list[Value] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)

    @property
    def bottom(self) -> int:
        """Where NULL ends and the values begin."""
        return self.null + 1

    @property
    def top(self) -> int:
        return self.null + 2

    def copy(self) -> _Column:
        return _Column(self.number, self.null, list(self.cuts), list(self.marks))


class _Table:
    """Rows of whole numbers. Its array is replaced and never written into, so copies may share it."""

    __slots__ = ("_array", "_fresh")

    def __init__(self, width: int) -> None:
        self._array: Integers = np.zeros((width, 0), dtype=np.int64)
        self._fresh: list[tuple[int, ...]] = []

    def __len__(self) -> int:
        return int(self._array.shape[1]) + len(self._fresh)

    def copy(self) -> _Table:
        twin = _Table(0)
        twin._array, twin._fresh = self._array, list(self._fresh)
        return twin

    def append(self, *row: int) -> None:
        self._fresh.append(row)

    def columns(self) -> Integers:
        if self._fresh:
            self._array = np.concatenate((self._array, np.array(self._fresh, dtype=np.int64).T), axis=1)
            self._fresh = []
        return self._array


class RegionGrid:
    """The cuts and the pieces of one history. Grows, never shrinks."""

    __slots__ = ("_columns", "_marks", "_pieces", "_runs", "_shape", "_sides")

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._marks = 0
        self._pieces = _Table(1)  # event
        self._sides = _Table(2)  # piece, column
        self._runs = _Table(3)  # side, mark where it starts, mark where it stops
        self._shape: GridArrays | None = None

    def copy(self) -> RegionGrid:
        twin = RegionGrid()
        twin._columns = {name: column.copy() for name, column in self._columns.items()}
        twin._marks = self._marks
        twin._pieces, twin._sides, twin._runs = self._pieces.copy(), self._sides.copy(), self._runs.copy()
        twin._shape = self._shape
        return twin

    def add(self, pieces: Iterable[Box], *, event: int) -> None:
        """Append the pieces of one event's region."""
        for piece in pieces:
            for name, allowed in piece.sides.items():
                column = self._column(name)
                for start, stop in self._marked(column, allowed):
                    self._runs.append(len(self._sides), start, stop)
                self._sides.append(len(self._pieces), column.number)
            self._pieces.append(event)
        self._shape = None

    def _column(self, name: str) -> _Column:
        if name not in self._columns:
            self._columns[name] = _Column(len(self._columns), self._marks)
            self._marks += 3
        return self._columns[name]

    def _marked(self, column: _Column, allowed: ValueSet) -> list[tuple[int, int]]:
        """The runs as pairs of marks, NULL as a run before them, joined to the first where they touch."""
        runs = [
            (
                column.bottom if low is None else self._mark(column, low),
                column.top if high is None else self._mark(column, high),
            )
            for low, high in allowed.runs
        ]
        if not allowed.null:
            return runs
        if runs and runs[0][0] == column.bottom:
            return [(column.null, runs[0][1]), *runs[1:]]
        return [(column.null, column.bottom), *runs]

    def _mark(self, column: _Column, value: Value) -> int:
        """The mark of this cut; a new one if nobody has cut here."""
        place = bisect_left(column.cuts, value)
        if place == len(column.cuts) or column.cuts[place] != value:
            column.cuts.insert(place, value)
            column.marks.insert(place, self._marks)
            self._marks += 1
        return column.marks[place]

    def shape(self) -> GridArrays:
        """The history as arrays; made once after each addition."""
        if self._shape is None:
            self._shape = self._placed()
        return self._shape

    def _placed(self) -> GridArrays:
        order: list[int] = []
        first, tops, void = [0], [], []
        for column in self._columns.values():
            if column.cuts and column.cuts[0] == "":
                void.append(len(order) + 1)
            order += [column.null, column.bottom, *column.marks]
            first.append(len(order))
            tops.append(column.top)
        position = np.zeros(self._marks, dtype=np.int64)
        position[order] = np.arange(len(order))
        position[tops] = first[1:]
        (event,), (piece, owner), (side, start, stop) = (
            table.columns() for table in (self._pieces, self._sides, self._runs)
        )
        return GridArrays(
            event=event,
            piece=piece,
            column=owner,
            side=side,
            start=position[start],
            stop=position[stop],
            first=np.array(first, dtype=np.int64),
            void=np.array(void, dtype=np.int64),
        )

    def inside(self, box: Box) -> Flags:
        """The cells with a value that the box allows. No event changes within a cell, so touching it is enough."""
        shape = self.shape()
        keep = np.ones(int(shape.first[-1]), dtype=np.bool_)
        for name, allowed in box.sides.items():
            if name in self._columns:
                column = self._columns[name]
                low, high = int(shape.first[column.number]), int(shape.first[column.number + 1])
                keep[low:high] = _touched(column.cuts, allowed)
        keep[shape.void] = False
        return keep

    def events_holding(self, point: Integers) -> Integers:
        """The events that hold the record with these cells, one for each column."""
        shape = self.shape()
        at = point[shape.column[shape.side]]
        hit = (shape.start <= at) & (at < shape.stop)
        met = np.bincount(shape.side, hit, len(shape.piece))
        is_held = np.ones(len(shape.event), dtype=np.bool_)
        is_held[shape.piece[met == 0]] = False
        return shape.event[is_held]

    def record(self, box: Box, point: Sequence[int]) -> dict[str, Value | None]:
        """Some record of the box with these cells, one for each column."""
        first = self.shape().first.tolist()
        named_values = {
            name: _value(column.cuts, box.sides.get(name, ANYTHING), point[column.number] - first[column.number])
            for name, column in self._columns.items()
        }
        free = {
            name: _value([], allowed, 0 if allowed.null else 1)
            for name, allowed in box.sides.items()
            if name not in named_values
        }
        return named_values | free


def _touched(cuts: list[Value], allowed: ValueSet) -> Flags:
    """Of each cell of a column, does it hold an allowed value?"""
    keep = np.zeros(len(cuts) + 2, dtype=np.bool_)
    keep[0] = allowed.null
    for low, high in allowed.runs:
        if high != "":
            start = 0 if low is None else bisect_right(cuts, low)
            stop = len(cuts) if high is None else bisect_left(cuts, high)
            keep[1 + start : 2 + stop] = True
    return keep


def _value(cuts: list[Value], allowed: ValueSet, cell: int) -> Value | None:
    """Some allowed value in this cell of a column: 0 is NULL, 1 lies below the first cut."""
    if cell == 0:
        return None
    here = ValueSet.interval(cuts[cell - 2] if cell >= 2 else None, cuts[cell - 1] if cell <= len(cuts) else None)
    low, high = next(run for run in (here & allowed).runs if run[1] != "")
    if low is not None:
        return low
    if high is None:
        return 0  # any value will do, and nothing says of which type
    return "" if isinstance(high, str) else high - 1
