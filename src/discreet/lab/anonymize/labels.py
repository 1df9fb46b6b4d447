"""What a release writes instead of a value, and which values such a label may stand for.

`34`, `30-39`, `<30`, `>=65`, `[1.5, 2.5)`, `[1980-01-01, 1980-07-01)`, `[9:30:00, 10:00:00)`, `[Be, Bo)`, `148**`,
`R*` (any ending), `{a|b}`, `{a..f}` (all between, in sorted order), `*`, `not NULL`, and any of them followed by
` or NULL`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.lab.anonymize.clocks import clock, is_clock, read_clock
from discreet.lab.anonymize.column_codes import NULL, CodedColumn, Flags
from discreet.lab.anonymize.cut_points import cut_label

ANY = "*"
#: Any value, but not NULL.
ANY_VALUE = f"not {NULL}"
OR_NULL = f" or {NULL}"
#: Sets of more values than this are written by their first and last.
LISTED = 4
_SPAN = re.compile(r"^(\d+)-(\d+)$")
_INTERVAL = re.compile(r"^\[(.+), (.+)([\])])$")
_SIDE = re.compile(r"^(<=|>=|<|>|≤|≥)\s*(.+)$")


#: The codes next to a cut on its two sides, among the rows that were cut.
Neighbours = tuple[int, int]


def interval_label(
    column: CodedColumn,
    low: int,
    high: int,
    *,
    shared: Flags,
    start: Neighbours | None = None,
    end: Neighbours | None = None,
) -> str:
    """The label of what the cuts left to a class: values from code `low` to code `high`.

    `shared`: the codes that so many rows have that a value may be written as it is. Other values are never written:
    a span is told by its cuts, each at a round point between two values, and has no end where no cut was made.
    `start`, `end`: between which codes the two cuts were made, if not between neighbours in the whole column.
    """
    last = len(column.values)
    if low == 0 and high == column.size - 1:
        return column.text_of(0) if column.size == 1 else ANY
    if high == last:
        return interval_label(column, low, last - 1, shared=shared, start=start) + OR_NULL if low < last else NULL
    if low == high:  # a class with a single value: all its rows have it
        return column.text_of(low)
    if not column.ordered and high - low < LISTED and shared[low : high + 1].all():
        return set_label(column.values[low : high + 1].to_pylist())
    return _span(
        column,
        None if low == 0 else start or (low - 1, low),
        None if high == last - 1 else end or (high, high + 1),
    )


def _span(column: CodedColumn, cut: Neighbours | None, other: Neighbours | None) -> str:
    """Values between two cuts, or on one side of one."""
    start, end = (
        None if each is None else cut_label(*(column.values[code].as_py() for code in each)) for each in (cut, other)
    )
    if start is None and end is None:
        return ANY_VALUE
    if start is None:
        return f"<{end}"
    if end is None:
        return f">={start}"
    if start.isdecimal() and end.isdecimal() and pa.types.is_integer(column.values.type):
        return f"{start}-{int(end) - 1}"
    return f"[{start}, {end})"


def set_label(values: Sequence[Any]) -> str:
    """The label of a set of categories, sorted."""
    if len(values) == 1:
        return str(values[0])
    return "{" + ("|".join(map(str, values)) if len(values) <= LISTED else f"{values[0]}..{values[-1]}") + "}"


def covers(label: str, column: CodedColumn) -> Flags:
    """Which values of a column the label may stand for, NULL among them; none where it makes no sense there."""
    covered = np.zeros(column.size, dtype=bool)
    if label == ANY:
        return ~covered
    if label.endswith(OR_NULL):
        label = label.removesuffix(OR_NULL)
        covered[len(column.values) :] = True
    texts = column.texts()
    covered |= np.array([text == label for text in texts], dtype=bool)
    if label == ANY_VALUE:
        covered[: len(column.values)] = True
    if label == NULL or covered[: len(column.values)].any():
        return covered
    plain = [_may_stand_for(label, text, value) for text, value in zip(texts, column.values.to_pylist(), strict=False)]
    covered[: len(plain)] |= np.array(plain, dtype=bool)
    return covered


def _may_stand_for(label: str, text: str, value: Any) -> bool:
    """Whether a label may stand for one value that it does not name."""
    if (span := _SPAN.match(label)) and _is_number(value):
        return bool(int(span[1]) <= value <= int(span[2]))
    if interval := _INTERVAL.match(label):
        low, high, value = _parse_like(interval[1], value), _parse_like(interval[2], value), _plain(value)
        if low is None or high is None:
            return False
        return bool(low <= value and (value <= high if interval[3] == "]" else value < high))
    if side := _SIDE.match(label):
        edge = _parse_like(side[2], value)
        return edge is not None and _is_on_side(side[1], _plain(value), edge)
    if label.startswith("{") and label.endswith("}"):
        return _is_among(label[1:-1], text)
    if label.endswith(ANY):  # several stars stand for as many letters, one for any ending
        masked = label.endswith(2 * ANY)
        return text.startswith(label.rstrip(ANY)) and (not masked or len(text) == len(label))
    return _is_period(label, text, value)


def _is_on_side(sign: str, value: Any, edge: Any) -> bool:
    if sign in ("<=", "≤"):
        return bool(value <= edge)
    if sign in (">=", "≥"):
        return bool(value >= edge)
    return bool(value < edge if sign == "<" else value > edge)


def _is_among(inside: str, text: str) -> bool:
    if "|" not in inside and ".." in inside:
        first, _, last = inside.partition("..")
        return first <= text <= last
    return text in inside.split("|")


def _is_period(label: str, text: str, value: Any) -> bool:
    """Whether a date lies in a day, month, year or decade."""
    if not hasattr(value, "year"):
        return False
    if re.fullmatch(r"\d{3}0s", label):
        return bool(value.year // 10 == int(label[:3]))
    return bool(re.fullmatch(r"\d{4}(-\d\d){0,2}", label)) and text.startswith(label)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or type(value).__name__ == "Decimal"


def _plain(value: Any) -> Any:
    """A value as it is compared with what a label says."""
    return clock(value) if is_clock(value) else value


def _parse_like(text: str, value: Any) -> Any:
    """The text as a value of the same kind; None where it is none."""
    if is_clock(value):
        return read_clock(text)
    if isinstance(value, int | Decimal):  # a float would blur long ones, and 1.1
        try:
            number = Decimal(text)
        except InvalidOperation:
            return None
        return None if number.is_nan() else number
    try:
        return pa.scalar(text).cast(pa.scalar(value).type if not _is_number(value) else pa.float64()).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # no such value, and no such type to read one from a text
        return None
