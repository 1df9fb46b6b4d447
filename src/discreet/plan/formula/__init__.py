"""Formulas: what is computed from noisy statistics. Post-processing: pure, free, and blind to exact numbers.

formula_nodes        the closed union of formulas
aggregate_formulas   count, total, average, variance and the rest as formulas
formula_values       what they evaluate to
uncertainty          the interval of the exact values, given the noise; or by what is declared alone
                     (linear: parts whose noise has a known law; fieller: ratios; interval_arithmetic: the rest)
fallbacks            which argument of coalesce a group takes
group_window         the other groups that a number is computed from
shares               how much each statistic's noise matters, and how to split a price
digits               numbers with no more digits than the noise leaves meaningful
"""

from discreet.plan.formula.aggregate_formulas import (
    RegressionColumn,
    added,
    average,
    correlation,
    count,
    covariance,
    determination,
    intercept,
    slope,
    stddev,
    total,
    variance,
    weighted_average,
)
from discreet.plan.formula.digits import (
    meaningful,
    meaningful_quantiles,
    meaningful_whole,
    meaningful_within,
)
from discreet.plan.formula.fallbacks import (
    Choices,
    CoalesceChoice,
    choose_argument,
    coalesces,
    groups_using,
    has_fallback,
    replace_references,
    simplify,
)
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
    cells,
    compared_numbers,
    numbers_of_rows,
    references,
)
from discreet.plan.formula.formula_values import evaluate
from discreet.plan.formula.group_window import GroupWindow
from discreet.plan.formula.shares import needs, split
from discreet.plan.formula.uncertainty import Law, bounds, interval, least, limits

__all__ = [
    "And",
    "Arithmetic",
    "Call",
    "Choices",
    "Clamp",
    "CoalesceChoice",
    "Compare",
    "Formula",
    "FormulaConstant",
    "GroupWindow",
    "IsNull",
    "Law",
    "Not",
    "Or",
    "Quotient",
    "RegressionColumn",
    "StatisticRef",
    "added",
    "average",
    "bounds",
    "cells",
    "choose_argument",
    "coalesces",
    "compared_numbers",
    "correlation",
    "count",
    "covariance",
    "determination",
    "evaluate",
    "groups_using",
    "has_fallback",
    "intercept",
    "interval",
    "least",
    "limits",
    "meaningful",
    "meaningful_quantiles",
    "meaningful_whole",
    "meaningful_within",
    "needs",
    "numbers_of_rows",
    "references",
    "replace_references",
    "simplify",
    "slope",
    "split",
    "stddev",
    "total",
    "variance",
    "weighted_average",
]
