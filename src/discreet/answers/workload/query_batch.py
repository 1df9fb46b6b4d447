"""Several questions as one plan: which of them are one measurement, and what each may spend where they are split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet import exact
from discreet.accounting.overlap import Overlap
from discreet.accounting.region import Region
from discreet.answers.repeats import STATEMENT_SEPARATOR
from discreet.plan.price import region_of
from discreet.sql.parsed_query import ParsedQuery

#: Nodes of the search for the person whom a batch touches most.
_NODES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryBatch:
    """Questions by what they measure: those with one inquiry are readings of one measurement.

    One that names the same in another order is a group of its own, which finds the other's answer stored.
    """

    groups: tuple[tuple[ParsedQuery, ...], ...]

    @staticmethod
    def of(queries: Sequence[ParsedQuery]) -> QueryBatch:
        groups: dict[str, list[ParsedQuery]] = {}
        for each in queries:
            groups.setdefault(repr(each.inquiry.to_data()), []).append(each)
        return QueryBatch(groups=tuple(tuple(group) for group in groups.values()))

    def whole(self, group: tuple[ParsedQuery, ...]) -> ParsedQuery:
        """One question that asks for all that a group asks for."""
        outputs = tuple(output for each in group for output in each.outputs)
        having = next((each.having for each in group if each.having is not None), None)
        return replace(
            group[0], text=STATEMENT_SEPARATOR.join(each.text for each in group), outputs=outputs, having=having
        )

    def epsilons(self, total: Fraction) -> list[Fraction]:
        """What each group may spend so that nobody loses more than `total`.

        Weighed by how much a group measures, then raised together until the person whom the batch touches
        most loses `total`.
        """
        if len(self.groups) == 1:  # whom it touches, if anybody, loses the total
            return [Fraction(exact.units_down(total, 10**9), 10**9)]
        weights = [group_weight(self.whole(group)) for group in self.groups]
        shares = [total * weight / sum(weights) for weight in weights]
        tables: dict[object, Overlap] = {}
        for group, share in zip(self.groups, shares, strict=True):
            region = region_of(group[0].inquiry, group[0].reach)
            overlap = tables.setdefault(group[0].tables[0], Overlap())
            overlap.add(region, [exact.units_up(share, exact.EPSILON_UNITS)])
        fullest = sum(overlap.largest(Region.whole(), arm=0, nodes=_NODES).upper for overlap in tables.values())
        rise = max(Fraction(1), total * exact.EPSILON_UNITS / fullest) if fullest else Fraction(1)  # 0: nobody is in it
        return [Fraction(exact.units_down(share * rise, 10**9), 10**9) for share in shares]


def statistic_weights(query: ParsedQuery) -> list[float]:
    """How much of a group's epsilon each statistic gets, beside the others."""
    return [float(query.needs.get(index, 1)) ** (1 / 3) for index in range(len(query.inquiry.statistics))]


def group_weight(query: ParsedQuery) -> Fraction:
    """How much of a batch's epsilon a group gets: in proportion to need^(1/3), summed over what it measures."""
    inquiry, weight = query.inquiry, sum(statistic_weights(query))
    weight = (weight + len(inquiry.quantiles) + bool(inquiry.keys)) * len(inquiry.sets)
    return Fraction(max(1, round(100 * weight)), 100)


def has_many_numbers(query: ParsedQuery) -> bool:
    """Whether one statement asks for several sums over rows that may overlap: by FILTER, CASE, or grouping sets."""
    inquiry = query.inquiry
    return len(inquiry.statistics) * len(inquiry.sets) > 1 and not inquiry.keys and not inquiry.quantiles
