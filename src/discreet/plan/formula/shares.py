"""How much each statistic's noise matters to an output, and how to split a price between statistics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import TypeVar, assert_never

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

Name = TypeVar("Name", bound=Hashable)

#: Shares are multiples of one over this.
_UNITS = 1000

# A need is the part of an output's error variance that a statistic's noise makes, in units of that
# statistic's own sensitivity. An output moves by (its derivative) * (the noise); what is not known
# before data is touched is taken as it typically is. Everything here is a square of such a size.

#: S / N is wrong by (noise of S - mean * noise of N) / N, with the mean a quarter of the half range off the centre.
_COUNT_OF_A_MEAN = Fraction(1, 16)
#: x * x is wrong by 2 x * noise, with x at such a quarter.
_SQUARE = Fraction(1, 4)
#: x * y is wrong by x * (noise of y) + y * (noise of x). A centred mean is at a quarter, or at half for skewed data;
#: a mean that is not centred is about as large as its half range; anything else (a spread, a slope) at half.
_CENTRED_MEAN, _SHIFTED, _OTHER = Fraction(1, 8), Fraction(1), Fraction(1, 4)
#: x / y is wrong by (noise of x - ratio * noise of y) / y, with the ratio at half.
_DIVISOR = Fraction(1, 4)


def needs(*formulas: Formula) -> dict[int, Fraction]:
    """For each statistic, how much its noise matters: 1 where it matters most to an output; summed over outputs.

    >>> from discreet.plan.formula.aggregate_formulas import average, variance
    >>> {cell: str(need) for cell, need in needs(average(0, 1, centre=50, low=0, high=100)).items()}
    {0: '1', 1: '1/16'}
    >>> found = needs(variance(0, 1, 2, low=-50, high=50, sample=False))
    >>> {cell: str(need) for cell, need in sorted(found.items())}
    {0: '1/16', 1: '1/4', 2: '1'}
    """
    need_of_cell: dict[int, Fraction] = {}
    for formula in formulas:
        weights = weigh(formula, lambda part: {part.index: Fraction(1)} if isinstance(part, StatisticRef) else None)
        most = max(weights.values(), default=Fraction(1))
        for cell, need in weights.items():
            need_of_cell[cell] = need_of_cell.get(cell, Fraction(0)) + need / most
    return need_of_cell


def weigh(formula: Formula, leaf: Callable[[Formula], dict[Name, Fraction] | None]) -> dict[Name, Fraction]:
    """How much each leaf matters to a formula; `leaf` says which parts are leaves, and under what name."""
    leaf_needs = leaf(formula)
    if leaf_needs is not None:
        return leaf_needs
    match formula:
        case StatisticRef() | FormulaConstant():
            return {}
        case Quotient(above=above, below=below):
            return _most(weigh(above, leaf), _scaled(weigh(below, leaf), _COUNT_OF_A_MEAN))
        case Arithmetic(operator=operator, left=left, right=right):
            first, second = weigh(left, leaf), weigh(right, leaf)
            if operator in "+-" or not first or not second:
                return _most(first, second)
            if operator == "/":
                return _most(first, _scaled(second, _DIVISOR))
            if left == right:
                return _scaled(first, _SQUARE)
            return _most(_scaled(first, _size(right)), _scaled(second, _size(left)))
        case Call() | And() | Or() | Not() | IsNull() | Clamp() | Compare():
            return _most(*(weigh(part, leaf) for part in children(formula)))
        case _:
            assert_never(formula)


def _size(factor: Formula) -> Fraction:
    """The square of what a factor typically is, in units of its half range."""
    match factor:
        case Quotient():
            return _CENTRED_MEAN
        case (
            Arithmetic(operator="+" | "-", left=FormulaConstant())
            | Arithmetic(operator="+" | "-", right=FormulaConstant())
        ):
            return _SHIFTED
        case _:
            return _OTHER


def _scaled(needs_by_name: Mapping[Name, Fraction], factor: Fraction) -> dict[Name, Fraction]:
    return {name: need * factor for name, need in needs_by_name.items()}


def _most(*parts: Mapping[Name, Fraction]) -> dict[Name, Fraction]:
    largest_needs: dict[Name, Fraction] = {}
    for part in parts:
        for name, need in part.items():
            largest_needs[name] = max(largest_needs.get(name, Fraction(0)), need)
    return largest_needs


def split(needs: Mapping[Name, Fraction], *, gaussian: bool) -> dict[Name, Fraction]:
    """Shares of a price that make the sum of need * variance least; they add to 1 and none is 0.

    Because: Laplace noise of a share s of epsilon has a variance proportional to 1 / s^2, so the least
    sum of need / s^2 has s proportional to the cube root of the need; Gaussian noise of a share s of
    rho has one proportional to 1 / s, and s is proportional to the square root.

    >>> shares = split({"sum": Fraction(1), "count": Fraction(1, 16)}, gaussian=False)
    >>> {name: str(share) for name, share in shares.items()}
    {'sum': '179/250', 'count': '71/250'}
    """
    if not needs:
        return {}
    if min(needs.values()) < 0:
        raise ValueError("a need must be at least 0")
    units = max(_UNITS, 10 * len(needs))
    roots = {name: float(need) ** (1 / 2 if gaussian else 1 / 3) for name, need in needs.items()}
    whole = sum(roots.values()) or 1.0
    shares = {name: max(1, round(units * root / whole)) for name, root in roots.items()}
    # Rounding leaves a few units too many or too few; the largest shares feel it least.
    while (left := units - sum(shares.values())) != 0:
        largest = max(shares, key=lambda name: shares[name])
        shares[largest] += 1 if left > 0 else -1
    return {name: Fraction(share, units) for name, share in shares.items()}
