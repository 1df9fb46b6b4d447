"""Interval arithmetic over formulas, vectorised: each result encloses what operands within theirs can give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

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
)
from discreet.plan.formula.formula_values import LOGARITHMS, ends, rounded

Floats = NDArray[np.float64]
Interval = tuple[Floats, Floats]


def enclosing_interval(formula: Formula, intervals: Mapping[Formula, Interval]) -> Interval:
    """The interval of a formula whose noisy parts have the intervals `intervals`."""
    if formula in intervals:
        return intervals[formula]
    match formula:
        case StatisticRef():
            raise ValueError("the interval of a statistic is not known")
        case FormulaConstant(value=value):
            number = np.array(np.nan if value is None else float(value))
            return number, number
        case Arithmetic(operator=operator, left=left, right=right):
            if operator == "*" and left == right:
                return _square(enclosing_interval(left, intervals))
            return _arithmetic(operator, enclosing_interval(left, intervals), enclosing_interval(right, intervals))
        case Quotient(above=above, below=below, low=low, high=high):
            rows = enclosing_interval(below, intervals)
            quotient = _divided(
                enclosing_interval(above, intervals), (np.maximum(rows[0], 1.0), np.maximum(rows[1], 1.0))
            )
            return _clipped(quotient, float(low), float(high))
        case Clamp(of=of, low=low, high=high):
            return _clipped(enclosing_interval(of, intervals), *ends(low, high))
        case Call(name=name, arguments=arguments):
            return _call(name, arguments, [enclosing_interval(argument, intervals) for argument in arguments])
        case Compare(operator=operator, left=left, right=right):
            return _compare(operator, enclosing_interval(left, intervals), enclosing_interval(right, intervals))
        case And(parts=parts) | Or(parts=parts):
            truths = [enclosing_interval(part, intervals) for part in parts]
            fold = np.minimum if isinstance(formula, And) else np.maximum
            return _all(fold, [low for low, _ in truths]), _all(fold, [high for _, high in truths])
        case Not(of=of):
            least, most = enclosing_interval(of, intervals)
            return 1 - most, 1 - least
        case IsNull(of=of):
            return np.array(0.0), np.array(1.0 if nullable(of) else 0.0)
        case _:
            assert_never(formula)


def nullable(formula: Formula) -> bool:
    """Whether a formula can be NULL for some statistics."""
    match formula:
        case FormulaConstant(value=value):
            return value is None
        case Arithmetic(operator="/") | Call(name="sqrt" | "ln" | "log10" | "log2" | "exp" | "nullif"):
            return True
        case Call(name="coalesce" | "least" | "greatest", arguments=arguments):
            return all(nullable(argument) for argument in arguments)
        case IsNull():
            return False
        case _:
            return any(nullable(part) for part in children(formula))


def _all(fold: np.ufunc, parts: Sequence[Floats]) -> Floats:
    folded = parts[0]
    for part in parts[1:]:
        folded = fold(folded, part)
    return folded


def _clipped(interval: Interval, low: float, high: float) -> Interval:
    return np.clip(interval[0], low, high), np.clip(interval[1], low, high)


def _open(low: Floats, high: Floats) -> Interval:
    """infinity - infinity is no number: nothing is known on that side."""
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def _arithmetic(operator: str, left: Interval, right: Interval) -> Interval:
    if operator == "+":
        return _open(left[0] + right[0], left[1] + right[1])
    if operator == "-":
        return _open(left[0] - right[1], left[1] - right[0])
    return _product(left, right) if operator == "*" else _divided(left, right)


def _product(left: Interval, right: Interval) -> Interval:
    corners = [one * other for one in left for other in right]
    # An end at infinity stands for numbers without bound, each of them finite: times 0 they are 0.
    corners = [np.where(np.isnan(corner), 0.0, corner) for corner in corners]
    return _all(np.minimum, corners), _all(np.maximum, corners)


def _square(of: Interval) -> Interval:
    ends = of[0] ** 2, of[1] ** 2
    return np.where((of[0] <= 0) & (of[1] >= 0), 0.0, np.minimum(*ends)), np.maximum(*ends)


def _divided(left: Interval, right: Interval) -> Interval:
    """left / right. Where right can be on both sides of 0, anything; where it can only touch 0, one-sided."""
    low, high = right
    inverse = np.where(high == 0, -np.inf, 1 / high), np.where(low == 0, np.inf, 1 / low)
    across = (low < 0) & (high > 0) | (low == 0) & (high == 0)
    return _product(left, (np.where(across, -np.inf, inverse[0]), np.where(across, np.inf, inverse[1])))


def _call(name: str, arguments: Sequence[Formula], parts: Sequence[Interval]) -> Interval:
    low, high = parts[0]
    match name:
        case "round":
            digits = int(parts[1][0]) if len(parts) > 1 else 0
            return rounded(low, digits), rounded(high, digits)
        case "floor":
            return np.floor(low), np.floor(high)
        case "ceil":
            return np.ceil(low), np.ceil(high)
        case "sqrt":
            return np.sqrt(np.maximum(low, 0.0)), np.sqrt(np.maximum(high, 0.0))
        case "ln" | "log10" | "log2":
            function = LOGARITHMS[name]
            return np.where(low > 0, function(low), -np.inf), np.where(high > 0, function(high), -np.inf)
        case "exp":
            return np.exp(low), np.exp(high)
        case "abs":
            far = np.maximum(np.abs(low), np.abs(high))
            return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high))), far
        case "nullif":
            return parts[0]
        case "coalesce":
            return hull(parts[: _first_certain(arguments) + 1])
        case "least":
            least, most = _extreme([(-end, -start) for start, end in parts], arguments)
            return -most, -least
        case "greatest":
            return _extreme(parts, arguments)
        case _:
            raise ValueError(f"no such function: {name}")


def _first_certain(arguments: Sequence[Formula]) -> int:
    """The first argument that is never NULL, or the last one."""
    certain = [place for place, argument in enumerate(arguments) if not nullable(argument)]
    return certain[0] if certain else len(arguments) - 1


def hull(parts: Sequence[Interval]) -> Interval:
    """The least interval that holds all of them."""
    return _all(np.fmin, [low for low, _ in parts]), _all(np.fmax, [high for _, high in parts])


def _extreme(parts: Sequence[Interval], arguments: Sequence[Formula]) -> Interval:
    """The greatest of several, of which those that may be NULL may be missing."""
    certain = [part for part, argument in zip(parts, arguments, strict=True) if not nullable(argument)]
    lows = [low for low, _ in certain] if certain else [_all(np.fmin, [low for low, _ in parts])]
    return _all(np.maximum, lows), _all(np.fmax, [high for _, high in parts])


def _compare(operator: str, left: Interval, right: Interval) -> Interval:
    """(1, 1) where it is surely true, (0, 0) where surely false, else (0, 1)."""
    if operator in {">", ">="}:
        left, right, operator = right, left, operator.replace(">", "<")
    if operator == "<":
        true, false = left[1] < right[0], left[0] >= right[1]
    elif operator == "<=":
        true, false = left[1] <= right[0], left[0] > right[1]
    else:
        same = (left[0] == left[1]) & (right[0] == right[1]) & (left[0] == right[0])
        apart = (left[1] < right[0]) | (left[0] > right[1])
        true, false = (same, apart) if operator == "=" else (apart, same)
    return np.where(true, 1.0, 0.0), np.where(false, 0.0, 1.0)
