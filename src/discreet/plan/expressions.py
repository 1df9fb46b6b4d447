"""Expressions: what is computed from one row of a relation. A closed union of whole numbers and texts.

One file, long as it is: a closed union is read, and checked, as a whole.

Every expression is row-local (it looks at one row), total (it has a value, perhaps NULL, on every row
whatever) and exact (whole numbers of any size, no floats). A whole-number expression knows from birth
between what bounds its values lie and whether it can be NULL, by interval arithmetic over the declared
bounds; so whatever is summed has its sensitivity by construction, and no engine can overflow.

`plan.evaluate.value` defines what each one means; `plan.algebra` builds them in their shortest form.
Member, Test, Every and Some are the predicates of `plan.predicate`; they stand here because CASE needs them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.accounting.region import ValueSet
from discreet.errors import Refused
from discreet.plan import interval, like_pattern
from discreet.plan.calendar import FIRST_DAY, LAST_DAY, PartUnit, StartUnit, part_of, start_of
from discreet.plan.expression_facts import LITERALS, Ends, ExpressionFacts, reach_of, set_facts
from discreet.plan.interval import IntegerInterval, Rounding
from discreet.schema.privacy_unit import display_name

Sides = Literal["both", "leading", "trailing"]

#: Whole square roots are of numbers below this: float64 holds each of them, and what lies between their roots.
MOST_SQUARE = 2**52

#: Binary digits are counted of numbers below this, which 64 bits hold.
MOST_COUNTED = 2**62


@dataclass(frozen=True, slots=True)
class Code:
    """The stored code of a column: grid steps, days, microseconds, the place of a category, 0 and 1."""

    column: str
    low: int | None
    high: int | None
    null: bool
    size: int = field(default=1, init=False, compare=False, repr=False)
    depth: int = field(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low is above high for {self.column!r}")

    @property
    def reach(self) -> int:
        return reach_of(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Null(ExpressionFacts):
    """NULL."""

    def __post_init__(self) -> None:
        # No value: any bounds hold, and 0 disturbs nobody's.
        set_facts(self, (0, 0), null=True)


@dataclass(frozen=True, slots=True)
class Whole(ExpressionFacts):
    """A literal."""

    value: int

    def __post_init__(self) -> None:
        set_facts(self, (self.value, self.value), null=False)


@dataclass(frozen=True, slots=True)
class Plus(ExpressionFacts):
    """left + right."""

    left: Number
    right: Number

    def __post_init__(self) -> None:
        bounds = interval.plus(required_bounds(self.left), required_bounds(self.right))
        reach = self.left.reach + self.right.reach
        set_facts(self, bounds, null=self.left.null or self.right.null, parts=(self.left, self.right), reach=reach)


@dataclass(frozen=True, slots=True)
class Times(ExpressionFacts):
    """left * right."""

    left: Number
    right: Number

    def __post_init__(self) -> None:
        left, right = required_bounds(self.left), required_bounds(self.right)
        bounds = interval.square(left) if self.left == self.right else interval.times(left, right)
        reach = self.left.reach * self.right.reach
        set_facts(self, bounds, null=self.left.null or self.right.null, parts=(self.left, self.right), reach=reach)


@dataclass(frozen=True, slots=True)
class Over(ExpressionFacts):
    """left / right as a whole number; NULL where right is 0."""

    left: Number
    right: Number
    rounding: Rounding = "down"

    def __post_init__(self) -> None:
        left, right = required_bounds(self.left), required_bounds(self.right)
        if self.rounding == "nearest" and not (isinstance(self.right, Whole) and self.right.value > 0):
            raise ValueError("only quotients by a positive constant can be rounded to the nearest number")
        bounds = interval.over(left, right, self.rounding)
        null = self.left.null or self.right.null or right.low <= 0 <= right.high
        parts = (self.left, self.right) * self.copies
        set_facts(self, bounds or IntegerInterval(0, 0), null=null, parts=parts, more=4 * self.copies)

    @property
    def copies(self) -> int:
        """How often its SQL names its operands: more than once where their signs are not known."""
        if required_bounds(self.left).low >= 0 and required_bounds(self.right).low >= 0:
            return 1
        if isinstance(self.right, Whole) and self.right.value > 0:
            return 2 if self.rounding == "nearest" else 1
        return 1 if self.rounding == "zero" else 3


@dataclass(frozen=True, slots=True)
class Remainder(ExpressionFacts):
    """What is left of `left` after whole `right`s, with the sign of `left`; NULL where right is 0."""

    left: Number
    right: Number

    def __post_init__(self) -> None:
        left, right = required_bounds(self.left), required_bounds(self.right)
        null = self.left.null or self.right.null or right.low <= 0 <= right.high
        bounds = interval.remainders(left, right)
        set_facts(self, bounds or IntegerInterval(0, 0), null=null, parts=(self.left, self.right))


@dataclass(frozen=True, slots=True)
class Absolute(ExpressionFacts):
    """Its distance from 0."""

    of: Number

    def __post_init__(self) -> None:
        set_facts(self, interval.absolute(required_bounds(self.of)), null=self.of.null, parts=(self.of,))


@dataclass(frozen=True, slots=True)
class Root(ExpressionFacts):
    """The square root of a number below 2^52 that is not negative, rounded down to a whole number.

    Guarantee: floor(sqrt(x)) in float64 is that number, on every engine whose square root is correctly rounded, as
        IEEE 754 demands.
    Because: x < 2^52 is exact in float64. Let s^2 <= x < (s + 1)^2, so s < 2^26. The exact root is at least s, which
        is a float, so the rounded one is. It is at most sqrt((s + 1)^2 - 1) < (s + 1) - 1 / (2 (s + 1)), and
        1 / (2 (s + 1)) >= 2^-27 is more than half the distance between floats below 2^26, so it rounds below s + 1.
    """

    of: Number

    def __post_init__(self) -> None:
        bounds = required_bounds(self.of)
        if bounds.low < 0 or bounds.high >= MOST_SQUARE:
            raise ValueError("a root is of a number from 0 to below 2^52")
        set_facts(self, (math.isqrt(bounds.low), math.isqrt(bounds.high)), null=self.of.null, parts=(self.of,), more=2)


@dataclass(frozen=True, slots=True)
class BitLength(ExpressionFacts):
    """How many binary digits a number has, from 1 to below 2^62."""

    of: Number

    def __post_init__(self) -> None:
        bounds = required_bounds(self.of)
        if bounds.low < 1 or bounds.high >= MOST_COUNTED:
            raise ValueError("binary digits are counted of numbers from 1 to below 2^62")
        lengths = bounds.low.bit_length(), bounds.high.bit_length()
        set_facts(self, lengths, null=self.of.null, parts=(self.of,), more=2)


@dataclass(frozen=True, slots=True)
class Least(ExpressionFacts):
    """The least part that is not NULL; NULL if all are."""

    parts: tuple[Number, ...]

    def __post_init__(self) -> None:
        ends = interval.extreme("least", [(part.low, part.high, part.null) for part in _nonempty(self.parts)])
        set_facts(self, ends, null=all(part.null for part in self.parts), parts=self.parts)


@dataclass(frozen=True, slots=True)
class Greatest(ExpressionFacts):
    """The largest part that is not NULL; NULL if all are."""

    parts: tuple[Number, ...]

    def __post_init__(self) -> None:
        ends = interval.extreme("greatest", [(part.low, part.high, part.null) for part in _nonempty(self.parts)])
        set_facts(self, ends, null=all(part.null for part in self.parts), parts=self.parts)


@dataclass(frozen=True, slots=True)
class First(ExpressionFacts):
    """The first part that is not NULL; NULL if all are."""

    parts: tuple[Number, ...]

    def __post_init__(self) -> None:
        set_facts(self, _hull_ends(_nonempty(self.parts)), null=all(part.null for part in self.parts), parts=self.parts)


@dataclass(frozen=True, slots=True)
class Choose(ExpressionFacts):
    """The expression of the first case whose predicate holds, or `otherwise`."""

    cases: tuple[tuple[Predicate, Number], ...]
    otherwise: Number

    def __post_init__(self) -> None:
        parts = (*(chosen for _, chosen in self.cases), self.otherwise)
        tests = [leaf.of for condition, _ in self.cases for leaf in leaves(condition) if isinstance(leaf, Test)]
        more = sum(predicate_size(condition) for condition, _ in self.cases)
        set_facts(self, _hull_ends(parts), null=any(part.null for part in parts), parts=parts, more=more, inside=tests)


@dataclass(frozen=True, slots=True)
class Lookup(ExpressionFacts):
    """table[code - first]: any function of a small finite domain."""

    code: Number
    table: tuple[int | None, ...]
    first: int

    def __post_init__(self) -> None:
        codes = required_bounds(self.code)
        if codes.low < self.first or codes.high >= self.first + len(self.table):
            raise ValueError("the table does not cover all codes")
        values = [value for value in self.table if value is not None] or [0]
        null = self.code.null or None in self.table
        more = len(self.table) // LITERALS
        set_facts(self, IntegerInterval(min(values), max(values)), null=null, parts=(self.code,), more=more)


@dataclass(frozen=True, slots=True)
class Part(ExpressionFacts):
    """A calendar field of a day, which is counted from 1970 and lies in the years 1 to 9999."""

    unit: PartUnit
    day: Number

    def __post_init__(self) -> None:
        days = _calendar(self.day)
        fixed = {"month": (1, 12), "day": (1, 31), "doy": (1, 366), "week": (1, 53)}
        bounds = fixed.get(self.unit) or (part_of(self.unit, days.low), part_of(self.unit, days.high))
        set_facts(self, bounds, null=self.day.null, parts=(self.day,))


@dataclass(frozen=True, slots=True)
class Start(ExpressionFacts):
    """The first day of the calendar period that a day lies in."""

    unit: StartUnit
    day: Number

    def __post_init__(self) -> None:
        days = _calendar(self.day)
        bounds = start_of(self.unit, days.low), start_of(self.unit, days.high)
        set_facts(self, bounds, null=self.day.null, parts=(self.day,))


@dataclass(frozen=True, slots=True)
class Length(ExpressionFacts):
    """How many characters a text has. Not bounded: texts are not."""

    text: Words

    def __post_init__(self) -> None:
        set_facts(self, (0, None), null=self.text.null, parts=(self.text,))


@dataclass(frozen=True, slots=True)
class Like(ExpressionFacts):
    """1 where a text matches a pattern, else 0. In the pattern % is any characters, _ is one, \\ escapes."""

    text: Words
    pattern: str

    def __post_init__(self) -> None:
        if like_pattern.tokens(self.pattern, escape="\\") is None:
            raise ValueError("the pattern ends in the middle of an escape")
        set_facts(self, (0, 1), null=self.text.null, parts=(self.text,))


@dataclass(frozen=True, slots=True)
class TextCode:
    """A column of text."""

    column: str
    null: bool = True
    low: int | None = field(default=None, init=False, compare=False, repr=False)
    high: int | None = field(default=None, init=False, compare=False, repr=False)
    size: int = field(default=1, init=False, compare=False, repr=False)
    depth: int = field(default=1, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lower(ExpressionFacts):
    """Each character in its small form, one for one."""

    text: Words

    def __post_init__(self) -> None:
        set_facts(self, (None, None), null=self.text.null, parts=(self.text,))


@dataclass(frozen=True, slots=True)
class Upper(ExpressionFacts):
    """Each character in its capital form, one for one."""

    text: Words

    def __post_init__(self) -> None:
        set_facts(self, (None, None), null=self.text.null, parts=(self.text,))


@dataclass(frozen=True, slots=True)
class Trim(ExpressionFacts):
    """Without the given characters at its ends."""

    text: Words
    sides: Sides
    characters: str

    def __post_init__(self) -> None:
        set_facts(self, (None, None), null=self.text.null, parts=(self.text,))


@dataclass(frozen=True, slots=True)
class Substr(ExpressionFacts):
    """The characters from number `start` on, counted from 1 or, below 0, from the end; at most `length`."""

    text: Words
    start: int
    length: int | None = None

    def __post_init__(self) -> None:
        if self.start == 0 or (self.length is not None and self.length < 0):
            raise ValueError("a substring cannot start at 0 or have a negative length")
        set_facts(self, (None, None), null=self.text.null, parts=(self.text,))


Number = (
    Code | Null | Whole | Plus | Times | Over | Remainder | Absolute | Root | BitLength | Least | Greatest | First
    | Choose | Lookup | Part | Start | Length | Like
)  # fmt: skip
Words = TextCode | Lower | Upper | Trim | Substr
Expression = Number | Words


@dataclass(frozen=True, slots=True)
class Member:
    """The column takes an allowed value."""

    column: str
    allowed: ValueSet


@dataclass(frozen=True, slots=True)
class Test:
    """The expression takes an allowed value."""

    __test__ = False  # pytest takes any class of this name for its own

    of: Expression
    allowed: ValueSet


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold. No part at all: true."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds. No part at all: false."""

    parts: tuple[Predicate, ...]


