"""Why a question moves as little as it does, written out: what `verify/` derives again, and compares.

Facts go up the relation node by node (how many rows of it one unit can own, which columns have one value over them),
then to every noisy vector: its keys, the bounds of what is summed, four sensitivities, the law, the event. It states
what `plan.query_sensitivity` found and decides nothing. A checker that shares no code with it believes no number of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import Event
from discreet.kernel.measurement import ChosenBins, DiscoveredKeys, Measurement, NoisyCells, law_to_data
from discreet.mechanisms.topk import CANDIDATES, joining_delta
from discreet.mechanisms.topk import delta_of as topk_delta
from discreet.plan.cell_statistics import Sum
from discreet.plan.cells import Axis
from discreet.plan.expressions import Choose, Code, Expression, TextCode, columns, walk
from discreet.plan.inquiry import Inquiry
from discreet.plan.query_sensitivity import UnitReach, cells_touched, reach, reach_by_keys, sensitivity
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, LimitGroups, PerPerson, Plan, Scan
from discreet.schema.schema import Schema


def derivation_of(
    inquiry: Inquiry, measurements: Sequence[Measurement], schemas: Mapping[str, Schema]
) -> dict[str, Any]:
    """The question, its relation node by node, and every vector that was measured for it, as JSON data."""
    reached = reach(inquiry.plan, schemas)
    return {
        "question": inquiry.to_data(),
        "publics": list(_publics(inquiry.plan, inquiry)),
        "relation": list(_nodes(inquiry.plan, schemas)),
        "measured": {each.id: _Steps(inquiry=inquiry, reach=reached).of(each) for each in measurements},
    }


def _nodes(plan: Plan, schemas: Mapping[str, Schema]) -> Iterator[dict[str, Any]]:
    """Every node, what it reads first, with the facts that hold of its rows."""
    match plan:
        case Scan():
            named: dict[str, Any] = {"node": "roster" if plan.roster else "scan", "table": plan.table}
        case Filter(source=source):
            yield from _nodes(source, schemas)
            named = {"node": "filter"}
        case JoinPublic(source=source):
            yield from _nodes(source, schemas)
            named = {"node": "public", "table": plan.table, "fan_out": plan.fan_out}
        case JoinPerson(source=source, other=other):
            yield from _nodes(source, schemas)
            yield from _nodes(other, schemas)
            named = {"node": "person"}
        case PerPerson(source=source):
            yield from _nodes(source, schemas)
            named = {"node": "per person"}
        case LimitGroups(source=source, groups=groups, rows=rows):
            yield from _nodes(source, schemas)
            named = {"node": "limit", "groups": groups, "rows_per_group": rows}
        case _:
            assert_never(plan)
    reached = reach(plan, schemas)
    yield named | {"rows": reached.rows, "constant": sorted(reached.constant)}


def _publics(plan: Plan, inquiry: Inquiry) -> Iterator[dict[str, Any]]:
    """What the public tables are said to be: a checker does not have them. In the order of the relation's nodes."""
    match plan:
        case Scan():
            return
        case JoinPerson(source=source, other=other):
            yield from _publics(source, inquiry)
            yield from _publics(other, inquiry)
        case Filter(source=source) | PerPerson(source=source) | LimitGroups(source=source):
            yield from _publics(source, inquiry)
        case JoinPublic(source=source):
            yield from _publics(source, inquiry)
            codes = {code.column: code for code in _summed(inquiry) if code.column in plan.columns}
            yield {
                "table": plan.table,
                "content": plan.content,
                "fan_out": plan.fan_out,
                "columns": {name: _bounds(code) for name, code in sorted(codes.items())},
            }
        case _:
            assert_never(plan)


def _summed(inquiry: Inquiry) -> Iterator[Code | TextCode]:
    """The columns whose bounds matter: those of what is summed, here or for each person."""
    sums = [each.of for each in inquiry.statistics if isinstance(each, Sum)]
    for of in [*sums, *_inner(inquiry.plan)]:
        yield from (part for part in walk(of) if isinstance(part, Code | TextCode))


def _inner(plan: Plan) -> Iterator[Expression]:
    """What joins bring along and what is computed for each person: it may be summed further up."""
    match plan:
        case Scan():
            return
        case JoinPerson(source=source, other=other):
            yield from (expression for _, expression in plan.columns)
            yield from _inner(source)
            yield from _inner(other)
        case PerPerson(source=source):
            yield from (expression for _, expression in plan.keys)
            yield from (inner.of for _, inner in plan.values if hasattr(inner, "of"))
            yield from _inner(source)
        case Filter(source=source) | JoinPublic(source=source) | LimitGroups(source=source):
            yield from _inner(source)
        case _:
            assert_never(plan)


def _bounds(of: Expression) -> dict[str, Any]:
    return {"low": of.low, "high": of.high, "null": of.null}


