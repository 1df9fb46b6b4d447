"""The value of a formula in every group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
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
)

Floats = NDArray[np.float64]

COMPARISONS: dict[str, Callable[..., Any]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

LOGARITHMS: dict[str, Callable[[Floats], Floats]] = {"ln": np.log, "log10": np.log10, "log2": np.log2}


def evaluate(
    formula: Formula, values: Sequence[NDArray[Any]], *, given_values: Mapping[Formula, Floats] | None = None
) -> Floats:
    """The formula's value in each group, as float64, NaN for NULL.

    `values` are the noisy statistics, each a vector over the groups. `given_values`: parts that are not computed but
    have these values, as where some are not shown.
    """
    with np.errstate(all="ignore"):  # NULL is NaN, and that is no accident
        result = _value(formula, [np.asarray(value).astype(np.float64) for value in values], given_values or {})
    size = values[0].shape if values else (1,)
    return np.array(np.broadcast_to(result, size))


def _value(formula: Formula, values: Sequence[Floats], given_values: Mapping[Formula, Floats]) -> Floats:
    if formula in given_values:
        return given_values[formula]
    match formula:
        case StatisticRef(index=index):
            return values[index]
        case FormulaConstant(value=value):
            return np.array(np.nan if value is None else float(value))
        case Arithmetic(operator=operator, left=left, right=right):
            return arithmetic(operator, _value(left, values, given_values), _value(right, values, given_values))
        case Quotient(above=above, below=below, low=low, high=high):
            ratio = _value(above, values, given_values) / np.maximum(_value(below, values, given_values), 1.0)
            return np.clip(ratio, float(low), float(high))
        case Clamp(of=of, low=low, high=high):
            return np.clip(_value(of, values, given_values), *ends(low, high))
        case Call(name=name, arguments=arguments):
            return call(name, [_value(argument, values, given_values) for argument in arguments])
        case Compare(operator=operator, left=left, right=right):
            sides = _value(left, values, given_values), _value(right, values, given_values)
            return np.where(np.isnan(sides[0] + sides[1]), np.nan, COMPARISONS[operator](*sides))
        case And() | Or() | Not() | IsNull():
            return _truth(formula, values, given_values)
        case _:
            assert_never(formula)


def ends(low: Fraction | None, high: Fraction | None) -> tuple[float, float]:
    """Bounds as floats, infinite where there are none."""
    return -np.inf if low is None else float(low), np.inf if high is None else float(high)


def _truth(
    formula: And | Or | Not | IsNull, values: Sequence[Floats], given_values: Mapping[Formula, Floats]
) -> Floats:
    """Three-valued: false AND NULL is false, true OR NULL is true."""
    match formula:
        case Not(of=of):
            return 1.0 - _value(of, values, given_values)
        case IsNull(of=of):
            return np.isnan(_value(of, values, given_values)).astype(np.float64)
        case And(parts=parts):
            truths = [_value(part, values, given_values) for part in parts]
            return _joined(truths, stop=0.0)
        case Or(parts=parts):
            truths = [_value(part, values, given_values) for part in parts]
            return _joined(truths, stop=1.0)
        case _:
            assert_never(formula)


def _joined(parts: Sequence[Floats], *, stop: float) -> Floats:
    """`stop` where a part is that; else NULL where a part is NULL; else the other truth."""
    together = np.stack(np.broadcast_arrays(*parts))
    unknown = np.where(np.isnan(together).any(axis=0), np.nan, 1.0 - stop)
    return np.where((together == stop).any(axis=0), stop, unknown)


def arithmetic(operator: str, left: Floats, right: Floats) -> Floats:
    """One of + - * /, where x / 0 is NULL."""
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    if operator == "*":
        return left * right
    return np.where(right == 0, np.nan, left / np.where(right == 0, 1.0, right))


def call(name: str, arguments: Sequence[Floats]) -> Floats:
    """A function of nodes.FUNCTIONS."""
    first = arguments[0]
    match name:
        case "round":
            return rounded(first, int(arguments[1]) if len(arguments) > 1 else 0)
        case "abs":
            return np.abs(first)
        case "sqrt":
            return np.sqrt(first)
        case "ln" | "log10" | "log2":
            return np.where(first > 0, LOGARITHMS[name](np.where(first > 0, first, 1.0)), np.nan)
        case "exp":  # beyond all floats is NULL
            power = np.exp(first)
            return np.where(np.isinf(power), np.nan, power)
        case "floor":
            return np.floor(first)
        case "ceil":
            return np.ceil(first)
        case "least" | "greatest":  # NULLs are passed over
            return _folded(np.fmin if name == "least" else np.fmax, arguments)
        case "coalesce":
            return _folded(lambda left, right: np.where(np.isnan(left), right, left), arguments)
        case "nullif":
            return np.where(first == arguments[1], np.nan, first)
        case _:
            raise ValueError(f"no such function: {name}")


def _folded(function: Callable[[Floats, Floats], Floats], parts: Sequence[Floats]) -> Floats:
    folded = parts[0]
    for part in parts[1:]:
        folded = function(folded, part)
    return folded


def rounded(value: Floats, digits: int) -> Floats:
    """To so many digits, halves away from zero, as SQL does."""
    power = 10.0 ** abs(digits)
    scaled = np.abs(value) * power if digits >= 0 else np.abs(value) / power
    whole = np.floor(scaled + 0.5)
    return np.copysign(whole / power if digits >= 0 else whole * power, value)
