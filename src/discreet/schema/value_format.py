"""How the cells of a text column are written: what the owner declares where it is not written as Discreet reads it.

    decimal     the mark before the fraction: "." (unless declared) or ","
    thousands   the mark between groups of three digits: "." "," " " "'" "_"; a blank also means U+00A0 and U+202F
    symbols     short texts, one of which may stand before or after the number, and says nothing: 12% is 12
    format      of dates and timestamps, in words of strftime (%d.%m.%Y) or in letters (dd.mm.yyyy)
    true, false the words of a boolean; A to Z are a to z
    null        the texts that stand for a missing value, in place of the usual ones; "" always does

A format turns the text of one cell into another text, which is read as ever, or into none. It is set by the owner,
never by a row, so that no row changes how another one is read.

A format of moments, in words: %d %m %H %I take one digit or two, unless they touch other digits; %b and %B both take
English names of months, long or of three letters; %f takes one to nine digits. Without a day it is the first, without
a month it is January, without a time it is midnight. A blank in a format is one or more. In letters, a single d, m or h
says that no 0 stands before one digit where such a moment is written (m/d/yy: 4/18/47); it is read either way.

A year of two digits is the latest one with these digits that is not after the year of `high`; without a `high` it lies
in 1969 to 2068.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import SchemaError

#: What a blank in a format means.
BLANKS = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"

#: A longer cell fits no format.
MOST_CHARACTERS = 1000

#: The last year of two digits, where no `high` says better.
LAST_YEAR = 2068

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
          "november", "december")  # fmt: skip

#: The keys of a column's settings that are read here, by its type.
FORMAT_KEYS = {
    "integer": frozenset({"decimal", "thousands", "symbols", "null"}),
    "decimal": frozenset({"decimal", "thousands", "symbols", "null"}),
    "date": frozenset({"format", "null"}),
    "timestamp": frozenset({"format", "null"}),
    "boolean": frozenset({"true", "false", "null"}),
    "category": frozenset({"null"}),
    "text": frozenset({"null"}),
}

#: The keys of a table's settings that its columns inherit, each of the types that have it.
INHERITED_KEYS = frozenset({"decimal", "thousands", "null"})

TRUE_WORDS = ("true", "t", "yes", "y", "1", "1.0")
FALSE_WORDS = ("false", "f", "no", "n", "0", "0.0")

_DECIMALS, _THOUSANDS = (".", ","), (".", ",", " ", "'", "_", "")
_MOST_WORDS, _MOST_LETTERS = 100, 100
_CAPITALS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")

_WORDS = "dmYybBHIMSfp"
_DIGITS = "dmYyHIMSf"
_SAME = {"Y": "year", "y": "year", "m": "month", "b": "month", "B": "month", "d": "day", "H": "hour", "I": "hour"}
_LETTERS = re.compile(r"y+|Y+|m+|M+|d+|D+|h+|H+|s+|S+|f+|am/pm|AM/PM|a|tt|.", re.DOTALL)


#: The words of strftime in letters; without the first letter, those that may be unpadded have no 0 before one digit.
_LETTERS_OF = {"%d": "dd", "%m": "mm", "%Y": "yyyy", "%y": "yy", "%b": "mmm", "%B": "mmmm", "%H": "hh", "%I": "hh",
               "%M": "mm", "%S": "ss", "%f": "ffffff", "%p": "tt"}  # fmt: skip

#: The words that may have one digit.
SHORT_WORDS = ("%d", "%m", "%H", "%I")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """How numbers are written. `thousands`: "" for none."""

    decimal: str = "."
    thousands: str = ""
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentFormat:
    """How moments are written: a format in words of strftime. `last_year`: of years of two digits the latest.

    `unpadded`: the words, such as "%d", that have no 0 before one digit where moments are written.
    """

    words: str
    last_year: int = LAST_YEAR
    unpadded: tuple[str, ...] = ()

    def parts(self) -> tuple[str, ...]:
        """Its words, such as "%d", and what stands between them, character by character.

        >>> MomentFormat(words="%d.%m.%Y").parts()
        ('%d', '.', '%m', '.', '%Y')
        """
        return tuple(re.findall(r"%.|.", self.words))

    @property
    def text(self) -> str:
        """The format as it is declared: in letters where these say more.

        >>> MomentFormat(words="%m/%d/%y").text, MomentFormat(words="%m/%d/%y", unpadded=("%m", "%d")).text
        ('%m/%d/%y', 'm/d/yy')
        """
        if not self.unpadded:
            return self.words
        return "".join(_LETTERS_OF.get(part, part)[part in self.unpadded :] for part in self.parts())

    @property
    def has_short_year(self) -> bool:
        """Whether a year has two digits.

        >>> MomentFormat(words="%m/%d/%y").has_short_year, MomentFormat(words="%m/%d/%Y").has_short_year
        (True, False)
        """
        return "%y" in self.parts()


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanFormat:
    """The words of a boolean, compared without capitals, and their spelling where rows are written: the first."""

    true: tuple[str, ...] = TRUE_WORDS
    false: tuple[str, ...] = FALSE_WORDS


def folded(word: str) -> str:
    """A word as it is compared: A to Z as a to z, every other letter as it is written."""
    return word.strip("\t\n\v\f\r " + BLANKS).translate(_CAPITALS)


def with_inherited(settings: Mapping[str, Any], inherited: Mapping[str, Any]) -> Mapping[str, Any]:
    """A column's settings, with those that its table has for all columns of its type."""
    keys = FORMAT_KEYS.get(str(settings.get("type")), frozenset())
    return {**{key: value for key, value in inherited.items() if key in keys}, **settings}


