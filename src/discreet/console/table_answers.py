"""What an owner answers about a new table, as a form says it: whose row it is, and what each column is.

A form holds texts. Here they become settings as discreet.toml has them; what cannot be is one sentence that names the
column. What the form does not ask of a column stays as it was proposed, where its type did.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.console import forms
from discreet.console.request_context import RequestContext
from discreet.errors import UsageError
from discreet.project.budget import budget_of
from discreet.project.table_draft import TableDraft
from discreet.schema.schema import Table
from discreet.schema.source_layout import LAYOUT_KEYS, SourceLayout, read_layout
from discreet.schema.toml_edit import settings_text
from discreet.schema.toml_file import parse_toml

TYPES = ("integer", "decimal", "date", "timestamp", "boolean", "category", "text")
#: What a form asks of a column, and which types have it.
BOUNDS = frozenset({"integer", "decimal", "date", "timestamp"})
WORDS = frozenset({"category"})
FORMATS = frozenset({"date", "timestamp"})
NUMBERS = frozenset({"integer", "decimal"})
COLUMN_FIELDS = frozenset({"type", "low", "high", "values", "labels", "format"})
#: What the form asks of a table; the source is chosen before.
TABLE_FIELDS = frozenset({
    "source", "engine", "person", "rows_per_person", "public", "budget", "population", "ends", *LAYOUT_KEYS,
})  # fmt: skip
#: What no further line about a table may say: its source and engine were checked before, and columns have their fields.
_FIELDS_OF_TABLE = (TABLE_FIELDS | {"columns"}) - {"ends"}
#: More columns than this are declared by a code book, or on the command line.
MOST_COLUMNS = 300
#: Fields of a column on the form, and of the table.
MOST_FIELDS = 12 * MOST_COLUMNS + 100

#: Whose row it is, where no column says it.
ROW, PUBLIC = "row", "public"
#: Of a table that is declared: as it is.
SAME = "same"
_COLUMN = "column:"


def layout_of(context: RequestContext) -> SourceLayout | None:
    """How the file is laid out, where the owner says it; None where the file says it itself."""
    given: dict[str, Any] = {
        key: text for key in ("encoding", "delimiter", "sheet") if (text := context.field(key).strip(" "))
    }
    if given.get("delimiter") in ("\\t", "tab"):
        given["delimiter"] = "\t"
    if skipped := context.field("skip_rows").strip():
        given["skip_rows"] = forms.whole_number(skipped, "rows above the header", least=0, most=1000)
    return read_layout(given, where="the file:") if given else None


def answered_draft(draft: TableDraft, context: RequestContext, *, declared: bool = False) -> TableDraft:
    """A draft with what the form says of it. declared: the table has a name, and a form of its own for its budget."""
    proposed = _unasked(draft.settings, TABLE_FIELDS)
    more = _more_settings("the table", context.field("more"), proposed, with_fields=_FIELDS_OF_TABLE)
    settings = {**dict.fromkeys(proposed), **more}
    settings |= ({} if declared else _budget_settings(context)) | _unit_settings(context)
    shared = {key: context.field(f"several_{key}").strip() for key in ("low", "high", "values")}
    columns: dict[str, Mapping[str, Any] | None] = {}
    for number, name in enumerate(draft.source_columns):
        if context.field(f"c{number}_name", "") != name:
            continue  # the file has other columns than the form was made for: as proposed
        columns[name] = _column_settings(name, number, draft.columns.get(name, {}), context, shared)
    new_name = None if declared else context.field("name").strip() or None
    return draft.replace(name=new_name, settings=settings, columns=columns)


def declared_draft(table: Table, raw: Mapping[str, Any], names: Sequence[str]) -> TableDraft:
    """A declared table as a draft, to be corrected. names: the columns of its source."""
    columns = raw.get("columns", {})
    by_name = {name.lower(): name for name in columns}
    source_columns = tuple(dict.fromkeys([*(by_name.get(name.lower(), name) for name in names), *columns]))
    settings = {key: value for key, value in raw.items() if key != "columns"}
    return TableDraft(name=table.name, settings=settings, columns=columns, source_columns=source_columns)


def corrections(old: TableDraft, new: TableDraft) -> dict[tuple[str, ...], Any]:
    """What to write where a declared table is corrected: each place that differs, and what stands there then."""
    at = ("tables", old.name)
    changes: dict[tuple[str, ...], Any] = _differences(at, old.settings, new.settings)
    declared = new.declared_columns
    for name in dict.fromkeys([*old.columns, *declared]):
        place = (*at, "columns", name)
        if name not in declared:
            changes[place] = None
        else:
            changes |= _differences(place, old.columns.get(name, {}), declared[name])
    return changes


def _differences(at: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    return {
        (*at, key): new.get(key)
        for key in dict.fromkeys([*old, *new])
        if key not in old or key not in new or old[key] != new[key]
    }


def _unit_settings(context: RequestContext) -> dict[str, Any]:
    whose = context.field("whose")
    if whose == SAME:
        return {}
    rows = context.field("rows_per_person").strip()
    if whose == PUBLIC:
        return {"public": True, "person": None, "rows_per_person": None}
    if whose == ROW:
        return {"person": None, "rows_per_person": None, "public": None}
    if not whose.startswith(_COLUMN):
        raise UsageError("say whose row it is", hint="choose the column that identifies the person of each row")
    most = forms.whole_number(rows, "rows per person", least=1, most=10**9) if rows else None
    return {"person": whose.removeprefix(_COLUMN), "rows_per_person": most, "public": None}


def _budget_settings(context: RequestContext) -> dict[str, Any]:
    if context.field("whose") == PUBLIC:
        return {"budget": None, "population": None}
    if population := context.field("population").strip():
        return {"population": population, "budget": None}
    epsilon = forms.number_text(context.field("epsilon"), "epsilon")
    budget = budget_of(epsilon, forms.number_text(context.field("delta"), "delta") if epsilon else None)
    return {
        "population": None,
        "budget": None if budget is None else {"epsilon": budget.epsilon, "delta": budget.delta},
    }


def _column_settings(
    name: str, number: int, proposed: Mapping[str, Any], context: RequestContext, shared: Mapping[str, str]
) -> dict[str, Any] | None:
    """One column; None where it is left out."""

    def text(key: str) -> str:
        own = context.field(f"c{number}_{key}").strip()
        return own or (shared.get(key, "") if context.field(f"c{number}_several") == "yes" else "")

    if context.field(f"c{number}_use") != "yes":
        return None
    type_ = context.field(f"c{number}_type")
    if type_ not in TYPES:
        raise UsageError(f"{name}: choose a type", hint=f"one of: {', '.join(TYPES)}")
    settings = _more_settings(name, context.field(f"c{number}_more"), _unasked(proposed))
    if type_ != proposed.get("type"):  # what was proposed for another type says nothing about this one
        settings = {key: value for key, value in settings.items() if proposed.get(key) != value}
    settings["type"] = type_
    if type_ in BOUNDS:
        settings |= {key: bound(name, key, type_, field_text) for key in ("low", "high") if (field_text := text(key))}
    if type_ in FORMATS and (field_text := text("format")):
        settings["format"] = field_text
    if type_ in WORDS:
        words, labels = words_of(text("values"))
        if not words:
            raise UsageError(
                f"{name}: a category needs its words",
                hint="write one on each line, from what is public about the column; or choose the type text",
            )
        settings |= {"values": words} | ({"labels": labels} if labels else {})
    if any(settings.get(key) != proposed.get(key) for key in ("low", "high", "values")):
        settings.pop("measured", None)  # what was bought is not what the owner says now
    return settings


def _unasked(settings: Mapping[str, Any], field_names: frozenset[str] = COLUMN_FIELDS) -> dict[str, Any]:
    """What the form has no field of its own for."""
    return {key: value for key, value in settings.items() if key not in field_names}


def _more_settings(
    name: str, text: str, proposed: Mapping[str, Any], *, with_fields: frozenset[str] = COLUMN_FIELDS
) -> dict[str, Any]:
    """Further settings, as lines of TOML; exactly what was proposed where they were not touched."""
    if text.split() == settings_text(proposed).split():
        return dict(proposed)
    more = parse_toml(text.replace("\r\n", "\n"), name=f"the further settings of {name}")
    for key in more:
        if key in with_fields:
            raise UsageError(f"{name}: {key} has a field of its own", hint="write it there")
    return more


def bound(name: str, key: str, type_: str, text: str) -> Any:
    """A bound as discreet.toml has it."""
    try:
        match type_:
            case "date":
                return date.fromisoformat(text)
            case "timestamp":
                return datetime.fromisoformat(text)
            case _:
                number = exact.number(text.replace("\u2212", "-"), name=key)
    except (ValueError, UsageError):
        example = "2026-01-31" if type_ in ("date", "timestamp") else "100, or 0.5"
        raise UsageError(f"{name}: {key} {text[:40]!r} is not a {_noun(type_)}", hint=f"write {example}") from None
    if type_ == "integer" and number.denominator != 1:
        raise UsageError(f"{name}: {key} {text[:40]!r} is not a whole number", hint="choose the type decimal")
    return int(number) if number.denominator == 1 else number


def _noun(type_: str) -> str:
    return {"date": "date", "timestamp": "date and time", "integer": "whole number"}.get(type_, "number")


def words_of(text: str) -> tuple[list[str], dict[str, str]]:
    """The words of a category, one on each line or between commas; `1 = Male` gives one a label.

    >>> words_of("flu, mumps")
    (['flu', 'mumps'], {})
    >>> words_of("1 = Male\\n2 = Female, or unknown")
    (['1', '2'], {'1': 'Male', '2': 'Female, or unknown'})
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and not _LABEL.fullmatch(lines[0]):
        lines = [part.strip() for part in lines[0].split(",") if part.strip()]
    words, labels = [], {}
    for line in lines:
        labelled = _LABEL.fullmatch(line)
        word = line if labelled is None else labelled[1]
        words.append(word)
        if labelled is not None:
            labels[word] = labelled[2]
    return list(dict.fromkeys(words)), labels


