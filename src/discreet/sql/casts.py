"""CAST and TRY_CAST, which are the same here: what does not fit becomes NULL."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.accounting.region import NOT_NULL, ValueSet
from discreet.errors import Refused
from discreet.plan import algebra
from discreet.plan.expressions import Null, Number, Whole
from discreet.plan.predicate import MOST_TRIED, within
from discreet.sql.comparison import constant_of, is_literal, kind_phrase, moment_of, to_timestamp
from discreet.sql.date_functions import day_of
from discreet.sql.scalar_expressions import Handler, ScalarReader, round_to_digits
from discreet.sql.text_functions import category_of
from discreet.sql.typed_expression import (
    BooleanKind,
    CategoryKind,
    DateKind,
    Kind,
    NumericKind,
    TextKind,
    TimestampKind,
    TypedExpression,
    codes_of,
    literal,
)

_INTEGERS = {
    exp.DType.TINYINT: (-(2**7), 2**7 - 1),
    exp.DType.SMALLINT: (-(2**15), 2**15 - 1),
    exp.DType.INT: (-(2**31), 2**31 - 1),
    exp.DType.BIGINT: (-(2**63), 2**63 - 1),
    exp.DType.INT128: (-(2**127), 2**127 - 1),
    exp.DType.UTINYINT: (0, 2**8 - 1),
    exp.DType.USMALLINT: (0, 2**16 - 1),
    exp.DType.UINT: (0, 2**32 - 1),
    exp.DType.UBIGINT: (0, 2**64 - 1),
}
#: A category's text is read as a number up to so many, and down to one in so many.
_MOST_READ = 10**18
_FLOATS = (exp.DType.FLOAT, exp.DType.DOUBLE)
_INSTANTS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ)
_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_MOMENT = re.compile(r"\s*\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:?\d\d)?)?)?\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?\s*", re.ASCII)


def _cast(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    operand, to = reader.typed(node.this), node.args["to"]
    kind = to.this
    if isinstance(operand.expression, Null):
        return TypedExpression(Null(), _kind(kind))
    if isinstance(operand.kind, TextKind) and kind != exp.DType.TEXT:
        raise Refused("free text cannot be cast", hint="declare the column with its actual type")
    if kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        return null_outside_bounds(
            round_to_digits(_number(operand), 0, "nearest"), Fraction(low), Fraction(high), reader
        )
    if kind == exp.DType.DECIMAL:
        return _decimal(reader, operand, [_digits(each.this) for each in to.expressions])
    if kind in _FLOATS:
        return _number(operand)
    if kind == exp.DType.BOOLEAN:
        return _truth(reader, operand)
    if kind == exp.DType.DATE:
        return _day(operand, node)
    if kind in _INSTANTS:
        return _instant(operand, node)
    if kind == exp.DType.TEXT:
        return _text(operand)
    raise Refused("this type is not supported", hint="use INTEGER, DECIMAL(18, 2), DOUBLE, BOOLEAN, DATE or TIMESTAMP")


def _digits(size: exp.Expr) -> int:
    """The 18 of DECIMAL(18, 2)."""
    if not isinstance(size, exp.Literal) or size.is_string or not size.this.isdigit():
        raise Refused("DECIMAL needs whole numbers of digits", hint="use DECIMAL(18, 2)")
    return int(size.this)


def _kind(to: exp.DType) -> Kind:
    if to == exp.DType.DATE:
        return DateKind()
    return TimestampKind() if to in _INSTANTS else BooleanKind() if to == exp.DType.BOOLEAN else NumericKind()


def null_outside_bounds(
    operand: TypedExpression, low: Fraction, high: Fraction, reader: ScalarReader
) -> TypedExpression:
    """A number where it lies between two bounds, else NULL."""
    assert isinstance(operand.kind, NumericKind)
    first, last = math.ceil(low / operand.kind.step), math.floor(high / operand.kind.step)
    code = codes_of(operand)
    if code.low is not None and code.high is not None and first <= code.low and code.high <= last:
        return operand
    first = first if code.low is None else max(first, code.low)
    last = last if code.high is None else min(last, code.high)
    if first > last:
        return TypedExpression(Null(), operand.kind)
    inside = within(code, ValueSet.interval(first, last + 1), reader.domains)
    return TypedExpression(algebra.choose([(inside, _clamped(code, first, last))], Null()), operand.kind)


def _clamped(code: Number, first: int, last: int) -> Number:
    """The code again, but it knows its bounds. It is only looked at where it lies between them."""
    return algebra.greatest([algebra.least([code, Whole(last)]), Whole(first)])


def _number(operand: TypedExpression) -> TypedExpression:
    match operand.kind:
        case NumericKind():
            return operand
        case BooleanKind():
            return TypedExpression(codes_of(operand), NumericKind())
        case CategoryKind(values=values):
            return _parse_numbers(operand, [_parsed(value) for value in values])
        case _:
            raise Refused(f"{kind_phrase(operand.kind)} is not a number", hint="use extract(epoch FROM …)")


def _parsed(text: str) -> Fraction | None:
    number = Fraction(text.strip()) if _NUMBER.fullmatch(text) else None
    return None if number is None or abs(number) > _MOST_READ or number.denominator > _MOST_READ else number


def _parse_numbers(operand: TypedExpression, numbers: list[Fraction | None]) -> TypedExpression:
    """A category whose texts are numbers, on a grid that holds them all; the others are NULL."""
    below = math.lcm(*(number.denominator for number in numbers if number is not None))
    codes = [None if number is None else int(number * below) for number in numbers]
    return TypedExpression(algebra.lookup(codes_of(operand), codes, first=0), NumericKind(step=Fraction(1, below)))


def _decimal(reader: ScalarReader, operand: TypedExpression, sizes: list[int]) -> TypedExpression:
    width, scale = (*sizes, 0)[:2] if sizes else (18, 3)
    if not 1 <= width <= 38 or not 0 <= scale <= width:
        raise Refused("a DECIMAL can have at most 38 digits", hint="DECIMAL(18, 2)")
    most = Fraction(10**width - 1, 10**scale)
    return null_outside_bounds(round_to_digits(_number(operand), scale, "nearest"), -most, most, reader)


def _truth(reader: ScalarReader, operand: TypedExpression) -> TypedExpression:
    """What is not 0 is true; of texts, those that say so."""
    match operand.kind:
        case BooleanKind():
            return operand
        case NumericKind():
            code = codes_of(operand)
            zero = within(code, ValueSet.of([0]), reader.domains)
            other = within(code, ValueSet.of([0]).complement() & NOT_NULL, reader.domains)
            return TypedExpression(algebra.choose([(zero, Whole(0)), (other, Whole(1))], Null()), BooleanKind())
        case CategoryKind(values=values):
            words = [value.strip().lower() for value in values]
            codes = [1 if word in _TRUE else 0 if word in _FALSE else None for word in words]
            return TypedExpression(algebra.lookup(codes_of(operand), codes, first=0), BooleanKind())
        case _:
            raise Refused(f"{kind_phrase(operand.kind)} cannot be cast to BOOLEAN")


def _day(operand: TypedExpression, node: exp.Expr) -> TypedExpression:
    if isinstance(operand.kind, DateKind | TimestampKind):
        return TypedExpression(day_of(operand), DateKind())
    return _parse_moments(operand, DateKind(), node)


def _instant(operand: TypedExpression, node: exp.Expr) -> TypedExpression:
    return (
        to_timestamp(operand)
        if isinstance(operand.kind, DateKind | TimestampKind)
        else _parse_moments(operand, TimestampKind(), node)
    )


def _parse_moments(operand: TypedExpression, kind: Kind, node: exp.Expr) -> TypedExpression:
    """A category whose texts are moments; the others are NULL. A literal must be one."""
    if not isinstance(operand.kind, CategoryKind):
        raise Refused(f"{kind_phrase(operand.kind)} is neither a date nor a timestamp")
    if is_literal(operand) and not isinstance(node, exp.TryCast):
        return TypedExpression(Whole(math.floor(moment_of(str(constant_of(operand)), kind))), kind)
    codes = [_moment(text, kind) for text in operand.kind.values]
    return TypedExpression(algebra.lookup(codes_of(operand), codes, first=0), kind)


def _moment(text: str, kind: Kind) -> int | None:
    try:
        return math.floor(moment_of(text, kind)) if _MOMENT.fullmatch(text) else None
    except Refused:
        return None


def _text(operand: TypedExpression) -> TypedExpression:
    """Truths, and whole numbers of which there are few, as the texts they are written as."""
    if isinstance(operand.kind, TextKind | CategoryKind):
        return operand
    code = codes_of(operand)
    if isinstance(operand.kind, BooleanKind):
        return category_of(code, ("false", "true"))
    few = code.low is not None and code.high is not None and code.high - code.low < MOST_TRIED
    if not isinstance(operand.kind, NumericKind) or operand.kind.step.denominator != 1 or not few:
        raise Refused("only whole numbers with few possible values can be cast to text", hint="keep it as a number")
    low, high = code.low or 0, code.high or 0
    step = int(operand.kind.step)
    texts = [str(number * step) for number in range(low, high + 1)]
    return category_of(algebra.plus(code, Whole(-low)), texts)


def _date(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """date(x)."""
    operand = reader.typed(node.this)
    return literal(None) if isinstance(operand.expression, Null) else _day(operand, node)


CASTS: Mapping[type[exp.Expr], tuple[Handler, frozenset[str]]] = {
    exp.Cast: (_cast, frozenset({"this", "to"})),
    exp.TryCast: (_cast, frozenset({"this", "to", "safe"})),
    exp.Date: (_date, frozenset({"this"})),
}
