"""Strict multidimensional Mondrian (LeFevre, DeWitt and Ramakrishnan), all boxes of a round at once.

Every box is cut at the median of the column in which it is widest, or of the next one where that cut is not allowed,
until no cut is. Boxes do not overlap. A cut is allowed if both halves meet every criterion: k, l and t are searched
jointly. Nobody is left out. What is cut where depends on the values and never on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.lab.anonymize.column_codes import CodedColumn, Flags, Integers
from discreet.lab.anonymize.criteria import Criteria
from discreet.lab.anonymize.cut_points import first_code_beyond
from discreet.lab.anonymize.equivalence_classes import EquivalenceClasses
from discreet.lab.anonymize.sensitive_spread import measure_spread

Codes = npt.NDArray[np.int32]
#: A cut: its column, and the codes that rows have next to it on its two sides.
_Where = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Boxes:
    """Boxes still to cut: the rows of one stand beside each other. `codes[column, place]`, `rows[place]`."""

    codes: Codes
    rows: Integers
    starts: Integers
    #: `low[column, box]`, `high[column, box]`: the codes that its cuts leave to a box, whether or not a row has them.
    low: Integers
    high: Integers
    #: `start[column, box]`, `end[column, box]`: the numbers of the cuts at its two sides, -1 where there is none.
    start: Integers
    end: Integers

    @property
    def lengths(self) -> Integers:
        return np.diff(np.append(self.starts, len(self.rows)))

    def of_places(self) -> Integers:
        """The number of the box of each place."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _BoxCuts:
    """Where each box is cut: codes under `below` of `column` go to one half. Column -1: it is not.

    `first`, `last`: the codes that rows of the box have next to the cut, on its two sides.
    """

    column: Integers
    below: Integers
    first: Integers
    last: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MondrianTiles:
    """Classes, and what the cuts left to each: codes from `low[column, number]` to `high[column, number]`.

    The tiles of all classes cover everything that a row could hold, so that they tell no more than the cuts do.
    `start`, `end`: the numbers of the cuts around each, -1 where there is none; `cuts[number]`: between which codes.
    """

    classes: EquivalenceClasses
    low: Integers
    high: Integers
    start: Integers
    end: Integers
    cuts: list[tuple[int, int]]


def partition(
    columns: Sequence[CodedColumn], sensitive: Sequence[CodedColumn], criteria: Criteria
) -> EquivalenceClasses:
    """The boxes of a table, as classes: those of `tiles`."""
    return tiles(columns, sensitive, criteria).classes


def tiles(columns: Sequence[CodedColumn], sensitive: Sequence[CodedColumn], criteria: Criteria) -> MondrianTiles:
    """The boxes of a table.

    Guarantee: every class meets `criteria`, if the whole table does.
    Because: a box is replaced by its halves only if both meet them, against the distribution of the whole table,
        which is that of the release: no row is left out.
    """
    codes = np.stack([column.codes for column in columns]).astype(np.int32)
    widths = np.array([max(1, column.size - 1) for column in columns], dtype=np.float64)
    count = codes.shape[1]
    boxes = _Boxes(
        codes=codes,
        rows=np.arange(count),
        starts=np.zeros(1, dtype=np.int64),
        low=np.zeros((len(columns), 1), dtype=np.int64),
        high=np.array([[column.size - 1] for column in columns], dtype=np.int64),
        start=np.full((len(columns), 1), -1, dtype=np.int64),
        end=np.full((len(columns), 1), -1, dtype=np.int64),
    )
    ids, number = np.empty(count, dtype=np.int64), 0
    sides: list[list[Integers]] = []
    made: dict[_Where, tuple[int, int]] = {}
    while len(boxes.starts):
        cuts = _choose_cuts(boxes, widths, sensitive if criteria.needs_sensitive else (), criteria)
        ended = cuts.column < 0
        of_places = boxes.of_places()
        done = ended[of_places]
        ids[boxes.rows[done]] = number + (np.cumsum(ended) - 1)[of_places[done]]
        number += int(ended.sum())
        sides.append([each[:, ended] for each in (boxes.low, boxes.high, boxes.start, boxes.end)])
        numbers = _place_cuts(cuts, columns, made)
        boxes = _split_boxes(boxes, cuts, of_places, ~done, numbers)
    low, high, start, end = (np.concatenate(each, axis=1) for each in zip(*sides, strict=True))
    classes = EquivalenceClasses(ids=ids, sizes=np.bincount(ids, minlength=number))
    return MondrianTiles(classes=classes, low=low, high=high, start=start, end=end, cuts=[where[1:] for where in made])


