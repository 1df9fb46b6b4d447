"""Formulas and the values of quantiles as JSON data: what a checker computes again from the noisy numbers.

    ["statistic", 2]                      the noisy number of a stored statistic
    ["number", "1/100"]                   a literal of the query
    ["+", tree, tree]                     also -, *, / and functions by their names, `coalesce` among them
    ["average", total, rows, "1/100"]     an aggregate: its statistics, and the step of its values
    ["var_samp", rows, total, squares, "1/1"]
    ["covar_pop", rows, total of x, total of y, products, "1/1"]

An aggregate is told by its name alone: its formula (`plan.formula.aggregate_formulas`) follows from that and from the
statistics, so that nobody chooses its constants. What is none of these is not told.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Any

from discreet import exact
from discreet.plan.cell_statistics import Statistic, Sum
from discreet.plan.formula import (
    Arithmetic,
    Call,
    Formula,
    FormulaConstant,
    RegressionColumn,
    StatisticRef,
    average,
    correlation,
    covariance,
    determination,
    intercept,
    references,
    slope,
    stddev,
    variance,
)
from discreet.sql.typed_expression import DateKind, NumericKind, TimestampKind, TypedExpression


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaTelling:
    """statistics: of the question; stored: the number that each is stored by."""

    statistics: Sequence[Statistic]
    stored: Sequence[int]

    def data(self, formula: Formula) -> list[Any] | None:
        """The tree of a formula; None where it has a part that no tree tells: windows, conditions, NULL."""
        match formula:
            case StatisticRef(index=index, over=None):
                return ["statistic", self.stored[index]]
            case FormulaConstant(value=Fraction() as value):
                return ["number", exact.write(value)]
        if (aggregate := self._aggregate(formula)) is not None:
            return aggregate
        match formula:
            case Arithmetic(operator=operator, left=left, right=right):
                return self._node(operator, (left, right))
            case Call(name=name, arguments=arguments):
                return self._node(name, arguments)
            case _:
                return None

    def _node(self, name: str, parts: Sequence[Formula]) -> list[Any] | None:
        trees = [self.data(part) for part in parts]
        return None if None in trees else [name, *trees]

    def _aggregate(self, formula: Formula) -> list[Any] | None:
        """The name of an aggregate that is this very formula, its statistics and its step."""
        cells = list(dict.fromkeys(each.index for each in references(formula) if each.over is None))
        sums = [cell for cell in cells if isinstance(self.statistics[cell], Sum)]
        rows = [cell for cell in cells if cell not in sums]
        if len(rows) != 1:
            return None
        for name, own, step, made in self._candidates(formula, rows[0], sums):
            if made == formula:
                return [name, *(self.stored[cell] for cell in own), exact.write(step)]
        return None

    def _candidates(
        self, formula: Formula, rows: int, sums: Sequence[int]
    ) -> Iterator[tuple[str, list[int], Fraction, Formula]]:
        total = self.statistics[sums[0]] if sums else None
        if len(sums) > 2:
            yield from self._regressions(formula, rows, sums)
        if not isinstance(total, Sum) or len(sums) > 2:
            return
        low, high = getattr(total.of, "low", None), getattr(total.of, "high", None)
        if low is None or high is None:
            return
        if len(sums) == 1:
            step = _factor(formula)
            for each in (Fraction(1), step) if step.numerator == 1 else (Fraction(1),):  # others are of the query
                whole = average(sums[0], rows, centre=total.centre, low=low, high=high, step=each, grain=total.grain)
                yield "average", [sums[0], rows], each, whole
            return
        inner = formula.arguments[0] if isinstance(formula, Call) else formula
        for first, second in (sums, sums[::-1]):
            one, two = self.statistics[first], self.statistics[second]
            assert isinstance(one, Sum) and isinstance(two, Sum)
            low, high = getattr(one.of, "low", None), getattr(one.of, "high", None)
            if low is None or high is None:
                continue
            ends = {"low": low - one.centre, "high": high - one.centre, "grains": (one.grain, two.grain)}
            squared = _factor(inner)
            root = Fraction(_root(squared.numerator), _root(squared.denominator))
            for step in {root, Fraction(1)}:
                for sample, word in ((True, "samp"), (False, "pop")):
                    for name, make in (("var", variance), ("stddev", stddev)):
                        whole = make(rows, first, second, step=step, sample=sample, **ends)
                        yield f"{name}_{word}", [rows, first, second], step, whole

    def _regressions(
        self, formula: Formula, rows: int, sums: Sequence[int]
    ) -> Iterator[tuple[str, list[int], Fraction, Formula]]:
        """What is computed from two columns: their sums, those of squares and of products, each in every role."""
        step = _factor(formula)
        for name, (roles, make) in _REGRESSIONS.items():
            for order in itertools.permutations(sums) if len(roles) == len(sums) else ():
                cells = dict(zip(roles, order, strict=True))
                # The units of the whole are one factor: of the dependent column, as good as any.
                sides = [self._side(cells, side, step) for side, step in (("x", Fraction(1)), ("y", step))]
                products = self.statistics[cells["xy"]]
                if sides[0] is not None and sides[1] is not None and isinstance(products, Sum):
                    whole = make(rows, sides[0], sides[1], cells["xy"], products.grain)
                    yield name, [rows, *order], step, whole

    def _side(self, cells: dict[str, int], side: str, step: Fraction) -> RegressionColumn | None:
        total = self.statistics[cells[side]]
        squares = self.statistics[cells.get(side * 2, cells[side])]
        if not isinstance(total, Sum) or not isinstance(squares, Sum):
            return None
        low, high = getattr(total.of, "low", None), getattr(total.of, "high", None)
        if low is None or high is None:
            return None
        return RegressionColumn(
            moved=None,
            total=cells[side],
            squares=cells.get(side * 2, cells[side]),
            centre=total.centre,
            low=low - total.centre,
            high=high - total.centre,
            step=step,
            grains=(total.grain, squares.grain),
        )


#: What is computed from two columns: from which sums (of x, of its squares, of products), and how.
_REGRESSIONS: dict[str, tuple[tuple[str, ...], Callable[..., Formula]]] = {
    "covar_pop": (("x", "y", "xy"), partial(covariance, sample=False)),
    "covar_samp": (("x", "y", "xy"), partial(covariance, sample=True)),
    "corr": (("x", "xx", "y", "yy", "xy"), correlation),
    "regr_r2": (("x", "xx", "y", "yy", "xy"), determination),
    "regr_slope": (("x", "xx", "y", "xy"), slope),
    "regr_intercept": (("x", "xx", "y", "xy"), intercept),
}


def has_fallback(tree: Any) -> bool:
    """Whether a told tree takes another number where one is unknown."""
    return isinstance(tree, list) and (tree[:1] == ["coalesce"] or any(map(has_fallback, tree[1:])))


def _factor(formula: Formula) -> Fraction:
    """The constant that a formula is multiplied by."""
    match formula:
        case Arithmetic(operator="*", left=FormulaConstant(value=Fraction() as value)):
            return value
        case _:
            return Fraction(1)


def _root(number: int) -> int:
    return max(1, isqrt(number))


def quantile_data(typed: TypedExpression) -> str | None:
    """What the codes of a quantile stand for: the step of a grid, days or microseconds; None for what has no middle."""
    match typed.kind:
        case NumericKind(step=step):
            return exact.write(step)
        case DateKind():
            return "date"
        case TimestampKind():
            return "timestamp"
        case _:
            return None
