"""Released numbers: each the sum of one thing over the records of an exact region, plus noise of a known law."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.region import NOT_NULL, Box, Region
from discreet.answers.reconcile.exact_region import cells_of, exact_region, intersect_regions, rows_of
from discreet.inference.reconcile import ROWS, ColumnDomains, MeasuredNumber, is_reconcilable
from discreet.kernel.measurement import Law, Measurement, NoisyCells
from discreet.plan.cell_statistics import DistinctCount, PersonCount, RowCount, Statistic, Sum, statistic_name
from discreet.plan.expressions import Code, Whole
from discreet.plan.expressions import to_data as expression_data
from discreet.plan.inquiry import Inquiry
from discreet.plan.relation import Filter, LimitGroups, Plan, Scan
from discreet.schema.column import Label

#: A release with more cells than this stays out: least squares over all of them at once would take minutes.
MOST_CELLS = 2_000

#: Noise so small that its variance is lost in float64 counts as this much: a larger one is safe.
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ExclusionReason:
    """Why something is not reconciled. For people."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedNumber:
    """One released number: `family`, summed over the records of `region`, plus noise of `law`.

    `column`, `keys` and `step` are for people: what a reader sees is value * step. `least`: the true one is not less.
    """

    release: str
    family: str
    region: Region
    value: int
    law: Law
    least: int | None
    column: str
    keys: tuple[tuple[str, Label], ...] = ()
    step: Fraction = Fraction(1)

    @property
    def variance(self) -> float:
        return max(float(self.law.variance()), _LEAST_VARIANCE)

    def measured(self) -> MeasuredNumber:
        """The number as the numerics take it."""
        return MeasuredNumber(region=self.region, value=self.value, variance=self.variance, family=self.family)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLabels:
    """What people call the parts of an inquiry: its keys in order, and each statistic with the size of its step."""

    keys: tuple[str, ...] = ()
    statistics: Mapping[Statistic, tuple[str, Fraction]]


def family_of(statistic: Statistic) -> str | ExclusionReason:
    """What a statistic adds up, row by row; two of one family over disjoint records add to one over both.

    Because: a count of rows and a sum add a term for each row that depends on that row alone. A number of different
        values does not, and a sum in grains is rounded after it is added.
    """
    match statistic:
        case RowCount() | Sum(grain=1, of=Whole(value=1), centre=0):
            return ROWS
        case Sum(grain=1, of=of, centre=centre):
            return f"sum {expression_data(of)!r} - {centre}"
        case Sum():
            return ExclusionReason(reason="a sum that is rounded to a coarser grid: its parts do not add up exactly")
        case PersonCount():
            return ExclusionReason(reason="a count of people: one person may be counted in several parts")
        case DistinctCount():
            return ExclusionReason(reason="a count of distinct values: one value may occur in several parts")


def regions_of(
    inquiry: Inquiry, place: int, statistic: Statistic, domain: ColumnDomains
) -> tuple[Region, ...] | ExclusionReason:
    """The exact records of each cell of a grouping set that a statistic adds up, row-major."""
    if inquiry.keys:
        return ExclusionReason(reason="its keys were discovered: the data decided which groups it has")
    rows = rows_of(inquiry.plan)
    if rows is None:
        return ExclusionReason(reason=_joined(inquiry.plan))
    counted = intersect_regions([rows, exact_region(statistic.where), _added(statistic)])
    if counted is None:
        return ExclusionReason(reason=_NOT_BOXES)
    if math.prod(axis.size for axis in inquiry.sets[place]) > MOST_CELLS:
        return ExclusionReason(reason=f"more than {MOST_CELLS:,} cells at once")
    axes = [cells_of(axis, domain.columns) for axis in inquiry.sets[place]]
    cell_regions = [
        intersect_regions([counted, *cell]) for cell in itertools.product(*(axis or (None,) for axis in axes))
    ]
    exact_regions = tuple(region for region in cell_regions if region is not None and is_reconcilable(region, domain))
    return exact_regions if len(exact_regions) == len(cell_regions) else ExclusionReason(reason=_NOT_BOXES)


_NOT_BOXES = "its condition is not exactly made of ranges and values of declared columns"


def _joined(plan: Plan) -> str:
    while isinstance(plan, Filter):
        if rows_of(plan.source) is not None:
            return _NOT_BOXES
        plan = plan.source
    if isinstance(plan, LimitGroups):
        return "it leaves out rows of people that are in many groups"
    return "it counts people, not rows" if isinstance(plan, Scan) else "it is a join, or makes rows for each person"


def _added(statistic: Statistic) -> Region:
    """The records that add anything: a sum of a column passes over NULL."""
    if isinstance(statistic, Sum) and isinstance(statistic.of, Code) and statistic.of.null:
        return Region((Box({statistic.of.column: NOT_NULL}),))
    return Region.whole()


def numbers_of(
    measurement: Measurement, inquiry: Inquiry, names: NumberLabels, domain: ColumnDomains
) -> tuple[list[ReleasedNumber], list[ExclusionReason]]:
    """The numbers of a measurement that can be reconciled, and why others cannot."""
    released: list[ReleasedNumber] = []
    outside = [ExclusionReason(reason="a quantile: a position among the rows, not a sum")] if inquiry.quantiles else []
    order = inquiry.order
    for place, index in itertools.product(range(len(inquiry.sets)), range(len(inquiry.statistics))):
        statistic = inquiry.statistics[index]
        family, regions = family_of(statistic), regions_of(inquiry, place, statistic, domain)
        if isinstance(family, ExclusionReason) or isinstance(regions, ExclusionReason):
            outside += [each for each in (family, regions) if isinstance(each, ExclusionReason)][:1]
            continue
        drawn = _drawn(measurement, order.sets[place], order.statistics[index])
        if drawn is None or len(drawn[0]) != len(regions):
            outside.append(ExclusionReason(reason="it was stored in another form"))
            continue
        column, step = names.statistics.get(statistic, (statistic_name(statistic), Fraction(1)))
        keys = itertools.product(*(axis.labels for axis in inquiry.sets[place]))
        called = _key_labels(inquiry, place, names)
        released += [
            ReleasedNumber(
                release=measurement.id,
                family=family,
                region=region,
                value=value,
                law=drawn[1],
                least=_least(statistic),
                column=column,
                keys=tuple(zip(called, labels, strict=True)),
                step=step,
            )
            for region, value, labels in zip(regions, drawn[0], keys, strict=True)
        ]
    return released, list(dict.fromkeys(outside))


def _drawn(measurement: Measurement, place: int, number: int) -> tuple[tuple[int, ...], Law] | None:
    for part in measurement.parts:
        if isinstance(part, NoisyCells) and part.place == place and number in part.statistics:
            turn = part.statistics.index(number)
            return part.noisy_values[turn], part.laws[turn]
    return None


def _key_labels(inquiry: Inquiry, place: int, names: NumberLabels) -> list[str]:
    """The names of a grouping set's keys; `names.keys` goes by the first set that has each axis."""
    axes = list(dict.fromkeys(axis for axes in inquiry.sets for axis in axes))
    key_labels = [*names.keys, *(f"key {number + 1}" for number in range(len(names.keys), len(axes)))]
    return [key_labels[axes.index(axis)] for axis in inquiry.sets[place]]


def _least(statistic: Statistic) -> int | None:
    """0 where no row adds less; None where a row may take something away."""
    if isinstance(statistic, Sum):
        return 0 if statistic.of.low is not None and statistic.of.low >= statistic.centre else None
    return 0