def _place_cuts(cuts: _BoxCuts, columns: Sequence[CodedColumn], made: dict[_Where, tuple[int, int]]) -> Integers:
    """Move cuts to where they are written, and number them: at the roundest point between the rows that are cut.

    The rows of other boxes have no say, so that no label is written next to one of theirs. `made`: the number of each
    cut until now and where it is.
    """
    boxes = np.flatnonzero(cuts.column >= 0)
    numbers = np.empty(len(boxes), dtype=np.int64)
    cut_places = zip(*(each[boxes].tolist() for each in (cuts.column, cuts.first, cuts.last)), strict=True)
    for number, where in enumerate(cut_places):
        if where not in made:
            column, first, last = where
            values = columns[column].values
            free = last - first > 1 and last < len(values)  # the last code of all is NULL
            made[where] = len(made), first_code_beyond(values, first, last) if free else last
        numbers[number], cuts.below[boxes[number]] = made[where]
    return numbers


def _choose_cuts(
    boxes: _Boxes, widths: npt.NDArray[np.float64], sensitive: Sequence[CodedColumn], criteria: Criteria
) -> _BoxCuts:
    """The cut of each box: at the median of its widest column that allows it."""
    low = np.minimum.reduceat(boxes.codes, boxes.starts, axis=1)
    high = np.maximum.reduceat(boxes.codes, boxes.starts, axis=1)
    spans = (high - low) / widths[:, None]
    preferred = np.argsort(-spans, axis=0, kind="stable")
    nothing = np.zeros((3, len(boxes.starts)), dtype=np.int64)
    chosen_cuts = _BoxCuts(column=np.full(len(boxes.starts), -1), below=nothing[0], first=nothing[1], last=nothing[2])
    lengths = boxes.lengths
    for chosen in preferred:
        wide = np.take_along_axis(spans, chosen[None], axis=0)[0] > 0
        tried = np.flatnonzero((chosen_cuts.column < 0) & (lengths >= 2 * criteria.k) & wide)
        if len(tried):
            _try_cuts(boxes, tried, chosen[tried], chosen_cuts, sensitive, criteria)
    return chosen_cuts


