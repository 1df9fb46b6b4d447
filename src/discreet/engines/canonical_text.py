"""The text of a cell in the one form that is read everywhere: 1234.5, 2026-01-31 12:00, true. In plain Python.

Guarantee: what becomes of a cell depends on the cell and the declaration of its column alone, and no cell fails.
Because: `canonical_text` looks at one text and matches it with the pattern of the declared format; what does not fit
    becomes None, which is read as NULL. `canonical_sql` says the same to engines.

Only text has a format. A number or a date that its source holds as one is read as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeGuard

from discreet.engines.cell_patterns import CellPattern, moment_pattern, number_pattern, words_pattern
from discreet.engines.missing_values import marks_of
from discreet.schema.column import BooleanColumn, Column, MomentColumn, NumberColumn
from discreet.schema.value_format import BLANKS, MONTHS, MOST_CHARACTERS, BooleanFormat, MomentFormat, NumberFormat

#: What can have a format.
FormattedColumn = NumberColumn | MomentColumn | BooleanColumn


def has_canonical_text(column: Column) -> TypeGuard[FormattedColumn]:
    """Whether the cells of a column are turned into other texts before they are read."""
    return isinstance(column, NumberColumn | MomentColumn | BooleanColumn) and (
        column.format is not None or column.null is not None
    )


def canonical_text(column: Column, text: str) -> str | None:
    """The text of a cell as every column of its type reads it; None where it does not fit its format, or is a mark."""
    if not isinstance(column, NumberColumn | MomentColumn | BooleanColumn):
        return text
    if column.null is not None and text in marks_of(column):
        return None
    match column.format:
        case None:
            return text
        case _ if len(text) > MOST_CHARACTERS:
            return None
        case NumberFormat() as number_format:
            return _number(number_format, text)
        case MomentFormat() as moment_format:
            return _moment(moment_format, text)
        case BooleanFormat(true=true, false=false):
            return "true" if _is_word(true, text) else "false" if _is_word(false, text) else None


def _number(number_format: NumberFormat, text: str) -> str | None:
    cell_parts = _groups(number_pattern(number_format), text)
    if cell_parts is None:
        return None
    sign = cell_parts["sign"] + cell_parts.get("sign after symbol", "")
    body = cell_parts.get("body after symbol", "") + cell_parts["body"]
    for mark in BLANKS if number_format.thousands == " " else number_format.thousands:
        body = body.replace(mark, "")
    return sign + body.replace(number_format.decimal, ".")


def moment_parts(moment_format: MomentFormat, text: str) -> dict[str, str] | None:
    """The parts of a text that is a moment in a format, by the letters of its words; None where it is none.

    >>> moment_parts(MomentFormat(words="%m/%d/%y"), "4/18/47")
    {'m': '4', 'd': '18', 'y': '47'}
    """
    return _groups(moment_pattern(moment_format), text)


def _moment(moment_format: MomentFormat, text: str) -> str | None:
    cell_parts = moment_parts(moment_format, text)
    if cell_parts is None:
        return None
    year = cell_parts["Y"] if "Y" in cell_parts else full_year(cell_parts["y"], moment_format.last_year)
    if year is None:
        return None
    name = cell_parts.get("b") or cell_parts.get("B")
    month = str([each[:3] for each in MONTHS].index(name[:3].lower()) + 1) if name else cell_parts.get("m", "1")
    day = f"{year}-{month.zfill(2)}-{cell_parts.get('d', '1').zfill(2)}"
    if "H" not in cell_parts and "I" not in cell_parts:
        return day
    hour = (
        int(cell_parts["H"])
        if "H" in cell_parts
        else int(cell_parts["I"]) % 12 + (12 if cell_parts["p"][0] in "pP" else 0)
    )
    clock = f"{hour:02d}:{cell_parts.get('M', '00')}"
    clock += f":{cell_parts['S']}" if "S" in cell_parts else ""
    clock += f".{cell_parts['f']}" if "f" in cell_parts else ""
    return f"{day} {clock}"


def full_year(digits: str, last_year: int) -> str | None:
    """The latest year that ends in two digits and is not after another.

    >>> full_year("47", 2010), full_year("68", 2068), full_year("69", 2068)
    ('1947', '2068', '1969')
    """
    century, last = divmod(last_year, 100)
    century -= int(digits) > last
    return None if century < 0 else f"{century:02d}{digits}"


def _is_word(words: tuple[str, ...], text: str) -> bool:
    return _compiled(words_pattern(words)).fullmatch(text) is not None


def _groups(cell_pattern: CellPattern, text: str) -> dict[str, str] | None:
    """The parts of a text that follows a pattern; "" for one that is not there."""
    cell_parts = _compiled(cell_pattern.pattern).fullmatch(text)
    return (
        None if cell_parts is None else {name: cell_parts[place] or "" for name, place in cell_pattern.groups.items()}
    )


@lru_cache(maxsize=500)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
