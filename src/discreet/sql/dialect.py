"""What engines write differently. Everything else of our SQL is the same for all of them.

Guarantee: no form written here fails on any row of a declared table, and each has the value that
    `plan.evaluate` defines, in every dialect.
Because: see `emit` for arithmetic, `postgres` for PostgreSQL's forms, docs/engines/postgres-matrix.md for what
    was tried. A dialect is asked for forms of values that are already whole numbers or texts of its own.

Numbers here have two widths: 64 bits, and one that holds 120 bits. A `wide` form has operands of the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from discreet.plan.calendar import PartUnit, StartUnit
from discreet.plan.expressions import Sides

EPOCH = "DATE '1970-01-01'"


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctBits:
    """How different whole numbers of 64 bits are counted without holding each: 256 neighbours are bits of one block.

    `block`: in which block a number is, or NULL for NULL. `bits`: the aggregates of the bits of a block's rows, 64 in
    each, which a FILTER may follow; all are NULL where it leaves no row. `size` of these bits is how many are set.

    Guarantee: the sizes of all blocks, summed, are `count(DISTINCT number)`.
    Because: n = 256 * (n >> 8) + 64 * ((n >> 6) & 3) + (n & 63), also for negative n: two numbers are equal if these
        three are. NULL sets no bit.

    >>> numbers = [-257, -256, -65, -64, -1, 0, 63, 64, 64, 256]
    >>> len({(n >> 8, (n >> 6) & 3, n & 63) for n in numbers}), len(set(numbers))
    (9, 9)
    """

    block: str
    bits: tuple[str, ...]

    @staticmethod
    def size(bits: Sequence[str]) -> str:
        return " + ".join(f"bit_count({each})" for each in bits)


class Dialect(Protocol):
    """The primitives that differ. Arguments are SQL that binds as tightly as a name does, unless said otherwise."""

    #: The dialect's name, its type of 64 bits, the type that holds 120 bits, and NULL as a whole number.
    name: str
    big: str
    huge: str
    null: str
    #: Whether grouping by the text of a code is quick, because files hold dictionaries of it.
    dictionaries: bool

    def identifier(self, name: str) -> str:
        """A quoted name, which nothing in it can end."""

    def text(self, literal: str) -> str:
        """A text literal that the engine `can_hold`."""

    def can_hold(self, literal: str) -> bool:
        """Whether a column of this engine can hold this text at all."""

    def at_least(self, text: str, low: str) -> str:
        """text >= low, bytewise."""

    def below(self, text: str, high: str) -> str:
        """text < high, bytewise."""

    def text_column(self, name: str) -> str:
        """A quoted column of text, which compares bytewise."""

    def wide_column(self, name: str) -> str:
        """A quoted column of whole numbers, of either width, to be compared with literals beyond 64 bits."""

    def negated(self, number: str, *, wide: bool) -> str:
        """0 less a number."""

    def absolute(self, number: str, *, wide: bool) -> str:
        """A number's distance from 0."""

    def remainder(self, left: str, right: str, *, wide: bool) -> str:
        """What `quotient` leaves, with the sign of `left`. It may bind no tighter than a product."""

    def total(self, number: str, filter_clause: str, *, most: int) -> str:
        """The sum of a column of numbers, each at most `most` from 0; `filter_clause` is the FILTER, or nothing.

        NULL of nothing; exact, and never an error, for as many rows as any table has.
        """

    def quotient(self, left: str, right: str, *, wide: bool) -> str:
        """left over right, cut towards zero. It may bind no tighter than a product; so may `left`."""

    def root(self, number: str) -> str:
        """The square root of a whole number from 0 to below 2^52, of any width, rounded down; 64 bits wide."""

    def bit_length(self, number: str) -> str:
        """How many binary digits a number of 64 bits has, from 1 on; 64 bits wide."""

    def lookup(self, table: Sequence[int | None], place: str, *, wide: bool) -> str:
        """The element of a list at a place, counted from 1; the place may bind no tighter than a sum."""

    def part(self, unit: PartUnit, day: str) -> str:
        """A calendar field, 64 bits wide, of a day: a whole number, of any width, within the calendar."""

    def start(self, unit: StartUnit, day: str) -> str:
        """The first day of the period that a day lies in, likewise."""

    def length(self, text: str) -> str:
        """How many characters, 64 bits wide."""

    def like(self, text: str, pattern: str, *, is_match: bool) -> str:
        """Whether a text matches a pattern in its normal form, or does not; NULL for NULL."""

    def truth(self, condition: str) -> str:
        """A condition as 0, 1 or NULL, 64 bits wide."""

    def lower(self, text: str) -> str:
        """As `evaluate.lower`."""

    def upper(self, text: str) -> str:
        """As `evaluate.upper`."""

    def trim(self, text: str, sides: Sides, characters: str) -> str:
        """As `evaluate.trim`."""

    def substr(self, text: str, start: int, length: int | None) -> str:
        """As `evaluate.substr`, for a start that is not 0."""

    def same(self, left: str, right: str, *, texts: bool) -> str:
        """Whether two texts, or two whole numbers, are equal or both NULL, in a form that a join can hash."""

    def derived(self, select: str, alias: str) -> str:
        """A SELECT in brackets as a table; `alias` is quoted."""

    def distinct(self, lines: Sequence[str], columns: int, alias: str) -> str:
        """The distinct rows of a SELECT of so many columns, by the first of which they are grouped next."""

    def distinct_bits(self, number: str) -> DistinctBits | None:
        """How different numbers of a column that 64 bits hold are counted as bits; None where by count(DISTINCT)."""

    def fitting(self, number: str, low: int, high: int, *, wide: bool) -> str:
        """A number of either width cast to one; anything, and never an error, where it is not in [low, high]."""

    def numbers(self, size: int) -> str:
        """A narrow type for numbers from 0 to below `size`."""

    def digest(self, tag: str, parts: Sequence[str]) -> str:
        """As `keyed_hashes.limit_digest`, of a column of tags and of whole numbers or texts; compares bytewise."""


