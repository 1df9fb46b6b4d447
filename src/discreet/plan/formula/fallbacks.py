"""`coalesce` over numbers that may be unknown: which of its arguments each group takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.plan.formula.arithmetic import nullable
from discreet.plan.formula.nodes import (
    And,
    Arithmetic,
    Call,
    Cell,
    Clamp,
    Compare,
    Formula,
    IsNull,
    Not,
    Number,
    Or,
    Quotient,
    children,
    numbers_of_rows,
)

Groups = NDArray[np.bool_]


def has_fallback(formula: Formula) -> bool:
    """Whether a formula takes another number where one is unknown."""
    return next(coalesces(formula), None) is not None


def coalesces(formula: Formula) -> Iterator[Call]:
    """The calls of `coalesce` in a formula, inner ones first."""
    for part in children(formula):
        yield from coalesces(part)
    if isinstance(formula, Call) and formula.name == "coalesce":
        yield formula


def possible(arguments: Sequence[Formula]) -> Sequence[Formula]:
    """The arguments of `coalesce` that a group can take. A mean is unknown where there is nobody."""
    for place, argument in enumerate(arguments):
        if not nullable(argument) and not numbers_of_rows(argument):
            return arguments[: place + 1]
    return arguments


def resolved(
    formula: Formula, groups: Groups, unknown: Callable[[Formula], Groups]
) -> Iterator[tuple[Formula, Groups]]:
    """The formula without `coalesce`, for the groups that take the same arguments of it.

    `unknown`: where a formula without `coalesce` has no value to show. There is at most one result for each group.
    """
    call = next(coalesces(formula), None)
    if call is None:
        yield formula, groups
        return
    left = groups
    for place, argument in enumerate(call.arguments):
        takes = left if place == len(call.arguments) - 1 else left & ~unknown(argument)
        left = left & ~takes
        if takes.any():
            yield from resolved(_replaced(formula, call, argument), takes, unknown)


def _replaced(formula: Formula, old: Formula, new: Formula) -> Formula:
    """The formula with another part in place of `old`."""
    if formula == old:
        return new

    def part(of: Formula) -> Formula:
        return _replaced(of, old, new)

    match formula:
        case Cell() | Number():
            return formula
        case Arithmetic(operator=operator, left=left, right=right):
            return Arithmetic(operator, part(left), part(right))
        case Compare(operator=comparison, left=left, right=right):
            return Compare(comparison, part(left), part(right))
        case Quotient(above=above, below=below, low=low, high=high):
            return Quotient(part(above), part(below), low, high)
        case Clamp(of=of, low=least, high=most):
            return Clamp(part(of), least, most)
        case Call(name=name, arguments=arguments):
            return Call(name, tuple(map(part, arguments)))
        case And(parts=parts):
            return And(tuple(map(part, parts)))
        case Or(parts=parts):
            return Or(tuple(map(part, parts)))
        case Not(of=of):
            return Not(part(of))
        case IsNull(of=of):
            return IsNull(part(of))
        case _:
            assert_never(formula)
