"""Expressions in their shortest form, so that equal ones are mostly spelt alike: constants are computed and
stand on the right, what changes nothing is left out, and the rest of a sum or product stands in one order.

Each function has the value of the plain node on every record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.accounting.region import NOT_NULL, ValueSet
from discreet.plan.evaluate import value
from discreet.plan.expressions import (
    Absolute,
    Choose,
    Code,
    First,
    Greatest,
    Least,
    Lookup,
    Member,
    Null,
    Number,
    Over,
    Plus,
    Predicate,
    Remainder,
    TextCode,
    Times,
    Whole,
    required_bounds,
    to_data,
    walk,
)
from discreet.plan.interval import Rounding
from discreet.plan.predicate import FALSE, TRUE, Domains, within


def fold_constant(number: Number) -> Number:
    """A literal, where no column is asked."""
    if isinstance(number, Whole | Null) or any(isinstance(part, Code | TextCode | Member) for part in walk(number)):
        return number
    result = value(number, {})
    return Null() if result is None else Whole(int(result))


def plus(left: Number, right: Number) -> Number:
    """left + right.

    >>> from discreet.plan.expressions import Code
    >>> plus(Whole(1), plus(Code("age", 0, 9, False), Whole(2))).right
    Whole(value=3)
    """
    if isinstance(left, Null) or isinstance(right, Null):
        return Null()
    left, right = _ordered(left, right)
    if isinstance(right, Whole):
        if isinstance(left, Whole):
            return Whole(left.value + right.value)
        if isinstance(left, Plus) and isinstance(left.right, Whole):
            return plus(left.left, Whole(left.right.value + right.value))
        if right.value == 0:
            return left
    return Plus(left, right)


def minus(left: Number, right: Number) -> Number:
    """left - right."""
    return plus(left, times(right, Whole(-1)))


def times(left: Number, right: Number) -> Number:
    """left * right."""
    if isinstance(left, Null) or isinstance(right, Null):
        return Null()
    left, right = _ordered(left, right)
    if isinstance(right, Whole):
        if isinstance(left, Whole):
            return Whole(left.value * right.value)
        if isinstance(left, Times) and isinstance(left.right, Whole):
            return times(left.left, Whole(left.right.value * right.value))
        if right.value == 1:
            return left
    return Times(left, right)


def over(left: Number, right: Number, rounding: Rounding = "down") -> Number:
    """left / right as a whole number, rounded as told; NULL where right is 0."""
    if isinstance(left, Null) or isinstance(right, Null) or right == Whole(0):
        return Null()
    if right == Whole(1):
        required_bounds(left)
        return left
    if isinstance(right, Whole) and right.value > 0 and rounding == "down" and isinstance(left, Over):
        inner = left.right
        if isinstance(inner, Whole) and inner.value > 0 and left.rounding == "down":
            # floor(floor(x / a) / b) = floor(x / (a b)) for whole a, b > 0.
            return over(left.left, Whole(inner.value * right.value))
    return fold_constant(Over(left, right, rounding))


def remainder(left: Number, right: Number) -> Number:
    """What is left of `left` after whole `right`s, with the sign of `left`; NULL where right is 0."""
    if isinstance(left, Null) or isinstance(right, Null) or right == Whole(0):
        return Null()
    return fold_constant(Remainder(left, right))


def absolute(of: Number) -> Number:
    """The distance from 0."""
    if isinstance(of, Null) or (of.low is not None and of.low >= 0):
        return of
    return fold_constant(Absolute(of))


def power(of: Number, exponent: int) -> Number:
    """of multiplied by itself; squares of squares know best that they are not negative."""
    if exponent == 1:
        return of
    half = power(of, exponent // 2)
    return times(times(half, half), of) if exponent % 2 else times(half, half)


def least(parts: Iterable[Number]) -> Number:
    """The least of what is not NULL."""
    kept = _different(parts)
    return kept[0] if len(kept) == 1 else fold_constant(Least(kept))


def greatest(parts: Iterable[Number]) -> Number:
    """The largest of what is not NULL."""
    kept = _different(parts)
    return kept[0] if len(kept) == 1 else fold_constant(Greatest(kept))


def first(parts: Iterable[Number]) -> Number:
    """The first that is not NULL."""
    kept: list[Number] = []
    for part in parts:
        if not isinstance(part, Null) and part not in kept:
            kept.append(part)
        if not part.null:
            break
    return Null() if not kept else kept[0] if len(kept) == 1 else fold_constant(First(tuple(kept)))


def choose(cases: Iterable[tuple[Predicate, Number]], otherwise: Number) -> Number:
    """The expression of the first case that holds."""
    kept: list[tuple[Predicate, Number]] = []
    for condition, chosen in cases:
        if condition == TRUE:
            otherwise = chosen
            break
        if condition != FALSE:
            kept.append((condition, chosen))
    while kept and kept[-1][1] == otherwise:
        kept.pop()
    return Choose(tuple(kept), otherwise) if kept else otherwise


def lookup(code: Number, table: Sequence[int | None], *, first: int) -> Number:
    """table[code - first], cut to the codes there are; the code itself where the table says just that."""
    codes = required_bounds(code)
    cut = tuple(table[codes.low - first : codes.high - first + 1])
    if cut == tuple(range(codes.low, codes.high + 1)):
        return code
    return Null() if set(cut) == {None} else fold_constant(Lookup(code, cut, codes.low))


def sign(of: Number, domains: Domains) -> Number:
    """-1, 0 or 1."""
    cases = [
        (within(of, ValueSet.interval(None, 0), domains), Whole(-1)),
        (within(of, ValueSet.interval(1, None), domains), Whole(1)),
        (within(of, NOT_NULL, domains), Whole(0)),
    ]
    return choose(cases, Null())


def _ordered(left: Number, right: Number) -> tuple[Number, Number]:
    """Constants on the right, the rest by their written form."""
    if isinstance(left, Whole) or isinstance(right, Whole):
        return (right, left) if isinstance(left, Whole) else (left, right)
    return (left, right) if repr(to_data(left)) <= repr(to_data(right)) else (right, left)


def _different(parts: Iterable[Number]) -> tuple[Number, ...]:
    """Each once, NULLs left out, in one order."""
    kept = {part for part in parts if not isinstance(part, Null)}
    return tuple(sorted(kept, key=lambda part: repr(to_data(part)))) or (Null(),)
