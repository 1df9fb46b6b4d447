"""`canonical_text` as SQL: one expression of the cell, written from the same patterns, in the forms of an engine.

Guarantee: the value that `canonical_text` has, NULL for None, and never an error.
Because: groups are taken of a text that the same pattern covers; what is made of them is compared, cut, padded and
    joined as text, and nothing is cast. A cell that is longer than any format takes is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.engines.canonical_text import FormattedColumn
from discreet.engines.cell_patterns import CellPattern, moment_pattern, number_pattern, words_pattern
from discreet.engines.missing_values import is_missing_text_sql, marks_of
from discreet.schema.value_format import BLANKS, MONTHS, MOST_CHARACTERS, BooleanFormat, MomentFormat, NumberFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForms:
    """What an engine writes in its own way. The text in each is SQL that is written more than once.

    literal: a text. matches: whether a pattern covers a text. group: a group of a text that it covers, '' where the
    group is not there. short: whether a text has at most so many characters.
    """

    literal: Callable[[str], str]
    matches: Callable[[str, str], str]
    group: Callable[[str, str, int], str]
    short: Callable[[str, int], str]


def canonical_sql(column: FormattedColumn, text: str, forms: TextForms) -> str:
    """The text of a cell as every column of its type reads it; NULL where it does not fit its format, or is a mark."""
    match column.format:
        case None:
            result = text
        case NumberFormat() as number_format:
            result = _number(number_format, text, forms)
        case MomentFormat() as moment_format:
            result = _moment(moment_format, text, forms)
        case BooleanFormat(true=true, false=false):
            words = [(words_pattern(true), "true"), (words_pattern(false), "false")]
            cases = " ".join(f"WHEN {forms.matches(text, pattern)} THEN '{word}'" for pattern, word in words)
            result = f"CASE {cases} END"
    if column.format is not None:
        result = f"CASE WHEN {forms.short(text, MOST_CHARACTERS)} THEN {result} END"
    if column.null is not None:
        result = f"CASE WHEN NOT {is_missing_text_sql(text, forms.literal, marks_of(column))} THEN {result} END"
    return result


def _number(number_format: NumberFormat, text: str, forms: TextForms) -> str:
    cell_pattern = number_pattern(number_format)
    part = _part(cell_pattern, text, forms)
    sign, body = part("sign"), part("body")
    if "body after symbol" in cell_pattern.groups:
        sign, body = f"{sign} || {part('sign after symbol')}", f"{part('body after symbol')} || {body}"
    for mark in BLANKS if number_format.thousands == " " else number_format.thousands:
        body = f"replace({body}, {forms.literal(mark)}, '')"
    if number_format.decimal != ".":
        body = f"replace({body}, {forms.literal(number_format.decimal)}, '.')"
    return f"CASE WHEN {forms.matches(text, cell_pattern.pattern)} THEN {sign} || {body} END"


def _moment(moment_format: MomentFormat, text: str, forms: TextForms) -> str:
    cell_pattern = moment_pattern(moment_format)
    groups, part = cell_pattern.groups, _part(cell_pattern, text, forms)
    pieces = [part("Y") if "Y" in groups else _full_year(part("y"), moment_format.last_year), "'-'"]
    name = next((word for word in "bB" if word in groups), None)
    pieces += [_month(part(name)) if name else _two(part("m")) if "m" in groups else "'01'", "'-'"]
    pieces.append(_two(part("d")) if "d" in groups else "'01'")
    if "H" in groups or "I" in groups:
        pieces += ["' '", _two(part("H")) if "H" in groups else _hour(part("I"), part("p"))]
        pieces += ["':'", part("M") if "M" in groups else "'00'"]
        for mark, word in ((":", "S"), (".", "f")):
            pieces += [f"'{mark}'", part(word)] if word in groups else []
    return f"CASE WHEN {forms.matches(text, cell_pattern.pattern)} THEN {' || '.join(pieces)} END"


def _part(cell_pattern: CellPattern, text: str, forms: TextForms) -> Callable[[str], str]:
    return lambda name: forms.group(text, cell_pattern.pattern, cell_pattern.groups[name])


def _two(digits: str) -> str:
    return f"lpad({digits}, 2, '0')"


def _month(name: str) -> str:
    cases = " ".join(f"WHEN '{each[:3]}' THEN '{number:02d}'" for number, each in enumerate(MONTHS, start=1))
    return f"CASE lower(substr({name}, 1, 3)) {cases} END"


def _hour(digits: str, half: str) -> str:
    """An hour from 1 to 12, in a half of the day."""
    cases = " ".join(f"WHEN '{hour:02d}' THEN '{hour + 12}'" for hour in range(1, 12))
    late = f"CASE {_two(digits)} {cases} ELSE '12' END"
    early = f"CASE {_two(digits)} WHEN '12' THEN '00' ELSE {_two(digits)} END"
    return f"CASE WHEN substr({half}, 1, 1) IN ('p', 'P') THEN {late} ELSE {early} END"


def _full_year(digits: str, last_year: int) -> str:
    century, last = divmod(last_year, 100)
    earlier = f"ELSE '{century - 1:02d}' || {digits} " if century else ""
    return f"CASE WHEN {digits} <= '{last:02d}' THEN '{century:02d}' || {digits} {earlier}END"
