"""SQL's aggregates as formulas over sums of centred codes.

A column's values are codes times a grid `step`; a sum is over codes minus a `centre`, in whole grains.
A mean is a Quotient, so noisy numbers of rows below 1 count as 1; results are moved to where the
exact ones can lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.plan.formula.formula_nodes import (
    Arithmetic,
    Call,
    Clamp,
    Formula,
    FormulaConstant,
    Quotient,
    StatisticRef,
)

_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionColumn:
    """One of two columns: the sums of its centred codes and of their squares, and its bounds as centred codes.

    moved: the expression that was summed; formulas do not look at it.
    """

    moved: object
    total: int
    squares: int
    centre: int
    low: int
    high: int
    step: Fraction
    grains: tuple[int, int] = (1, 1)


def count(cell: int) -> Formula:
    """A number of rows, persons or values."""
    return StatisticRef(cell)


def total(cell: int, *, step: Fraction = _ONE) -> Formula:
    """A sum of codes, in the reader's units."""
    return _times(step, StatisticRef(cell))


def added(parts: Sequence[Formula]) -> Formula:
    """The sum of several formulas; 0 where there is none."""
    if not parts:
        return FormulaConstant(_ZERO)
    whole = parts[0]
    for part in parts[1:]:
        whole = Arithmetic("+", whole, part)
    return whole


def average(
    sum_cell: int,
    count_cell: int,
    *,
    centre: int,
    low: int,
    high: int,
    step: Fraction = _ONE,
    grain: int = 1,
) -> Formula:
    """The mean of codes between `low` and `high`, of which `centre` was subtracted before they were added."""
    return _times(step, _plus(centre, _mean(sum_cell, count_cell, low=low - centre, high=high - centre, grain=grain)))


def weighted_average(
    total_cell: int,
    weights_cell: int,
    *,
    centre: int,
    low: int,
    high: int,
    step: Fraction = _ONE,
    grains: tuple[int, int] = (1, 1),
) -> Formula:
    """The mean of codes between `low` and `high` by whole weights that are never negative; `total_cell` is the sum of
    weight * (code - centre).

    Because the weights are whole, their sum is 0 or at least 1; where it is 0, all of them are, and so is the total.
    """
    mean = Quotient(
        _times(Fraction(grains[0]), StatisticRef(total_cell)),
        _times(Fraction(grains[1]), StatisticRef(weights_cell)),
        Fraction(low - centre),
        Fraction(high - centre),
    )
    return _times(step, _plus(centre, mean))


def variance(
    number: int,
    total_cell: int,
    squares: int,
    *,
    low: int,
    high: int,
    step: Fraction = _ONE,
    sample: bool,
    grains: tuple[int, int] = (1, 1),
) -> Formula:
    """The variance of centred codes between `low` and `high`.

    At most a quarter of the squared range (Popoviciu); the sample variance at most twice that, for two rows.
    """
    spread = _spread(number, total_cell, squares, low=low, high=high, grains=grains)
    if not sample:
        return _times(step**2, Clamp(spread, _ZERO, Fraction(high - low) ** 2 / 4))
    return _times(step**2, Clamp(Arithmetic("*", spread, _correction(number)), _ZERO, Fraction(high - low) ** 2 / 2))


def stddev(
    number: int,
    total_cell: int,
    squares: int,
    *,
    low: int,
    high: int,
    step: Fraction = _ONE,
    sample: bool,
    grains: tuple[int, int] = (1, 1),
) -> Formula:
    """The square root of the variance."""
    return Call(
        "sqrt",
        (variance(number, total_cell, squares, low=low, high=high, step=step, sample=sample, grains=grains),),
    )


def covariance(
    number: int, x: RegressionColumn, y: RegressionColumn, products: int, grain: int = 1, *, sample: bool
) -> Formula:
    """The covariance: at most the product of half the ranges, for a sample twice that."""
    most = Fraction((x.high - x.low) * (y.high - y.low), 4)
    joint = _joint(number, x, y, products, grain)
    if sample:
        joint, most = Arithmetic("*", joint, _correction(number)), 2 * most
    return _times(x.step * y.step, Clamp(joint, -most, most))


