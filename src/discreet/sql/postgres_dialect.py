"""PostgreSQL 15 and later: its forms of what `dialect` lists.

They need a session with `standard_conforming_strings` on, as `SESSION` sets it, and a UTF8 database, and rest on
nothing else of the server's settings: not its locale (text is compared under "C" and its letters are changed by
a table of our own), not its time zone (no form has one), not the version's idea of a literal.

What a text here cannot hold is NUL. So no column has a value that does, and a literal with one is compared by
what stands before it: t < p NUL q exactly where t <= p, for every t without NUL.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache

from discreet.plan.calendar import PartUnit, StartUnit
from discreet.plan.evaluate import lower, upper
from discreet.plan.expressions import Sides
from discreet.sql.dialect import EPOCH, DistinctBits, identifier, quoted

#: What every session is set to before it runs SQL of ours. Timeouts and limits are the engine's to add.
SESSION = {
    "standard_conforming_strings": "on",
    "search_path": "pg_catalog, pg_temp",  # no function or operator of anybody else's
    "row_security": "off",  # a table that hides rows from us is an error, not a smaller table
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",  # floats by their shortest text
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "quote_all_identifiers": "off",
    "jit": "off",
}

_MOST_NAME = 63


class PostgreSQLDialect:
    """PostgreSQL's forms."""

    name, big, huge, null = "postgresql", "BIGINT", "NUMERIC", "CAST(NULL AS INTEGER)"
    dictionaries = False

    def identifier(self, name: str) -> str:
        return identifier(_shorten_name(name))

    def text(self, literal: str) -> str:
        if not self.can_hold(literal):
            raise ValueError("PostgreSQL text cannot contain NUL")
        return quoted(literal)

    def can_hold(self, literal: str) -> bool:
        return "\0" not in literal

    def at_least(self, text: str, low: str) -> str:
        before, nul, _ = low.partition("\0")
        return f"{text} {'>' if nul else '>='} {quoted(before)}"

    def below(self, text: str, high: str) -> str:
        before, nul, _ = high.partition("\0")
        return f"{text} {'<=' if nul else '<'} {quoted(before)}"

    def text_column(self, name: str) -> str:
        return f'({name} COLLATE "C")'

    def wide_column(self, name: str) -> str:
        # A literal beyond 64 bits is NUMERIC by itself, and so becomes what it is compared with.
        return name

    def negated(self, number: str, *, wide: bool) -> str:
        return f"(-{number})"

    def absolute(self, number: str, *, wide: bool) -> str:
        return f"abs({number})"

    def remainder(self, left: str, right: str, *, wide: bool) -> str:
        return f"{left} % {right}"

    def total(self, number: str, filter_clause: str, *, most: int) -> str:
        # Of BIGINT it is NUMERIC, which has no end that rows could reach.
        return f"sum({number}){filter_clause}"

    def quotient(self, left: str, right: str, *, wide: bool) -> str:
        # `/` of numerics has a fraction, of which the last digits are rounded; div has none and is exact.
        return f"div({left}, {right})" if wide else f"{left} / {right}"

    def root(self, number: str) -> str:
        return f"CAST(floor(sqrt(CAST({number} AS DOUBLE PRECISION))) AS BIGINT)"

    def bit_length(self, number: str) -> str:
        return f"CAST(length(ltrim(CAST(CAST({number} AS BIT(64)) AS TEXT), '0')) AS BIGINT)"

    def lookup(self, table: Sequence[int | None], place: str, *, wide: bool) -> str:
        # Outside a list there is NULL, and a place wider than 32 bits is none of ours: tables are short.
        listed = ",".join("NULL" if element is None else str(element) for element in table)
        return f"(CAST('{{{listed}}}' AS {'NUMERIC' if wide else 'BIGINT'}[]))[CAST({place} AS INTEGER)]"

    def part(self, unit: PartUnit, day: str) -> str:
        # A double, in which a year is exact.
        return f"CAST(date_part('{unit}', {EPOCH} + CAST({day} AS INTEGER)) AS BIGINT)"

    def start(self, unit: StartUnit, day: str) -> str:
        # Of a date itself date_trunc makes a timestamp with time zone, by the session's zone.
        moment = f"CAST({EPOCH} + CAST({day} AS INTEGER) AS TIMESTAMP)"
        return f"CAST(CAST(date_trunc('{unit}', {moment}) AS DATE) - {EPOCH} AS BIGINT)"

    def length(self, text: str) -> str:
        return f"CAST(length({text}) AS BIGINT)"

    def like(self, text: str, pattern: str, *, is_match: bool) -> str:
        if not self.can_hold(pattern):
            return f"({text} IS NULL AND NULL)" if is_match else f"({text} IS NOT NULL OR NULL)"
        escaped = " ESCAPE '\\'" if "\\" in pattern else ""
        return f"({text} {'LIKE' if is_match else 'NOT LIKE'} {quoted(pattern)}{escaped})"

    def truth(self, condition: str) -> str:
        return f"CAST(CAST({condition} AS INTEGER) AS BIGINT)"

    def lower(self, text: str) -> str:
        return _change_case(text, "lower", lower)

    def upper(self, text: str) -> str:
        return _change_case(text, "upper", upper)

    def trim(self, text: str, sides: Sides, characters: str) -> str:
        names: dict[Sides, str] = {"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}
        return f"{names[sides]}({text}, {quoted(characters.replace(chr(0), ''))})"

    def substr(self, text: str, start: int, length: int | None) -> str:
        """From the end, PostgreSQL's substr does not count.

        Because, counted from the end, `length` characters from `-start` on are the last `-start` ones less
        the last `-start - length`; and where the text is shorter than `-start`, what is missing is missing in
        front, so that the same number is to be taken off its end.
        """
        if start > 0:
            return f"substr({text}, {start}{'' if length is None else f', {length}'})"
        tail = f"right({text}, {-start})"
        return tail if length is None or start + length >= 0 else f"left({tail}, {start + length})"

    def same(self, left: str, right: str, *, texts: bool) -> str:
        # IS NOT DISTINCT FROM is joined row by row, while arrays are hashed, and NULLs in them are equal. Arrays of
        # different types are not compared at all.
        sides = (left, right) if texts else (f"CAST({left} AS NUMERIC)", f"CAST({right} AS NUMERIC)")
        return f"ARRAY[{sides[0]}] = ARRAY[{sides[1]}]"

    def derived(self, select: str, alias: str) -> str:
        return f"({select}) AS {alias}"

    def distinct(self, lines: Sequence[str], columns: int, alias: str) -> str:
        # Sorted once for both: the planner guesses how many there are, and else hashes them and sorts what comes out.
        order = ", ".join(str(place + 1) for place in range(columns))
        return f"SELECT DISTINCT * FROM ({' '.join(lines)} ORDER BY {order} OFFSET 0) AS {alias}"

    def distinct_bits(self, number: str) -> DistinctBits | None:
        return None

    def fitting(self, number: str, low: int, high: int, *, wide: bool) -> str:
        if wide:
            return f"CAST({number} AS NUMERIC)"
        return f"CASE WHEN {number} BETWEEN {low} AND {high} THEN CAST({number} AS BIGINT) END"

    def numbers(self, size: int) -> str:
        return "SMALLINT" if size <= 1 << 15 else "INTEGER" if size <= 1 << 31 else "BIGINT"

    def digest(self, tag: str, parts: Sequence[str]) -> str:
        texts = [f"coalesce('=' || CAST({part} AS TEXT), '')" for part in parts]
        listed = ", ".join([f"encode({tag}, 'hex')", *texts])
        return f"encode(sha256(convert_to(concat_ws(':', {listed}), 'UTF8')), 'hex') COLLATE \"C\""


def _shorten_name(name: str) -> str:
    """A name of at most 63 bytes: longer ones the server cuts off, and two that begin alike would be one.

    >>> _shorten_name("age"), len(_shorten_name("discreet:0." + "x" * 63))
    ('age', 63)
    """
    if len(name.encode()) <= _MOST_NAME:
        return name
    mark = hashlib.sha256(name.encode()).hexdigest()[:20]
    return f"{name.encode()[: _MOST_NAME - 1 - len(mark)].decode(errors='ignore')} {mark}"


def _change_case(text: str, function: str, change: Callable[[str], str]) -> str:
    """Small or capital letters by our own table: the server's depend on its locale and the version of its library.

    The text is written once, so that nesting does not double it; OFFSET keeps the planner from doing so. What is
    plain ASCII, as octets tell, is not looked up. Of the rest each character is looked up in an object of JSON, whose
    keys are sorted, and so takes as long as any other: translate walks through its list for each character, and
    would take a hundred times as long for a text of the list's last letters, which tells who wrote one.
    """
    each = "unnest(string_to_array(t, NULL)) WITH ORDINALITY AS given (letter, place)"
    changed_letters = (
        f"(SELECT string_agg(coalesce({_letters(change)} ->> letter, letter), '' ORDER BY place) FROM {each})"
    )
    return _once(
        text, f'{function}(CASE WHEN octet_length(t) = length(t) THEN t ELSE {changed_letters} END COLLATE "C")'
    )


def _once(text: str, result: str) -> str:
    """`result`, in which t stands for `text`."""
    return f"(SELECT {result} FROM (SELECT {text} AS t OFFSET 0) AS letters)"


@cache
def _letters(change: Callable[[str], str]) -> str:
    """All characters beyond ASCII that are changed, with what each becomes. There are none beyond the second plane."""
    letters = [chr(code) for code in range(0x80, 0x20000) if not 0xD800 <= code <= 0xDFFF]
    pairs = {letter: made for letter in letters if (made := change(letter)) != letter}
    return f"CAST({quoted(json.dumps(pairs, ensure_ascii=False, separators=(',', ':')))} AS JSONB)"
