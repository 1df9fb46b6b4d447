"""Formulas: what is computed from noisy statistics. Post-processing: pure, free, and blind to exact numbers.

nodes         the closed union of formulas
moments       count, total, average, variance and the rest as formulas
values        what they evaluate to
uncertainty   between what the exact values lie, given the law of the noise; or by what is declared alone
              (linear: parts whose noise has a law; fieller: ratios; arithmetic: the rest)
fallbacks     which argument of coalesce a group takes
shares        how much each statistic's noise matters, and how to split a price
digits        numbers with no more digits than the noise leaves meaningful
"""

from discreet.plan.formula.digits import (
    meaningful,
    meaningful_quantiles,
    meaningful_whole,
    meaningful_within,
)
from discreet.plan.formula.fallbacks import has_fallback, resolved
from discreet.plan.formula.moments import (
    Side,
    average,
    correlation,
    count,
    covariance,
    intercept,
    slope,
    stddev,
    total,
    variance,
)
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
    cells,
    compared,
    numbers_of_rows,
)
from discreet.plan.formula.shares import needs, split
from discreet.plan.formula.uncertainty import Law, bounds, interval, least
from discreet.plan.formula.values import evaluate

__all__ = [
    "And",
    "Arithmetic",
    "Call",
    "Cell",
    "Clamp",
    "Compare",
    "Formula",
    "IsNull",
    "Law",
    "Not",
    "Number",
    "Or",
    "Quotient",
    "Side",
    "average",
    "bounds",
    "cells",
    "compared",
    "correlation",
    "count",
    "covariance",
    "evaluate",
    "has_fallback",
    "intercept",
    "interval",
    "least",
    "meaningful",
    "meaningful_quantiles",
    "meaningful_whole",
    "meaningful_within",
    "needs",
    "numbers_of_rows",
    "resolved",
    "slope",
    "split",
    "stddev",
    "total",
    "variance",
]
