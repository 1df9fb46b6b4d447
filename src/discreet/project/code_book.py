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
import dataclasses
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from discreet.errors import UsageError
from discreet.project.declaration_language import (
    TYPES,
    bound_of,
    category_of,
    check_settings,
    read_words,
    type_of_bounds,
)
from discreet.project.table_draft import TableDraft, table_name_of
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
class CodeBook:
    """A code book that was read. Without a table, an entry is about every table that the book is used for."""

    shown: str
    entries: tuple[BookEntry, ...]
    tables: Mapping[str, TableEntry] = field(default_factory=dict)

    @staticmethod
    def read(path: str | PathLike[str]) -> CodeBook:
        """The book in a file."""
        file = Path(fspath(path))
        content = _read_bytes(file)
        if file.suffix.lower() == ".toml":
            return _from_toml(content, shown=file.name)
        return _from_csv(content, shown=file.name)

    def entries_for(self, table: str) -> list[BookEntry]:
        """The entries about a table."""
        described = dict.fromkeys([*(entry.table for entry in self.entries), *self.tables])
        if not any(not name or _is_table(name, table) for name in described):
            raise UsageError(
                f"{self.shown} does not describe a table {table[:60]!r}", hint=closest_name_hint(table, described)
            )
        return [entry for entry in self.entries if not entry.table or _is_table(entry.table, table)]

    def apply(self, draft: TableDraft) -> TableDraft:
        """A draft with all that the book says of it. Refused: unknown columns, and what contradicts something."""
        columns: dict[str, dict[str, Any]] = {}
        lines: dict[str, str] = {}
        persons: list[BookEntry] = []
        for entry in self.entries_for(draft.name):
            name = _source_column(entry, draft)
            if name in lines:
                raise UsageError(f"{entry.where}: column {name!r} is described already in {lines[name]}")
            lines[name] = entry.where
            if entry.is_person:
                persons.append(entry)
            columns[name] = _settings_of(entry, draft.columns.get(name, {}), name)
        fact = f"{self.shown} describes {len(lines)} of {len(draft.source_columns)} columns"
        if not draft.settings.get("public"):
            fact += (
                "; what it says becomes public with the declaration, so it must not have been made by looking at this "
                "data"
            )
        drafted = draft.replace(columns=columns, settings=self._unit(draft, persons))
        return dataclasses.replace(drafted, public_facts=(*draft.public_facts, fact))

    def _unit(self, draft: TableDraft, persons: list[BookEntry]) -> dict[str, Any]:
        """Whose rows they are, by the book."""
        table = next((entry for name, entry in self.tables.items() if _is_table(name, draft.name)), None)
        settings = {} if table is None else dict(table.settings)
        where = "" if table is None else table.where
        if persons:
            where = persons[0].where
            names = [_source_column(entry, draft) for entry in persons]
            settings |= {"person": names[0] if len(names) == 1 else names}
            limits = {entry.rows_per_person for entry in persons if entry.rows_per_person is not None}
            if len(limits) > 1:
                raise UsageError(f"{where}: rows_per_person is given twice, and not the same")
            settings |= {"rows_per_person": limits.pop()} if limits else {}
        if settings and ("ends" in draft.settings or draft.settings.get("public")):
            raise UsageError(f"{where}: a person is named, but the table is public or has ends")
        for key, value in settings.items():
            if draft.settings.get(key, value) != value:
                raise UsageError(
                    f"{where}: {key} is {_shown(value)}, but {_shown(draft.settings[key])} was given",
                    hint="give one of the two",
                )
        return settings


def _is_table(written: str, table: str) -> bool:
    """Whether a book means a table: by its name, or by the name of its file."""
    return table.lower() in (written.strip().lower(), table_name_of(Path(written.strip()).name))


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


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


def _from_csv(content: bytes, *, shown: str) -> CodeBook:
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
    return CodeBook(shown=shown, entries=tuple(entries.values()))


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
    words: list[str] = _in_book(lambda: read_words(text)[0], where)
    return words


def _text(text: str, where: str) -> str:
    return text


#: What each field of a line becomes; bounds stay text until the type is known.
_CELLS = {
    "type": _text,
    "low": _text,
    "high": _text,
    "values": lambda text, where: _in_book(lambda: read_words(text), where),
    "format": _text,
    "null": _words,
    "step": _text,
    "bins": _text,
    "true": _words,
    "false": _words,
    "decimal": _text,
    "thousands": _text,
}


def _in_book(read: Any, where: str) -> Any:
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


def _from_toml(content: bytes, *, shown: str) -> CodeBook:
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
    return CodeBook(shown=shown, entries=tuple(entries), tables=tables)


