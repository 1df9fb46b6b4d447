"""An inquiry: everything that one question measures, before it is priced."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

from discreet import exact
from discreet.plan import relation
from discreet.plan.cell_statistics import Statistic, statistic_data
from discreet.plan.cells import Axis, check_cells
from discreet.plan.expressions import Expression
from discreet.plan.expressions import to_data as expression_data
from discreet.plan.predicate import TRUE, Predicate
from discreet.plan.predicate import to_data as predicate_data
from discreet.plan.relation import LimitGroups, Plan

Part = TypeVar("Part")

#: With so many digits a question's hash tells its groups; they find candidates and decide nothing.
_GROUPS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """A quantile of an expression with bounds, found among the bins that `axis` cuts it into."""

    axis: Axis
    fraction: Fraction
    where: Predicate = TRUE

    def to_data(self) -> Any:
        return [self.axis.to_data(), exact.write(self.fraction), predicate_data(self.where)]


@dataclass(frozen=True, kw_only=True)
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
        if isinstance(self.plan, LimitGroups) and not self._groups_are_limited(self.plan):
            raise ValueError("a limit on the groups of a person must be of the groups that are asked about")
        sizes = [math.prod(axis.size for axis in axes) for axes in self.sets]
        bins = max((quantile.axis.size for quantile in self.quantiles), default=1)
        check_cells(sum(sizes) * max(1, len(self.statistics)))
        check_cells(max(sizes) * bins)

    def _groups_are_limited(self, limit: LimitGroups) -> bool:
        """Whether every group here is a group of the limit, or several of them together."""
        limited = [axis.to_data() for axis in limit.axes]
        return set(self.keys) == set(limit.keys) and all(
            axis.to_data() in limited for axes in self.sets for axis in axes
        )

    @cached_property
    def order(self) -> CanonicalOrder:
        """The numbers of its parts as the ledger knows them: by what they are, not by where a text names them."""
        return CanonicalOrder(
            sets=_ranks(self.sets, _set_data),
            statistics=_ranks(self.statistics, statistic_data),
            quantiles=_ranks(self.quantiles, lambda quantile: quantile.to_data()),
            keys=_ranks(self.keys, expression_data),
        )

    def order_in(self, whole: Inquiry) -> CanonicalOrder:
        """The numbers that its parts have in an inquiry over the same groups that measures all of them."""
        own, other, order = self.to_data(), whole.to_data(), whole.order
        return CanonicalOrder(
            sets=tuple(order.sets[other["sets"].index(part)] for part in own["sets"]),
            statistics=tuple(order.statistics[other["statistics"].index(part)] for part in own["statistics"]),
            quantiles=tuple(order.quantiles[other["quantiles"].index(part)] for part in own["quantiles"]),
            keys=self.order.keys,
        )

    def to_data(self) -> dict[str, Any]:
        """What is measured, as JSON data, in the order in which it was asked."""
        return {
            "plan": relation.to_data(self.plan),
            "sets": [_set_data(axes) for axes in self.sets],
            "statistics": [statistic_data(statistic) for statistic in self.statistics],
            "quantiles": [quantile.to_data() for quantile in self.quantiles],
            "keys": [expression_data(key) for key in self.keys],
            "top": self.top,
        }

    def question(self) -> str:
        """The hash of what is measured, in whatever order it was named: a few digits of the groups, then of all of it.

        Questions over the same groups begin alike, so that a store can look for one within another.
        """
        return self._question

    def groups(self) -> str:
        """How the hash of every question over these groups begins."""
        return self._question[:_GROUPS]

    @cached_property
    def _question(self) -> str:
        return question_digest(self.to_data())


def question_digest(data: Mapping[str, Any]) -> str:
    """The hash of an inquiry that `to_data` wrote."""
    groups = _hash([data["plan"], _sorted(data["sets"]), _sorted(data["keys"]), data["top"]])
    return groups[:_GROUPS] + _hash([groups, _sorted(data["statistics"]), _sorted(data["quantiles"])])


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalOrder:
    """For each part of an inquiry its number among its like, by what it is. Steps and stored answers go by these.

    Equal parts, if there are any, are numbered as they come.
    """

    sets: tuple[int, ...]
    statistics: tuple[int, ...]
    quantiles: tuple[int, ...]
    keys: tuple[int, ...]


def _set_data(axes: tuple[Axis, ...]) -> Any:
    return [axis.to_data() for axis in axes]


def _ranks(parts: Sequence[Part], data: Callable[[Part], Any]) -> tuple[int, ...]:
    """The rank of each part by its data, which is made only where there is something to compare."""
    if len(parts) < 2:
        return tuple(range(len(parts)))
    texts = [_text(data(part)) for part in parts]
    places = sorted(range(len(parts)), key=lambda place: texts[place])
    return tuple(places.index(place) for place in range(len(parts)))


def _sorted(parts: list[Any]) -> list[Any]:
    return parts if len(parts) < 2 else sorted(parts, key=_text)


def _hash(data: Any) -> str:
    return hashlib.sha256(_text(data).encode()).hexdigest()


def _text(data: Any) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
