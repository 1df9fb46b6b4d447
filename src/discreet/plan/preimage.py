"""Preimages: for which values of its operand an expression takes an allowed value.

`cost * 2 + 1 > 100` and `date_trunc('month', seen) = …` are sets of codes, too, however large the
domain; so conditions on them narrow regions exactly. All it takes is that an expression rises, or is a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from discreet.accounting.region import Run, Value, ValueSet
from discreet.plan.calendar import first_of_year, first_start
from discreet.plan.expressions import (
    MOST_COUNTED,
    BitLength,
    Expression,
    Lookup,
    Number,
    Over,
    Part,
    Plus,
    Root,
    Start,
    Times,
    Whole,
)

#: The first operand at which a rising expression reaches a value.
_First = Callable[[int], int]


def peel_expression(of: Expression, allowed: ValueSet) -> tuple[Expression, ValueSet]:
    """The same condition on an expression inside: as far in as there is nothing but rising steps and tables.

    Guarantee: on every record, `of` takes a value of `allowed` where the answer's expression takes one of its set.
    Because: a rising f has f(x) >= a where x >= first(a), so a run [a, b) of values is the run
        [first(a), first(b)) of operands; and each f here is NULL just where its operand is.

    >>> from discreet.plan.expressions import Code
    >>> peel_expression(Over(Code("age", 0, 120, True), Whole(10)), ValueSet.of([3]))[1]
    ValueSet(runs=((30, 40),), null=False)
    """
    while True:
        if isinstance(of, Times) and isinstance(of.right, Whole) and of.right.value < 0:
            of, allowed = Times(of.left, Whole(-of.right.value)), _mirrored(allowed)
        if isinstance(of, Lookup):
            allowed = _looked_up(of, allowed)
            of = of.code
            continue
        step = _step(of)
        if step is None:
            return of, allowed
        of, first = step
        allowed = _of_runs(((_end(low, first), _end(high, first)) for low, high in allowed.runs), allowed.null)


def _step(of: Expression) -> tuple[Number, _First] | None:
    """The operand of a rising expression, and where it reaches a value; None where it is not known to rise."""
    match of:
        case Plus(left=inner, right=Whole(value=moved)):
            return inner, lambda least: least - moved
        case Times(left=inner, right=Whole(value=factor)) if factor > 0:
            return inner, lambda least: -(-least // factor)
        case Over(left=inner, right=Whole(value=divisor), rounding=rounding) if divisor > 0:
            return inner, {"down": _down, "zero": _zero, "nearest": _nearest}[rounding](divisor)
        case Root(of=inner):
            return inner, lambda least: max(least, 0) ** 2
        case BitLength(of=inner):
            return inner, lambda least: 1 << min(max(least - 1, 0), MOST_COUNTED.bit_length())  # none has more digits
        case Start(day=inner, unit=unit):
            return inner, lambda least: first_start(unit, least)
        case Part(day=inner, unit="year"):
            return inner, first_of_year
        case _:
            return None


def _looked_up(of: Lookup, allowed: ValueSet) -> ValueSet:
    """The codes at which a table says something allowed. It says NULL of NULL, and perhaps of others."""
    codes = (of.first + place for place, entry in enumerate(of.table) if entry in allowed)
    return ValueSet(ValueSet.of(codes).runs, allowed.null)


def _down(divisor: int) -> _First:
    return lambda least: least * divisor


def _zero(divisor: int) -> _First:
    """Towards zero, x / d reaches a at a * d, and a <= 0 already right after (a - 1) * d."""
    return lambda least: least * divisor if least > 0 else (least - 1) * divisor + 1


def _nearest(divisor: int) -> _First:
    """To the nearest, x / d reaches a at (a - 1/2) * d; a half itself goes away from zero."""
    return lambda least: -(-(2 * least - 1) * divisor // 2) if least > 0 else (2 * least - 1) * divisor // 2 + 1


def _mirrored(allowed: ValueSet) -> ValueSet:
    """The negatives of whole numbers: [a, b) becomes [1 - b, 1 - a)."""
    return _of_runs(
        (
            (None if high is None else 1 - int(high), None if low is None else 1 - int(low))
            for low, high in allowed.runs
        ),
        allowed.null,
    )


def _end(end: Value | None, first: _First) -> int | None:
    return None if end is None else first(int(end))


def _of_runs(runs: Iterable[Run], null: bool) -> ValueSet:
    merged = ValueSet.union(ValueSet.interval(low, high) for low, high in runs)
    return ValueSet(merged.runs, null)
