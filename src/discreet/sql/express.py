"""Scalar expressions: syntax trees of numbers and choices as typed expressions.

An allow-list. Numbers are exact: multiplying or dividing by a constant changes the grid's step and not the
code, adding brings two grids to a common one, and only the quotient of two expressions is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from discreet.errors import Refused
from discreet.plan import algebra
from discreet.plan.expressions import Null, Number, Whole, bounded
from discreet.plan.interval import Rounding
from discreet.plan.predicate import Domains, Predicate, within
from discreet.sql.compare import compare, constant_of, instant, is_literal, moment_of, words_for
from discreet.sql.typed import Choice, Day, Instant, Kind, Numeric, Truth, Typed, Words, aligned, literal, whole

#: The quotient of two expressions is on a grid at least so many times finer than that of their codes.
FINER = 10_000

#: Rounding takes from this many digits before the point to as many behind it.
MOST_DIGITS = 18

#: The coarsest grid, and one over the finest.
MOST_STEP = 10**60

#: Exponents that are multiplied out.
_POWERS = (1, 2, 3, 4)


class Reads(Protocol):
    """What a scalar expression needs of its reader."""

    @property
    def domains(self) -> Domains: ...

    def typed(self, node: exp.Expr) -> Typed: ...

    def predicate(self, node: exp.Expr, *, wanted: bool = True) -> Predicate: ...


Handler = Callable[[Reads, exp.Expr], Typed]


def numeric(reader: Reads, node: exp.Expr) -> Typed:
    """A number; anything else is refused."""
    found = reader.typed(node)
    if isinstance(found.kind, Numeric):
        return found
    hint = "CAST(… AS INTEGER) makes it 0 or 1" if isinstance(found.kind, Truth) else ""
    raise Refused(f"a number belongs here, not {words_for(found.kind)}", hint=hint)


def integer(reader: Reads, node: exp.Expr | None, *, most: int, name: str) -> int:
    """A whole literal between -most and most."""
    found = None if node is None else reader.typed(node)
    value = constant_of(found) if found is not None and is_literal(found) else None
    if not isinstance(value, Fraction) or value.denominator != 1 or abs(value) > most:
        raise Refused(f"{name} must be a whole number, written out")
    return int(value)


def _step(found: Typed) -> Fraction:
    assert isinstance(found.kind, Numeric)
    return found.kind.step


def on_grid(code: Number, step: Fraction) -> Typed:
    """A number on a grid that is neither absurdly fine nor absurdly coarse."""
    if not Fraction(1, MOST_STEP) <= step <= MOST_STEP:
        raise Refused("this number is out of range")
    return Typed(code, Numeric(step=step))


def plus(left: Typed, right: Typed) -> Typed:
    """A sum, on a grid that holds both."""
    (one, two), step = aligned([left, right])
    return Typed(algebra.plus(one, two), Numeric(step=step))


def times(left: Typed, right: Typed) -> Typed:
    """A product. A constant goes into the step, its sign into the code."""
    if is_literal(left):
        left, right = right, left
    factor = constant_of(right) if is_literal(right) else None
    if isinstance(factor, Fraction) and factor != 0 and not isinstance(left.expression, Null):
        code = whole(left) if factor > 0 else algebra.times(whole(left), Whole(-1))
        return on_grid(code, _step(left) * abs(factor))
    return on_grid(algebra.times(whole(left), whole(right)), _step(left) * _step(right))


def over(left: Typed, right: Typed) -> Typed:
    """A quotient. By a constant it is exact; else it is rounded down, on a fine decimal grid.

    The grid is a power of ten, finer than FINER-th of the least difference between two quotients wherever
    64 bits hold that, so that comparing it with a constant of few digits is exact.
    """
    if isinstance(left.expression, Null) or isinstance(right.expression, Null):
        return literal(None)
    divisor = constant_of(right) if is_literal(right) else None
    if isinstance(divisor, Fraction):
        return times(left, literal(1 / divisor)) if divisor else literal(None)
    natural = _step(left) / _step(right)
    step = _fine_grid(natural, left, right)
    ratio = natural / step
    quotient = algebra.over(
        algebra.times(whole(left), Whole(ratio.numerator)), algebra.times(whole(right), Whole(ratio.denominator))
    )
    return on_grid(quotient, step)


def _fine_grid(natural: Fraction, left: Typed, right: Typed) -> Fraction:
    """A power of ten: natural / FINER, and finer by the divisor's size as far as 64 bits reach.

    Two quotients a / b and c / d of whole numbers differ by at least 1 / (b d), and from a constant of k decimals
    by at least 1 / (10^k b): so a grid that is `b` times finer keeps them apart.
    """
    above, below = bounded(whole(left)), bounded(whole(right))
    most = max(abs(below.low), abs(below.high), 1)
    # Ten times coarser than 64 bits would allow, since it is rounded down to a power of ten.
    room = max(Fraction(2**62, max(abs(above.low), abs(above.high), 1)), Fraction(FINER * 10))
    return _power_of_ten(max(natural / (FINER * most), natural * 10 / room))


def _power_of_ten(most: Fraction) -> Fraction:
    """The largest power of ten that is at most `most`."""
    power = len(str(most.numerator)) - len(str(most.denominator))
    while Fraction(10) ** power > most:
        power -= 1
    return Fraction(10) ** power


def _negative(reader: Reads, node: exp.Expr) -> Typed:
    return times(numeric(reader, node.this), literal(Fraction(-1)))


def _times(reader: Reads, node: exp.Expr) -> Typed:
    return times(numeric(reader, node.this), numeric(reader, node.expression))


def _over(reader: Reads, node: exp.Expr) -> Typed:
    return over(numeric(reader, node.this), numeric(reader, node.expression))


def _whole_over(reader: Reads, node: exp.Expr) -> Typed:
    """x // y of whole numbers cuts towards zero, as DuckDB does."""
    parts = [numeric(reader, node.this), numeric(reader, node.expression)]
    if any(_step(part).denominator != 1 for part in parts):
        raise Refused("// divides whole numbers", hint="floor(x / y)")
    (left, right), _ = aligned(parts)
    return Typed(algebra.over(left, right, "zero"), Numeric())