def _try_cuts(
    boxes: _Boxes,
    tried: Integers,
    columns: Integers,
    chosen_cuts: _BoxCuts,
    sensitive: Sequence[CodedColumn],
    criteria: Criteria,
) -> None:
    """Cut some boxes, each in its column, where that is allowed: just under the median value, or just over it.

    Because those two leave the largest smaller half, no other cut in the column keeps k if neither of them does.
    """
    lengths = boxes.lengths[tried]
    starts = np.cumsum(lengths) - lengths
    local = np.repeat(np.arange(len(tried)), lengths)
    places = np.repeat(boxes.starts[tried] - starts, lengths) + np.arange(len(local))
    values = boxes.codes[columns[local], places].astype(np.int64)
    size = int(values.max()) + 1
    median = np.sort(local * size + values)[starts + lengths // 2] - np.arange(len(tried)) * size
    under = np.add.reduceat((values < median[local]).astype(np.int64), starts)
    upto = np.add.reduceat((values <= median[local]).astype(np.int64), starts)
    before = np.maximum.reduceat(np.where(values < median[local], values, -1), starts)
    after = np.minimum.reduceat(np.where(values > median[local], values, size), starts)
    kept = {at: np.minimum(left, lengths - left) for at, left in ((0, under), (1, upto))}
    over_first = kept[1] > kept[0]
    open_ = np.ones(len(tried), dtype=bool)
    for best in (True, False) if sensitive else (True,):
        over = over_first == best
        allowed = open_ & (np.where(over, kept[1], kept[0]) >= criteria.k)
        below = median + over
        if sensitive and allowed.any():
            allowed &= _halves_meet(allowed, local, values >= below[local], boxes.rows[places], sensitive, criteria)
        chosen_cuts.column[tried[allowed]] = columns[allowed]
        chosen_cuts.below[tried[allowed]] = below[allowed]
        chosen_cuts.first[tried[allowed]] = np.where(over, median, before)[allowed]
        chosen_cuts.last[tried[allowed]] = np.where(over, after, median)[allowed]
        open_ &= ~allowed


def _halves_meet(
    checked_boxes: Flags,
    local: Integers,
    upper: Flags,
    rows: Integers,
    sensitive: Sequence[CodedColumn],
    criteria: Criteria,
) -> Flags:
    """Whether both halves of each box that is asked about meet the criteria on sensitive columns."""
    places = np.flatnonzero(checked_boxes[local])
    numbers = (np.cumsum(checked_boxes) - 1)[local[places]]
    ids = 2 * numbers + upper[places]
    sizes = np.bincount(ids, minlength=2 * int(checked_boxes.sum()))
    short = np.zeros(len(sizes), dtype=bool)
    for column in sensitive:
        overall = np.bincount(column.codes, minlength=column.size)
        codes = column.codes[rows[places]]
        short |= criteria.falls_short(measure_spread(ids, sizes, codes, overall=overall, ordered=column.ordered))
    meet = np.zeros(len(checked_boxes), dtype=bool)
    meet[checked_boxes] = ~short.reshape(-1, 2).any(axis=1)
    return meet


def _split_boxes(boxes: _Boxes, cuts: _BoxCuts, of_places: Integers, going_on: Flags, numbers: Integers) -> _Boxes:
    """The halves of the boxes that are cut, the lower one first; the others are left out. `numbers`: of the cuts."""
    places = np.flatnonzero(going_on)
    if not len(places):
        none = boxes.low[:, :0]
        nobody = boxes.rows[:0]
        return _Boxes(codes=boxes.codes[:, :0], rows=nobody, starts=nobody, low=none, high=none, start=none, end=none)
    cut = cuts.column >= 0
    box = (np.cumsum(cut) - 1)[of_places[places]]
    column, below = cuts.column[cut], cuts.below[cut]
    lower = boxes.codes[column[box], places] < below[box]
    starts = np.flatnonzero(np.diff(box, prepend=-1))
    before = np.cumsum(lower) - lower  # lower ones to the left, in all boxes
    rank = before - before[starts][box]
    lowers = np.add.reduceat(lower.astype(np.int64), starts)
    within = np.arange(len(places)) - starts[box]
    to = starts[box] + np.where(lower, rank, lowers[box] + within - rank)
    source = np.empty(len(places), dtype=np.int64)
    source[to] = places
    sides = (boxes.low, boxes.high, boxes.start, boxes.end)
    low, high, start, end = (np.repeat(ends[:, cut], 2, axis=1) for ends in sides)
    halves = 2 * np.arange(len(column))
    high[column, halves] = below - 1
    low[column, halves + 1] = below
    end[column, halves] = start[column, halves + 1] = numbers
    return _Boxes(
        codes=np.take(boxes.codes, source, axis=1),
        rows=boxes.rows[source],
        starts=np.stack([starts, starts + lowers], axis=1).ravel(),
        low=low,
        high=high,
        start=start,
        end=end,
    )
