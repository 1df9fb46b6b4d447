"""Constraints as people write them, in TOML, JSON or Python; values as they stand in the data.

rows = 600                                        # the number of rows, where it is public

orders = [["admission", "discharge"]]             # each at most the next; NULL is free

[[zeros]]                                         # no row has all of these
age = "0 to 15"                                   # a value, a list of them, or of numbers and dates a range
marital = ["married", "divorced"]                 # {null = true} is NULL

[[dependencies]]                                  # the city says the country; cities not listed leave it free
from = "city"
to = "country"
map = { Paris = "France", Rome = "Italy" }        # or pairs = [["Paris", "France"], ...], or table = "cities.csv"

[[totals]]                                        # counts that are public; what is not listed does not occur
column = "sex"                                    # or columns = ["sex", "smoker"]
counts = { F = 320, M = 280 }                     # or counts = [["F", true, 20], ...]
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from math import gcd, lcm
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.engines.source_values import DAY_US, code_of
from discreet.errors import UsageError
from discreet.schema.column import (
    MOST_CODE,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
    domain,
    nullable,
    type_name,
)
from discreet.schema.schema import closest_name_hint
from discreet.schema.toml_file import mapping, read_text, read_toml, refuse_unknown_keys
from discreet.synth.cell_decoder import NULL
from discreet.synth.code_spans import FAR, CodeSpan
from discreet.synth.constraints import PublicConstraints
from discreet.synth.known_counts import KnownCounts
from discreet.synth.rules import ColumnOrder, Dependency, StructuralZero

_KEYS = ("zeros", "dependencies", "orders", "totals", "rows")


def read_constraint_file(path: Path, columns: Sequence[Column]) -> PublicConstraints:
    """Constraints from a file: JSON where its name says so, else TOML."""
    data = _read_json(path) if path.suffix.lower() == ".json" else read_toml(path)
    return read_constraints(data, columns, where=path.name, folder=path.parent)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as problem:
        raise UsageError(f"{path.name} is not valid JSON: {str(problem)[:200]}") from None


def read_constraints(
    data: object, columns: Sequence[Column], *, where: str = "constraints", folder: Path | None = None
) -> PublicConstraints:
    """Constraints from data, checked against the columns."""
    return _ConstraintsReader(columns, where, folder).read(data)


class _ConstraintsReader:
    """The columns, and what a message says the fault is in."""

    def __init__(self, columns: Sequence[Column], where: str, folder: Path | None) -> None:
        self.columns = columns
        self.where = where
        self.folder = folder

    def read(self, data: object) -> PublicConstraints:
        document = refuse_unknown_keys(data, _KEYS, where=f"{self.where}: it")
        rows = document.get("rows")
        if rows is not None and (type(rows) is not int or rows < 0):
            raise self._fault("rows must be a whole number, 0 or more")
        try:
            return PublicConstraints(
                zeros=tuple(self._zero(each) for each in self._list(document, "zeros")),
                dependencies=tuple(self._dependency(each) for each in self._list(document, "dependencies")),
                orders=tuple(order for each in self._list(document, "orders") for order in self._orders(each)),
                totals=tuple(self._known_counts(each) for each in self._list(document, "totals")),
                rows=rows,
            )
        except ValueError as problem:
            raise self._fault(str(problem)) from None

    def _zero(self, entry: Any) -> StructuralZero:
        entry = mapping(entry, where=f"{self.where}: an entry of zeros")
        if not entry:
            raise self._fault("an entry of zeros names no column, so it would rule out every row")
        columns = [self.column(name) for name in entry]
        if len({column.name for column in columns}) != len(columns):
            raise self._fault("an entry of zeros names a column twice")
        spans = [self.span(column, value) for column, value in zip(columns, entry.values(), strict=True)]
        return StructuralZero(where=tuple((column.name, span) for column, span in zip(columns, spans, strict=True)))

    def _dependency(self, entry: Any) -> Dependency:
        where = f"{self.where}: an entry of dependencies"
        entry = refuse_unknown_keys(entry, ("from", "to", "map", "pairs", "table"), where=where)
        source, target = self.column(entry.get("from")), self.column(entry.get("to"))
        if source.name == target.name:
            raise self._fault(f"column {source.name!r} cannot depend on itself")
        given = [key for key in ("map", "pairs", "table") if key in entry]
        if len(given) != 1:
            raise self._fault(
                f"the dependency of {target.name!r} on {source.name!r} needs exactly one of map, pairs and table",
                hint='map = { Paris = "France" }',
            )
        images: dict[int, int] = {}
        for one, other in self._pairs(given[0], entry[given[0]], source, target):
            code, image = self.code(source, one), self.code(target, other)
            if images.setdefault(code, image) != image:
                raise self._fault(f"{_shown(one)} of column {source.name!r} maps to two values of {target.name!r}")
        if not images:
            raise self._fault(f"the dependency of {target.name!r} on {source.name!r} names no value")
        codes = tuple(sorted(images))
        return Dependency(
            source=source.name, target=target.name, codes=codes, images=tuple(images[code] for code in codes)
        )

    def _pairs(self, key: str, entry: Any, source: Column, target: Column) -> Iterator[tuple[Any, Any]]:
        if key == "map":
            yield from mapping(entry, where=f"{self.where}: map").items()
        elif key == "pairs":
            for pair in entry if isinstance(entry, list) else [None]:
                if not isinstance(pair, list | tuple) or len(pair) != 2:
                    raise self._fault("pairs must be a list of two-value lists", hint='pairs = [["Paris", "France"]]')
                yield pair[0], pair[1]
        else:
            yield from self._table(entry, source, target)

    def _table(self, file_name: Any, source: Column, target: Column) -> Iterator[tuple[Any, Any]]:
        """The pairs of a CSV file that is public."""
        if not isinstance(file_name, str) or self.folder is None:
            raise self._fault("table must be the name of a CSV file in the same folder as the constraints file")
        reader = csv.DictReader(read_text(self.folder / file_name).splitlines())
        missing = {source.name, target.name} - set(reader.fieldnames or ())
        if missing:
            raise self._fault(f"{file_name[:60]} has no column {min(missing)!r}")
        for row in reader:
            yield row[source.name] or None, row[target.name] or None

    def _orders(self, entry: Any) -> Iterator[ColumnOrder]:
        if not isinstance(entry, list | tuple) or len(entry) < 2:
            raise self._fault(
                "an entry of orders must list at least two columns", hint='orders = [["admission", "discharge"]]'
            )
        columns = [self.column(name) for name in entry]
        if len({column.name for column in columns}) != len(columns):
            raise self._fault("an entry of orders names a column twice")
        for low, high in pairwise(columns):
            yield self._order(low, high)

    def _order(self, low: Column, high: Column) -> ColumnOrder:
        both = f"columns {low.name!r} and {high.name!r}"
        numbers = isinstance(low, NumberColumn) and isinstance(high, NumberColumn)
        if not numbers and not (isinstance(low, MomentColumn) and isinstance(high, MomentColumn)):
            raise self._fault(f"{both} cannot be ordered: their types are {type_name(low)} and {type_name(high)}")
        one, other = _grid(low), _grid(high)
        shared = Fraction(lcm(one.denominator, other.denominator))
        scales = int(one * shared), int(other * shared)
        divisor = gcd(*scales)
        order = ColumnOrder(
            low=low.name, high=high.name, low_scale=scales[0] // divisor, high_scale=scales[1] // divisor
        )
        if _largest(low) * order.low_scale > FAR or _largest(high) * order.high_scale > FAR:
            raise self._fault(
                f"{both} have steps too different to be compared", hint="declare bounds or steps for them"
            )
        least, most = domain(low), domain(high)
        if least and most and least[0] * order.low_scale > (most[1] - 1) * order.high_scale:
            raise self._fault(f"{both} can never be in order: all values of the first are above those of the second")
        return order

    def _known_counts(self, entry: Any) -> KnownCounts:
        where = f"{self.where}: an entry of totals"
        entry = refuse_unknown_keys(entry, ("column", "columns", "counts"), where=where)
        if ("column" in entry) == ("columns" in entry):
            raise self._fault("an entry of totals needs either column or columns", hint='column = "sex"')
        named = entry["columns"] if "columns" in entry else [entry["column"]]
        if not isinstance(named, list | tuple) or not named:
            raise self._fault("columns must be a list of names")
        columns = [self.column(name) for name in named]
        codes, counts = [], []
        for values, count in self._counted(entry.get("counts"), columns):
            if type(count) is not int or count < 0:
                raise self._fault(f"the count of {_shown(values)} must be a whole number, 0 or more")
            codes.append(tuple(self.code(column, value) for column, value in zip(columns, values, strict=True)))
            counts.append(count)
        return KnownCounts(columns=tuple(column.name for column in columns), codes=tuple(codes), counts=tuple(counts))

    def _counted(self, entry: Any, columns: Sequence[Column]) -> Iterator[tuple[Sequence[Any], Any]]:
        if isinstance(entry, Mapping) and len(columns) == 1:
            yield from (((value,), count) for value, count in entry.items())
            return
        names = ", ".join(column.name for column in columns)
        if not isinstance(entry, list):
            raise self._fault(f"the counts of {names} must be a list of rows, each with the values and then the count")
        for row in entry:
            if not isinstance(row, list | tuple) or len(row) != len(columns) + 1:
                raise self._fault(f"each row of the counts of {names} must have {len(columns) + 1} entries")
            yield row[:-1], row[-1]

    def column(self, name: Any) -> Column:
        """A column by its name, capitals aside; text has no values that could be constrained."""
        for column in self.columns:
            if isinstance(name, str) and column.name.lower() == name.lower():
                if isinstance(column, TextColumn):
                    raise self._fault(
                        f"column {column.name!r} is text, which cannot be constrained",
                        hint="declare it as a category, with its values",
                    )
                return column
        raise self._fault(
            f"there is no column {_shown(name)}",
            hint=closest_name_hint(str(name), [each.name for each in self.columns]),
        )

    def span(self, column: Column, entry: Any) -> CodeSpan:
        """A value, a list of values, or a range, as a set of codes."""
        parts = [self._part(column, each) for each in (entry if isinstance(entry, list | tuple) else [entry])]
        if not parts:
            raise self._fault(f"no value is given for column {column.name!r}")
        intervals = [part for part in parts if part is not None]
        return CodeSpan.of(intervals, null=len(intervals) < len(parts))

    def _part(self, column: Column, entry: Any) -> tuple[int, int] | None:
        """An interval of codes; None for NULL."""
        if isinstance(column, NumberColumn | MomentColumn):
            if isinstance(entry, Mapping) and set(entry) <= {"from", "to"} and entry:
                low = self.code(column, entry["from"]) if "from" in entry else -FAR
                high = self.code(column, entry["to"]) if "to" in entry else FAR
                return self._range(column, entry, low, high)
            if isinstance(entry, str) and " to " in entry:
                low, high = (self.code(column, end) for end in entry.split(" to ", 1))
                return self._range(column, entry, low, high)
        code = self.code(column, entry)
        return None if code == NULL else (code, code)

    def _range(self, column: Column, entry: Any, low: int, high: int) -> tuple[int, int]:
        if low > high or NULL in (low, high):
            raise self._fault(f"{_shown(entry)} is not a range of column {column.name!r}")
        return low, high

    def code(self, column: Column, value: Any) -> int:
        """A value as its code."""
        if value is None or value == {"null": True}:
            if not nullable(column):
                raise self._fault(f"column {column.name!r} is closed, so it is never NULL")
            return NULL
        if isinstance(value, float | Fraction):
            value = exact.show(exact.number(value, name=f"{self.where}: column {column.name!r}"), digits=40)
        if isinstance(value, date | datetime):
            value = value.isoformat()
        code = code_of(column, value) if isinstance(value, bool | int | str) else None
        if not isinstance(code, int) or not self._declared(column, code):
            closest_value = closest_name_hint(str(value), column.values) if isinstance(column, CategoryColumn) else ""
            raise self._fault(f"{_shown(value)} is not a value of column {column.name!r}", hint=closest_value)
        return code

    def _declared(self, column: Column, code: int) -> bool:
        limits = domain(column) or (-MOST_CODE, MOST_CODE + 1)
        return limits[0] <= code < limits[1]

    def _list(self, document: Mapping[str, Any], key: str) -> Sequence[Any]:
        entries = document.get(key, [])
        if not isinstance(entries, list | tuple):
            raise self._fault(f"{key} must be a list")
        return entries

    def _fault(self, reason: str, *, hint: str = "") -> UsageError:
        return UsageError(f"{self.where}: {reason}", hint=hint)


def _grid(column: Column) -> Fraction:
    """What one code is worth: in numbers, or in microseconds."""
    if isinstance(column, NumberColumn):
        return column.step
    assert isinstance(column, MomentColumn)
    return Fraction(DAY_US if column.type == "date" else 1)


def _largest(column: Column) -> int:
    limits = domain(column)
    return MOST_CODE if limits is None else max(abs(limits[0]), abs(limits[1]))


def _shown(value: Any) -> str:
    return repr(str(value)[:60])
