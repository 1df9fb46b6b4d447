"""Code books: what is publicly known about columns, in a CSV or TOML file, for one table or for several.

    column,type,low,high,values,label            a line for each column
    age,integer,0,120,,age in years
    sex,category,,,1=Male;2=Female,

    column,value,label                           or a line for each code
    sex,1,Male
    sex,2,Female

Further headings: table, format, null, step, bins, true, false, person, rows_per_person; description, unit and notes are
for readers. Headings ignore case and have their usual other names. In TOML: [columns.NAME], or
[tables.TABLE.columns.NAME] beside person and rows_per_person in [tables.TABLE].

All that a code book says becomes public with the declaration.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from discreet.errors import UsageError
from discreet.project.declaration_language import read_words
from discreet.schema.schema import closest_name_hint
from discreet.schema.toml_file import mapping, parse_toml, refuse_unknown_keys

#: No code book is larger.
MOST_BYTES = 2**24

#: Other names of headings, in small letters with underscores.
SYNONYMS = {
    "column": ("column", "name", "variable", "field", "var", "column_name", "variable_name", "field_name", "attribute"),
    "table": ("table", "file", "dataset", "data_set", "table_name", "file_name"),
    "type": ("type", "kind", "data_type", "datatype", "column_type", "variable_type"),
    "low": ("low", "min", "minimum", "lower", "lower_bound", "lowest", "from"),
    "high": ("high", "max", "maximum", "upper", "upper_bound", "highest", "to"),
    "values": ("values", "codes", "categories", "levels", "choices", "options", "allowed_values", "value_labels"),
    "value": ("value", "code", "level", "category", "choice", "option"),
    "label": ("label", "labels", "meaning", "value_label", "code_label"),
    "format": ("format", "date_format"),
    "null": ("null", "nulls", "missing", "na", "missing_values", "null_values", "missing_codes", "na_values"),
    "step": ("step", "resolution", "precision"),
    "bins": ("bins",),
    "true": ("true", "true_values", "true_words"),
    "false": ("false", "false_values", "false_words"),
    "decimal": ("decimal", "decimal_mark"),
    "thousands": ("thousands", "thousands_mark"),
    "person": ("person", "is_person", "identifies_person", "person_id"),
    "rows_per_person": ("rows_per_person", "max_rows_per_person"),
    "": (
        "description", "unit", "units", "note", "notes", "comment", "comments", "remark", "remarks", "question",
        "title", "position", "order", "width", "length", "source",
    ),
}  # fmt: skip
_HEADINGS = {synonym: heading for heading, synonyms in SYNONYMS.items() for synonym in synonyms}

_YES, _NO = ("yes", "y", "true", "1", "x", "person"), ("", "no", "n", "false", "0")

#: What a TOML book may say of a column beside the headings above, as discreet.toml does.
_TOML_COLUMN = {*SYNONYMS, "description", "unit", "notes", "labels", "edges", "symbols", "other", "closed", "constant"}
_TOML_COLUMN -= {"", "table", "column", "value", "rows_per_person"}
_TOML_TABLE = {"columns", "person", "rows_per_person"}


@dataclass(slots=True, kw_only=True)
class BookEntry:
    """What a book says of one column. `where`: the line or section that says so, for sentences."""

    table: str
    column: str
    where: str
    settings: dict[str, Any] = field(default_factory=dict)
    is_person: bool = False
    rows_per_person: int | None = None
    has_codes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """What a book says of a table as a whole."""

    where: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class BookContent:
    """What a file says. `shown`: its name, for sentences."""

    shown: str
    entries: tuple[BookEntry, ...]
    tables: Mapping[str, TableEntry] = field(default_factory=dict)


def read_book(path: str | PathLike[str]) -> BookContent:
    """What the code book in a file says."""
    file = Path(fspath(path))
    content = _read_bytes(file)
    if file.suffix.lower() == ".toml":
        return _from_toml(content, shown=file.name)
    return _from_csv(content, shown=file.name)


def _read_bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise UsageError(f"there is no file {str(file)!r}") from None
    except OSError as problem:
        raise UsageError(f"{file.name} cannot be read: {problem.strerror}") from None
    if len(content) > MOST_BYTES:
        raise UsageError(f"{file.name} is larger than {MOST_BYTES:,} bytes")
    return content


def _from_csv(content: bytes, *, shown: str) -> BookContent:
    text = _decoded(content, shown=shown)
    head = text.partition("\n")[0]
    delimiter = max((",", ";", "\t", "|"), key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [(reader.line_num, row) for row in reader]
    except csv.Error as problem:
        raise UsageError(f"{shown}, line {reader.line_num}: {problem}", hint="a quote that opens must close") from None
    if not lines:
        raise UsageError(f"{shown} is empty", hint="its first line names what it says: column,type,low,high,values")
    headings = _headings(lines[0][1], shown=shown)
    entries: dict[tuple[str, str], BookEntry] = {}
    above: dict[str, str] = {}
    for number, row in lines[1:]:
        where = f"{shown}, line {number}"
        if len(row) > len(headings) and any(cell.strip() for cell in row[len(headings) :]):
            raise UsageError(f"{where} has {len(row)} fields, but the headings are {len(headings)}")
        cells = {heading: cell.strip() for heading, cell in zip(headings, row, strict=False) if heading}
        if not any(cells.values()):
            continue
        if "value" in headings and not cells.get("column"):  # one line for each code: the name stands once
            cells["column"] = above.get("column", "")
            cells["table"] = cells.get("table") or above.get("table", "")
        if not cells.get("column"):
            raise UsageError(f"{where} names no column")
        above = cells
        _add_line(entries, cells, where=where, coded="value" in headings)
    if not entries:
        raise UsageError(f"{shown} describes no column")
    return BookContent(shown=shown, entries=tuple(entries.values()))


def _decoded(content: bytes, *, shown: str) -> str:
    for encoding in ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UsageError(f"{shown} is not UTF-8 text", hint="save it as CSV in UTF-8")


def _headings(row: list[str], *, shown: str) -> list[str]:
    """What each field of a line is; empty for what is for readers alone."""
    headings = []
    for written in row:
        word = "_".join(written.strip().lower().replace("-", " ").replace(".", " ").replace("_", " ").split())
        if word and word not in _HEADINGS:
            raise UsageError(
                f"{shown}, line 1: {written.strip()[:60]!r} is no heading of a code book",
                hint=closest_name_hint(word, _HEADINGS) or "column, type, low, high, values, label",
            )
        heading = _HEADINGS.get(word, "")
        if heading and heading in headings:
            raise UsageError(f"{shown}, line 1: two headings mean {heading!r}", hint="keep one of them")
        headings.append(heading)
    if "column" not in headings:
        raise UsageError(f"{shown}, line 1: no heading names the columns", hint="column,type,low,high,values")
    if "value" in headings and "values" in headings:
        raise UsageError(f"{shown}, line 1: both 'value' and 'values' are headings", hint="keep one of them")
    return headings


def _add_line(entries: dict[tuple[str, str], BookEntry], cells: dict[str, str], *, where: str, coded: bool) -> None:
    """A line of a CSV book, added to what was read of its column."""
    place = (cells.get("table", "").lower(), cells["column"].lower())
    entry = BookEntry(table=cells.get("table", ""), column=cells["column"], where=where)
    entry.is_person = _truth(cells.get("person", ""), where=where)
    entry.rows_per_person = _whole(cells.get("rows_per_person", ""), where=where)
    given = {key: cell for key, cell in cells.items() if cell and key in _CELLS}
    entry.settings = {key: _CELLS[key](cell, where) for key, cell in given.items()}
    code = cells.get("value", "")
    if coded and code:
        entry.settings |= {"values": [code], "labels": {code: cells["label"]} if cells.get("label") else {}}
        entry.has_codes = True
    earlier = entries.get(place)
    if earlier is None:
        entries[place] = entry
        return
    if not (coded and (entry.has_codes or earlier.has_codes)):
        raise UsageError(f"{where}: column {entry.column!r} is described already in {earlier.where}")
    if code and code in earlier.settings.get("values", ()):
        raise UsageError(f"{where}: the value {code[:60]!r} of {entry.column!r} is listed already")
    for key, value in entry.settings.items():
        if key in ("values", "labels"):
            continue
        if earlier.settings.setdefault(key, value) != value:
            raise UsageError(f"{where}: {key} of {entry.column!r} is not what {earlier.where} says")
    if code:
        earlier.settings["values"] = [*earlier.settings.get("values", []), code]
        earlier.settings["labels"] = {**earlier.settings.get("labels", {}), **entry.settings["labels"]}
    earlier.has_codes |= entry.has_codes
    earlier.is_person |= entry.is_person
    earlier.rows_per_person = earlier.rows_per_person or entry.rows_per_person


def _words(text: str, where: str) -> list[str]:
    words: list[str] = in_book(lambda: read_words(text)[0], where)
    return words


def _text(text: str, where: str) -> str:
    return text


#: What each field of a line becomes; bounds stay text until the type is known.
_CELLS = {
    "type": _text,
    "low": _text,
    "high": _text,
    "values": lambda text, where: in_book(lambda: read_words(text), where),
    "format": _text,
    "null": _words,
    "step": _text,
    "bins": _text,
    "true": _words,
    "false": _words,
    "decimal": _text,
    "thousands": _text,
}


def in_book(read: Any, where: str) -> Any:
    """What is read, with the line in front of what is wrong with it."""
    try:
        return read()
    except UsageError as problem:
        raise UsageError(f"{where}: {problem.reason}", hint=problem.hint) from None


def _truth(text: str, *, where: str) -> bool:
    if text.lower() not in (*_YES, *_NO):
        raise UsageError(f"{where}: person is {text[:40]!r}", hint="write yes where a column identifies the person")
    return text.lower() in _YES


def _whole(text: str, *, where: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or int(text[:12]) < 1:
        raise UsageError(f"{where}: rows_per_person is {text[:40]!r}", hint="a whole number from 1 on")
    return int(text[:12])


def _from_toml(content: bytes, *, shown: str) -> BookContent:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{shown} is not UTF-8 text") from None
    data = refuse_unknown_keys(parse_toml(text.replace("\r\n", "\n"), name=shown), {"columns", "tables"}, where=shown)
    entries = list(_toml_entries(data.get("columns", {}), "", f"{shown}, [columns"))
    tables = {}
    for name, table in mapping(data.get("tables", {}), where=f"{shown}, [tables]").items():
        where = f"{shown}, [tables.{name}]"
        refuse_unknown_keys(table, _TOML_TABLE, where=where)
        tables[name] = TableEntry(where=where, settings={key: table[key] for key in table if key != "columns"})
        entries += _toml_entries(table.get("columns", {}), name, f"{shown}, [tables.{name}.columns")
    if not entries and not tables:
        raise UsageError(f"{shown} describes no column", hint="[columns.age] with low = 0 and high = 120")
    return BookContent(shown=shown, entries=tuple(entries), tables=tables)


def _toml_entries(columns: Any, table: str, before: str) -> Iterator[BookEntry]:
    for name, given in mapping(columns, where=f"{before}]").items():
        where = f"{before}.{name}]"
        refuse_unknown_keys(given, _TOML_COLUMN, where=where)
        settings = {key: given[key] for key in given if key not in ("person", "label", "description", "unit", "notes")}
        values = settings.get("values")
        if isinstance(values, str):
            settings["values"] = in_book(partial(read_words, values), where)
        elif isinstance(values, Mapping):
            settings["values"] = (list(values), {code: str(label) for code, label in values.items()})
        is_person = given.get("person", False)
        if not isinstance(is_person, bool):
            raise UsageError(f"{where} person must be true or false")
        yield BookEntry(table=table, column=name, where=where, settings=settings, is_person=is_person)