Predicate = Member | Test | Every | Some


def leaves(predicate: Predicate) -> Iterator[Member | Test]:
    """What a predicate is an AND and OR of."""
    if isinstance(predicate, Member | Test):
        yield predicate
    else:
        for part in predicate.parts:
            yield from leaves(part)


def predicate_size(predicate: Predicate) -> int:
    """The size of a predicate's SQL, which names an expression once for each of its runs."""
    tests = [leaf for leaf in leaves(predicate) if isinstance(leaf, Test)]
    listed = sum(len(leaf.allowed.runs) for leaf in leaves(predicate) if isinstance(leaf, Member))
    return 1 + listed // LITERALS + sum(test.of.size * (1 + len(test.allowed.runs)) for test in tests)


def required_bounds(number: Number) -> IntegerInterval:
    """The bounds of an operand of arithmetic; one without bounds is refused."""
    if number.low is not None and number.high is not None:
        return IntegerInterval(number.low, number.high)
    for part in walk(number):
        if isinstance(part, Code) and (part.low is None or part.high is None):
            raise Refused(
                f"{display_name(part.column)!r} has no declared bounds, so nothing can be computed from it",
                hint=f"declare low and high of {display_name(part.column)!r}",
            )
    raise Refused("a text can have any length, so nothing can be computed from it", hint="least(length(…), 1000)")


