"""CAST and TRY_CAST, which are the same here: what does not fit becomes NULL."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.accounting.region import NOT_NULL, Allowed
from discreet.errors import Refused
from discreet.plan import algebra
from discreet.plan.expressions import Null, Number, Whole
from discreet.plan.predicate import MOST_TRIED, within
from discreet.sql.compare import constant_of, instant, is_literal, moment_of, words_for
from discreet.sql.express import Handler, Reads, rounded
from discreet.sql.moments import day_of
from discreet.sql.typed import Choice, Day, Instant, Kind, Numeric, Truth, Typed, Words, literal, whole
from discreet.sql.words import listed

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


def _cast(reader: Reads, node: exp.Expr) -> Typed:
    found, to = reader.typed(node.this), node.args["to"]
    kind = to.this
    if isinstance(found.expression, Null):
        return Typed(Null(), _kind(kind))
    if isinstance(found.kind, Words) and kind != exp.DType.TEXT:
        raise Refused("a free text is not cast", hint="declare the column with the type it has")
    if kind in _INTEGERS:
        low, high = _INTEGERS[kind]
        return fitted(rounded(_number(found), 0, "nearest"), Fraction(low), Fraction(high), reader)
    if kind == exp.DType.DECIMAL:
        return _decimal(reader, found, [int(str(each.this)) for each in to.expressions])
    if kind in _FLOATS:
        return _number(found)
    if kind == exp.DType.BOOLEAN:
        return _truth(reader, found)
    if kind == exp.DType.DATE:
        return _day(found, node)
    if kind in _INSTANTS:
        return _instant(found, node)
    if kind == exp.DType.TEXT:
        return _text(found)
    raise Refused("this type is not known here", hint="INTEGER, DECIMAL(18, 2), DOUBLE, BOOLEAN, DATE, TIMESTAMP")


def _kind(to: exp.DType) -> Kind:
    if to == exp.DType.DATE:
        return Day()
    return Instant() if to in _INSTANTS else Truth() if to == exp.DType.BOOLEAN else Numeric()


def fitted(found: Typed, low: Fraction, high: Fraction, reader: Reads) -> Typed:
    """A number where it lies between two bounds, else NULL."""
    assert isinstance(found.kind, Numeric)
    first, last = math.ceil(low / found.kind.step), math.floor(high / found.kind.step)
    code = whole(found)
    if code.low is not None and code.high is not None and first <= code.low and code.high <= last:
        return found
    first = first if code.low is None else max(first, code.low)
    last = last if code.high is None else min(last, code.high)
    if first > last:
        return Typed(Null(), found.kind)
    inside = within(code, Allowed.interval(first, last + 1), reader.domains)
    return Typed(algebra.choose([(inside, _clamped(code, first, last))], Null()), found.kind)


def _clamped(code: Number, first: int, last: int) -> Number:
    """The code again, but it knows its bounds. It is only looked at where it lies between them."""
    return algebra.greatest([algebra.least([code, Whole(last)]), Whole(first)])


def _number(found: Typed) -> Typed:
    match found.kind:
        case Numeric():
            return found
        case Truth():
            return Typed(whole(found), Numeric())
        case Choice(values=values):
            return _read(found, [_parsed(value) for value in values])
        case _:
            raise Refused(f"{words_for(found.kind)} is not a number", hint="extract(epoch FROM …)")


def _parsed(text: str) -> Fraction | None:
    number = Fraction(text.strip()) if _NUMBER.fullmatch(text) else None
    return None if number is None or abs(number) > _MOST_READ or number.denominator > _MOST_READ else number


def _read(found: Typed, numbers: list[Fraction | None]) -> Typed:
    """A category whose texts are numbers, on a grid that holds them all; the others are NULL."""
    below = math.lcm(*(number.denominator for number in numbers if number is not None))
    codes = [None if number is None else int(number * below) for number in numbers]
    return Typed(algebra.lookup(whole(found), codes, first=0), Numeric(step=Fraction(1, below)))


def _decimal(reader: Reads, found: Typed, sizes: list[int]) -> Typed:
    width, scale = (*sizes, 0)[:2] if sizes else (18, 3)
    if not 1 <= width <= 38 or not 0 <= scale <= width:
        raise Refused("a DECIMAL has up to 38 digits", hint="DECIMAL(18, 2)")
    most = Fraction(10**width - 1, 10**scale)
    return fitted(rounded(_number(found), scale, "nearest"), -most, most, reader)


def _truth(reader: Reads, found: Typed) -> Typed:
    """What is not 0 is true; of texts, those that say so."""
    match found.kind:
        case Truth():
            return found
        case Numeric():
            code = whole(found)
            zero = within(code, Allowed.of([0]), reader.domains)
            other = within(code, Allowed.of([0]).complement() & NOT_NULL, reader.domains)
            return Typed(algebra.choose([(zero, Whole(0)), (other, Whole(1))], Null()), Truth())
        case Choice(values=values):
            words = [value.strip().lower() for value in values]
            codes = [1 if word in _TRUE else 0 if word in _FALSE else None for word in words]
            return Typed(algebra.lookup(whole(found), codes, first=0), Truth())
        case _:
            raise Refused(f"{words_for(found.kind)} is neither true nor false")


def _day(found: Typed, node: exp.Expr) -> Typed:
    if isinstance(found.kind, Day | Instant):
        return Typed(day_of(found), Day())
    return _written(found, Day(), node)


def _instant(found: Typed, node: exp.Expr) -> Typed:
    return instant(found) if isinstance(found.kind, Day | Instant) else _written(found, Instant(), node)


def _written(found: Typed, kind: Kind, node: exp.Expr) -> Typed:
    """A category whose texts are moments; the others are NULL. A literal must be one."""
    if not isinstance(found.kind, Choice):
        raise Refused(f"{words_for(found.kind)} is neither a date nor a timestamp")
    if is_literal(found) and not isinstance(node, exp.TryCast):
        return Typed(Whole(math.floor(moment_of(str(constant_of(found)), kind))), kind)
    codes = [_moment(text, kind) for text in found.kind.values]
    return Typed(algebra.lookup(whole(found), codes, first=0), kind)


def _moment(text: str, kind: Kind) -> int | None:
    try:
        return math.floor(moment_of(text, kind)) if _MOMENT.fullmatch(text) else None
    except Refused:
        return None


def _text(found: Typed) -> Typed:
    """Truths, and whole numbers of which there are few, as the texts they are written as."""
    if isinstance(found.kind, Words | Choice):
        return found
    code = whole(found)
    if isinstance(found.kind, Truth):
        return listed(code, ("false", "true"))
    few = code.low is not None and code.high is not None and code.high - code.low < MOST_TRIED
    if not isinstance(found.kind, Numeric) or found.kind.step.denominator != 1 or not few:
        raise Refused("only whole numbers with few values become texts", hint="leave it a number")
    low, high = code.low or 0, code.high or 0
    step = int(found.kind.step)
    texts = [str(number * step) for number in range(low, high + 1)]
    return listed(algebra.plus(code, Whole(-low)), texts)


def _date(reader: Reads, node: exp.Expr) -> Typed:
    """date(x)."""
    found = reader.typed(node.this)
    return literal(None) if isinstance(found.expression, Null) else _day(found, node)


CASTS: Mapping[type[exp.Expr], tuple[Handler, frozenset[str]]] = {
    exp.Cast: (_cast, frozenset({"this", "to"})),
    exp.TryCast: (_cast, frozenset({"this", "to", "safe"})),
    exp.Date: (_date, frozenset({"this"})),
}