def _remainder(reader: Reads, node: exp.Expr) -> Typed:
    (left, right), step = aligned([numeric(reader, node.this), numeric(reader, node.expression)])
    return Typed(algebra.remainder(left, right), Numeric(step=step))


def _absolute(reader: Reads, node: exp.Expr) -> Typed:
    found = numeric(reader, node.this)
    return Typed(algebra.absolute(whole(found)), found.kind)


def rounded(found: Typed, digits: int, rounding: Rounding) -> Typed:
    """A number on the grid of so many digits."""
    grid = Fraction(10) ** -digits
    ratio = _step(found) / grid
    if ratio.denominator == 1:
        return found
    scaled = algebra.times(whole(found), Whole(ratio.numerator))
    return Typed(algebra.over(scaled, Whole(ratio.denominator), rounding), Numeric(step=grid))


def _floor(reader: Reads, node: exp.Expr) -> Typed:
    return rounded(numeric(reader, node.this), 0, "down")


def _ceiling(reader: Reads, node: exp.Expr) -> Typed:
    minus = literal(Fraction(-1))
    return times(rounded(times(numeric(reader, node.this), minus), 0, "down"), minus)


def _round(reader: Reads, node: exp.Expr) -> Typed:
    return rounded(numeric(reader, node.this), _digits(reader, node), "nearest")


def _truncate(reader: Reads, node: exp.Expr) -> Typed:
    return rounded(numeric(reader, node.this), _digits(reader, node), "zero")


def _digits(reader: Reads, node: exp.Expr) -> int:
    digits = node.args.get("decimals")
    return 0 if digits is None else integer(reader, digits, most=MOST_DIGITS, name="the number of digits")


def _sign(reader: Reads, node: exp.Expr) -> Typed:
    return Typed(algebra.sign(whole(numeric(reader, node.this)), reader.domains), Numeric())


def _power(reader: Reads, node: exp.Expr) -> Typed:
    base = numeric(reader, node.this)
    exponent = integer(reader, node.expression, most=10**6, name="the exponent")
    if exponent not in _POWERS:
        raise Refused("powers are known up to the fourth", hint="x ** 2")
    return on_grid(algebra.power(whole(base), exponent), _step(base) ** exponent)


def unified(parts: Sequence[Typed]) -> tuple[list[Number], Kind]:
    """Several expressions as codes of one kind."""
    given = [part.kind for part in parts if not isinstance(part.expression, Null)]
    if any(isinstance(kind, Words) for kind in given):
        raise Refused("a free text cannot be chosen or replaced", hint="declare it as a category, with its values")
    if all(isinstance(kind, Numeric) for kind in given):
        codes, step = aligned([part if isinstance(part.kind, Numeric) else literal(None) for part in parts])
        return codes, Numeric(step=step)
    if all(isinstance(kind, Truth) for kind in given):
        return [whole(part) for part in parts], Truth()
    if all(isinstance(kind, Choice) for kind in given):
        return _one_choice(parts)
    if any(isinstance(kind, Day | Instant) for kind in given):
        return _one_moment(parts)
    told = " and ".join(dict.fromkeys(words_for(kind) for kind in given))
    raise Refused(f"{told} cannot be mixed here")