def correlation(number: int, x: RegressionColumn, y: RegressionColumn, products: int, grain: int = 1) -> Formula:
    """Pearson's correlation; NULL where a column's noisy variance is not above 0."""
    spreads = [Call("sqrt", (_variance_of(number, side),)) for side in (x, y)]
    ratio = Arithmetic("/", _joint(number, x, y, products, grain), Arithmetic("*", *spreads))
    sign = 1 if x.step * y.step > 0 else -1
    return _times(Fraction(sign), Clamp(ratio, -_ONE, _ONE))


def determination(number: int, x: RegressionColumn, y: RegressionColumn, products: int, grain: int = 1) -> Formula:
    """The square of the correlation: what part of the variance of one column the line explains."""
    ratio = correlation(number, x, y, products, grain)
    return Arithmetic("*", ratio, ratio)


def slope(number: int, x: RegressionColumn, y: RegressionColumn, products: int, grain: int = 1) -> Formula:
    """The slope of the line through y over x; NULL where the noisy variance of x is not above 0."""
    return _times(y.step / x.step, _slope(number, x, y, products, grain))


def intercept(number: int, x: RegressionColumn, y: RegressionColumn, products: int, grain: int = 1) -> Formula:
    """Where that line meets x = 0."""
    mean_x, mean_y = (_plus(side.centre, _mean_of(number, side)) for side in (x, y))
    return _times(y.step, Arithmetic("-", mean_y, Arithmetic("*", _slope(number, x, y, products, grain), mean_x)))


def _slope(number: int, x: RegressionColumn, y: RegressionColumn, products: int, grain: int) -> Formula:
    return Arithmetic("/", _joint(number, x, y, products, grain), _variance_of(number, x))


def _joint(number: int, x: RegressionColumn, y: RegressionColumn, products: int, grain: int) -> Formula:
    """E(xy) - E(x) E(y) of centred codes."""
    corners = [left * right for left in (x.low, x.high) for right in (y.low, y.high)]
    mean = _mean(products, number, low=min(*corners, 0), high=max(*corners, 0), grain=grain)
    return Arithmetic("-", mean, Arithmetic("*", _mean_of(number, x), _mean_of(number, y)))


def _variance_of(number: int, side: RegressionColumn) -> Formula:
    spread = _spread(number, side.total, side.squares, low=side.low, high=side.high, grains=side.grains)
    return Clamp(spread, _ZERO, Fraction(side.high - side.low) ** 2 / 4)


def _spread(number: int, total_cell: int, squares: int, *, low: int, high: int, grains: tuple[int, int]) -> Formula:
    """E(x^2) - E(x)^2 of centred codes."""
    mean = _mean(total_cell, number, low=low, high=high, grain=grains[0])
    square = _mean(squares, number, low=0, high=max(low**2, high**2), grain=grains[1])
    return Arithmetic("-", square, Arithmetic("*", mean, mean))


def _mean_of(number: int, side: RegressionColumn) -> Formula:
    return _mean(side.total, number, low=side.low, high=side.high, grain=side.grains[0])


def _mean(sum_cell: int, count_cell: int, *, low: int, high: int, grain: int) -> Formula:
    return Quotient(
        _times(Fraction(grain), StatisticRef(sum_cell)), StatisticRef(count_cell), Fraction(low), Fraction(high)
    )


def _correction(number: int) -> Formula:
    """n / (n - 1), written as 1 + 1 / (n - 1) so that n appears once; below two rows as for two."""
    fewer = Call("greatest", (_plus(-1, StatisticRef(number)), FormulaConstant(_ONE)))
    return _plus(1, Arithmetic("/", FormulaConstant(_ONE), fewer))


def _times(factor: Fraction, of: Formula) -> Formula:
    return of if factor == 1 else Arithmetic("*", FormulaConstant(factor), of)


def _plus(shift: int, of: Formula) -> Formula:
    operator: Literal["+"] = "+"
    return of if shift == 0 else Arithmetic(operator, FormulaConstant(Fraction(shift)), of)