def walk(node: Expression | Predicate) -> Iterator[Expression | Predicate]:
    """A node and all that it is made of."""
    yield node
    for part in children(node):
        yield from walk(part)


def children(node: Expression | Predicate) -> Iterator[Expression | Predicate]:
    """What a node is made of, one level below it."""
    for name in node.__match_args__:
        yield from _parts(getattr(node, name))


def columns(node: Expression | Predicate) -> frozenset[str]:
    """The columns that a value depends on."""
    return frozenset(part.column for part in walk(node) if isinstance(part, Code | TextCode | Member))


def to_data(node: Expression | Predicate) -> Any:
    """A node as JSON data: what the question's hash is taken of. Equal nodes have equal data, others others."""
    match node:
        case Member(column=column, allowed=allowed):
            return [column, [list(run) for run in allowed.runs], allowed.null]
        case Code(column=column) | TextCode(column=column):
            return {"column": column}
        case Every(parts=parts) | Some(parts=parts):
            return {type(node).__name__.lower(): [to_data(part) for part in parts]}
        case _:
            return {type(node).__name__.lower(): [_data(getattr(node, name)) for name in node.__match_args__]}


def _data(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_data(part) for part in value]
    if isinstance(value, ValueSet):
        return [[list(run) for run in value.runs], value.null]
    return value if value is None or isinstance(value, int | str) else to_data(value)


def _parts(value: object) -> Iterator[Expression | Predicate]:
    if isinstance(value, tuple):
        for part in value:
            yield from _parts(part)
    elif isinstance(value, Expression | Predicate):
        yield value


def _nonempty(parts: tuple[Number, ...]) -> tuple[Number, ...]:
    if not parts:
        raise ValueError("nothing to choose from")
    return parts


def _hull_ends(parts: tuple[Number, ...]) -> Ends:
    """Bounds around all parts, NULLs apart."""
    lows = [part.low for part in parts if not isinstance(part, Null)] or [0]
    highs = [part.high for part in parts if not isinstance(part, Null)] or [0]
    return interval.lowest(lows), interval.highest(highs)


def _calendar(day: Number) -> IntegerInterval:
    days = required_bounds(day)
    if days.low < FIRST_DAY or days.high > LAST_DAY:
        raise Refused(
            "this can fall outside the years 1 to 9999",
            hint=" and ".join(f"declare low and high of {name!r}" for name in sorted(columns(day))),
        )
    return days
