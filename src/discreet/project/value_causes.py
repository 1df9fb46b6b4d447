"""Why values did not fit, and which setting would let them: for the owner, who is told exact numbers and no cell.

The first rows of the source are looked at again, cell by cell, as the reference engine reads them; a setting is named
where it would let more of these values fit than it would keep from fitting. Marks, signs and words are named from lists
of ours, values of a category from its declaration. Sources that are not files here are not looked at.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine
from discreet.engines.format_proposal import MARKS, SYMBOLS, WORD_PAIRS, fit_moment, moment_formats
from discreet.engines.memory_values import is_lost
from discreet.engines.missing_values import marks_of
from discreet.engines.source_values import cell_code
from discreet.schema.address import DEFAULT
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn
from discreet.schema.schema import Table
from discreet.schema.value_format import BooleanFormat, MomentFormat, NumberFormat, folded

#: So many rows are looked at.
ROWS_LOOKED_AT = 20_000

#: So many values of a category are named.
MOST_EXAMPLES = 3

#: Marks that people write and the usual list does not have.
FURTHER_MARKS = (
    "n.a.", "N.A.", "k.A.", "k. A.", "missing", "Missing", "unknown", "Unknown", "UNKNOWN", "none", "NONE", "NIL",
    "(null)", "(blank)", "#VALUE!", "#DIV/0!", "#REF!", "#NUM!", "*", "**", "..", "...", "---", "–", "—", "/", "x", "X",
    " NA", "NA ", " -", "- ", " . ", " .", "N/A ", " N/A",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCause:
    """Of `exact_lost` values of a column that did not fit, `exact_values` would with a setting. For the owner only."""

    column: str
    exact_values: int
    exact_lost: int
    reason: str
    setting: str

    def __str__(self) -> str:
        return (
            f"{self.column}: {self.exact_values:,} of {self.exact_lost:,} values that did not fit {self.reason}: "
            f"{self.setting}"
        )


def likely_causes(
    table: Table, nulled: Mapping[str, int], *, folder: Path, engine: Engine
) -> tuple[tuple[ValueCause, ...], bool]:
    """Why values of these columns did not fit; and whether all rows were looked at. `nulled`: how many, by column."""
    columns = [column for column in table.schema.columns if nulled.get(column.name) and _has_causes(column)]
    cells, complete = _read_cells(table, columns, folder=folder, engine=engine)
    return tuple(cause for column in columns for cause in _causes(column, cells[column.name])), complete


def day_order_notes(table: Table, *, folder: Path, engine: Engine) -> list[str]:
    """Columns in whose dates day and month cannot be told apart, so that only the owner can say which is meant."""
    swapped = {column.name: other for column in table.schema.columns if (other := _swapped(column)) is not None}
    columns = [column for column in table.schema.columns if column.name in swapped]
    cells, _ = _read_cells(table, columns, folder=folder, engine=engine)
    notes = []
    for column in columns:
        texts = [text for text in cells[column.name] if cell_code(column, text) is not None]
        form = swapped[column.name]
        if texts and fit_moment(form.words, texts):
            notes.append(
                f"{column.name}: no date seen tells day and month apart; where they are the other way around, declare "
                f'format = "{form.text}"'
            )
    return notes


def _has_causes(column: Column) -> bool:
    return isinstance(column, NumberColumn | MomentColumn | BooleanColumn | CategoryColumn)


def _read_cells(
    table: Table, columns: Collection[Column], *, folder: Path, engine: Engine
) -> tuple[dict[str, Counter[str]], bool]:
    """How often each text stands in these columns, in the first rows; and whether these are all."""
    cells: dict[str, Counter[str]] = {column.name: Counter() for column in columns}
    if not columns or table.engine != DEFAULT:
        return cells, True
    names = list(cells)
    rows = engine.rows(table.source, names, folder=folder, layout=table.layout)
    seen = 0
    for row in islice(rows, ROWS_LOOKED_AT):
        seen += 1
        for name, value in zip(names, row, strict=True):
            if type(value) is str:
                cells[name][value] += 1
    return cells, seen < ROWS_LOOKED_AT


def _causes(column: Column, cells: Counter[str]) -> Iterator[ValueCause]:
    """The setting that helps most, and marks of missing values that are not listed."""
    lost = Counter({text: times for text, times in cells.items() if is_lost(column, text)})
    if not lost:
        return
    marks = [mark for mark in FURTHER_MARKS if mark in lost]
    if marks:
        listed = [mark for mark in marks_of(column) if mark and mark in cells]
        setting = f"null = [{', '.join(_quoted(mark) for mark in [*listed, *marks])}]"
        yield _cause(column, lost, lambda text: text in marks, "are marks of missing values", setting)
    if isinstance(column, CategoryColumn):
        yield from _misspelled(column, lost)
    best, most = None, 0
    for changed, reason, setting in _changes(column, lost):
        gained = sum(times for text, times in lost.items() if cell_code(changed, text) is not None)
        kept = sum(
            times
            for text, times in cells.items()
            if text not in lost and cell_code(column, text) is not None and cell_code(changed, text) is None
        )
        if gained - kept > most:
            best, most = (changed, reason, setting), gained - kept
    if best is not None:
        better, reason, setting = best
        yield _cause(column, lost, lambda text: cell_code(better, text) is not None, reason, setting)


def _misspelled(column: CategoryColumn, lost: Counter[str]) -> Iterator[ValueCause]:
    """Values that differ from declared ones in capitals or spaces alone. Declared ones are named, never cells."""
    declared: dict[str, str] = {}
    for value in filter(_loosely, column.values):
        declared.setdefault(_loosely(value), value)
    meant = Counter[str]()
    for text, times in lost.items():
        if spelling := declared.get(_loosely(text)):
            meant[spelling] += times
    if meant:
        examples = ", ".join(_quoted(value) for value, _ in meant.most_common(MOST_EXAMPLES))
        reason = f"are declared values but for capitals or spaces, for example {examples}"
        setting = "write them alike in the source, or add each spelling to values"
        yield _cause(column, lost, lambda text: _loosely(text) in declared, reason, setting)


def _loosely(text: str) -> str:
    """A text without capitals, and without spaces that nobody sees."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _cause(
    column: Column, lost: Counter[str], explains: Callable[[str], bool], reason: str, setting: str
) -> ValueCause:
    return ValueCause(
        column=column.name,
        exact_values=sum(times for text, times in lost.items() if explains(text)),
        exact_lost=lost.total(),
        reason=reason,
        setting=setting,
    )


