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
from discreet.plan.expressions import Null, Number, Whole, required_bounds
from discreet.plan.interval import Rounding
from discreet.plan.predicate import Domains, Predicate, within
from discreet.sql.comparison import compare, constant_of, is_literal, kind_phrase, moment_of, to_timestamp
from discreet.sql.typed_expression import (
    BooleanKind,
    CategoryKind,
    DateKind,
    Kind,
    NumericKind,
    TextKind,
    TimestampKind,
    TypedExpression,
    align_to_grid,
    codes_of,
    literal,
)

#: The quotient of two expressions is on a grid at least so many times finer than that of their codes.
FINER = 10_000

#: Rounding takes from this many digits before the point to as many behind it.
MOST_DIGITS = 18

#: The coarsest grid, and one over the finest.
MOST_STEP = 10**60

#: Exponents that are multiplied out.
_POWERS = (1, 2, 3, 4)


class ScalarReader(Protocol):
    """What a scalar expression needs of its reader."""

    @property
    def domains(self) -> Domains: ...

    def typed(self, node: exp.Expr) -> TypedExpression: ...

    def predicate(self, node: exp.Expr, *, truth_value: bool = True) -> Predicate: ...


Handler = Callable[[ScalarReader, exp.Expr], TypedExpression]


def numeric(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """A number; anything else is refused."""
    operand = reader.typed(node)
    if isinstance(operand.kind, NumericKind):
        return operand
    hint = "use CAST(… AS INTEGER) to make it 0 or 1" if isinstance(operand.kind, BooleanKind) else ""
    raise Refused(f"expected a number, got {kind_phrase(operand.kind)}", hint=hint)


def integer(reader: ScalarReader, node: exp.Expr | None, *, most: int, name: str) -> int:
    """A whole literal between -most and most."""
    operand = None if node is None else reader.typed(node)
    value = constant_of(operand) if operand is not None and is_literal(operand) else None
    if not isinstance(value, Fraction) or value.denominator != 1 or abs(value) > most:
        raise Refused(f"{name} must be a whole number literal")
    return int(value)


def _step(operand: TypedExpression) -> Fraction:
    assert isinstance(operand.kind, NumericKind)
    return operand.kind.step


def on_grid(code: Number, step: Fraction) -> TypedExpression:
    """A number on a grid that is neither absurdly fine nor absurdly coarse."""
    if not Fraction(1, MOST_STEP) <= step <= MOST_STEP:
        raise Refused("this number is out of range")
    return TypedExpression(code, NumericKind(step=step))


def plus(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """A sum, on a grid that holds both."""
    (one, two), step = align_to_grid([left, right])
    return TypedExpression(algebra.plus(one, two), NumericKind(step=step))


def times(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """A product. A constant goes into the step, its sign into the code."""
    if is_literal(left):
        left, right = right, left
    factor = constant_of(right) if is_literal(right) else None
    if isinstance(factor, Fraction) and factor != 0 and not isinstance(left.expression, Null):
        code = codes_of(left) if factor > 0 else algebra.times(codes_of(left), Whole(-1))
        return on_grid(code, _step(left) * abs(factor))
    return on_grid(algebra.times(codes_of(left), codes_of(right)), _step(left) * _step(right))


def over(left: TypedExpression, right: TypedExpression) -> TypedExpression:
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
        algebra.times(codes_of(left), Whole(ratio.numerator)), algebra.times(codes_of(right), Whole(ratio.denominator))
    )
    return on_grid(quotient, step)


def _fine_grid(natural: Fraction, left: TypedExpression, right: TypedExpression) -> Fraction:
    """A power of ten: natural / FINER, and finer by the divisor's size as far as 64 bits reach.

    Two quotients a / b and c / d of whole numbers differ by at least 1 / (b d), and from a constant of k decimals
    by at least 1 / (10^k b): so a grid that is `b` times finer keeps them apart.
    """
    above, below = required_bounds(codes_of(left)), required_bounds(codes_of(right))
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


def _negative(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return times(numeric(reader, node.this), literal(Fraction(-1)))


def _times(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return times(numeric(reader, node.this), numeric(reader, node.expression))


def _over(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return over(numeric(reader, node.this), numeric(reader, node.expression))


def _integer_divide(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """x // y of whole numbers cuts towards zero, as DuckDB does."""
    parts = [numeric(reader, node.this), numeric(reader, node.expression)]
    if any(_step(part).denominator != 1 for part in parts):
        raise Refused("// divides only whole numbers", hint="use floor(x / y)")
    (left, right), _ = align_to_grid(parts)
    return TypedExpression(algebra.over(left, right, "zero"), NumericKind())


def _remainder(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    (left, right), step = align_to_grid([numeric(reader, node.this), numeric(reader, node.expression)])
    return TypedExpression(algebra.remainder(left, right), NumericKind(step=step))


def _absolute(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    operand = numeric(reader, node.this)
    return TypedExpression(algebra.absolute(codes_of(operand)), operand.kind)


def round_to_digits(operand: TypedExpression, digits: int, rounding: Rounding) -> TypedExpression:
    """A number on the grid of so many digits."""
    grid = Fraction(10) ** -digits
    ratio = _step(operand) / grid
    if ratio.denominator == 1:
        return operand
    scaled = algebra.times(codes_of(operand), Whole(ratio.numerator))
    return TypedExpression(algebra.over(scaled, Whole(ratio.denominator), rounding), NumericKind(step=grid))


def _floor(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return round_to_digits(numeric(reader, node.this), 0, "down")


def _ceiling(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    minus = literal(Fraction(-1))
    return times(round_to_digits(times(numeric(reader, node.this), minus), 0, "down"), minus)


def _round(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return round_to_digits(numeric(reader, node.this), _digits(reader, node), "nearest")


def _truncate(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return round_to_digits(numeric(reader, node.this), _digits(reader, node), "zero")


def _digits(reader: ScalarReader, node: exp.Expr) -> int:
    digits = node.args.get("decimals")
    return 0 if digits is None else integer(reader, digits, most=MOST_DIGITS, name="the number of digits")


def _sign(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return TypedExpression(algebra.sign(codes_of(numeric(reader, node.this)), reader.domains), NumericKind())


def _power(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    base = numeric(reader, node.this)
    exponent = integer(reader, node.expression, most=10**6, name="the exponent")
    if exponent not in _POWERS:
        raise Refused("only exponents from 1 to 4 are supported", hint="x ** 2")
    return on_grid(algebra.power(codes_of(base), exponent), _step(base) ** exponent)


def unify_kinds(parts: Sequence[TypedExpression]) -> tuple[list[Number], Kind]:
    """Several expressions as codes of one kind."""
    given = [part.kind for part in parts if not isinstance(part.expression, Null)]
    if any(isinstance(kind, TextKind) for kind in given):
        raise Refused(
            "free text is not supported in CASE, IF, COALESCE, LEAST and GREATEST",
            hint="declare it as a category, with its values",
        )
    if all(isinstance(kind, NumericKind) for kind in given):
        codes, step = align_to_grid([part if isinstance(part.kind, NumericKind) else literal(None) for part in parts])
        return codes, NumericKind(step=step)
    if all(isinstance(kind, BooleanKind) for kind in given):
        return [codes_of(part) for part in parts], BooleanKind()
    if all(isinstance(kind, CategoryKind) for kind in given):
        return _one_choice(parts)
    if any(isinstance(kind, DateKind | TimestampKind) for kind in given):
        return _one_moment(parts)
    phrases = " and ".join(dict.fromkeys(kind_phrase(kind) for kind in given))
    raise Refused(f"{phrases} cannot be mixed here")


def _one_choice(parts: Sequence[TypedExpression]) -> tuple[list[Number], Kind]:
    """Categories and texts under one list: every value that any of them can take."""
    listed = [part.kind.values for part in parts if isinstance(part.kind, CategoryKind)]
    values = tuple(dict.fromkeys(value for values in listed for value in values))
    places = {value: place for place, value in enumerate(values)}
    codes: list[Number] = []
    for part in parts:
        own = part.kind.values if isinstance(part.kind, CategoryKind) else ()
        code = codes_of(part)
        codes.append(code if isinstance(code, Null) else algebra.lookup(code, [places[text] for text in own], first=0))
    return codes, CategoryKind(values=values)


def _one_moment(parts: Sequence[TypedExpression]) -> tuple[list[Number], Kind]:
    """Dates, or timestamps where there is one; written ones are read."""
    kind: Kind = TimestampKind() if any(isinstance(part.kind, TimestampKind) for part in parts) else DateKind()
    codes: list[Number] = []
    for part in parts:
        if isinstance(part.expression, Null):
            codes.append(Null())
        elif isinstance(part.kind, CategoryKind) and is_literal(part):
            codes.append(Whole(math.floor(moment_of(str(constant_of(part)), kind))))
        elif isinstance(part.kind, DateKind | TimestampKind):
            codes.append(codes_of(part if part.kind == kind else to_timestamp(part)))
        else:
            raise Refused(f"{kind_phrase(kind)} and {kind_phrase(part.kind)} cannot be mixed here")
    return codes, kind


def _extreme(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """LEAST and GREATEST pass over NULLs."""
    codes, kind = unify_kinds([reader.typed(part) for part in (node.this, *node.expressions)])
    if isinstance(kind, CategoryKind | BooleanKind):
        raise Refused("LEAST and GREATEST compare only numbers, dates and timestamps")
    pick = algebra.least if isinstance(node, exp.Least) else algebra.greatest
    return TypedExpression(pick(codes), kind)


def _coalesce(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    codes, kind = unify_kinds([reader.typed(part) for part in (node.this, *node.expressions)])
    return TypedExpression(algebra.first(codes), kind)


def _nullif(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    left, right = reader.typed(node.this), reader.typed(node.expression)
    equal = within(*compare(left, "=", right), reader.domains)
    return TypedExpression(algebra.choose([(equal, Null())], codes_of(left)), left.kind)


def _case(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """CASE in both its forms."""
    subject = None if node.this is None else reader.typed(node.this)
    conditions = [_when(reader, subject, each.this) for each in node.args["ifs"]]
    default = node.args.get("default")
    chosen = [reader.typed(each.args["true"]) for each in node.args["ifs"]]
    codes, kind = unify_kinds([*chosen, literal(None) if default is None else reader.typed(default)])
    return TypedExpression(algebra.choose(zip(conditions, codes[:-1], strict=True), codes[-1]), kind)


def _when(reader: ScalarReader, subject: TypedExpression | None, node: exp.Expr) -> Predicate:
    if subject is None:
        return reader.predicate(node)
    return within(*compare(subject, "=", reader.typed(node)), reader.domains)


def _if(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    otherwise = node.args.get("false")
    parts = [reader.typed(node.args["true"]), literal(None) if otherwise is None else reader.typed(otherwise)]
    codes, kind = unify_kinds(parts)
    return TypedExpression(algebra.choose([(reader.predicate(node.this), codes[0])], codes[1]), kind)


#: What is known, with the arguments that are; anything else that a parser finds in a node is refused.
ARITHMETIC: Mapping[type[exp.Expr], tuple[Handler, frozenset[str]]] = {
    exp.Neg: (_negative, frozenset({"this"})),
    exp.Mul: (_times, frozenset({"this", "expression"})),
    exp.Div: (_over, frozenset({"this", "expression", "typed", "safe"})),
    exp.IntDiv: (_integer_divide, frozenset({"this", "expression"})),
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