class DuckDBDialect:
    """DuckDB's forms, which are also what `explain` shows."""

    name, big, huge, null = "duckdb", "BIGINT", "HUGEINT", "NULL"
    dictionaries = True

    def identifier(self, name: str) -> str:
        return identifier(name)

    def text(self, literal: str) -> str:
        return text_literal(literal)

    def can_hold(self, literal: str) -> bool:
        return True

    def at_least(self, text: str, low: str) -> str:
        # No text lies between s and s + NUL, so a trailing NUL is a strict comparison.
        return f"{text} > {self.text(low[:-1])}" if low.endswith("\0") else f"{text} >= {self.text(low)}"

    def below(self, text: str, high: str) -> str:
        return f"{text} <= {self.text(high[:-1])}" if high.endswith("\0") else f"{text} < {self.text(high)}"

    def text_column(self, name: str) -> str:
        return name

    def wide_column(self, name: str) -> str:
        return name

    def negated(self, number: str, *, wide: bool) -> str:
        return f"(-{number})"

    def absolute(self, number: str, *, wide: bool) -> str:
        return f"abs({number})"

    def remainder(self, left: str, right: str, *, wide: bool) -> str:
        return f"{left} % {right}"

    def total(self, number: str, filter_clause: str, *, most: int) -> str:
        return f"sum({number}){filter_clause}"

    def quotient(self, left: str, right: str, *, wide: bool) -> str:
        return f"{left} // {right}"

    def root(self, number: str) -> str:
        return f"CAST(floor(sqrt(CAST({number} AS DOUBLE))) AS BIGINT)"

    def bit_length(self, number: str) -> str:
        return f"length(bin({number}))"

    def lookup(self, table: Sequence[int | None], place: str, *, wide: bool) -> str:
        listed = f"[{', '.join('NULL' if element is None else str(element) for element in table)}]"
        return f"list_extract({f'CAST({listed} AS HUGEINT[])' if wide else listed}, {place})"

    def part(self, unit: PartUnit, day: str) -> str:
        return f"date_part('{unit}', {EPOCH} + CAST({day} AS INTEGER))"

    def start(self, unit: StartUnit, day: str) -> str:
        return f"(CAST(date_trunc('{unit}', {EPOCH} + CAST({day} AS INTEGER)) AS DATE) - {EPOCH})"

    def length(self, text: str) -> str:
        return f"length({text})"

    def like(self, text: str, pattern: str, *, is_match: bool) -> str:
        escaped = " ESCAPE '\\'" if "\\" in pattern else ""
        return f"({text} {'LIKE' if is_match else 'NOT LIKE'} {self.text(pattern)}{escaped})"

    def truth(self, condition: str) -> str:
        return f"CAST({condition} AS BIGINT)"

    def lower(self, text: str) -> str:
        return f"lower({text})"

    def upper(self, text: str) -> str:
        return f"upper({text})"

    def trim(self, text: str, sides: Sides, characters: str) -> str:
        names: dict[Sides, str] = {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}
        return f"{names[sides]}({text}, {self.text(characters)})"

    def substr(self, text: str, start: int, length: int | None) -> str:
        return f"substr({text}, {start}{'' if length is None else f', {length}'})"

    def same(self, left: str, right: str, *, texts: bool) -> str:
        return f"{left} IS NOT DISTINCT FROM {right}"

    def derived(self, select: str, alias: str) -> str:
        return f"({select})"

    def distinct(self, lines: Sequence[str], columns: int, alias: str) -> str:
        return distinct_rows(lines)

    def distinct_bits(self, number: str) -> DistinctBits | None:
        return None

    def fitting(self, number: str, low: int, high: int, *, wide: bool) -> str:
        return f"TRY_CAST({number} AS {'HUGEINT' if wide else 'BIGINT'})"

    def numbers(self, size: int) -> str:
        return "UTINYINT" if size <= 1 << 8 else "USMALLINT" if size <= 1 << 16 else "UINTEGER"

    def digest(self, tag: str, parts: Sequence[str]) -> str:
        texts = [f"coalesce('=' || CAST({part} AS VARCHAR), '')" for part in parts]
        return f"sha256(concat_ws(':', {', '.join([f'lower(hex({tag}))', *texts])}))"


def distinct_rows(lines: Sequence[str]) -> str:
    """The distinct rows of a SELECT, indented to stand in brackets.

    >>> distinct_rows(["SELECT a", "FROM t"])
    '\\n  SELECT DISTINCT a\\n  FROM t\\n'
    """
    first, *rest = "\n".join(lines).split("\n")
    return "\n  " + "\n  ".join([first.replace("SELECT ", "SELECT DISTINCT ", 1), *rest]) + "\n"


def identifier(name: str) -> str:
    """A quoted name.

    >>> print(identifier('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text for DuckDB; a NUL, which SQL text cannot hold, by its number.

    >>> print(text_literal("it's"), text_literal("a" + chr(0)))
    'it''s' ('a' || chr(0) || '')
    """
    parts = [quoted(part) for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"


def quoted(text: str) -> str:
    """A text in single quotes. A backslash in it is a backslash."""
    return "'" + text.replace("'", "''") + "'"


def stored_code_type(low: int, high: int) -> Literal["INTEGER", "BIGINT"]:
    """The type that a column of these codes is stored as, in every dialect."""
    return "INTEGER" if low >= -(2**31) and high < 2**31 else "BIGINT"
