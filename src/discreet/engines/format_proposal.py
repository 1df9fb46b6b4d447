"""Proposes how the texts of a column are written: a decimal comma, a currency, dates of a country, yes and no.

Read from the rows that are looked at, for the owner to write down or change. Where day and month cannot be told apart,
month comes first between slashes (4/5/2020 is the 5th of April) and day comes first between points and dashes.
Where a comma may be a decimal comma or stand between thousands (1,234), it is a decimal comma in files that have
semicolons between their fields, and stands between thousands in others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from discreet.engines.canonical_text import canonical_text, moment_parts
from discreet.engines.source_values import code_of, parse_number
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.schema.value_format import MomentFormat, NumberFormat, folded, touches_digits

#: Words for true and for false, of which both have to be there.
WORD_PAIRS = (
    ("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("ja", "nein"), ("j", "n"), ("oui", "non"), ("si", "no"),
    ("sí", "no"), ("sim", "não"), ("on", "off"),
)  # fmt: skip

#: Signs that may stand beside a number.
SYMBOLS = ("€", "$", "£", "¥", "%", "EUR", "USD", "GBP", "CHF", "kg", "km", "cm", "mm", "°C")

#: Marks of the fraction and between thousands, in the order in which they are tried.
MARKS = ((".", ""), (".", ","), (",", ""), (",", "."), (",", " "), (".", " "), (".", "'"), (",", "'"))
_COMMA_FIRST = (MARKS[0], MARKS[2], MARKS[3], MARKS[1], *MARKS[4:])

DAYS = (
    "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d", "%d-%b-%Y", "%d %b %Y",
    "%d. %b %Y", "%b %d, %Y", "%b-%d-%Y", "%d/%b/%Y", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d-%b-%y", "%d-%m-%y",
)  # fmt: skip
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")

_BESIDE = re.compile(r"[^0-9+\-.,' \u00a0\u202f]+")


def propose_format(words: Collection[str], *, delimiter: str = ",") -> dict[str, Any] | None:
    """Settings by which all of these texts can be read, which fit no type as they are; None where there are none."""
    words = set(words)
    proposed = _booleans(words) or _numbers(words, _COMMA_FIRST if delimiter == ";" else MARKS)
    if proposed is None and (form := next((each for each in moment_formats() if fit_moment(each, words)), None)):
        written = MomentFormat(words=form, unpadded=tuple(unpadded_words(form, words))).text
        proposed = {"type": "timestamp" if "%H" in form or "%I" in form else "date", "format": written}
    return proposed


def unpadded_words(form: str, words: Collection[str]) -> Iterator[str]:
    """The words of a format, such as "%d", that these texts have without a 0 before one digit.

    Day and month go together, and the hour by itself: some text has one digit there, and none begins with a 0.
    """
    moment_format = MomentFormat(words=form)
    cells = [moment_parts(moment_format, word) or {} for word in words]
    alone = [
        part for place, part in enumerate(moment_format.parts()) if not touches_digits(moment_format.parts(), place)
    ]
    for together in (("%d", "%m"), ("%H", "%I")):
        short = [part for part in alone if part in together]
        digits = {cell.get(part[1], "") for cell in cells for part in short}
        if any(len(each) == 1 for each in digits) and not any(each.startswith("0") for each in digits):
            yield from short


def moment_formats() -> Iterator[str]:
    """The formats that are tried, in order."""
    return (day + time for time in TIMES for day in DAYS)


def fit_moment(form: str, words: Collection[str]) -> bool:
    """Whether all of these texts are moments in a format."""
    column = MomentColumn(name="x", type="timestamp", format=MomentFormat(words=form))
    return all(code_of(column, canonical_text(column, word)) is not None for word in words)


def _booleans(words: set[str]) -> dict[str, Any] | None:
    spelled = {folded(word) for word in words}
    for pair in WORD_PAIRS:
        if spelled == set(pair):
            true, false = ([word for word in _spellings(each) if word in words] for each in pair)
            # Blanks around a word, or capitals within, are another spelling of the first.
            return {"type": "boolean", "true": true or [pair[0]], "false": false or [pair[1]]}
    return None


def _spellings(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((word, word.capitalize(), word.upper())))


def _numbers(words: set[str], marks: tuple[tuple[str, str], ...]) -> dict[str, Any] | None:
    beside = {part for word in words for part in _BESIDE.findall(word.strip())}
    if not beside <= set(SYMBOLS):
        return None
    symbols = tuple(symbol for symbol in SYMBOLS if symbol in beside)
    for decimal, thousands in marks:
        number_format = NumberFormat(decimal=decimal, thousands=thousands, symbols=symbols)
        numbers = fit_numbers(number_format, words)
        if numbers is None:
            continue
        settings: dict[str, Any] = {"type": "integer" if all(number % 1 == 0 for number in numbers) else "decimal"}
        settings |= {"decimal": decimal} if decimal != "." else {}
        settings |= {"thousands": thousands} if thousands else {}
        return settings | ({"symbols": list(symbols)} if symbols else {})
    return None


def fit_numbers(number_format: NumberFormat, words: Collection[str]) -> list[Any] | None:
    """These texts as numbers in a format; None where one is none, or is an id with zeros before it."""
    column = NumberColumn(name="x", type="decimal", format=number_format)
    numbers = []
    for word in words:
        text = canonical_text(column, word)
        number = None if text is None or re.match(r"[^.1-9]*0\d", text, re.ASCII) else parse_number(text)
        if number is None:
            return None
        numbers.append(number)
    return numbers