def _terms(of: Expression) -> dict[str, Any]:
    """An expression with bounds at every node, conditions left out: they choose, and bound nothing."""
    if isinstance(of, Code | TextCode):
        return {"column": of.column} | _bounds(of)
    parts = (*(chosen for _, chosen in of.cases), of.otherwise) if isinstance(of, Choose) else tuple(_children(of))
    return {"node": type(of).__name__.lower()} | _bounds(of) | {"of": [_terms(part) for part in parts]}


def _children(of: Expression) -> Iterator[Expression]:
    for name in of.__match_args__:
        operand = getattr(of, name)
        yield from (
            part for part in (operand if isinstance(operand, tuple) else (operand,)) if isinstance(part, Expression)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    """The steps of one measurement: what each vector is, how far it moves, what was drawn on it."""

    inquiry: Inquiry
    reach: UnitReach

    def of(self, measurement: Measurement) -> list[dict[str, Any]]:
        drawn = iter(_parts(measurement.event))
        steps: list[dict[str, Any]] = []
        for place, part in enumerate(measurement.parts):
            match part:
                case NoisyCells():
                    for vector in range(len(part.statistics)):
                        steps.append({"part": place, "vector": vector} | self._vector(part, vector, next(drawn)))
                case ChosenBins():
                    steps.append({"part": place} | self._quantile(part, next(drawn)))
                case DiscoveredKeys():
                    steps.append({"part": place} | self._keys(part, next(drawn)))
                case _:
                    assert_never(part)
        return steps

    def _vector(self, part: NoisyCells, vector: int, event: Event) -> dict[str, Any]:
        axes = self.inquiry.sets[self.inquiry.order.sets.index(part.place)]
        number = part.statistics[vector]
        statistic = self.inquiry.statistics[self.inquiry.order.statistics.index(number)]
        touched = self._touched(axes)
        reached = reach_by_keys(self.reach, [*axes, *self.inquiry.keys])
        moves = sensitivity(statistic, reached, touched=touched["touched"])
        return (
            {"kind": "noise", "set": part.place, "statistic": number, "numbers": len(part.noisy_values[vector])}
            | touched
            | {"terms": _terms(statistic.of) if isinstance(statistic, Sum) else None}
            | {"l0": moves.l0, "l1": moves.l1, "l2_squared": moves.l2_squared, "linf": moves.linf}
            | {"law": law_to_data(part.laws[vector]), "event": events.to_data(event)}
        )

    def _touched(self, axes: Sequence[Axis]) -> dict[str, Any]:
        """In how many groups one unit can be, and by which facts."""
        keys = [*(axis.of for axis in axes), *self.inquiry.keys]
        groups = None if self.inquiry.keys else math.prod(axis.size for axis in axes)
        return {
            "groups": groups,
            "constant": all(columns(key) <= self.reach.constant for key in keys),
            "touched": cells_touched(keys, self.reach, groups=groups),
        }

    def _quantile(self, part: ChosenBins, event: Event) -> dict[str, Any]:
        quantile = self.inquiry.quantiles[self.inquiry.order.quantiles.index(part.quantile)]
        fraction = quantile.fraction
        step = max(fraction.numerator, fraction.denominator - fraction.numerator)
        return {
            "kind": "quantile",
            "set": part.place,
            "quantile": part.quantile,
            "numbers": len(part.noisy_bins),
            "bins": quantile.axis.size,
            "rows": self.reach.rows,
            "score": self.reach.rows * step,
            "event": events.to_data(event),
        }

    def _keys(self, part: DiscoveredKeys, event: Event) -> dict[str, Any]:
        most = cells_touched(self.inquiry.keys, self.reach)
        step: dict[str, Any] = {"numbers": len(part.keys), "touched": most}
        if isinstance(event, events.TopKEvent):
            margin = _margin(event, most)
            step = {"kind": "top-k", "margin": margin, "candidates": max(event.choices, CANDIDATES)} | step
        elif isinstance(event, events.WeightedThresholdEvent):
            step = {"kind": "weighted-threshold", "threshold": part.threshold} | step
        else:
            step = {"kind": "threshold", "threshold": part.threshold, "answers": part.answers} | step
        return step | {"event": events.to_data(event)}


def _parts(event: Event) -> tuple[Event, ...]:
    """The events of the steps, in their order. A quantile's choices are one of them."""
    if not isinstance(event, events.ComposedEvent):
        return (event,)
    choices = all(isinstance(part, events.ExponentialEvent | events.PermuteAndFlipEvent) for part in event.events)
    return (event,) if choices else event.events


def _margin(event: events.TopKEvent, most: int) -> int | None:
    """How far the stop stood above what is left out: the margin whose delta was charged; None where there is none.

    Versions before 0.2 charged the delta of joining alone, which is all that counts where no exact total is published.
    """
    strangers = min(most, max(event.choices, CANDIDATES))
    ratio = strangers * (1 - event.delta) / event.delta
    near = 1 + (round(exact.ln(ratio, up=True) / event.epsilon) if ratio > 1 else 0)
    for charged in (topk_delta, joining_delta):
        for margin in range(max(1, near - 2), near + 4):
            if charged(event.epsilon, margin=margin, strangers=strangers) == event.delta:
                return margin
    return None