def _one_choice(parts: Sequence[Typed]) -> tuple[list[Number], Kind]:
    """Categories and texts under one list: every value that any of them can take."""
    listed = [part.kind.values for part in parts if isinstance(part.kind, Choice)]
    values = tuple(dict.fromkeys(value for values in listed for value in values))
    places = {value: place for place, value in enumerate(values)}
    codes: list[Number] = []
    for part in parts:
        own = part.kind.values if isinstance(part.kind, Choice) else ()
        code = whole(part)
        codes.append(code if isinstance(code, Null) else algebra.lookup(code, [places[text] for text in own], first=0))
    return codes, Choice(values=values)


def _one_moment(parts: Sequence[Typed]) -> tuple[list[Number], Kind]:
    """Dates, or timestamps where there is one; written ones are read."""
    kind: Kind = Instant() if any(isinstance(part.kind, Instant) for part in parts) else Day()
    codes: list[Number] = []
    for part in parts:
        if isinstance(part.expression, Null):
            codes.append(Null())
        elif isinstance(part.kind, Choice) and is_literal(part):
            codes.append(Whole(math.floor(moment_of(str(constant_of(part)), kind))))
        elif isinstance(part.kind, Day | Instant):
            codes.append(whole(part if part.kind == kind else instant(part)))
        else:
            raise Refused(f"{words_for(kind)} and {words_for(part.kind)} cannot be mixed here")
    return codes, kind


def _extreme(reader: Reads, node: exp.Expr) -> Typed:
    """LEAST and GREATEST pass over NULLs."""
    codes, kind = unified([reader.typed(part) for part in (node.this, *node.expressions)])
    if isinstance(kind, Choice | Truth):
        raise Refused("LEAST and GREATEST compare numbers, dates and timestamps")
    pick = algebra.least if isinstance(node, exp.Least) else algebra.greatest
    return Typed(pick(codes), kind)


def _coalesce(reader: Reads, node: exp.Expr) -> Typed:
    codes, kind = unified([reader.typed(part) for part in (node.this, *node.expressions)])
    return Typed(algebra.first(codes), kind)


def _nullif(reader: Reads, node: exp.Expr) -> Typed:
    left, right = reader.typed(node.this), reader.typed(node.expression)
    equal = within(*compare(left, "=", right), reader.domains)
    return Typed(algebra.choose([(equal, Null())], whole(left)), left.kind)


def _case(reader: Reads, node: exp.Expr) -> Typed:
    """CASE in both its forms."""
    subject = None if node.this is None else reader.typed(node.this)
    conditions = [_when(reader, subject, each.this) for each in node.args["ifs"]]
    default = node.args.get("default")
    chosen = [reader.typed(each.args["true"]) for each in node.args["ifs"]]
    codes, kind = unified([*chosen, literal(None) if default is None else reader.typed(default)])
    return Typed(algebra.choose(zip(conditions, codes[:-1], strict=True), codes[-1]), kind)


def _when(reader: Reads, subject: Typed | None, node: exp.Expr) -> Predicate:
    if subject is None:
        return reader.predicate(node)
    return within(*compare(subject, "=", reader.typed(node)), reader.domains)


def _if(reader: Reads, node: exp.Expr) -> Typed:
    otherwise = node.args.get("false")
    parts = [reader.typed(node.args["true"]), literal(None) if otherwise is None else reader.typed(otherwise)]
    codes, kind = unified(parts)
    return Typed(algebra.choose([(reader.predicate(node.this), codes[0])], codes[1]), kind)


#: What is known, with the arguments that are; anything else that a parser finds in a node is refused.
ARITHMETIC: Mapping[type[exp.Expr], tuple[Handler, frozenset[str]]] = {
    exp.Neg: (_negative, frozenset({"this"})),
    exp.Mul: (_times, frozenset({"this", "expression"})),
    exp.Div: (_over, frozenset({"this", "expression", "typed", "safe"})),
    exp.IntDiv: (_whole_over, frozenset({"this", "expression"})),
    exp.Mod: (_remainder, frozenset({"this", "expression"})),
    exp.Abs: (_absolute, frozenset({"this"})),
    exp.Floor: (_floor, frozenset({"this"})),
    exp.Ceil: (_ceiling, frozenset({"this"})),
    exp.Round: (_round, frozenset({"this", "decimals"})),
    exp.Trunc: (_truncate, frozenset({"this", "decimals"})),
    exp.Sign: (_sign, frozenset({"this"})),
    exp.Pow: (_power, frozenset({"this", "expression"})),
    exp.Least: (_extreme, frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Greatest: (_extreme, frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Coalesce: (_coalesce, frozenset({"this", "expressions"})),
    exp.Nullif: (_nullif, frozenset({"this", "expression"})),
    exp.Case: (_case, frozenset({"this", "ifs", "default"})),
    exp.If: (_if, frozenset({"this", "true", "false"})),
}