def _toml_entries(columns: Any, table: str, before: str) -> Iterator[BookEntry]:
    for name, given in mapping(columns, where=f"{before}]").items():
        where = f"{before}.{name}]"
        refuse_unknown_keys(given, _TOML_COLUMN, where=where)
        settings = {key: given[key] for key in given if key not in ("person", "label", "description", "unit", "notes")}
        values = settings.get("values")
        if isinstance(values, str):
            settings["values"] = _in_book(partial(read_words, values), where)
        elif isinstance(values, Mapping):
            settings["values"] = (list(values), {code: str(label) for code, label in values.items()})
        is_person = given.get("person", False)
        if not isinstance(is_person, bool):
            raise UsageError(f"{where} person must be true or false")
        yield BookEntry(table=table, column=name, where=where, settings=settings, is_person=is_person)


def _source_column(entry: BookEntry, draft: TableDraft) -> str:
    """The column of the source that an entry means."""
    names = draft.source_columns
    if entry.column in names:
        return entry.column
    same = [name for name in names if name.strip().lower() == entry.column.strip().lower()]
    if len(same) != 1:
        raise UsageError(
            f"{entry.where}: {draft.name!r} has no column {entry.column[:60]!r}",
            hint=closest_name_hint(entry.column, names),
        )
    return same[0]


def _settings_of(entry: BookEntry, proposed: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings of a column: those proposed, with what the book says in their place."""

    def read() -> dict[str, Any]:
        settings = _merged(entry, proposed, name)
        if settings:
            check_settings(name, settings)
        return settings

    settings: dict[str, Any] = _in_book(read, entry.where)
    return settings


def _merged(entry: BookEntry, proposed: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = dict(entry.settings)
    values, labels = _codes(given)
    word = None if "type" not in given else _type_word(given.pop("type"))
    ends = {key: given.pop(key) for key in ("low", "high") if key in given}
    if values is not None:
        if ends or word not in (None, "category", "integer", "number", "text"):
            reason = "has both values and bounds" if ends else f"has values, but its type is {word}"
            raise UsageError(f"column {name!r} {reason}", hint="a column has either values or bounds")
        return _marks(proposed) | given | category_of(values, labels)
    texts = [str(end) for end in ends.values()]
    type_ = _type_said(word, texts, given, proposed)
    if ends and type_ not in ("integer", "decimal", "date", "timestamp"):
        raise UsageError(f"column {name!r} has bounds, but its type is {type_}", hint="numbers and dates have bounds")
    if type_ == "category" and "values" not in proposed:
        raise UsageError(f"column {name!r} is a category without values", hint="values: 1=Male;2=Female")
    kept = dict(proposed) if proposed.get("type") == type_ else _marks(proposed)
    for key, end in ends.items():
        given[key] = bound_of(str(end), type_, name=name) if isinstance(end, str) else end
    for number, number_type in (("step", "decimal"), ("bins", "integer")):
        if isinstance(given.get(number), str):
            given[number] = bound_of(given[number], number_type, name=name)
    return kept | {"type": type_} | given


def _type_said(word: str | None, ends: Iterable[str], given: Mapping[str, Any], proposed: Mapping[str, Any]) -> str:
    """The type of a column that has no values: as said, by its bounds, by what else is said, or as proposed."""
    if word is not None and word != "number":
        return word
    ends = list(ends)
    if ends:
        return type_of_bounds(ends, word, proposed, step="step" in given)
    if word == "number":
        return str(proposed["type"]) if proposed.get("type") in ("integer", "decimal") else "decimal"
    if "true" in given or "false" in given:
        return "boolean"
    if "format" in given and proposed.get("type") not in ("date", "timestamp"):
        return "date"
    return str(proposed.get("type", "text"))


def _codes(given: dict[str, Any]) -> tuple[list[str] | None, dict[str, str]]:
    """The values and labels among what is said, which are taken out of it."""
    values, labels = given.pop("values", None), given.pop("labels", {})
    if isinstance(values, tuple):
        values, own = values
        labels = {**own, **labels}
    if values is None:
        if labels:
            raise UsageError("labels need values", hint="values: 1=Male;2=Female")
        return None, {}
    if not isinstance(values, list):
        raise UsageError("values must be a list", hint='values = ["a", "b"]')
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in values], dict(labels)


def _type_word(text: object) -> str:
    word = " ".join(str(text).lower().split())
    if word not in TYPES:
        raise UsageError(f"{str(text)[:40]!r} is no type", hint=closest_name_hint(word, TYPES))
    return TYPES[word]


def _marks(proposed: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in proposed.items() if key == "null"}
