"""Noisy tables as people write them, in TOML or Python.

total = 1000                              # the number of rows, where it is public
noise = "gaussian"                        # the law of the noise, where it is known: intervals are narrower

[columns]                                 # the values of a column and their order, where the tables do not say them
sex = ["M", "F"]

[[tables]]
columns = ["sex", "work"]
standard_error = 40                       # of each count; or variance = 1600; or exact = true: no noise
cells = [["M", "N", 124.5], ["M", "Y", 244.4], ["F", "N", 318.0], ["F", "Y", -21.4]]

[[tables]]
columns = ["work", "school"]
file = "work-school.csv"                  # the same as a file: a line a cell, a column for each column
value = "count"                           # which of its columns has the counts; standard_error may name one, too

Values are compared as text. A cell may end with a standard error of its own.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.schema.schema import closest_name_hint
from discreet.schema.toml_file import mapping, read_text, read_toml, refuse_unknown_keys

Floats = NDArray[np.float64]

#: The laws of noise for which intervals are known; the first holds for every noise that is symmetric with one peak.
LAWS = ("any", "gaussian")

#: A table of more columns says too little about each; and more cells are no table that people publish.
MOST_COLUMNS = 6
MOST_TABLE_CELLS = 2**22

#: Beyond this a count is no count, and squares of it are no numbers.
MOST_COUNT = 1e15

_KEYS = ("total", "noise", "columns", "tables")
_TABLE_KEYS = ("columns", "variance", "standard_error", "exact", "cells", "counts", "file", "value", "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyTable:
    """A table over some columns, as given. `variances`: of the noise in each cell; None where it has none."""

    name: str
    columns: tuple[str, ...]
    values: Floats
    variances: Floats | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTables:
    """Tables that share columns, the values of each column, and what is public about them."""

    labels: Mapping[str, tuple[str, ...]]
    tables: tuple[NoisyTable, ...]
    total: float | None
    noise: str


def read_noisy_tables(source: object) -> GivenTables:
    """Noisy tables from a TOML file, or from a mapping of the same form."""
    if isinstance(source, str | PathLike):
        path = Path(source)
        return _Reader(path.name, path.parent).read(read_toml(path))
    return _Reader("the tables", Path()).read(source)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListedTable:
    """A table before the values of its columns are known: one entry a cell, with its labels, or counts alone."""

    name: str
    columns: tuple[str, ...]
    entries: Sequence[tuple[tuple[str, ...], float, float | None]]
    counts: Floats | None
    variance: float | None
    exact: bool


class _Reader:
    """Where a message says that the fault is, and beside which folder files lie."""

    def __init__(self, where: str, folder: Path) -> None:
        self._where = where
        self._folder = folder

    def read(self, source: object) -> GivenTables:
        data = refuse_unknown_keys(source, _KEYS, where=self._where)
        given = data.get("tables")
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            raise UsageError(
                f"{self._where} has no tables", hint='[[tables]], then columns = ["sex", "work"] and its cells'
            )
        noise = data.get("noise", LAWS[0])
        if noise not in LAWS:
            raise UsageError(f"{self._where}: noise must be one of {', '.join(LAWS)}, got {str(noise)[:40]!r}")
        total = data.get("total")
        declared = self._declared(data.get("columns", {}))
        listed = [self._listed(each, f"table {number}") for number, each in enumerate(given, start=1)]
        labels = self._labels(declared, listed)
        return GivenTables(
            labels=labels,
            tables=tuple(self._table(each, labels) for each in listed),
            total=None if total is None else self._number(total, "total", above=0),
            noise=noise,
        )

    def _declared(self, data: object) -> dict[str, tuple[str, ...]]:
        """The columns whose values are listed."""
        columns = mapping(data, where=f"{self._where}: columns", hint='[columns], then sex = ["M", "F"]')
        return {str(name): self._values(str(name), values) for name, values in columns.items()}

    def _values(self, name: str, values: object) -> tuple[str, ...]:
        if not isinstance(values, Sequence) or isinstance(values, str) or not values:
            raise UsageError(f"{self._where}: column {name[:60]!r} needs a list of values", hint='sex = ["M", "F"]')
        labels = tuple(map(_label, values))
        twice = [label for label in labels if labels.count(label) > 1]
        if twice:
            raise UsageError(f"{self._where}: column {name[:60]!r} lists {twice[0][:60]!r} twice")
        return labels

    def _listed(self, data: object, name: str) -> _ListedTable:
        """A table as it is written."""
        where = f"{self._where}, {name}"
        table = refuse_unknown_keys(data, _TABLE_KEYS, where=where)
        columns = table.get("columns")
        if not isinstance(columns, Sequence) or isinstance(columns, str) or not 1 <= len(columns) <= MOST_COLUMNS:
            raise UsageError(
                f"{where} must name 1 to {MOST_COLUMNS} columns", hint='columns = ["sex", "work"], then its cells'
            )
        names = tuple(map(str, columns))
        if len(set(names)) < len(names):
            raise UsageError(f"{where} names a column twice")
        given = [key for key in ("cells", "counts", "file") if key in table]
        if len(given) != 1:
            raise UsageError(
                f"{where} needs its counts once: cells, counts or file",
                hint='cells = [["M", "N", 124.5], ["M", "Y", 244.4]]',
            )
        entries: Sequence[tuple[tuple[str, ...], float, float | None]] = ()
        counts = None
        if "cells" in table:
            entries = self._cells(table["cells"], names, where)
        elif "file" in table:
            entries = self._file(table, names, where)
        else:
            counts = self._counts(table["counts"], where)
        shown = f"{name} ({' x '.join(names)})" if "name" not in table else str(table["name"])[:60]
        return _ListedTable(
            name=shown,
            columns=names,
            entries=entries,
            counts=counts,
            variance=self._variance(table, where),
            exact=self._is_exact(table, where),
        )

    def _is_exact(self, table: Mapping[str, Any], where: str) -> bool:
        given = table.get("exact", False)
        if not isinstance(given, bool):
            raise UsageError(f"{where}: exact must be true or false")
        if given and ("variance" in table or "standard_error" in table):
            raise UsageError(f"{where} is exact and has a variance", hint="leave one of the two out")
        return given

    def _variance(self, table: Mapping[str, Any], where: str) -> float | None:
        """The variance of every cell; None where each has its own, or none is said."""
        if "variance" in table and "standard_error" in table:
            raise UsageError(f"{where} has a variance and a standard_error", hint="give one of the two")
        if "variance" in table:
            return self._number(table["variance"], f"{where}: variance", above=0)
        error = table.get("standard_error")
        if error is None or ("file" in table and isinstance(error, str)):
            return None
        return self._number(error, f"{where}: standard_error", above=0) ** 2

    def _cells(
        self, data: object, names: Sequence[str], where: str
    ) -> list[tuple[tuple[str, ...], float, float | None]]:
        """Cells as lists: the values of the columns, the count, perhaps its standard error."""
        if not isinstance(data, Sequence) or isinstance(data, str):
            raise UsageError(f"{where}: cells must be a list", hint='cells = [["M", "N", 124.5]]')
        entries = []
        for number, cell in enumerate(data, start=1):
            place = f"{where}, cell {number}"
            if not isinstance(cell, Sequence) or isinstance(cell, str) or len(cell) - len(names) not in (1, 2):
                raise UsageError(
                    f"{place} must be a list of {len(names)} values, a count and perhaps its standard error"
                )
            labels = tuple(map(_label, cell[: len(names)]))
            error = self._number(cell[-1], place, above=0) if len(cell) - len(names) == 2 else None
            entries.append((labels, self._number(cell[len(names)], place), error))
        return entries

    def _file(
        self, table: Mapping[str, Any], names: Sequence[str], where: str
    ) -> list[tuple[tuple[str, ...], float, float | None]]:
        """Cells from a CSV file beside this one."""
        path = self._folder / str(table["file"])
        lines = list(csv.reader(io.StringIO(read_text(path))))
        header = lines[0] if lines else []
        value, error = str(table.get("value", "value")), table.get("standard_error")
        needed = [*names, value, *([error] if isinstance(error, str) else [])]
        for name in needed:
            if header.count(name) != 1:
                hint = closest_name_hint(name, header) or 'value = "count" says which column has the counts'
                raise UsageError(f"{where}: {path.name} must have one column {name[:60]!r}", hint=hint)
        places = [header.index(name) for name in needed]
        entries = []
        for number, line in enumerate(lines[1:], start=2):
            place = f"{path.name}, line {number}"
            if not line:
                continue
            if len(line) != len(header):
                raise UsageError(f"{place} has {len(line)} cells, the first line has {len(header)}")
            cells = [line[each] for each in places]
            labels = tuple(cells[: len(names)])
            own_error = self._number(cells[-1], place, above=0) if isinstance(error, str) else None
            entries.append((labels, self._number(cells[len(names)], place), own_error))
        return entries

    def _counts(self, data: object, where: str) -> Floats:
        """Counts alone, nested in the order of the columns' values."""
        try:
            counts = np.array(data, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{where}: counts must be lists of numbers, one level a column") from None
        if not np.isfinite(counts).all() or not (np.abs(counts) <= MOST_COUNT).all():
            raise UsageError(f"{where}: counts must be finite numbers")
        return counts

    def _number(self, value: object, where: str, *, above: float | None = None) -> float:
        """A finite number; in text 1,234 is one, too."""
        value = value.item() if isinstance(value, np.generic) else value
        try:
            number = float(exact.number(value.replace(",", "") if isinstance(value, str) else value, name=where))
        except OverflowError:
            number = math.inf
        if not abs(number) <= MOST_COUNT or (above is not None and not number > above):
            raise UsageError(f"{where} must be a number{'' if above is None else f' above {above:g}'}")
        return number

    def _labels(
        self, declared: Mapping[str, tuple[str, ...]], listed: Sequence[_ListedTable]
    ) -> dict[str, tuple[str, ...]]:
        """The values of each column: as declared, else as its first table lists them; the others must agree."""
        labels, seen_in = dict(declared), dict.fromkeys(declared, "[columns]")
        for table in listed:
            for place, name in enumerate(table.columns):
                if table.counts is not None:
                    if name not in labels:
                        raise UsageError(
                            f"{self._where}, {table.name}: counts have no labels, and the values of {name[:60]!r} are "
                            "not known",
                            hint=f'[columns], then {name} = ["first", "second"]',
                        )
                    continue
                own = tuple(dict.fromkeys(entry[0][place] for entry in table.entries))
                if name not in labels:
                    labels[name], seen_in[name] = own, table.name
                self._refuse_contradiction(name, labels[name], own, seen_in[name], table.name)
        unused = [name for name in declared if not any(name in table.columns for table in listed)]
        if unused:
            raise UsageError(
                f"{self._where}: no table has the column {unused[0][:60]!r}",
                hint=closest_name_hint(unused[0], [name for table in listed for name in table.columns]),
            )
        return labels

    def _refuse_contradiction(
        self, column: str, earlier: tuple[str, ...], own: tuple[str, ...], earlier_in: str, own_in: str
    ) -> None:
        """Two tables that do not have the same values of a column cannot agree."""
        for more, less, in_more, in_less in ((own, earlier, own_in, earlier_in), (earlier, own, earlier_in, own_in)):
            missing = [label for label in more if label not in set(less)]
            if missing:
                raise UsageError(
                    f"{self._where}: {in_more} has the value {missing[0][:60]!r} of column {column[:60]!r}, "
                    f"{in_less} does not",
                    hint=f"all tables need the same values of {column}: spell them alike, add the missing cells, or "
                    "put values together before",
                )

    def _table(self, listed: _ListedTable, labels: Mapping[str, tuple[str, ...]]) -> NoisyTable:
        """A table with all of its cells in order."""
        where = f"{self._where}, {listed.name}"
        shape = tuple(len(labels[name]) for name in listed.columns)
        if math.prod(shape) > MOST_TABLE_CELLS:
            raise UsageError(f"{where} has {math.prod(shape):,} cells; the maximum is {MOST_TABLE_CELLS:,}")
        values, errors = listed.counts, None
        if values is None:
            values, errors = self._filled(listed, labels, shape, where)
        elif values.shape != shape:
            raise UsageError(
                f"{where}: counts have the shape {_shape_words(values.shape)}, the columns have {_shape_words(shape)} "
                "values"
            )
        return NoisyTable(
            name=listed.name,
            columns=listed.columns,
            values=values,
            variances=self._variances(listed, shape, errors, where),
        )

    def _filled(
        self,
        listed: _ListedTable,
        labels: Mapping[str, tuple[str, ...]],
        shape: tuple[int, ...],
        where: str,
    ) -> tuple[Floats, Floats | None]:
        """The cells by their places; each must be there once."""
        by_name = [{label: code for code, label in enumerate(labels[name])} for name in listed.columns]
        values, errors = np.full(shape, np.nan), np.full(shape, np.nan)
        for own, value, error in listed.entries:
            place = tuple(codes[label] for codes, label in zip(by_name, own, strict=True))
            if not np.isnan(values[place]):
                raise UsageError(f"{where} has the cell {_cell_words(listed.columns, own)} twice")
            values[place] = value
            errors[place] = np.nan if error is None else error
        if np.isnan(values).any():
            own = next(
                own
                for own, value in zip(
                    product(*(labels[name] for name in listed.columns)), values.ravel().tolist(), strict=True
                )
                if math.isnan(value)
            )
            raise UsageError(
                f"{where} has no cell {_cell_words(listed.columns, own)}",
                hint="list every cell, also those whose count is 0",
            )
        return values, None if np.isnan(errors).all() else errors

    def _variances(
        self, listed: _ListedTable, shape: tuple[int, ...], errors: Floats | None, where: str
    ) -> Floats | None:
        """The variance of each cell: its own, else the table's."""
        if listed.exact:
            if errors is not None:
                raise UsageError(f"{where} is exact and has standard errors", hint="leave one of the two out")
            return None
        variances = np.full(shape, np.nan if listed.variance is None else listed.variance)
        if errors is not None:
            variances = np.where(np.isnan(errors), variances, errors**2)
        if np.isnan(variances).any():
            raise UsageError(
                f"{where} does not say how noisy its counts are",
                hint="standard_error = 40, or variance = 1600; or exact = true, where they have no noise",
            )
        return variances


def _label(value: object) -> str:
    """A value of a column, as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return exact.show(value) if isinstance(value, Fraction) else str(value)


def _cell_words(columns: Sequence[str], labels: Sequence[str]) -> str:
    return ", ".join(f"{name}={label}" for name, label in zip(columns, labels, strict=True))[:200]


def _shape_words(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "one number"