_LABEL = re.compile(r"(\S.*?) = (\S.*)")


def form_json(draft: TableDraft, *, context: RequestContext | None = None, declared: bool = False) -> dict[str, Any]:
    """What stands in the form: as the owner wrote it, else as it is proposed. context: of a form that was sent."""

    def form_text(key: str, otherwise: str) -> str:
        return otherwise if context is None else context.field(key, otherwise)

    settings, budget = draft.settings, draft.settings.get("budget") or {}
    person = settings.get("person")
    whose = PUBLIC if settings.get("public") else "" if person is None else f"{_COLUMN}{person}"
    if declared:
        whose = SAME if not isinstance(person, str) else whose
    elif context is None and not whose and draft.person_candidates:
        whose = f"{_COLUMN}{draft.person_candidates[0].column}"
    shown = {
        "name": form_text("name", draft.name),
        "whose": form_text("whose", whose),
        "rows_per_person": form_text("rows_per_person", _text(settings.get("rows_per_person"))),
        "epsilon": form_text("epsilon", _text(budget.get("epsilon"))),
        "delta": form_text("delta", _text(budget.get("delta"))),
        "population": form_text("population", settings.get("population", "")),
        **{key: form_text(key, _text(settings.get(key))) for key in ("encoding", "delimiter", "skip_rows", "sheet")},
        "more": form_text("more", settings_text(_unasked(settings, TABLE_FIELDS))),
        "several": {key: form_text(f"several_{key}", "") for key in ("low", "high", "values")},
    }
    columns = [_column_json(draft, number, name, form_text, sent=context is not None) for number, name in _shown(draft)]
    return {**shown, "columns": columns, "more_columns": max(0, len(draft.source_columns) - MOST_COLUMNS)}


