"""Aggregates of the select list: statistics to measure, and the formula that reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from sqlglot import exp

from discreet.accounting.region import NOT_NULL
from discreet.errors import Command, Message, Refused
from discreet.plan import algebra, formula
from discreet.plan.cell_statistics import DistinctCount, PersonCount, RowCount, Statistic, Sum
from discreet.plan.expressions import Number, Plus, Times, Whole
from discreet.plan.formula import Formula
from discreet.plan.inquiry import Quantile
from discreet.plan.predicate import TRUE, Predicate, every, within
from discreet.plan.query_sensitivity import UnitReach, with_grain
from discreet.sql.expression_reader import ExpressionReader
from discreet.sql.group_keys import quantile_axis
from discreet.sql.scope import Scope
from discreet.sql.typed_expression import BooleanKind, CategoryKind, NumericKind, TextKind, TypedExpression, codes_of

#: min and max are these quantiles: the extremes themselves are one person each.
LOW_END, HIGH_END = Fraction(5, 1000), Fraction(995, 1000)

_QUANTILES = (
    exp.Median,
    exp.Quantile,
    exp.ApproxQuantile,
    exp.PercentileCont,
    exp.PercentileDisc,
    exp.WithinGroup,
    exp.Min,
    exp.Max,
)
_REGRESSIONS = (exp.RegrSlope, exp.RegrIntercept, exp.RegrR2, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy)
_PAIRS = (exp.Corr, exp.CovarPop, exp.CovarSamp, *_REGRESSIONS)
_SPREADS = (exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp)
_SUPPORTED = (exp.Count, exp.CountIf, exp.Sum, exp.Avg, *_SPREADS, *_PAIRS, *_QUANTILES)

#: Aggregates that the parser knows by their names alone, and how many arguments each takes.
_NAMED = {"geomean": 1, "geometric_mean": 1, "weighted_avg": 2, "wavg": 2}

_ARGUMENTS = {"this", "expression", "quantile", "big_int"}

_HINT = (
    "use one of: count, sum, avg, variance, stddev, corr, covar_pop, covar_samp, regr_slope, regr_intercept, "
    "regr_r2, weighted_avg, geomean, min, max, median, quantile"
)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate, FILTER and all."""
    if isinstance(node, exp.Filter):
        return is_aggregate(node.this)
    return isinstance(node, exp.AggFunc | exp.WithinGroup) or _named(node) is not None


