"""An inquiry: everything that one question measures, before it is priced."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.plan import relation
from discreet.plan.cells import Axis, check_cells
from discreet.plan.expressions import Expression
from discreet.plan.expressions import to_data as expression_data
from discreet.plan.predicate import TRUE, Predicate
from discreet.plan.predicate import to_data as predicate_data
from discreet.plan.relation import Plan
from discreet.plan.statistics import Statistic, statistic_data


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """A quantile of an expression with bounds, found among the bins that `axis` cuts it into."""

    axis: Axis
    fraction: Fraction
    where: Predicate = TRUE

    def to_data(self) -> Any:
        return [self.axis.to_data(), exact.write(self.fraction), predicate_data(self.where)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """A plan, the keys it is grouped by, and what is measured in each group.

    sets: the grouping sets, each a choice of known keys; without GROUP BY one empty set.
    keys: expressions whose values are not declared, to be discovered; each set is grouped by them as well.
    top: only this many of the discovered keys, the most common ones.
    """

    plan: Plan
    sets: tuple[tuple[Axis, ...], ...]
    statistics: tuple[Statistic, ...]
    quantiles: tuple[Quantile, ...] = ()
    keys: tuple[Expression, ...] = ()
    top: int | None = None

    def __post_init__(self) -> None:
        sizes = [math.prod(axis.size for axis in axes) for axes in self.sets]
        bins = max((quantile.axis.size for quantile in self.quantiles), default=1)
        check_cells(sum(sizes) * max(1, len(self.statistics)))
        check_cells(max(sizes) * bins)

    def to_data(self) -> dict[str, Any]:
        """What is measured, as JSON data; equal inquiries have equal data."""
        return {
            "plan": relation.to_data(self.plan),
            "sets": [[axis.to_data() for axis in axes] for axes in self.sets],
            "statistics": [statistic_data(statistic) for statistic in self.statistics],
            "quantiles": [quantile.to_data() for quantile in self.quantiles],
            "keys": [expression_data(key) for key in self.keys],
            "top": self.top,
        }

    def question(self) -> str:
        """The hash of what is measured."""
        text = json.dumps(self.to_data(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()
