"""What a declared format takes, as one regular expression that reads the same in Python, DuckDB, PostgreSQL and Java.

Every pattern covers the whole cell and has only what the four agree on: characters, classes of them, counts,
alternatives and groups. Letters that ignore case are classes ([Jj]); nothing asks an engine what a digit, a blank or a
capital is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.schema.value_format import BLANKS, MONTHS, MomentFormat, NumberFormat, folded, touches_digits

#: Blanks around a cell say nothing.
_AROUND = f"[\t\n\v\f\r{BLANKS}]*"
_SPECIAL = r"\.[]{}()*+?^$|/-"

_MONTH_NAMES = [*MONTHS, *(name[:3] for name in MONTHS)]
_TWO = {"d", "m", "H"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPattern:
    """A pattern, and the number of the group that holds each part, by its name."""

    pattern: str
    groups: dict[str, int]


def number_pattern(number_format: NumberFormat) -> CellPattern:
    """A number: a sign, one symbol before (a sign may follow it) or after, digits in groups of three or in none."""
    point = _plain(number_format.decimal)
    grouped = f"|[1-9][0-9]{{0,2}}(?:{_thousands(number_format)}[0-9]{{3}})+" if number_format.thousands else ""
    digits = f"(?:[0-9]+{grouped})"
    body = f"((?:{digits}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]{{1,4}})?)"
    if not number_format.symbols:
        pattern = f"{_AROUND}([+-]?){body}{_AROUND}"
        return CellPattern(pattern=pattern, groups={"sign": 1, "body": 2})
    symbol, gap = _one_of(number_format.symbols), f"[{BLANKS}]*"
    pattern = f"{_AROUND}([+-]?)(?:{symbol}{gap}([+-]?){body}|{body}(?:{gap}{symbol})?){_AROUND}"
    return CellPattern(pattern=pattern, groups={"sign": 1, "sign after symbol": 2, "body after symbol": 3, "body": 4})


def moment_pattern(moment_format: MomentFormat) -> CellPattern:
    """A moment: a group for each word of its format, by the word's letter."""
    parts, pattern = moment_format.parts(), ""
    groups: dict[str, int] = {}
    for place, part in enumerate(parts):
        if not part.startswith("%"):
            pattern += f"[{BLANKS}]+" if part == " " else _plain(part)
            continue
        word = part[1]
        groups[word] = len(groups) + 1
        pattern += f"({_word_pattern(word, touching=touches_digits(parts, place))})"
    return CellPattern(pattern=f"{_AROUND}{pattern}{_AROUND}", groups=groups)


def words_pattern(words: Iterable[str]) -> str:
    """One of some words, without capitals and blanks around it."""
    return f"{_AROUND}(?:{'|'.join(_any_case(folded(word)) for word in words)}){_AROUND}"


def _word_pattern(word: str, *, touching: bool) -> str:
    match word:
        case "Y":
            return "[0-9]{4}"
        case "f":
            return "[0-9]{1,9}"
        case "b" | "B":
            return "|".join(_any_case(name) for name in _MONTH_NAMES)
        case "p":
            return r"[AaPp]\.?[Mm]\.?"
        case "I":
            return "0[1-9]|1[0-2]" if touching else "0?[1-9]|1[0-2]"
        case _ if word in _TWO and not touching:
            return "[0-9]{1,2}"
        case _:
            return "[0-9]{2}"


def _thousands(number_format: NumberFormat) -> str:
    return f"[{BLANKS}]" if number_format.thousands == " " else _plain(number_format.thousands)


def _one_of(texts: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(_plain, texts))})"


def _plain(text: str) -> str:
    """A text that stands for itself."""
    return "".join(f"\\{each}" if each in _SPECIAL else each for each in text)


def _any_case(word: str) -> str:
    """A word in small letters as a pattern that takes capitals from A to Z, too."""
    return "".join(f"[{each.upper()}{each}]" if "a" <= each <= "z" else _plain(each) for each in word)
