"""Formulas that are a constant plus weights times statistics: their noise has a law of its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.plan.formula.formula_nodes import Arithmetic, Formula, FormulaConstant, Quotient, StatisticRef
from discreet.plan.formula.group_window import GroupWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """constant + the sum of weight * statistic. No weight is 0, and cells are in order.

    over: the one window that some of the statistics are summed over. Those of two windows may have noise in common, so
        that no linear formula holds both.
    """

    constant: Fraction
    weights: tuple[tuple[int, Fraction], ...]
    over: GroupWindow | None = None


def linear(formula: Formula) -> Linear | None:
    """The formula as a linear one, or None where it is none."""
    match formula:
        case StatisticRef(index=index, over=over):
            return Linear(constant=Fraction(0), weights=((index, Fraction(1)),), over=over)
        case FormulaConstant(value=value):
            return None if value is None else Linear(constant=value, weights=())
        case Arithmetic(operator=operator, left=left, right=right):
            first, second = linear(left), linear(right)
            return None if first is None or second is None else _arithmetic(operator, first, second)
        case _:
            return None


def _arithmetic(operator: str, first: Linear, second: Linear) -> Linear | None:
    if operator in "+-":
        return _added(first, second, Fraction(1 if operator == "+" else -1))
    if operator == "*" and not first.weights:
        return _added(_NOTHING, second, first.constant)
    if operator == "*" and not second.weights:
        return _added(_NOTHING, first, second.constant)
    if operator == "/" and not second.weights and second.constant:
        return _added(_NOTHING, first, 1 / second.constant)
    return None


_NOTHING = Linear(constant=Fraction(0), weights=())


def _added(first: Linear, second: Linear, factor: Fraction) -> Linear | None:
    """first + factor * second."""
    if not share_window(first, second):
        return None
    weights = dict(first.weights)
    for cell, weight in second.weights:
        weights[cell] = weights.get(cell, Fraction(0)) + factor * weight
    return Linear(
        constant=first.constant + factor * second.constant,
        weights=tuple(sorted((cell, weight) for cell, weight in weights.items() if weight)),
        over=first.over or second.over,
    )


def share_window(first: Linear, second: Linear) -> bool:
    """Whether no noise of one is in the other, but that of statistics which both name."""
    return first.over is None or second.over is None or first.over == second.over


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """above / below, both noisy, and bounds that the exact ratio is known to lie in (None: no bound)."""

    above: Linear
    below: Linear
    low: Fraction | None
    high: Fraction | None


def ratio(formula: Formula) -> Ratio | None:
    """The formula as a ratio of linear ones, or None where it is none."""
    match formula:
        case Quotient(above=above, below=below, low=low, high=high):
            return _ratio(linear(above), linear(below), low, high)
        case Arithmetic(operator="/", left=left, right=right):
            return _ratio(linear(left), linear(right), None, None)
        case _:
            return None


def _ratio(above: Linear | None, below: Linear | None, low: Fraction | None, high: Fraction | None) -> Ratio | None:
    if above is None or below is None or not above.weights or not below.weights:
        return None
    if not share_window(above, below):
        return None
    return Ratio(above=above, below=below, low=low, high=high)
