"""From a column and an epsilon to a release of its ranges: cut, plan, reserve, measure. Or a stored one, free.

Long because a release, its quote and its repeat are one path, in which each must do what the others do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from os import PathLike
from typing import Any, TypedDict, Unpack

import numpy as np

from discreet.accounting import events
from discreet.accounting.events import ReservationEvent
from discreet.accounting.region import Region
from discreet.answers.query_quote import FREE, cost_of
from discreet.answers.reconcile.table_readers import with_groups
from discreet.answers.row_condition import RowCondition
from discreet.errors import Flag, Message, UsageError
from discreet.inference.linear.solvers import solver_for
from discreet.inference.strategy_choice.strategy_plan import StrategyPlan, plan_strategy, rmse
from discreet.inference.strategy_choice.strategy_text import strategy_text
from discreet.inference.strategy_choice.workload import AllRanges, GivenRanges, Workload
from discreet.inference.strategy_choice.workload_error import mean_variance
from discreet.kernel.curator import Curator, Version
from discreet.kernel.measurement import Law, law_from_data, law_to_data
from discreet.kernel.program import Program
from discreet.kernel.project_session import Session
from discreet.ledger.records import ChargeRecord, Reservation
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy import strategy_data
from discreet.plan.cells import Axis
from discreet.plan.expressions import columns
from discreet.plan.relation import Filter
from discreet.schema.column import Column
from discreet.schema.schema import closest_name_hint
from discreet.tables.ranges.adaptive_partition import (
    TEST,
    AdaptiveMeasurement,
    evenness_test,
    law_of,
    measure_adaptively,
)
from discreet.tables.ranges.range_answers import Ranges
from discreet.tables.ranges.range_groups import RangesByGroup, group_axes
from discreet.tables.ranges.range_pairs import Pair, cells_of_pairs, read_pairs
from discreet.tables.ranges.ruler import Ruler, ruler_of
from discreet.tables.table_reservation import ReservationTerms, count_caveats, reserve

#: Strategies that can be asked for by name.
STRATEGIES = ("best", "adaptive", "identity", "binary")


class RangesCut(TypedDict, total=False):
    """Which rows, by which groups, and in which bins. `rows`: a condition that was read."""

    rows: RowCondition | None
    by: Sequence[str] | str
    bins: object
    width: object


@dataclass(frozen=True, slots=True, kw_only=True)
class RangesRequest:
    """What is asked: a column, perhaps ranges, how long to plan and by which strategy; and of which rows, by which
    groups, in which bins."""

    column: str
    pairs: list[Pair] | None = None
    strategy: str = "best"
    seconds: float = 1.0
    only: bool = False
    rows: RowCondition | None = None
    by: tuple[str, ...] = ()
    bins: object = None
    width: object = None

    @staticmethod
    def of(
        column: str,
        ranges: Iterable[Pair] | str | PathLike[str] | None,
        strategy: str = "best",
        seconds: object = 1,
        only: bool = False,
        **cut: Unpack[RangesCut],
    ) -> RangesRequest:
        """What is asked, checked. `only`: planned for the given ranges alone, with less noise for them."""
        if not isinstance(column, str) or not isinstance(strategy, str):
            raise UsageError("the names of the column and of the strategy must be text")
        if strategy not in STRATEGIES:
            raise UsageError(f"unknown strategy {strategy[:40]!r}", hint=closest_name_hint(strategy, STRATEGIES))
        if only and (ranges is None or strategy != "best"):
            raise UsageError(
                "only works with given ranges and the best strategy",
                hint=Message(Flag("ranges", "FILE"), " ", Flag("only", True)),
            )
        try:
            plan_seconds = float(str(seconds))
        except ValueError:
            plan_seconds = float("nan")
        if not 0 < plan_seconds <= 3600:
            raise UsageError(f"seconds must be above 0 and at most 3,600, got {str(seconds)[:40]}")
        by = cut.get("by", ())
        names = (by,) if isinstance(by, str) else tuple(by)
        if strategy == "adaptive" and names:
            raise UsageError(
                "the adaptive strategy works without groups", hint=Message("leave ", Flag("strategy"), " out")
            )
        return RangesRequest(
            column=column,
            pairs=read_pairs(ranges),
            strategy=strategy,
            seconds=plan_seconds,
            only=only,
            rows=cut.get("rows"),
            by=names,
            bins=cut.get("bins"),
            width=cut.get("width"),
        )

    @property
    def region(self) -> Region | None:
        """Whom it is about, where not everybody."""
        return None if self.rows is None else self.rows.region


@dataclass(frozen=True, slots=True, kw_only=True)
class RangesQuote:
    """What a release would be: its ruler, groups, plan and noise. Free, and the same on an empty table."""

    ruler: Ruler
    groups: tuple[Axis, ...]
    planned: StrategyPlan
    law: Law
    event: ReservationEvent
    places: tuple[tuple[int, int], ...]
    rows: int

    @property
    def expected_rmse(self) -> float:
        return rmse(self.planned, self.law)

    @property
    def lower_bound(self) -> float:
        """What no strategy of this kind goes below.

        The planner's bound is for continuous noise; discrete noise has less variance, in proportion least on a
        strategy whose columns are as short as whole numbers can be. That is taken off.
        """
        if isinstance(self.law, DiscreteLaplace):
            whole, least = 2 * self.law.scale**2, Fraction(self.rows) / (self.event.epsilon or Fraction(1))
            share = _variance(DiscreteLaplace, scale=least) / float(2 * least**2)
        else:
            whole, least = self.law.sigma2, Fraction(self.rows**2) / (2 * self.event.rho)
            share = _variance(DiscreteGaussian, sigma2=least) / float(least)
        return math.sqrt(self.planned.lower_bound * float(whole) * min(1.0, share))

    def to_data(self) -> dict[str, Any]:
        return {
            "column": self.ruler.column.name,
            "cells": self.ruler.cells,
            "groups": math.prod(axis.size for axis in self.groups),
            "strategy": self.planned.words,
            "expected_rmse": self.expected_rmse,
            "lower_bound": self.lower_bound,
            "rows_measured": self.planned.strategy.rows,
            "cost": cost_of(self.event).to_data(up=True),
        }


def quote(request: RangesRequest, terms: ReservationTerms, session: Session) -> RangesQuote:
    """Plan a release. Reads public facts alone."""
    return plan_release(request, terms.event(session, request.region), session.version)


@lru_cache(maxsize=4)
def _plan(workload: Workload, gaussian: bool, seconds: float, name: str) -> StrategyPlan:
    """A plan takes a second to make, and is asked for twice."""
    return plan_strategy(workload, gaussian=gaussian, seconds=seconds, strategy=name)


def plan_release(request: RangesRequest, event: ReservationEvent, version: Version) -> RangesQuote:
    """The plan of a release that costs a reservation."""
    ruler = _ruler(request, version)
    groups = group_axes(request.by, version.schema, beside=ruler)
    places = cells_of_pairs(request.pairs, ruler)
    workload: Workload = AllRanges(ruler.cells)
    if request.only:
        lows, highs = (np.array(ends, dtype=np.int64) for ends in zip(*places, strict=True))
        workload = GivenRanges(ruler.cells, lows, highs)
    names = {"best": ("best", "identity"), "adaptive": ("best", "identity")}.get(request.strategy, (request.strategy,))
    plans = [_plan(workload, event.epsilon is None, request.seconds, name) for name in names]
    rows, share = version.schema.unit.rows, Fraction(1) - (TEST if request.strategy == "adaptive" else 0)
    # By the real law: at a large epsilon discrete noise on single cells is all but nothing, and no plan is better.
    best = min(plans, key=lambda each: rmse(each, law_of(each.strategy, event, rows, share)))
    if request.strategy == "adaptive":
        evenness_test(ruler.cells, best, event, rows)
    law = law_of(best.strategy, event, rows, share)
    return RangesQuote(ruler=ruler, groups=groups, planned=best, law=law, event=event, places=places, rows=rows)


def _variance(kind: Any, **given: Fraction) -> float:
    try:
        return float(kind(**given).variance())
    except UsageError:  # noise so small that nobody draws it
        return 0.0


def _ruler(request: RangesRequest, version: Version) -> Ruler:
    column = version.schema.column(request.column)
    if column is None:
        hint = closest_name_hint(request.column, [each.name for each in version.schema.columns])
        raise UsageError(f"table {version.table!r} has no column {request.column[:60]!r}", hint=hint)
    return ruler_of(column, table=version.table, bins=request.bins, width=request.width)


def release(
    request: RangesRequest,
    terms: ReservationTerms | None,
    session: Session,
    *,
    fresh: bool = False,
) -> Ranges | RangesByGroup:
    """The ranges of a column: from a stored release that is exact enough, free; else measured and charged.

    Guarantee: one charge of a reservation, and all that is read is drawn from it or public.
    """
    version, curator = session.version, session.curator
    ruler = _ruler(request, version)
    group_axes(request.by, version.schema, beside=ruler)
    places = cells_of_pairs(request.pairs, ruler)
    stored = None if fresh else _find_stored(request, ruler, places, terms, session)
    if stored is not None:
        return stored
    if terms is None:
        raise UsageError(
            f"no stored release of {request.column!r} can answer these ranges for version {version.number}",
            hint=_hint_elsewhere(ruler, version, curator),
        )
    event = terms.event(session, request.region)
    question_data: dict[str, Any] = {
        "ranges": ruler.column.name,
        "edges": _edges(ruler),
        "workload": places if request.only else "all",
        "strategy": request.strategy,
        "seconds": request.seconds,
        **_narrowing(request, ruler),
    }
    plan_release(request, event, version)  # what cannot be planned is refused before it is paid
    reservation_id, event, is_repeat = reserve(question_data, event, terms, session, fresh=fresh, region=request.region)
    # Stored before the draw: a planner may get better, and what is begun must be gone on with.
    summary = _summary(request, plan_release(request, event, version))
    payload = json.loads(curator.ledger.store(reservation_id, json.dumps(summary)))
    made = _read(payload, reservation_id, ruler, request, version=version, curator=curator, cached=is_repeat)
    notes = tuple(terms.notes(event, session.guarantee))
    return _by_group(replace(made, requested_cells=places, warnings=(*made.warnings, *notes)), request, version)


def _summary(request: RangesRequest, quoted: RangesQuote) -> dict[str, Any]:
    """What a release is read by for ever. Public facts."""
    return {
        "kind": "ranges",
        "column": quoted.ruler.column.name,
        "edges": _edges(quoted.ruler),
        "only": request.only,
        "name": request.strategy,
        "adaptive": request.strategy == "adaptive",
        "strategy": strategy_data.strategy_to_data(quoted.planned.strategy),
        "mean_variance": quoted.planned.mean_variance,
        "law": law_to_data(quoted.law),
        "words": quoted.planned.words,
        "expected_rmse": quoted.expected_rmse,
        **_narrowing(request, quoted.ruler),
        **({} if request.rows is None else {"where": request.rows.text}),
    }


def _narrowing(request: RangesRequest, ruler: Ruler) -> dict[str, Any]:
    """Which groups, rows and bins, where anything is said of them. What is said of none is as it always was."""
    narrowing: dict[str, Any] = {"by": list(request.by)} if request.by else {}
    if request.rows is not None:
        narrowing["meaning"] = request.rows.meaning
    return narrowing | ({"cut": ruler.cut} if ruler.cut else {})


def _edges(ruler: Ruler) -> list[int]:
    """The cut of a column in few numbers: first edge, last edge and cells where they are even."""
    even = ruler.column.edges is None and not ruler.cut
    return [ruler.edges[0], ruler.edges[-1], ruler.cells] if even else list(ruler.edges)


def stored_ruler(payload: Mapping[str, Any], column: Column) -> Ruler:
    """The ruler of a stored release: of the declaration, or of the bins that were asked for."""
    ruler = ruler_of(column)
    return replace(ruler, edges=tuple(payload["edges"]), cut=payload["cut"]) if payload.get("cut") else ruler


def _read(
    payload: dict[str, Any],
    reservation_id: str,
    ruler: Ruler,
    request: RangesRequest,
    *,
    version: Version,
    curator: Curator,
    cached: bool,
) -> Ranges:
    """A release as it was begun: what was drawn is read back, what was not is drawn now.

    By groups: the numbers of all of them, one group after the other.
    """
    program = Program(curator, version, reservation_id, plan=None if request.rows is None else request.rows.plan)
    ranges = Ranges(
        release=reservation_id,
        table=version.table,
        version=version.number,
        ruler=ruler,
        strategy=strategy_data.strategy_from_data(payload["strategy"]),
        law=law_from_data(payload["law"]),
        noisy=np.zeros(0, dtype=np.int64),
        words=payload["words"],
        expected_rmse=payload["expected_rmse"],
        cost=FREE if cached else cost_of(program.event, curator.ledger.state.charges[reservation_id].moved),
        cached=cached,
        where=payload.get("where"),
        warnings=(
            "no range counts rows where the column is NULL",
            *count_caveats(version, curator, _columns_read(request, ruler)),
        ),
    )
    drawn = read_or_measure(program, payload, ruler)
    return _with_measurement(ranges, drawn) if isinstance(drawn, AdaptiveMeasurement) else replace(ranges, noisy=drawn)


def _columns_read(request: RangesRequest, ruler: Ruler) -> list[str]:
    """The columns that a release depends on: its own, those of its groups, and those of its condition."""
    names = [ruler.column.name, *request.by]
    plan = None if request.rows is None else request.rows.plan
    while isinstance(plan, Filter):
        names += sorted(columns(plan.where))
        plan = plan.source
    return list(dict.fromkeys(names))


def read_or_measure(program: Program, payload: dict[str, Any], ruler: Ruler) -> Integers | AdaptiveMeasurement:
    """What a stored release says it measures: read back where it was drawn, else drawn now."""
    strategy = strategy_data.strategy_from_data(payload["strategy"])
    if not payload["adaptive"]:
        groups = group_axes(payload.get("by", ()), program.version.schema, beside=ruler)
        measured = with_groups([axis.size for axis in groups], strategy)
        return program.linear((*groups, ruler.axis()), [(measured, law_from_data(payload["law"]))])[0]
    planned = StrategyPlan(
        workload=AllRanges(ruler.cells),
        strategy=strategy,
        gaussian=program.event.epsilon is None,
        mean_variance=payload["mean_variance"],
        lower_bound=0.0,
        words=payload["words"],
    )
    return measure_adaptively(program, ruler.axis(), planned)


def is_self_consistent(payload: dict[str, Any], ruler: Ruler) -> bool:
    """Whether what a stored release says of itself follows from its column and strategy.

    Of a strategy for given ranges alone, which are not stored, the variance that was planned is what it says.
    """
    if type(payload["only"]) is not bool or payload["name"] not in STRATEGIES:
        return False
    if (payload["edges"], payload["adaptive"]) != (_edges(ruler), payload["name"] == "adaptive"):
        return False
    variance, strategy = payload["mean_variance"], strategy_data.strategy_from_data(payload["strategy"])
    if not payload["only"]:
        planned_variance = mean_variance(AllRanges(ruler.cells), solver_for(strategy))
        if payload["words"] != strategy_text(strategy) or not math.isclose(variance, planned_variance, rel_tol=1e-9):
            return False
    expected = math.sqrt(variance * law_from_data(payload["law"]).variance())
    return math.isclose(payload["expected_rmse"], expected, rel_tol=1e-9)


def _with_measurement(ranges: Ranges, drawn: AdaptiveMeasurement) -> Ranges:
    """A release by a partition, or by the fixed strategy where the test spoke against one."""
    ranges = replace(ranges, strategy=drawn.strategy, law=drawn.law, noisy=drawn.noisy, expected_rmse=drawn.noise_rmse)
    if drawn.buckets is None:
        return replace(ranges, words=f"{ranges.words} (a private test found that buckets would not help)")
    return replace(
        ranges,
        spread=True,
        words=f"{drawn.buckets:,} buckets, chosen by a private test",
        warnings=(
            *ranges.warnings,
            "rows are assumed to be spread evenly inside a bucket; the confidence intervals do not cover that error",
        ),
    )


def _find_stored(
    request: RangesRequest,
    ruler: Ruler,
    places: tuple[tuple[int, int], ...],
    terms: ReservationTerms | None,
    session: Session,
) -> Ranges | RangesByGroup | None:
    """The most exact stored release of the column that tells these ranges and cost what is offered now, or more."""
    version, curator, narrowing = session.version, session.curator, _narrowing(request, ruler)
    least = Fraction(0) if terms is None else terms.event(session, request.region).rho
    releases = [each for each in _releases(ruler, version, curator) if events.loss(each[1]).rho >= least]
    # The most exact first; one by a partition, whose intervals speak of noise alone, only where there is no other.
    for reservation_id, _, payload in sorted(
        releases, key=lambda each: (each[2]["adaptive"], each[2]["expected_rmse"], each[0])
    ):
        if terms is not None and (payload["only"], payload["name"]) != (request.only, request.strategy):
            continue  # who pays gets what they ask for
        if request.strategy not in ("best", payload["name"]):
            continue
        if any(payload.get(name, none) != narrowing.get(name, none) for name, none in _NARROWED.items()):
            continue
        made = _read(payload, reservation_id, ruler, request, version=version, curator=curator, cached=True)
        if made.determines(places):
            return _by_group(replace(made, requested_cells=places), request, version)
    return None


#: What of a release must be the same for it to be read again, and what it is where nothing is said.
_NARROWED: Mapping[str, Any] = {"by": [], "meaning": None, "cut": ""}


def _by_group(made: Ranges, request: RangesRequest, version: Version) -> Ranges | RangesByGroup:
    """A release as whoever asked for it reads it: of each group, where groups were asked for."""
    if not request.by:
        return made
    axes = group_axes(request.by, version.schema, beside=made.ruler)
    return RangesByGroup.of(made, request.by, axes, version.schema)


def _hint_elsewhere(ruler: Ruler, version: Version, curator: Curator) -> str:
    """Where ranges might be read that are not stored for this version."""
    ledger = curator.ledger
    for reservation in reversed(ledger.refresh().reservations.values()):
        charge = ledger.state.charges[reservation.id]
        if charge.table != version.table or reservation.id not in ledger.state.answers:
            continue
        payload = json.loads(ledger.answer(reservation.id))
        if payload.get("kind") != "ranges" or payload["column"] != ruler.column.name:
            continue
        if charge.version != version.number:
            return Message(
                f"{reservation.id} is about version {charge.version}; ", Flag("epsilon", 1), " measures this version"
            )
        if not _is_used_up(reservation):
            return Message(
                f"{reservation.id} was charged but not finished: run the same command with its ",
                Flag("epsilon"),
                " to finish it; that is free",
            )
    return Message(Flag("epsilon", 1), " makes one that can")


def _releases(
    ruler: Ruler, version: Version, curator: Curator
) -> Iterator[tuple[str, ReservationEvent, dict[str, Any]]]:
    """Finished releases of the ranges of a column of this version."""
    ledger = curator.ledger
    state = ledger.refresh()
    finished = {
        reservation.id: reservation
        for reservation in list(state.reservations.values())
        if _is_about(state.charges[reservation.id], version)
        and reservation.id in state.answers
        and reservation.steps
        and reservation.steps[-1].id in state.answers
        and _is_used_up(reservation)
    }
    for id_, text in ledger.stored_texts(list(finished)).items():
        payload, reservation = json.loads(text), finished[id_]
        if payload.get("kind") == "ranges" and (payload["column"], payload["edges"]) == (
            ruler.column.name,
            _edges(ruler),
        ):
            yield reservation.id, reservation.event, payload


def _is_about(charge: ChargeRecord, version: Version) -> bool:
    return (charge.table, charge.version) == (version.table, version.number)


def _is_used_up(reservation: Reservation) -> bool:
    """Whether a reservation was used up: its last step was drawn."""
    losses = [step.loss for step in reservation.steps]
    if reservation.event.epsilon is not None:
        return sum((loss.epsilon or Fraction(0) for loss in losses), Fraction(0)) == reservation.event.epsilon
    return sum((loss.rho for loss in losses), Fraction(0)) == reservation.event.rho