def _named(node: exp.Expr) -> str | None:
    """The name of an aggregate that the parser knows by its name alone."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    return name if name in _NAMED else None


def sum_refusal_hint(operand: TypedExpression, node: exp.Expr) -> str:
    """What to do with that which cannot be summed: a column of texts may hold numbers that nobody declared as such."""
    if not isinstance(node.unnest(), exp.Column) or not isinstance(operand.kind, TextKind | CategoryKind):
        return "count the values, or group by them"
    return (
        "count the values, or group by them; if the column holds numbers, the owner can declare it as integer or "
        "decimal in discreet.toml: values that are not numbers become NULL, and refresh reports how many"
    )


def refuse_extra_arguments(node: exp.Expr) -> None:
    """Refuse an argument that would be passed over: min(x, 3) is not min(x)."""
    extra = [name for name, value in node.args.items() if value and name not in _ARGUMENTS]
    if extra:
        raise Refused("this form of the aggregate is not supported", hint=_HINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedQuantile:
    """A quantile of the select list: what is measured, and what its codes mean."""

    quantile: Quantile
    typed: TypedExpression


@dataclass(slots=True, kw_only=True)
class Aggregates:
    """The statistics of one question, each once, collected while its outputs are read."""

    reader: ExpressionReader
    scope: Scope
    reach: UnitReach
    statistics: list[Statistic] = field(default_factory=list)
    quantiles: list[TypedQuantile] = field(default_factory=list)
    warnings: dict[str, None] = field(default_factory=dict)

    def read(self, node: exp.Expr) -> Formula | TypedQuantile:
        """An aggregate as a formula over statistics, or as a quantile."""
        where: Predicate = TRUE
        original_node = node
        if isinstance(node, exp.Filter):
            where = self.reader.predicate(node.expression.this)
            node = node.this
        if isinstance(node, exp.IgnoreNulls):
            node = node.this
        name = _named(node)
        if name is not None:
            return self._by_name(name, node, where)
        if not isinstance(node, _SUPPORTED):
            raise self._refusal("this aggregate is not supported", original_node)
        if isinstance(node.this, exp.Distinct) and not isinstance(node, exp.Count):
            raise self._refusal("DISTINCT is supported only in count(DISTINCT …)", original_node)
        if node.args.get("order") or node.args.get("limit"):
            raise self._refusal("ORDER BY and LIMIT inside an aggregate are not supported", original_node)
        try:
            refuse_extra_arguments(node)
            if node.this is None or (isinstance(node, _PAIRS) and node.args.get("expression") is None):
                raise self._refusal("this aggregate is missing an argument", original_node)
            return self._aggregate(node, where)
        except Refused as problem:
            raise (
                problem if problem.sql else self._refusal(problem.reason, original_node, hint=problem.hint)
            ) from None

    def _aggregate(self, node: exp.Expr, where: Predicate) -> Formula | TypedQuantile:
        match node:
            case exp.Count():
                return self._count(node, where)
            case exp.CountIf():
                return formula.count(self._index(RowCount(where=every([where, self.reader.predicate(node.this)]))))
            case exp.Sum():
                return self._sum(self._number(node.this), where)
            case exp.Avg():
                return self._average(self._number(node.this), where)
            case _ if isinstance(node, _SPREADS):
                return self._spread(node, where)
            case _ if isinstance(node, _PAIRS):
                return self._pair(node, where)
            case _:
                return self._quantile(node, where)

    def _by_name(self, name: str, node: exp.Expr, where: Predicate) -> Formula:
        if len(node.expressions) != _NAMED[name]:
            raise self._refusal(f"{name} takes {_NAMED[name]} argument{'s' * (_NAMED[name] > 1)}", node)
        if _NAMED[name] == 1:
            return self._geometric_mean(node.expressions[0], where)
        return self._weighted_average(node, where)

    def _geometric_mean(self, node: exp.Expr, where: Predicate) -> Formula:
        """e to the mean of logarithms, of values above 0."""
        operand, logarithm = self._number(node), self._number(exp.Ln(this=node))
        assert isinstance(operand.kind, NumericKind)
        low, high = _bounds(operand)
        if low < 1:
            self.warnings["a geometric mean leaves out values that are not above 0"] = None
        # A logarithm is rounded: one step further the mean is moved to the bound itself.
        mean = self._average(logarithm, where, slack=1)
        step = operand.kind.step
        return formula.Clamp(formula.Call("exp", (mean,)), max(low, 1) * step, max(high, 1) * step)

    def _weighted_average(self, node: exp.Expr, where: Predicate) -> Formula:
        """sum(weight * x) / sum(weight) over rows where neither is NULL; x is centred: it moves by half as much."""
        value, weight = (self._number(part) for part in node.expressions)
        assert isinstance(value.kind, NumericKind)
        low, high = _bounds(value)
        if _bounds(weight)[0] < 0:
            raise self._refusal(
                "a weight must not be negative",
                node.expressions[1],
                hint="declare low = 0 of the column, or use greatest(…, 0)",
            )
        centre = (low + high) // 2
        both = every([where, *_not_null(value), *_not_null(weight)])
        weights = self._index(Sum(of=codes_of(weight), where=both))
        total = self._index(Sum(of=algebra.times(codes_of(weight), _minus(value, centre)), where=both))
        return formula.weighted_average(
            total,
            weights,
            centre=centre,
            low=low,
            high=high,
            step=value.kind.step,
            grains=(self._grain(total), self._grain(weights)),
        )

    def _index(self, statistic: Statistic) -> int:
        """The number of a statistic; one that is there already is shared."""
        if isinstance(statistic, Sum):
            statistic = with_grain(statistic, self.reach)
        if statistic not in self.statistics:
            self.statistics.append(statistic)
        return self.statistics.index(statistic)

    def _count(self, node: exp.Count, where: Predicate) -> Formula:
        inner = node.this
        if inner is None:
            raise self._refusal("count is missing an argument", node, hint="count(*)")
        if isinstance(inner, exp.Star):
            return formula.count(self._index(RowCount(where=where)))
        if isinstance(inner, exp.Distinct):
            parts = inner.expressions
            if len(parts) == 1 and isinstance(parts[0], exp.Tuple):
                parts = parts[0].expressions
            if self.scope.are_person(parts):
                return formula.count(self._index(PersonCount(where=where)))
            if len(parts) != 1:
                raise self._refusal(
                    "count(DISTINCT …) takes one expression, or all columns that identify a person", node
                )
            operand = self.reader.typed(parts[0])
            return formula.count(self._index(DistinctCount(of=operand.expression, where=where)))
        if self.scope.are_person([inner]):
            return formula.count(self._index(RowCount(where=where)))
        return formula.count(self._index(RowCount(where=every([where, *_not_null(self.reader.typed(inner))]))))

    def _number(self, node: exp.Expr) -> TypedExpression:
        """Something that can be summed: a number with bounds, or true and false as 1 and 0."""
        operand = self.reader.typed(node)
        if isinstance(operand.kind, BooleanKind):
            return TypedExpression(expression=operand.expression, kind=NumericKind(step=Fraction(1)))
        if not isinstance(operand.kind, NumericKind):
            raise self._refusal("only numbers can be summed", node, hint=sum_refusal_hint(operand, node))
        if operand.expression.low is None or operand.expression.high is None:
            raise self._refusal(
                "a sum needs bounds: without them one person could change it by any amount",
                node,
                hint=Message(
                    "declare low and high of the column, or run ", Command("bounds"), " to find them privately"
                ),
            )
        return operand

    def _sum(self, operand: TypedExpression, where: Predicate) -> Formula:
        assert isinstance(operand.kind, NumericKind)
        index = self._index(Sum(of=operand.expression, where=where))
        return formula.total(index, step=operand.kind.step * self._grain(index))

    def _average(self, operand: TypedExpression, where: Predicate, *, slack: int = 0) -> Formula:
        """Centred: x minus the middle of its bounds moves by half of what x does. `slack`: bounds so much wider."""
        assert isinstance(operand.kind, NumericKind)
        low, high = _bounds(operand)
        centre = (low + high) // 2
        number = self._index(RowCount(where=every([where, *_not_null(operand)])))
        total = self._index(Sum(of=operand.expression, centre=centre, where=where))
        return formula.average(
            total,
            number,
            centre=centre,
            low=low - slack,
            high=high + slack,
            step=operand.kind.step,
            grain=self._grain(total),
        )

    def _spread(self, node: exp.Expr, where: Predicate) -> Formula:
        operand = self._number(node.this)
        assert isinstance(operand.kind, NumericKind)
        low, high = _bounds(operand)
        centre = (low + high) // 2
        moved = _minus(operand, centre)
        number = self._index(RowCount(where=every([where, *_not_null(operand)])))
        total = self._index(Sum(of=operand.expression, centre=centre, where=where))
        squares = self._index(Sum(of=Times(moved, moved), where=where))
        make = formula.variance if isinstance(node, exp.Variance | exp.VariancePop) else formula.stddev
        return make(
            number,
            total,
            squares,
            low=low - centre,
            high=high - centre,
            step=operand.kind.step,
            sample=not isinstance(node, exp.VariancePop | exp.StddevPop),
            grains=(self._grain(total), self._grain(squares)),
        )

    def _pair(self, node: exp.Expr, where: Predicate) -> Formula:
        """Statistics of two numbers, over rows where neither is NULL. In regr_ functions the first one is y."""
        first, second = self._number(node.this), self._number(node.expression)
        y, x = (first, second) if isinstance(node, _REGRESSIONS) else (second, first)
        both = every([where, *_not_null(x), *_not_null(y)])
        if isinstance(node, exp.RegrCount):
            return formula.count(self._index(RowCount(where=both)))
        if isinstance(node, exp.RegrAvgx | exp.RegrAvgy):
            return self._average(x if isinstance(node, exp.RegrAvgx) else y, both)
        number = self._index(RowCount(where=both))
        sides = [self._side(side, both) for side in (x, y)]
        moved = [_minus(side, sum(_bounds(side)) // 2) for side in (x, y)]
        products = self._index(Sum(of=Times(*moved), where=both))
        makers: dict[type[exp.Expr], Callable[..., Formula]] = {
            exp.Corr: formula.correlation,
            exp.CovarPop: formula.covariance,
            exp.CovarSamp: formula.covariance,
            exp.RegrSlope: formula.slope,
            exp.RegrIntercept: formula.intercept,
            exp.RegrR2: formula.determination,
        }
        sample_option = (
            {} if not isinstance(node, exp.CovarPop | exp.CovarSamp) else {"sample": isinstance(node, exp.CovarSamp)}
        )
        return makers[type(node)](number, *sides, products, self._grain(products), **sample_option)

    def _side(self, operand: TypedExpression, where: Predicate) -> formula.RegressionColumn:
        assert isinstance(operand.kind, NumericKind)
        low, high = _bounds(operand)
        centre = (low + high) // 2
        moved = _minus(operand, centre)
        total = self._index(Sum(of=operand.expression, centre=centre, where=where))
        squares = self._index(Sum(of=Times(moved, moved), where=where))
        return formula.RegressionColumn(
            moved=moved,
            total=total,
            squares=squares,
            centre=centre,
            low=low - centre,
            high=high - centre,
            step=operand.kind.step,
            grains=(self._grain(total), self._grain(squares)),
        )

    def _grain(self, index: int) -> int:
        statistic = self.statistics[index]
        return statistic.grain if isinstance(statistic, Sum) else 1

    def _quantile(self, node: exp.Expr, where: Predicate) -> TypedQuantile:
        of, fraction = self._fraction(node)
        operand = self.reader.typed(of)
        axis = quantile_axis(operand)
        if axis is None:
            raise self._refusal(
                "a quantile needs a number, date or timestamp with bounds",
                node,
                hint="declare low and high of the column"
                if not isinstance(operand.kind, TextKind)
                else "count it, or group by it",
            )
        if isinstance(node, exp.Min | exp.Max):
            word, share = ("min", LOW_END) if isinstance(node, exp.Min) else ("max", HIGH_END)
            self.warnings[
                f"{word} is the {float(share):.1%} quantile: the exact {word}imum would be one person's value"
            ] = None
        typed_quantile = TypedQuantile(quantile=Quantile(axis=axis, fraction=fraction, where=where), typed=operand)
        if typed_quantile not in self.quantiles:
            self.quantiles.append(typed_quantile)
        return typed_quantile

    def _fraction(self, node: exp.Expr) -> tuple[exp.Expr, Fraction]:
        """What a quantile is of, and which one."""
        match node:
            case exp.Median():
                return node.this, Fraction(1, 2)
            case exp.Min():
                return node.this, LOW_END
            case exp.Max():
                return node.this, HIGH_END
            case exp.WithinGroup():
                ordered = node.expression.expressions
                if len(ordered) != 1 or not isinstance(node.this, exp.PercentileCont | exp.PercentileDisc):
                    raise self._refusal("this aggregate is not supported", node)
                fraction = self._share(node.this.this)
                return ordered[0].this, 1 - fraction if ordered[0].args.get("desc") else fraction
            case exp.Quantile() | exp.ApproxQuantile():
                return node.this, self._share(node.args.get("quantile"))
            case exp.PercentileCont() | exp.PercentileDisc() if node.args.get("expression") is not None:
                return node.this, self._share(node.expression)
            case _:
                raise self._refusal("this aggregate is not supported", node)

    def _share(self, node: exp.Expr | None) -> Fraction:
        value = self.reader.constant(node) if node is not None else None
        if not isinstance(value, Fraction) or not 0 <= value <= 1 or value.denominator > 10**6:
            raise self._refusal("a quantile needs a fraction from 0 to 1", node, hint="quantile(x, 0.25)")
        return min(max(value, Fraction(1, 10**6)), 1 - Fraction(1, 10**6))

    def _refusal(self, reason: str, node: exp.Expr | None, *, hint: str = _HINT) -> Refused:
        return self.reader.source.refusal(reason, at=node, hint=hint)


def _not_null(operand: TypedExpression) -> list[Predicate]:
    """That a value is not NULL, where it can be."""
    if operand.defined is not None:
        return [operand.defined]
    return [within(operand.expression, NOT_NULL)] if operand.expression.null else []


def _bounds(operand: TypedExpression) -> tuple[int, int]:
    low, high = operand.expression.low, operand.expression.high
    assert low is not None and high is not None
    return low, high


def _minus(operand: TypedExpression, centre: int) -> Number:
    expression = codes_of(operand)
    return Plus(expression, Whole(-centre)) if centre else expression