def _shown(draft: TableDraft) -> list[tuple[int, str]]:
    return list(enumerate(draft.source_columns))[:MOST_COLUMNS]


def _column_json(draft: TableDraft, number: int, name: str, form_text: Any, *, sent: bool) -> dict[str, Any]:
    proposed = draft.columns.get(name)
    settings = proposed or {}
    labels = settings.get("labels") or {}
    words = [
        f"{word} = {labels[str(word)]}" if str(word) in labels else _text(word) for word in settings.get("values", ())
    ]
    same = not sent or form_text(f"c{number}_name", "") == name
    mine = form_text if same else (lambda _, otherwise: otherwise)
    return {
        "number": number,
        "name": name,
        "use": mine(f"c{number}_use", "") == "yes" if sent and same else proposed is not None,
        "several": sent and mine(f"c{number}_several", "") == "yes",
        "type": mine(f"c{number}_type", settings.get("type", "text")),
        "low": mine(f"c{number}_low", _text(settings.get("low"))),
        "high": mine(f"c{number}_high", _text(settings.get("high"))),
        "values": mine(f"c{number}_values", "\n".join(words)),
        "format": mine(f"c{number}_format", _text(settings.get("format"))),
        "more": mine(f"c{number}_more", settings_text(_unasked(settings))),
    }


def _text(value: Any) -> str:
    """A setting as people write it."""
    if value is None:
        return ""
    if isinstance(value, Fraction):
        return exact.show(value, digits=40)
    return value.isoformat() if isinstance(value, date) else str(value)