def inherited_settings(table: Mapping[str, Any]) -> dict[str, Any]:
    """What a table's settings say for all of its columns."""
    return {key: table[key] for key in sorted(INHERITED_KEYS) if key in table}


def read_null(data: Mapping[str, Any], *, where: str) -> tuple[str, ...] | None:
    """The texts that stand for a missing value, where they are declared; a number as it is written."""
    if "null" not in data:
        return None
    marks = data["null"]
    if not isinstance(marks, list) or not all(_is_word(mark) for mark in marks) or len(marks) > _MOST_WORDS:
        raise SchemaError(f"{where} null must be a list of texts", hint='null = ["NA", "-", "999"]')
    return tuple(dict.fromkeys(map(_text, marks)))


def read_number_format(data: Mapping[str, Any], *, where: str) -> NumberFormat | None:
    """How numbers are written, where it is declared to be another way than Discreet's own."""
    thousands = data.get("thousands", "")
    decimal = data.get("decimal", "," if thousands == "." else ".")
    symbols = data.get("symbols", [])
    if decimal not in _DECIMALS:
        raise SchemaError(f"{where} decimal must be a point or a comma", hint='decimal = ","')
    if isinstance(thousands, str) and thousands and thousands in BLANKS:
        thousands = " "
    if thousands not in _THOUSANDS:
        raise SchemaError(f"{where} thousands must be one of . , ' _ or a blank", hint='thousands = "."')
    if decimal == thousands:
        raise SchemaError(
            f"{where} decimal and thousands are both {decimal!r}, so 1{decimal}234 would have two meanings",
            hint="change one of the two",
        )
    if not isinstance(symbols, list) or len(symbols) > _MOST_WORDS or not all(map(_is_symbol, symbols)):
        raise SchemaError(
            f"{where} symbols must be a list of short texts without digits, blanks, signs, points or commas",
            hint='symbols = ["€", "%", "kg"]',
        )
    number_format = NumberFormat(decimal=decimal, thousands=thousands, symbols=tuple(dict.fromkeys(symbols)))
    return None if number_format == NumberFormat() else number_format


def read_boolean_format(data: Mapping[str, Any], *, where: str) -> BooleanFormat | None:
    """The words of a boolean, where they are declared."""
    if "true" not in data and "false" not in data:
        return None
    words: dict[str, tuple[str, ...]] = {}
    for key, usual in (("true", TRUE_WORDS), ("false", FALSE_WORDS)):
        listed = data.get(key, list(usual))
        if not isinstance(listed, list) or not all(_is_word(word) and folded(_text(word)) for word in listed):
            raise SchemaError(f"{where} {key} must be a list of words", hint=f'{key} = ["{usual[2]}"]')
        if not 0 < len(listed) <= _MOST_WORDS:
            raise SchemaError(f"{where} {key} needs at least one word", hint=f'{key} = ["{usual[2]}"]')
        words[key] = tuple(dict.fromkeys(map(_text, listed)))
    both = {folded(word) for word in words["true"]} & {folded(word) for word in words["false"]}
    if both:
        raise SchemaError(
            f"{where} {min(both)!r} is both a true and a false word",
            hint="declare true and false, each with words of its own",
        )
    return BooleanFormat(true=words["true"], false=words["false"])


