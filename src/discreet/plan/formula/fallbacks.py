"""`coalesce` over numbers that may be unknown: which of its arguments each group takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.plan.formula.formula_nodes import (
    And,
    Arithmetic,
    Call,
    Clamp,
    Compare,
    Formula,
    FormulaConstant,
    IsNull,
    Not,
    Or,
    Quotient,
    StatisticRef,
    children,
    numbers_of_rows,
)
from discreet.plan.formula.interval_arithmetic import nullable
from discreet.plan.formula.linear import linear

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


def possible_arguments(arguments: Sequence[Formula]) -> Sequence[Formula]:
    """The arguments of `coalesce` that a group can take. A mean is unknown where there is nobody."""
    for place, argument in enumerate(arguments):
        if not nullable(argument) and not numbers_of_rows(argument):
            return arguments[: place + 1]
    return arguments


@dataclass(frozen=True, slots=True, kw_only=True)
class CoalesceChoice:
    """What a call of `coalesce` is in each group: the place of the argument that the group takes, and its value."""

    places: NDArray[np.int64]
    values: NDArray[np.float64]

    def of(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """In each group the part that belongs to the argument it takes."""
        chosen = np.broadcast_to(parts[-1], self.places.shape)
        for place, part in enumerate(parts[:-1]):
            chosen = np.where(self.places == place, part, chosen)
        return chosen


Choices = Mapping[Formula, CoalesceChoice]


def choose_argument(
    call: Call, unknown: Callable[[Formula], Groups], value: Callable[[Formula], NDArray[np.float64]]
) -> CoalesceChoice:
    """The first argument that is not `unknown` in a group; else the last one. Each argument is looked at once."""
    last = len(call.arguments) - 1
    values = [value(argument) for argument in call.arguments]
    places = np.full(values[0].shape, last)
    for place in reversed(range(last)):
        places = np.where(unknown(call.arguments[place]), places, place)
    taken = CoalesceChoice(places=places, values=values[last])
    return replace(taken, values=taken.of(values))


def groups_using(formula: Formula, choices: Choices, holds: Callable[[Formula], Groups]) -> Groups:
    """Groups in which something holds of a part of the formula. Arguments that a group does not take are no part."""
    if formula in choices:
        return choices[formula].of([groups_using(part, choices, holds) for part in children(formula)])
    groups = holds(formula)
    for part in children(formula):
        groups = groups | groups_using(part, choices, holds)
    return groups


def simplify(formula: Formula) -> Formula:
    """Without calls of `coalesce` whose first argument is always known, as a count and a sum are."""
    parts = tuple(map(simplify, children(formula)))
    if isinstance(formula, Call) and formula.name == "coalesce" and linear(parts[0]) is not None:
        return parts[0]
    return _with_parts(formula, parts)


def replace_references(formula: Formula, replaced: Callable[[StatisticRef], Formula]) -> Formula:
    """The formula with something else in the place of each statistic that it reads."""
    if isinstance(formula, StatisticRef):
        return replaced(formula)
    return _with_parts(formula, tuple(replace_references(part, replaced) for part in children(formula)))


def _with_parts(formula: Formula, parts: tuple[Formula, ...]) -> Formula:
    """The formula made of other parts."""
    match formula:
        case StatisticRef() | FormulaConstant():
            return formula
        case Arithmetic(operator=operator):
            return Arithmetic(operator, *parts)
        case Compare(operator=comparison):
            return Compare(comparison, *parts)
        case Quotient():
            return replace(formula, above=parts[0], below=parts[1])
        case Clamp():
            return replace(formula, of=parts[0])
        case Call(name=name):
            return Call(name, parts)
        case And():
            return And(parts)
        case Or():
            return Or(parts)
        case Not():
            return Not(*parts)
        case IsNull():
            return IsNull(*parts)
        case _:
            assert_never(formula)
