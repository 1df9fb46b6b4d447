"""Regions: which records a question can touch, as a union of boxes over columns.

A record is one value, or NULL, for each column. Values are the declared table's own: whole
numbers (grid steps, category numbers, days, microseconds, 0 and 1) or text in byte order. A set
of values is a tuple of half-open runs; for text the successor of "ab" is "ab\\0", so equality and
every comparison are runs, too. A region is never narrower than its question; wider is always safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Value = int | str
#: [low, high): None is the end of the line.
Run = tuple[Value | None, Value | None]

#: More boxes than this and a region is replaced by its hull, one box.
MOST_BOXES = 64


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A set of values of one column: sorted, disjoint, non-touching half-open runs, and perhaps NULL.

    >>> ValueSet.interval(20, None) & ValueSet.interval(None, 30)
    ValueSet(runs=((20, 30),), null=False)
    """

    runs: tuple[Run, ...]
    null: bool = False

    @staticmethod
    def interval(low: Value | None, high: Value | None) -> ValueSet:
        """Values from `low` up to, not including, `high`."""
        return ValueSet(_tidy([(low, high)]))

    @staticmethod
    def of(values: Iterable[Value]) -> ValueSet:
        """Just these values."""
        return ValueSet(_tidy((value, successor(value)) for value in values))

    @staticmethod
    def union(parts: Iterable[ValueSet]) -> ValueSet:
        """Every value of every part: one sort for thousands of them."""
        listed = list(parts)
        return ValueSet(_tidy(run for part in listed for run in part.runs), any(part.null for part in listed))

    def __and__(self, other: ValueSet) -> ValueSet:
        met = [(_later(a, c), _earlier(b, d)) for a, b in self.runs for c, d in other.runs]
        return ValueSet(_tidy(met), self.null and other.null)

    def __or__(self, other: ValueSet) -> ValueSet:
        return ValueSet.union([self, other])

    def complement(self) -> ValueSet:
        """Every other value; NULL is in exactly one of the two."""
        gaps: list[Run] = []
        start: Value | None = None
        open_end = True
        for low, high in self.runs:
            if low is not None:
                gaps.append((start, low))
            start, open_end = high, high is not None
        if open_end:
            gaps.append((start, None))
        return ValueSet(_tidy(gaps), not self.null)

    @property
    def empty(self) -> bool:
        return not self.runs and not self.null

    @property
    def whole(self) -> bool:
        return self.runs == ((None, None),) and self.null

    def __contains__(self, value: Value | None) -> bool:
        if value is None:
            return self.null
        return any(
            (low is None or low <= value) and (high is None or value < high)  # type: ignore[operator]
            for low, high in self.runs
        )


NOTHING = ValueSet(())
ANYTHING = ValueSet(((None, None),), null=True)
ONLY_NULL = ValueSet((), null=True)
NOT_NULL = ValueSet(((None, None),))


def successor(value: Value) -> Value:
    """The next value after this one."""
    return value + 1 if isinstance(value, int) else value + "\0"


def _later(a: Value | None, b: Value | None) -> Value | None:
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)


def _earlier(a: Value | None, b: Value | None) -> Value | None:
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


def _tidy(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Drop empty runs, sort, merge what touches."""
    kept = [(low, high) for low, high in runs if low is None or high is None or low < high]  # type: ignore[operator]
    kept.sort(key=lambda run: (run[0] is not None, run[0]))
    merged: list[Run] = []
    for low, high in kept:
        if merged and (merged[-1][1] is None or low is None or low <= merged[-1][1]):  # type: ignore[operator]
            last = merged[-1]
            end = None if last[1] is None or high is None else max(last[1], high)
            merged[-1] = (last[0], end)
        else:
            merged.append((low, high))
    return tuple(merged)


@dataclass(frozen=True, slots=True)
class Box:
    """The records whose named columns all take allowed values; unnamed columns are free."""

    sides: Mapping[str, ValueSet] = field(default_factory=dict)

    def __and__(self, other: Box) -> Box:
        sides = dict(self.sides)
        for column, allowed in other.sides.items():
            sides[column] = sides[column] & allowed if column in sides else allowed
        return Box(sides)

    @property
    def empty(self) -> bool:
        return any(allowed.empty for allowed in self.sides.values())

    def __contains__(self, record: Mapping[str, Value | None]) -> bool:
        return all(record.get(column) in allowed for column, allowed in self.sides.items())

    def tidy(self) -> Box:
        """The same box with columns in order and free ones left out."""
        return Box({name: self.sides[name] for name in sorted(self.sides) if not self.sides[name].whole})

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.sides.items(), key=lambda side: side[0])))


@dataclass(frozen=True, slots=True)
class Region:
    """A union of boxes. One box with no sides is the whole table; no box at all is nobody."""

    boxes: tuple[Box, ...]

    @staticmethod
    def whole() -> Region:
        return Region((Box(),))

    @staticmethod
    def of(boxes: Iterable[Box]) -> Region:
        """A tidy region: empty boxes dropped, doubles merged, too many replaced by their hull."""
        kept = list(dict.fromkeys(box.tidy() for box in boxes if not box.empty))
        if any(not box.sides for box in kept):
            return Region.whole()
        if len(kept) > MOST_BOXES:
            return Region((hull(kept),))
        return Region(tuple(kept))

    @staticmethod
    def union(parts: Iterable[Region]) -> Region:
        """Every record of every part."""
        return Region.of(box for part in parts for box in part.boxes)

    def __and__(self, other: Region) -> Region:
        """At least the records of both."""
        return Region.of(left & right for left in self.boxes for right in other.boxes)

    @property
    def is_whole(self) -> bool:
        return any(not box.sides for box in self.boxes)

    def __contains__(self, record: Mapping[str, Value | None]) -> bool:
        return any(record in box for box in self.boxes)

    def to_data(self) -> list[dict[str, Any]]:
        """The region as JSON data."""
        return [
            {
                column: {"runs": [list(run) for run in allowed.runs], "null": allowed.null}
                for column, allowed in box.sides.items()
            }
            for box in self.boxes
        ]

    @staticmethod
    def from_data(data: object) -> Region:
        """The region that `to_data` wrote."""
        if not isinstance(data, list):
            raise ValueError("not a region")
        boxes = []
        for sides in data:
            box = {}
            for column, allowed in sides.items():
                runs = tuple((_endpoint(low), _endpoint(high)) for low, high in allowed["runs"])
                if runs != _tidy(runs) or not isinstance(allowed["null"], bool):
                    raise ValueError("the value ranges of a region must be sorted and disjoint")
                box[str(column)] = ValueSet(runs, allowed["null"])
            boxes.append(Box(box))
        return Region(tuple(boxes))


def _endpoint(value: object) -> Value | None:
    if value is None or isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError("not an end of a range")


def hull(boxes: Iterable[Box]) -> Box:
    """One box around all of them."""
    first, *rest = boxes
    sides = dict(first.sides)
    for box in rest:
        sides = {name: sides[name] | box.sides[name] for name in sides if name in box.sides}
    return Box(sides).tidy()