def read_moment_format(data: Mapping[str, Any], *, last_year: int | None, where: str) -> MomentFormat | None:
    """How moments are written, where it is declared."""
    if "format" not in data:
        return None
    text = data["format"]
    if not isinstance(text, str) or not 0 < len(text) <= _MOST_LETTERS or not text.isprintable():
        raise SchemaError(f"{where} format must be a text", hint='format = "%d.%m.%Y", or "dd.mm.yyyy"')
    try:
        words = text.strip() if "%" in text else _from_letters(text.strip())
        _check_words(words)
    except ValueError as problem:
        raise SchemaError(f"{where} format {text!r} {problem}", hint='such as "%d.%m.%Y", or "dd.mm.yyyy"') from None
    form = MomentFormat(words=words, last_year=LAST_YEAR if last_year is None else last_year)
    return replace(form, unpadded=() if "%" in text else _single_letters(text.strip(), form.parts()))


def _is_word(value: Any) -> bool:
    return (isinstance(value, str) and len(value) <= _MOST_LETTERS and "\0" not in value) or isinstance(value, int)


def _text(value: Any) -> str:
    """A word as text; a TOML boolean by its SQL spelling."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_symbol(symbol: Any) -> bool:
    return (
        isinstance(symbol, str)
        and 0 < len(symbol) <= 10
        and symbol.isprintable()
        and not any(each.isdigit() or each.isspace() or each in "+-.,'_\\" for each in symbol)
    )


def _from_letters(text: str) -> str:
    """A format in letters as words of strftime.

    >>> _from_letters("dd/mm/yyyy hh:mm"), _from_letters("m/d/yy h:mm tt"), _from_letters("d-MMM-yyyy")
    ('%d/%m/%Y %H:%M', '%m/%d/%y %I:%M %p', '%d-%b-%Y')
    """
    runs = _LETTERS.findall(text)
    half_days = any(run.lower() in ("tt", "a", "am/pm") for run in runs)
    words: list[str] = []
    for place, run in enumerate(runs):
        before = next((each for each in reversed(words) if each.startswith("%")), "")
        after = next((each for each in runs[place + 1 :] if each[0].isalpha()), "")
        match run[0].lower(), len(run):
            case "y", 2 | 4:
                words.append("%Y" if len(run) == 4 else "%y")
            case "m", 1 | 2:
                words.append("%M" if before in ("%H", "%I") or after[:1] == "s" else "%m")
            case "m", 3 | 4:
                words.append("%b" if len(run) == 3 else "%B")
            case "d", 1 | 2:
                words.append("%d")
            case "h", 1 | 2:
                words.append("%I" if half_days else "%H")
            case "s", _ if before == "%S":
                words.append("%f")
            case "s", 1 | 2:
                words.append("%S")
            case "f", _:
                words.append("%f")
            case ("t", 2) | ("a", 1 | 5):
                words.append("%p")
            case "t", 1:
                words.append(run)
            case _ if run.isalpha():
                raise ValueError(f"has letters that are not known: {run}")
            case _:
                words.append(run)
    return "".join(words)


def _single_letters(text: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words that a format in letters has as a single letter, which may have one digit."""
    runs = zip(_LETTERS.findall(text), words, strict=True)
    return tuple(word for run, word in runs if word in SHORT_WORDS and len(run) == 1)


def _check_words(words: str) -> None:
    """Refuse what does not say which day it is, or says something twice."""
    parts = re.findall(r"%.?|[^%]", words, re.DOTALL)
    listed = [part[1:] for part in parts if part.startswith("%")]
    for word in listed:
        if not word or word not in _WORDS:
            raise ValueError(f"has a word that is not known: %{word}")
    between = [part for part in parts if not part.startswith("%")]
    if any(part.isdigit() or part in '\\"' for part in between):
        raise ValueError("may not have digits, quotes or backslashes between its words")
    meanings = [_SAME.get(word, word) for word in listed]
    twice = next((word for place, word in enumerate(listed) if meanings[place] in meanings[:place]), None)
    if twice is not None:
        raise ValueError(f"says the same thing twice: %{twice}")
    if "year" not in meanings:
        raise ValueError("has no year")
    if "day" in meanings and "month" not in meanings:
        raise ValueError("has a day but no month")
    if ("I" in listed) != ("p" in listed):
        raise ValueError("needs %p for %I, and %I for %p")
    for needed, word in (("hour", "M"), ("M", "S"), ("S", "f")):
        if word in meanings and needed not in meanings:
            raise ValueError(f"has %{word} without what it is a part of")


def touches_digits(parts: Sequence[str], place: int) -> bool:
    """Whether a word of digits stands right beside another one, so that each needs all of its digits."""
    near = itertools.chain(parts[max(place - 1, 0) : place], parts[place + 1 : place + 2])
    return any(part.startswith("%") and part[1] in _DIGITS for part in near)
