"""A code book, applied to the draft of a table. How its file is written: `code_book_reader`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from discreet.errors import UsageError
from discreet.project.code_book_reader import BookContent, BookEntry, in_book, read_book
from discreet.project.declaration_language import TYPES, bound_of, category_of, check_settings, type_of_bounds
from discreet.project.table_draft import TableDraft, table_name_of
from discreet.schema.schema import closest_name_hint


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBook:
    """A code book that was read. Without a table, an entry is about every table that the book is used for."""

    content: BookContent

    @staticmethod
    def read(path: str | PathLike[str]) -> CodeBook:
        """The book in a file."""
        return CodeBook(content=read_book(path))

    def entries_for(self, table: str) -> list[BookEntry]:
        """The entries about a table."""
        described = dict.fromkeys([*(entry.table for entry in self.content.entries), *self.content.tables])
        if not any(not name or _is_table(name, table) for name in described):
            raise UsageError(
                f"{self.content.shown} does not describe a table {table[:60]!r}",
                hint=closest_name_hint(table, described),
            )
        return [entry for entry in self.content.entries if not entry.table or _is_table(entry.table, table)]

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
        fact = f"{self.content.shown} describes {len(lines)} of {len(draft.source_columns)} columns"
        if not draft.settings.get("public"):
            fact += (
                "; what it says becomes public with the declaration, so it must not have been made by looking at this "
                "data"
            )
        drafted = draft.replace(columns=columns, settings=self._unit(draft, persons))
        return dataclasses.replace(drafted, public_facts=(*draft.public_facts, fact))

    def _unit(self, draft: TableDraft, persons: list[BookEntry]) -> dict[str, Any]:
        """Whose rows they are, by the book."""
        table = next((entry for name, entry in self.content.tables.items() if _is_table(name, draft.name)), None)
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

    settings: dict[str, Any] = in_book(read, entry.where)
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
