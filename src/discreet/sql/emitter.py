"""Expressions and predicates as SQL of any dialect. What engines write differently is asked of a `Dialect`.

Guarantee: no form written here fails on any row of a declared table, and each has the value that
    `plan.evaluate` defines.
Because: arithmetic is on whole numbers, 64 bits wide where operands, result and whatever lies between them, in
    any order of computing, fit into them, else in a type that holds 120; a divisor that can be 0 becomes NULL;
    days are within the calendar; indices are within their list; patterns are our own; and the dialect's other
    functions take any value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, assert_never

from discreet.accounting.region import Box, Region, Run, ValueSet
from discreet.plan.expressions import (
    Absolute,
    BitLength,
    Choose,
    Code,
    Every,
    Expression,
    First,
    Greatest,
    Least,
    Length,
    Like,
    Lookup,
    Lower,
    Member,
    Null,
    Number,
    Over,
    Part,
    Plus,
    Predicate,
    Remainder,
    Root,
    Some,
    Start,
    Substr,
    Test,
    TextCode,
    Times,
    Trim,
    Upper,
    Whole,
    Words,
    required_bounds,
)
from discreet.sql.dialect import Dialect

_NO, _YES = ValueSet.of([0]), ValueSet.of([1])

#: Whole numbers that reach no further than this are computed in 64 bits, with room for what is added on the way.
_NARROW = 2**61

#: A literal or a stored column has the width it needs and no more: it is cast before anything is computed from
#: it. The others are 64 bits wide, or wider.
_NATURAL, _BIG, _HUGE = 0, 1, 2


class _Sql(NamedTuple):
    text: str
    width: int


class _Form(Protocol):
    def __call__(self, number: str, *, wide: bool) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitter:
    """Writes for one dialect."""

    dialect: Dialect

    def expression(self, expression: Expression) -> str:
        """An expression: a text, or a whole number. It binds as tightly as a name does."""
        return (
            self._words(expression) if isinstance(expression, Words) else self._at_least(self._number(expression), _BIG)
        )

    def predicate(self, predicate: Predicate) -> str:
        """A predicate as a condition that is TRUE, or FALSE or NULL, where `predicate.holds` says so."""
        match predicate:
            case Member(column=column, allowed=allowed):
                return self._member(column, allowed)
            case Test(of=of, allowed=allowed):
                return self._test(of, allowed)
            case Every(parts=parts):
                return _join_conditions(" AND ", [self.predicate(part) for part in parts], empty="TRUE")
            case Some(parts=parts):
                return _join_conditions(" OR ", [self.predicate(part) for part in parts], empty="FALSE")
            case _:
                assert_never(predicate)

    def region(self, region: Region) -> str:
        """The records of a region as a condition."""
        return _join_conditions(" OR ", [self._box(box) for box in region.boxes], empty="FALSE")

    def allowed(self, name: str, allowed: ValueSet, *, bits: int = 63) -> str:
        """`name`, SQL of a column or an expression, takes an allowed value. `bits` is how wide its numbers can be."""
        points, spans = [], []
        for run in allowed.runs:
            point = self._point(run, bits)
            if point is None:
                spans.append(self._span(name, run, bits))
            else:
                points.append(point)
        parts = [f"{name} = {points[0]}"] if len(points) == 1 else []
        parts = [f"{name} IN ({', '.join(points)})"] if len(points) > 1 else parts
        parts += spans
        if allowed.null:
            parts.append(f"{name} IS NULL")
        return _join_conditions(" OR ", parts, empty="FALSE")

    def floor(self, left: str, right: str, *, wide: bool) -> str:
        """The quotient of two whole numbers, rounded down; NULL where the divisor is 0.

        Because a quotient cuts towards zero: where something is cut off and the signs differ, that is one too many.
        """
        divisor = f"nullif({right}, 0)"
        cut_off = f"{self.dialect.remainder(left, divisor, wide=wide)} <> 0"
        over = f"{cut_off} AND ({left} < 0) <> ({right} < 0)"
        return f"({self.dialect.quotient(left, divisor, wide=wide)} - CASE WHEN {over} THEN 1 ELSE 0 END)"

    def column(self, name: str, allowed: ValueSet) -> str:
        """A column that is compared with these values: of texts, under a collation of ours."""
        texts = any(isinstance(end, str) for run in allowed.runs for end in run)
        quoted = self.dialect.identifier(name)
        return self.dialect.text_column(quoted) if texts else quoted

    def _member(self, column: str, allowed: ValueSet) -> str:
        """A column takes an allowed value.

        Only sums over a person's rows leave 64 bits, and then so do their bounds; the reader moves literals that
        do to just outside. A column whose literals are wider may still be stored in 64 bits.
        """
        ends = [end for run in allowed.runs for end in run if isinstance(end, int)]
        if any(abs(end) > 2**64 for end in ends):
            return self.allowed(self.dialect.wide_column(self.dialect.identifier(column)), allowed, bits=127)
        return self.allowed(self.column(column, allowed), allowed)

    def _box(self, box: Box) -> str:
        sides = [self.allowed(self.column(name, allowed), allowed) for name, allowed in box.sides.items()]
        return _join_conditions(" AND ", sides, empty="TRUE")

    def _test(self, of: Expression, allowed: ValueSet) -> str:
        if isinstance(of, Like) and allowed in (_NO, _YES):
            return self.dialect.like(self._words(of.text), of.pattern, is_match=allowed == _YES)
        if isinstance(of, Words):
            return self.allowed(self._words(of), allowed)
        sql = self._number(of)
        return self.allowed(self._at_least(sql, _BIG), allowed, bits=127 if sql.width == _HUGE else 63)

    def _point(self, run: Run, bits: int) -> str | None:
        """The one value in a run, as a literal."""
        match run:
            case (int() as low, int() as high) if high == low + 1 and -(2**bits) < low < 2**bits:
                return str(low)
            case (str() as low, str() as high) if high == low + "\0" and self.dialect.can_hold(low):
                return self.dialect.text(low)
            case _:
                return None

    def _span(self, name: str, run: Run, bits: int) -> str:
        """A run as comparisons. Whole numbers are cut to their width: beyond it an engine compares floats."""
        low, high = run
        if isinstance(low, str) or isinstance(high, str):
            parts = [self.dialect.at_least(name, low)] if isinstance(low, str) else []
            parts += [self.dialect.below(name, high)] if isinstance(high, str) else []
            return _join_conditions(" AND ", parts, empty="TRUE")
        first = None if low is None or low <= -(2**bits) else low
        last = None if high is None or high >= 2**bits else high - 1
        if (first is not None and first >= 2**bits) or (last is not None and last < -(2**bits)):
            return "FALSE"
        if first is not None and last is not None:
            return f"{name} BETWEEN {first} AND {last}"
        if first is not None:
            return f"{name} >= {first}"
        return f"{name} IS NOT NULL" if last is None else f"{name} <= {last}"

    def _at_least(self, sql: _Sql, width: int) -> str:
        """The same number, at least so wide."""
        if sql.width >= width:
            return sql.text
        return f"CAST({sql.text} AS {self.dialect.huge if width == _HUGE else self.dialect.big})"

    def _number(self, expression: Number) -> _Sql:
        """A whole-number expression."""
        match expression:
            case Code(column=column, low=low, high=high):
                stored = _Sql(self.dialect.identifier(column), _NATURAL)
                return stored if _width(low, high) == _BIG else _Sql(self._at_least(stored, _HUGE), _HUGE)
            case Null():
                return _Sql(self.dialect.null, _NATURAL)
            case Whole(value=literal):
                text = str(literal) if literal >= 0 else f"({literal})"
                return (
                    _Sql(text, _NATURAL)
                    if _width(literal) == _BIG
                    else _Sql(self._at_least(_Sql(text, _NATURAL), _HUGE), _HUGE)
                )
            case Plus() | Times() | Remainder():
                return self._arithmetic(expression)
            case Over():
                return self._over(expression)
            case Absolute(of=of):
                return self._unary(self.dialect.absolute, self._number(of))
            case Root(of=of):
                return _Sql(self.dialect.root(self._number(of).text), _BIG)
            case BitLength(of=of):
                ends = required_bounds(of)
                number = self.dialect.fitting(self._number(of).text, ends.low, ends.high, wide=False)
                return _Sql(self.dialect.bit_length(number), _BIG)
            case Least(parts=parts):
                return self._call("least", parts)
            case Greatest(parts=parts):
                return self._call("greatest", parts)
            case First(parts=parts):
                return self._call("coalesce", parts)
            case Choose():
                return self._choose(expression)
            case Lookup():
                return self._lookup(expression)
            case Part(unit=unit, day=day):
                return _Sql(self.dialect.part(unit, self._number(day).text), _BIG)
            case Start(unit=period, day=day):
                return _Sql(self.dialect.start(period, self._number(day).text), _BIG)
            case Length(text=text):
                return _Sql(self.dialect.length(self._words(text)), _BIG)
            case Like(text=text, pattern=pattern):
                return _Sql(self.dialect.truth(self.dialect.like(self._words(text), pattern, is_match=True)), _BIG)
            case _:
                assert_never(expression)

    def _arithmetic(self, expression: Plus | Times | Remainder) -> _Sql:
        match expression:
            case Plus(left=kept, right=Times(left=taken, right=Whole(value=-1))):
                return self._binary("-", expression, kept, taken)
            case Plus(left=Times(left=taken, right=Whole(value=-1)), right=kept):
                return self._binary("-", expression, kept, taken)
            case Plus(left=kept, right=Whole(value=moved)) if moved < 0:
                return self._binary("-", expression, kept, Whole(-moved))
            case Plus(left=left, right=right):
                return self._binary("+", expression, left, right)
            case Times(left=left, right=Whole(value=-1)):
                return self._unary(self.dialect.negated, self._number(left))
            case Times(left=left, right=right):
                return self._binary("*", expression, left, right)
            case Remainder(left=left, right=right):
                return self._binary("%", expression, left, right)
            case _:
                assert_never(expression)

    def _binary(self, sign: str, expression: Plus | Times | Remainder, left: Number, right: Number) -> _Sql:
        """Two operands as wide as either and as the result. A literal on the right takes the width of the left one."""
        one, two = self._number(left), self._number(right)
        width = max(_width(expression.reach), one.width, two.width)
        text = two.text if isinstance(right, Whole) else self._at_least(two, width)
        operand = self._at_least(one, width)
        if sign == "%":
            cut = self.dialect.remainder(operand, _divisor(right, text), wide=width == _HUGE)
            return _Sql(f"({cut})", width)
        return _Sql(f"({operand} {sign} {text})", width)

    def _unary(self, form: _Form, inner: _Sql) -> _Sql:
        """A form of one operand, whose width it keeps."""
        width = max(inner.width, _BIG)
        return _Sql(form(self._at_least(inner, _BIG), wide=width == _HUGE), width)

    def _over(self, expression: Over) -> _Sql:
        """A quotient. Cut towards zero it is cut down where nothing is negative."""
        left, right = required_bounds(expression.left), required_bounds(expression.right)
        sqls = self._number(expression.left), self._number(expression.right)
        if isinstance(expression.right, Whole) and right.low > 0:
            return self._over_literal(expression, sqls[0], right.low)
        width = max(_BIG, sqls[0].width, sqls[1].width)
        one, two = self._at_least(sqls[0], width), self._at_least(sqls[1], width)
        if expression.rounding == "zero" or (left.low >= 0 and right.low >= 0):
            cut = self.dialect.quotient(one, _divisor(expression.right, two), wide=width == _HUGE)
            return _Sql(f"({cut})", width)
        return _Sql(self.floor(one, two, wide=width == _HUGE), width)

    def _over_literal(self, expression: Over, sql: _Sql, divisor: int) -> _Sql:
        """A quotient by a positive constant: what is negative is moved above 0 by a multiple of it, and back."""
        left = required_bounds(expression.left)
        rounding = expression.rounding
        factor = 2 if rounding == "nearest" else 1
        width = max(sql.width, _width(2 * (factor * expression.left.reach + 3 * divisor)))
        one, wide = self._at_least(sql, width), width == _HUGE
        quotient = self.dialect.quotient
        if rounding == "nearest":
            half = f"CASE WHEN {one} < 0 THEN {-divisor} ELSE {divisor} END" if left.low < 0 else str(divisor)
            return _Sql(f"({quotient(f'({one} * 2 + {half})', str(2 * divisor), wide=wide)})", width)
        if rounding == "zero" or left.low >= 0:
            return _Sql(f"({quotient(one, str(divisor), wide=wide)})", width)
        turns = -(left.low // divisor)
        return _Sql(f"({quotient(f'({one} + {turns * divisor})', str(divisor), wide=wide)} - {turns})", width)

    def _call(self, name: str, parts: tuple[Number, ...]) -> _Sql:
        sqls = [self._number(part) for part in parts]
        return _Sql(f"{name}({', '.join(sql.text for sql in sqls)})", max(sql.width for sql in sqls))

    def _choose(self, expression: Choose) -> _Sql:
        otherwise = self._number(expression.otherwise)
        cases = [(self.predicate(condition), self._number(chosen)) for condition, chosen in expression.cases]
        when_clauses = " ".join(f"WHEN {condition} THEN {chosen.text}" for condition, chosen in cases)
        width = max(otherwise.width, *(chosen.width for _, chosen in cases))
        return _Sql(f"CASE {when_clauses} ELSE {otherwise.text} END", width)

    def _lookup(self, expression: Lookup) -> _Sql:
        """An element of a list, which is counted from 1."""
        sql, moved = self._number(expression.code), 1 - expression.first
        ends = required_bounds(expression.code)
        fits = sql.width == _HUGE  # computed in more bits than it has
        code = self.dialect.fitting(sql.text, ends.low, ends.high, wide=False) if fits else self._at_least(sql, _BIG)
        place = f"{code} + {moved}" if moved > 0 else f"{code} - {-moved}" if moved < 0 else code
        wide = _width(expression.low, expression.high) == _HUGE
        return _Sql(self.dialect.lookup(expression.table, place, wide=wide), _HUGE if wide else _NATURAL)

    def _words(self, expression: Words) -> str:
        """A text expression."""
        match expression:
            case TextCode(column=column):
                return self.dialect.text_column(self.dialect.identifier(column))
            case Lower(text=text):
                return self.dialect.lower(self._words(text))
            case Upper(text=text):
                return self.dialect.upper(self._words(text))
            case Trim(text=text, sides=sides, characters=characters):
                return self.dialect.trim(self._words(text), sides, characters)
            case Substr(text=text, start=start, length=length):
                return self.dialect.substr(self._words(text), start, length)
            case _:
                assert_never(expression)


def _width(*ends: int | None) -> int:
    return _BIG if all(end is None or abs(end) <= _NARROW for end in ends) else _HUGE


def _divisor(right: Number, text: str) -> str:
    ends = required_bounds(right)
    return f"nullif({text}, 0)" if ends.low <= 0 <= ends.high else text


def _join_conditions(word: str, parts: list[str], *, empty: str) -> str:
    """Conditions joined by AND or OR, in brackets where there are several."""
    if not parts:
        return empty
    return parts[0] if len(parts) == 1 else f"({word.join(parts)})"