def _changes(column: Column, lost: Counter[str]) -> Iterator[tuple[Column, str, str]]:
    """Columns as they could be declared, each with what it says of the values and the setting."""
    match column:
        case NumberColumn():
            yield from _number_changes(column, lost)
        case MomentColumn():
            last_year = MomentFormat(words="%Y").last_year
            if column.high is not None:
                last_year = int(str(column.label(column.high))[:4])
            for form in moment_formats():
                changed = replace(column, format=MomentFormat(words=form, last_year=last_year))
                yield changed, "are written in another way", f'format = "{form}"'
            yield replace(column, format=None), "are written as 2026-01-31", "remove format"
        case BooleanColumn():
            for true, false in WORD_PAIRS:
                words = [_spelled(word, lost) or [word] for word in (true, false)]
                format_ = BooleanFormat(true=tuple(words[0]), false=tuple(words[1]))
                setting = f"true = {_listed(words[0])}, false = {_listed(words[1])}"
                yield replace(column, format=format_), "are words for true or false", setting


def _number_changes(column: NumberColumn, lost: Counter[str]) -> Iterator[tuple[Column, str, str]]:
    if column.type == "integer":
        step = replace(column, type="decimal", low=None, high=None, edges=None)
        yield step, "have a fraction", 'type = "decimal"'
    now = column.format or NumberFormat()
    seen = tuple(symbol for symbol in SYMBOLS if any(symbol in text for text in lost))
    symbols = tuple(dict.fromkeys((*now.symbols, *seen)))
    for decimal, thousands in dict.fromkeys(((now.decimal, now.thousands), *MARKS)):
        for beside in dict.fromkeys((now.symbols, symbols)):
            changed = NumberFormat(decimal=decimal, thousands=thousands, symbols=beside)
            if changed == now:
                continue
            reasons, settings = [], []
            if decimal != now.decimal:
                reasons.append("a decimal comma" if decimal == "," else "a decimal point")
                settings.append(f"decimal = {_quoted(decimal)}")
            if thousands != now.thousands:
                reasons.append("a mark between thousands" if thousands else "no mark between thousands")
                settings.append(f"thousands = {_quoted(thousands)}")
            if beside != now.symbols:
                reasons.append(f"a sign beside the number ({', '.join(beside)})")
                settings.append(f"symbols = {_listed(beside)}")
            yield replace(column, format=changed), f"have {' and '.join(reasons)}", ", ".join(settings)


def _spelled(word: str, lost: Counter[str]) -> list[str]:
    """The spellings of a word that stand in cells: in small letters, with a capital, in capitals."""
    there = {text.strip() for text in lost if folded(text) == word}
    return [each for each in dict.fromkeys((word, word.capitalize(), word.upper())) if each in there]


def _swapped(column: Column) -> MomentFormat | None:
    """The format of a column of dates with day and month the other way around."""
    if not isinstance(column, MomentColumn) or column.format is None:
        return None
    words = column.format.words
    if "%d" not in words or "%m" not in words:
        return None
    return replace(column.format, words=words.replace("%d", "%\0").replace("%m", "%d").replace("%\0", "%m"))


def _quoted(text: str) -> str:
    return '"' + text + '"'


def _listed(texts: Collection[str]) -> str:
    return f"[{', '.join(map(_quoted, texts))}]"


def causes_data(causes: Collection[ValueCause]) -> list[dict[str, Any]]:
    """Causes as data."""
    return [
        {
            "column": cause.column,
            "values": cause.exact_values,
            "of": cause.exact_lost,
            "reason": cause.reason,
            "setting": cause.setting,
        }
        for cause in causes
    ]
