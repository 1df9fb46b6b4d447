"""Apache Spark 4: its forms of what `dialect` lists.

They need a session as `engines.spark.session` pins it: ANSI, no substitution of variables, backslashes that
escape in literals. What Spark gets silently wrong, and why each form is as it is, stands in
docs/engines/spark-matrix.md.

The wide type is DECIMAL(38, 0). It holds 2^120; a sum, a difference, a product and a cast of it are exact, and so
is the rest of a division. Its DIV wraps to 64 bits, its minus sign and `abs` round to 34 digits, and its
quotient has 6 places and 32 digits before them: none of these is written, or only where nothing is cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from discreet.plan.calendar import PartUnit, StartUnit
from discreet.plan.evaluate import lower, upper
from discreet.plan.expressions import Sides
from discreet.plan.like_pattern import ONE, Token, tokens, wildcard_runs
from discreet.sql.dialect import DistinctBits, distinct_rows

#: What a session must be set to besides what `engines.spark.session` pins, for SQL as large as we may write.
SESSION = {
    "spark.sql.analyzer.maxIterations": "2000",  # one for each level of brackets, of which there may be 600
    # It looks for equal parts in time that doubles with each CASE or coalesce in another, and cannot be interrupted.
    "spark.sql.subexpressionElimination.enabled": "false",
}

#: And what a driver is started with: the parser of one megabyte's stack ends at some 300 brackets.
DRIVER = {"spark.driver.extraJavaOptions": "-Xss16m"}

_HUGE = "DECIMAL(38, 0)"

_PARTS: dict[PartUnit, str] = {
    "year": "YEAR",
    "month": "MONTH",
    "day": "DAY",
    "doy": "DOY",
    "week": "WEEK",
    "isoyear": "YEAROFWEEK",
}

#: Numbers below 2^18 are summed in 64 bits: 2^44 rows, more than any table or join of tables has, would not overflow.
_FEW_BITS = 18

#: A text in a literal: quotes are doubled, a backslash escapes, and NUL has a number, since a parser may take it for
#: the end. So has the dollar: before it reads anything, Spark puts a setting, or a variable of the process's
#: environment, in the place of ${...}. Sessions are set not to; a literal of an analyst's shall not rest on that.
_ESCAPES = str.maketrans({"'": "''", "\\": "\\\\", "\0": "\\u0000", "$": "\\u0024"})


class SparkDialect:
    """Spark's forms."""

    name, big, huge, null = "spark", "BIGINT", _HUGE, "CAST(NULL AS BIGINT)"
    dictionaries = False

    def identifier(self, name: str) -> str:
        # Between double quotes a backslash escapes what follows; between these nothing does.
        return "`" + name.replace("`", "``") + "`"

    def text(self, literal: str) -> str:
        return "'" + literal.translate(_ESCAPES) + "'"

    def can_hold(self, literal: str) -> bool:
        return True

    def at_least(self, text: str, low: str) -> str:
        return f"{text} >= {self.text(low)}"

    def below(self, text: str, high: str) -> str:
        return f"{text} < {self.text(high)}"

    def text_column(self, name: str) -> str:
        return name

    def wide_column(self, name: str) -> str:
        # Of 64 bits and a literal beyond them Spark makes TRUE or FALSE, for NULL too.
        return f"CAST({name} AS {_HUGE})"

    def negated(self, number: str, *, wide: bool) -> str:
        return f"(0 - {number})" if wide else f"(-{number})"

    def absolute(self, number: str, *, wide: bool) -> str:
        if not wide:
            return f"abs({number})"
        # Written once, so that nesting does not double it. It lies outside of the function: no column is taken for n.
        return f"transform(array({number}), n -> CASE WHEN n < 0 THEN 0 - n ELSE n END)[0]"

    def remainder(self, left: str, right: str, *, wide: bool) -> str:
        # Its type is the narrower one of the two, in which a later product might not fit.
        return f"CAST({left} % {right} AS {_HUGE})" if wide else f"{left} % {right}"

    def quotient(self, left: str, right: str, *, wide: bool) -> str:
        """Without its rest a number is divided exactly, so that no digit of the quotient is rounded.

        Each operand is written once: a fold over the list of one number, `left`, that starts with `right`.
        """
        if not wide:
            return f"{left} DIV {right}"
        return f"aggregate(array({left}), CAST({right} AS {_HUGE}), (r, l) -> CAST((l - l % r) / r AS {_HUGE}))"

    def total(self, number: str, filter_clause: str, *, most: int) -> str:
        """In 64 bits, if need be by two parts, where no table has so many rows that they overflow.

        Because n is floor(n / 2^18) * 2^18 plus its last 18 bits, for negative n too. What is computed in the
        wide type may have small values, so it is cast back: it fits.
        """
        if most < 2**_FEW_BITS:
            return f"CAST(sum({number}){filter_clause} AS {_HUGE})"
        if most < 2 ** (2 * _FEW_BITS):
            above, below = f"shiftright({number}::BIGINT, {_FEW_BITS})", f"{number}::BIGINT & {2**_FEW_BITS - 1}"
            return f"(CAST(sum({above}){filter_clause} AS {_HUGE}) * {2**_FEW_BITS} + sum({below}){filter_clause})"
        return f"sum(CAST({number} AS {_HUGE})){filter_clause}"

    def root(self, number: str) -> str:
        return f"CAST(floor(sqrt(CAST({number} AS DOUBLE))) AS BIGINT)"

    def bit_length(self, number: str) -> str:
        return f"CAST(length(bin({number})) AS BIGINT)"

    def lookup(self, table: Sequence[int | None], place: str, *, wide: bool) -> str:
        listed = ", ".join("NULL" if element is None else str(element) for element in table)
        typed = f"CAST(array({listed}) AS ARRAY<{_HUGE if wide else 'BIGINT'}>)"
        return f"get({typed}, try_cast({place} - 1 AS INT))"

    def part(self, unit: PartUnit, day: str) -> str:
        return f"extract({_PARTS[unit]} FROM {_date(day)})::BIGINT"

    def start(self, unit: StartUnit, day: str) -> str:
        return f"unix_date(trunc({_date(day)}, '{unit}'))::BIGINT"

    def length(self, text: str) -> str:
        return f"CAST(length({text}) AS BIGINT)"

    def like(self, text: str, pattern: str, *, is_match: bool) -> str:
        parts = wildcard_runs(tokens(pattern, escape="\\") or [])
        if len(parts) > 3 or (len(parts) == 3 and (parts[0] or parts[2])):
            return f"({text} {'RLIKE' if is_match else 'NOT RLIKE'} {self.text(_possessive_pattern(parts))})"
        return f"({text} {'LIKE' if is_match else 'NOT LIKE'} {self.text(pattern)})"

    def truth(self, condition: str) -> str:
        return f"CAST({condition} AS BIGINT)"

    def lower(self, text: str) -> str:
        return self._translated(text, lower)

    def upper(self, text: str) -> str:
        return self._translated(text, upper)

    def trim(self, text: str, sides: Sides, characters: str) -> str:
        return f"trim({sides.upper()} {self.text(characters)} FROM {text})"

    def substr(self, text: str, start: int, length: int | None) -> str:
        return f"substr({text}, {start}{'' if length is None else f', {length}'})"

    def same(self, left: str, right: str, *, texts: bool) -> str:
        return f"{left} <=> {right}"

    def derived(self, select: str, alias: str) -> str:
        return f"({select}) AS {alias}"

    def distinct(self, lines: Sequence[str], columns: int, alias: str) -> str:
        return distinct_rows(lines)

    def distinct_bits(self, number: str) -> DistinctBits | None:
        # What is grouped by single numbers leaves memory in each task, is sorted on the disk, and is shuffled whole.
        fitted = f"try_cast({number} AS BIGINT)"
        bit = f"shiftleft(CAST(1 AS BIGINT), CAST({fitted} & 63 AS INT))"
        words = [f"CASE WHEN shiftright({fitted}, 6) & 3 = {word} THEN {bit} ELSE 0 END" for word in range(4)]
        return DistinctBits(block=f"shiftright({fitted}, 8)", bits=tuple(f"bit_or({word})" for word in words))

    def fitting(self, number: str, low: int, high: int, *, wide: bool) -> str:
        return f"try_cast({number} AS {_HUGE if wide else 'BIGINT'})"

    def numbers(self, size: int) -> str:
        return "SMALLINT" if size <= 1 << 15 else "INT" if size <= 1 << 31 else "BIGINT"

    def digest(self, tag: str, parts: Sequence[str]) -> str:
        texts = [f"coalesce('=' || CAST({part} AS STRING), '')" for part in parts]
        return f"sha2(concat_ws(':', {', '.join([f'lower(hex({tag}))', *texts])}), 256)"

    def _translated(self, text: str, change: Callable[[str], str]) -> str:
        """Small or capital letters by our own table: Spark's make two letters of one, and look at a word's end."""
        given, made = _letters(change)
        return f"translate({text}, {self.text(given)}, {self.text(made)})"


def _possessive_pattern(parts: list[list[Token]]) -> str:
    """A pattern of several parts as a regular expression that takes each part as early as it can, for good.

    Spark's LIKE goes back to every earlier place of every part: one text of a thousand letters takes hours. A later
    place never leaves more room for the rest, so nothing is lost (see `plan.like_pattern`).
    """
    first, *between, last = [
        "".join("." if piece == ONE else f"\\x{{{ord(str(piece)):x}}}" for piece in part) for part in parts
    ]
    return f"(?s)\\A{first}{''.join(f'(?>.*?{part})' for part in between)}.*{last}\\z"


def _date(day: str) -> str:
    return f"date_from_unix_date(try_cast({day} AS INT))"


@cache
def _letters(change: Callable[[str], str]) -> tuple[str, str]:
    """All characters that are changed, and what each becomes. There are none beyond the second plane."""
    letters = [chr(code) for code in range(0x20000) if not 0xD800 <= code <= 0xDFFF]
    pairs = [(letter, made) for letter in letters if (made := change(letter)) != letter]
    return "".join(letter for letter, _ in pairs), "".join(made for _, made in pairs)
