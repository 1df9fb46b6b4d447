"""Sheets: the tables of numbers in a bundle, and the three forms that they are written in."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Any

from discreet.release import Bounds, Cell, Intervals, ReleaseColumn

if TYPE_CHECKING:
    import pyarrow

#: A noise interval; an end that is None is not known.
Ends = tuple[Cell, Cell] | None

#: Exact for every float and every unit that it is rounded to.
_DIGITS = Context(prec=800)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Rows under columns, and for each number where the exact one lies by its noise, None where that is not said."""

    columns: tuple[ReleaseColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    intervals: tuple[tuple[Ends, ...], ...]

    def __post_init__(self) -> None:
        width = len(self.columns)
        if any(len(row) != width for row in (*self.rows, *self.intervals)) or len(self.rows) != len(self.intervals):
            raise ValueError("the numbers of rows, intervals and columns do not match")

    @staticmethod
    def of(
        columns: tuple[ReleaseColumn, ...], rows: Sequence[tuple[Cell, ...]], intervals: Sequence[Intervals]
    ) -> Sheet:
        """The rows of an answer. JSON has no infinities: an end that is one is not known."""
        return Sheet(
            columns=columns,
            rows=tuple(tuple(map(_finite, row)) for row in rows),
            intervals=tuple(
                tuple(None if ends is None else (_finite(ends[0]), _finite(ends[1])) for ends in row)
                for row in intervals
            ),
        )

    def outward(self, kinds: Sequence[str] = ("derived",)) -> Sheet:
        """The sheet with ends of derived numbers that have three digits of the half width: what a checker can confirm.

        Each moves away from the number, by less than a hundredth of the half width; bounds stay as they are. Best
        estimates are columns of noisy numbers by their `kinds`, and derived all the same.
        """
        derived = {place: column.bounds for place, column in enumerate(self.columns) if column.kind in kinds}
        intervals = tuple(
            tuple(
                _outward(ends, derived[place]) if ends is not None and place in derived else ends
                for place, ends in enumerate(row)
            )
            for row in self.intervals
        )
        return replace(self, intervals=intervals) if derived else self

    def agrees(self, other: Sheet) -> bool:
        """Whether another sheet says the same.

        Of earlier versions none says which numbers are never negative, no groups of ranges have labels, and the ends of
        derived numbers have all their digits.
        """
        for short in (self.outward(), self.outward(("derived", "noisy"))):
            if self != other and short != self and short.agrees(other):
                return True
        plain = tuple(replace(column, least=None) for column in other.columns)
        unlabelled = tuple(replace(column, labels=()) for column in other.columns)
        bare = tuple(replace(column, labels=()) for column in plain)
        return any(self == replace(other, columns=each) for each in (other.columns, plain, unlabelled, bare))

    def to_data(self) -> dict[str, Any]:
        """The sheet as JSON data."""
        return {
            "columns": [column.to_data() for column in self.columns],
            "rows": [list(row) for row in self.rows],
            "intervals": [[None if ends is None else list(ends) for ends in row] for row in self.intervals],
        }

    @staticmethod
    def from_data(data: dict[str, Any]) -> Sheet:
        """The sheet that `to_data` wrote."""
        return Sheet(
            columns=tuple(map(ReleaseColumn.from_data, data["columns"])),
            rows=tuple(tuple(row) for row in data["rows"]),
            intervals=tuple(
                tuple(None if ends is None else (ends[0], ends[1]) for ends in row) for row in data["intervals"]
            ),
        )

    def flat_columns(self) -> list[tuple[str, list[Any]]]:
        """Columns with their values, and after each noisy one those of its interval's ends. No name comes twice."""
        columns: list[tuple[str, list[Any]]] = []
        taken = {column.name for column in self.columns}
        for place, column in enumerate(self.columns):
            name = (
                column.name
                if column.name not in [earlier_name for earlier_name, _ in columns]
                else _free(column.name, taken)
            )
            columns.append((name, [row[place] for row in self.rows]))
            if column.kind == "key" or all(row[place] is None for row in self.intervals):
                continue
            for end, word in enumerate(("low", "high")):
                ends = [row[place] for row in self.intervals]
                values = [None if each is None else each[end] for each in ends]
                columns.append((_free(f"{column.name}_{word}", taken), values))
        return columns


def to_json(sheets: Sequence[Sheet], *, release: str, confidence: float) -> bytes:
    """All sheets as one JSON document."""
    data = {"release": release, "confidence": confidence, "tables": [sheet.to_data() for sheet in sheets]}
    return (json.dumps(data, ensure_ascii=False, sort_keys=True, allow_nan=False, indent=1) + "\n").encode()


def from_json(content: bytes) -> tuple[Sheet, ...]:
    """The sheets that `to_json` wrote."""
    return tuple(Sheet.from_data(each) for each in json.loads(content)["tables"])


def to_csv(sheet: Sheet) -> bytes:
    """A sheet as CSV: NULL is an empty field, true and false are words, numbers have all their digits."""
    stream = io.StringIO()
    columns = sheet.flat_columns()
    lines = csv.writer(stream, lineterminator="\n")
    lines.writerow([_field(name) for name, _ in columns])
    lines.writerows(zip(*([_field(value) for value in values] for _, values in columns), strict=True))
    return stream.getvalue().encode()


def to_parquet(sheet: Sheet) -> bytes:
    """A sheet as Parquet."""
    import pyarrow.parquet

    stream = io.BytesIO()
    pyarrow.parquet.write_table(_arrow(sheet), stream)
    return stream.getvalue()


def same_as_parquet(sheet: Sheet, content: bytes) -> bool:
    """Whether a Parquet file holds this sheet."""
    import pyarrow.parquet

    expected = _arrow(sheet)
    metadata = pyarrow.parquet.read_metadata(io.BytesIO(content))  # before anything is unpacked
    if (metadata.num_rows, metadata.num_columns) != (expected.num_rows, expected.num_columns):
        return False
    if set(metadata.metadata or {}) - {b"ARROW:schema"}:  # texts beside the columns
        return False
    return bool(pyarrow.parquet.read_table(io.BytesIO(content)).equals(expected))


def _arrow(sheet: Sheet) -> pyarrow.Table:
    import pyarrow

    columns = sheet.flat_columns()
    return pyarrow.table([_array(values) for _, values in columns], names=[name for name, _ in columns])


def _array(values: list[Any]) -> Any:
    """Values as an Arrow array: whole numbers and others together are decimal ones, several kinds are text."""
    import pyarrow

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        values = [None if value is None else str(value) for value in values]
    try:
        return pyarrow.array(values)
    except (OverflowError, pyarrow.ArrowInvalid):  # beyond 64 bits
        return pyarrow.array([None if value is None else str(value) for value in values])


#: A text that begins like this is a formula to programs that open tables.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _field(value: object) -> object:
    """A cell of a CSV file. A text that a spreadsheet would run is quoted by an apostrophe."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else value


def _finite(value: Cell) -> Cell:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _outward(ends: tuple[Cell, Cell], bounds: Bounds) -> tuple[Cell, Cell]:
    low, high = ends
    if not isinstance(low, float) or not isinstance(high, float) or not 0 < high - low < math.inf:
        return ends
    unit = Decimal(1).scaleb(math.floor(math.log10((high - low) / 2)) - 2)
    moved = [
        float(_DIGITS.multiply(_DIGITS.divide(Decimal(repr(end)), unit).to_integral_value(way), unit))
        for end, way in ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    ]
    if bounds is not None:
        moved = [max(moved[0], float(bounds[0])), min(moved[1], float(bounds[1]))]
    return min(moved[0], low), max(moved[1], high)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
