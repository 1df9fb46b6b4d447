"""From a declared table and an epsilon to marginals: read the wish, plan, reserve, measure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypedDict, get_args

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.accounting.guarantee import Guarantee
from discreet.errors import Command, Flag, Message, Refused, UsageError
from discreet.inference.linear.residual_fit import ResidualPrecision
from discreet.kernel.curator import Curator, Version
from discreet.kernel.program import Program
from discreet.kernel.project_session import Session
from discreet.plan.cells import Axis
from discreet.plan.price import confidence_of
from discreet.schema.column import Column
from discreet.schema.schema import closest_name_hint
from discreet.sql.group_keys import declared_axis
from discreet.tables.marginals.marginal_workload import MOST_WEIGHT, MarginalWorkload, Objective
from discreet.tables.marginals.marginals_plan import MarginalsPlan, plan_marginals
from discreet.tables.marginals.marginals_release import (
    MarginalsRelease,
    expected_rmse,
    release_marginals,
    reservation_cost,
    sets_in_shown_order,
)
from discreet.tables.table_reservation import ReservationTerms, count_caveats, reserve

#: Without an order, pairs of columns: what one column says about another.
ORDER = 2


class MarginalsOptions(TypedDict, total=False):
    """What a wish says beside its columns. `tables`: names, or names to weights."""

    order: object
    exactly: bool
    tables: Mapping[Sequence[str], object] | Sequence[Sequence[str]]
    objective: str


#: The same, by name.
_WISHES = tuple(MarginalsOptions.__annotations__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalsRequest:
    """What is asked for: columns and an order, or named tables with weights; columns None: all that have known keys."""

    columns: tuple[str, ...] | None = None
    order: int | None = None
    exactly: bool = False
    tables: tuple[tuple[tuple[str, ...], Fraction], ...] = ()
    objective: Objective = "mean"

    def __post_init__(self) -> None:
        if self.objective not in get_args(Objective):
            raise UsageError(f"the objective must be mean or max, got {str(self.objective)[:40]!r}")
        if self.tables and self.order is not None and self.exactly:
            raise UsageError("named tables cannot be combined with an exact order", hint="give one of the two")
        for names in [self.columns or (), *(names for names, _ in self.tables)]:
            lowered = [name.lower() for name in names]
            if twice := next((name for name in lowered if lowered.count(name) > 1), None):
                raise UsageError(f"column {twice[:60]!r} is named twice")

    @staticmethod
    def of(
        columns: Sequence[str] | str = (),
        *,
        order: object = None,
        exactly: bool = False,
        tables: Mapping[Sequence[str], object] | Sequence[Sequence[str]] = (),
        objective: str = "mean",
        **unknown: object,
    ) -> MarginalsRequest:
        """What was asked, in the words of the command line or of Python. `tables`: names, or names to weights."""
        if unknown:
            name = next(iter(unknown))
            raise UsageError(f"marginals have no option {name[:40]!r}", hint=closest_name_hint(name, _WISHES))
        return MarginalsRequest(
            columns=_names(columns) or None,
            order=None if order is None else _whole(order),
            exactly=exactly,
            tables=tuple((_names(names), _weight(weight)) for names, weight in _weights(tables).items()),
            objective=objective,  # type: ignore[arg-type]  # checked at birth
        )


def _names(names: object) -> tuple[str, ...]:
    """Names of columns; one string is one name."""
    given_names = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (names,)
    for name in given_names:
        if not isinstance(name, str):
            raise UsageError(f"a column name must be text, got {str(name)[:40]}", hint='["sex", "ward"]')
    return given_names


def _weights(tables: object) -> Mapping[Any, object]:
    """Tables and how much each matters, where that is said; one string is a table of one column."""
    if isinstance(tables, Mapping):
        return tables
    given_tables = (tables,) if isinstance(tables, str) or not isinstance(tables, Iterable) else tables
    return dict.fromkeys(map(_names, given_tables), 1)


def _weight(value: object) -> Fraction:
    return exact.positive(value, name="a weight", most=Fraction(MOST_WEIGHT))


def _whole(value: object) -> int:
    number = exact.positive(value, name="the order", most=Fraction(1000))
    if number.denominator != 1:
        raise UsageError(f"the order must be a whole number, got {exact.show(number)}")
    return int(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalsQuote:
    """A wish with its plan: what `--plan` shows. Free."""

    columns: tuple[Column, ...]
    axes: tuple[Axis, ...]
    shown: tuple[int, ...]
    event: ReservationEvent
    planned: MarginalsPlan
    rows: int
    warnings: tuple[str, ...]

    @property
    def expected_rmse(self) -> float:
        """The root of the mean variance over all cells, by weight."""
        return expected_rmse(self.planned, self._precision)

    @property
    def lower_bound(self) -> float:
        """What the root of the mean variance (of the worst table, under `max`) is at least, for all strategies."""
        unit = 1 / (2 * self.event.rho) if self.event.epsilon is None else 2 / self.event.epsilon**2
        return self.rows * math.sqrt(self.planned.lower_bound * float(unit))

    @property
    def errors(self) -> list[float]:
        """The standard error of a cell of each table, in the order in which they are shown."""
        sets = sets_in_shown_order(self.planned.workload.sets, self.shown)
        return [math.sqrt(self._precision.variance(tuple(sorted(axes)))) for axes in sets]

    @property
    def _precision(self) -> ResidualPrecision:
        return self.planned.precision(self.planned.laws(self.event, rows=self.rows))

    def to_data(self) -> dict[str, Any]:
        sets = sets_in_shown_order(self.planned.workload.sets, self.shown)
        set_errors = zip(sets, self.errors, strict=True)
        return {
            "marginals": [
                {"columns": [self.columns[axis].name for axis in axes], "standard_error": error}
                for axes, error in set_errors
            ],
            "cells": sum(self.planned.workload.cells),
            "expected_rmse": self.expected_rmse,
            "lower_bound": self.lower_bound,
            "strategy": self.planned.words,
            "cost": reservation_cost(self.event).to_data(up=True),
            "warnings": list(self.warnings),
        }


def quote_marginals(
    request: MarginalsRequest,
    terms: ReservationTerms,
    session: Session,
    *,
    declared: Sequence[str] = (),
) -> MarginalsQuote:
    """What the marginals would cost and how exact they would be. Free: it looks at no data.

    `declared`: the columns in the order of the file, which is how they are shown where none are named; what is
    measured does not depend on it.
    """
    columns = _columns(request, session.version)
    axes = tuple(_axis(column) for column in columns)
    workload = _workload(request, [column.name for column in columns], [axis.size for axis in axes])
    event = terms.event(session)
    quote = MarginalsQuote(
        columns=columns,
        axes=axes,
        shown=_shown(request.columns or tuple(declared), columns),
        event=event,
        planned=plan_marginals(workload, gaussian=event.epsilon is None),
        rows=session.version.schema.unit.rows,
        warnings=(),
    )
    return _with_warnings(quote, terms, session)


def _with_warnings(price: MarginalsQuote, terms: ReservationTerms, session: Session) -> MarginalsQuote:
    """With what the reader should know of it."""
    guarantee = session.guarantee
    limits = count_caveats(session.version, session.curator, [column.name for column in price.columns])
    warnings = (*limits, *terms.notes(price.event, guarantee), *_advice(price, guarantee))
    return replace(price, warnings=warnings)


def release_requested(
    request: MarginalsRequest,
    terms: ReservationTerms,
    session: Session,
    *,
    declared: Sequence[str] = (),
    confidence: object = "0.95",
    fresh: bool = False,
) -> MarginalsRelease:
    """Marginals of a version. One charge; the same wish again is read back from the ledger, free.

    Guarantee: all that is released is drawn from one reservation of what the terms allow, or public.
    """
    sure = confidence_of(confidence)
    price = quote_marginals(request, terms, session, declared=declared)
    question_data = {
        "marginals": price.planned.workload.to_data(),
        "columns": [column.name.lower() for column in price.columns],
    }
    id_, event, is_repeat = reserve(question_data, price.event, terms, session, fresh=fresh)
    if event != price.event:
        price = replace(
            price, event=event, planned=plan_marginals(price.planned.workload, gaussian=event.epsilon is None)
        )
        price = _with_warnings(price, terms, session)
    return release_marginals(
        Program(session.curator, session.version, id_),
        [column.name for column in price.columns],
        price.axes,
        _stored_plan(id_, price.planned, question_data["columns"], session.curator),
        shown=price.shown,
        confidence=sure,
        cached=is_repeat,
        warnings=price.warnings,
    )


def _stored_plan(id_: str, planned: MarginalsPlan, columns: Sequence[str], curator: Curator) -> MarginalsPlan:
    """The plan by which a release is measured: the first that was made for it.

    Stored before the draw: a planner may get better, or round otherwise on another machine, and what is begun must be
    gone on with. With the names of its columns, for whoever reads the release alone.
    """
    stored_text = curator.ledger.store(id_, json.dumps({"kind": "marginals", "columns": columns, **planned.to_data()}))
    return planned.from_data(json.loads(stored_text))


def _advice(price: MarginalsQuote, guarantee: Guarantee) -> Iterator[str]:
    """Where Gaussian noise at the same rho would be much better, say so: it is the owner's choice."""
    if price.event.epsilon is None or guarantee.limits.rho is None:
        return
    other = replace(
        price, event=replace(price.event, epsilon=None), planned=plan_marginals(price.planned.workload, gaussian=True)
    )
    here, there = price.expected_rmse, other.expected_rmse
    if there < here / 2:
        yield (
            Message(
                f"the expected error is {here:,.3g}; Gaussian noise at the same rho, "
                f"{exact.show(price.event.rho)}, would have {there:,.3g}: use ",
                Flag("delta", "D"),
                ', or accounting = "zcdp" in the table\'s budget',
            )
        )


def _columns(request: MarginalsRequest, version: Version) -> tuple[Column, ...]:
    """The columns in the version's own order: those that are named, or all that have known keys."""
    schema = version.schema
    named = {name for names, _ in request.tables for name in names} | set(request.columns or ())
    for name in sorted(named):
        if schema.column(name) is None:
            hint = closest_name_hint(name, [column.name for column in schema.columns])
            raise UsageError(f"table {version.table!r} has no column {name[:60]!r}", hint=hint)
    lowered = {name.lower() for name in named}
    if lowered:
        return tuple(column for column in schema.columns if column.name.lower() in lowered)
    return tuple(column for column in schema.columns if declared_axis(column) is not None)


def _shown(order: Sequence[str], columns: Sequence[Column]) -> tuple[int, ...]:
    """The places of the columns in the order in which people know them."""
    ranks = {name.lower(): rank for rank, name in enumerate(order)}
    return tuple(sorted(range(len(columns)), key=lambda place: ranks.get(columns[place].name.lower(), len(ranks))))


def _axis(column: Column) -> Axis:
    axis = declared_axis(column)
    if axis is None:
        raise Refused(
            f"the values of {column.name!r} are not declared, or there are too many to count each one",
            hint=Message(
                "declare values, or low, high and bins, in discreet.toml; ", Command("bounds"), " finds them privately"
            ),
        )
    return axis


def _workload(request: MarginalsRequest, names: Sequence[str], sizes: Sequence[int]) -> MarginalWorkload:
    if not names:
        raise UsageError("no column of the table has declared values", hint="declare values, or low, high and bins")
    lowered = [name.lower() for name in names]
    tables = {
        tuple(sorted(lowered.index(name.lower()) for name in own)): float(weight) for own, weight in request.tables
    }
    if len(tables) != len(request.tables):
        raise UsageError("a table is named twice")
    if tables and request.order is None:
        return MarginalWorkload.of_sets(sizes, tables, objective=request.objective)
    order = min(ORDER, len(names)) if request.order is None else request.order
    by_order = MarginalWorkload.of_order(sizes, order, exactly=request.exactly, objective=request.objective)
    weights = dict(zip(by_order.sets, by_order.weights, strict=True)) | tables
    return MarginalWorkload.of_sets(sizes, weights, objective=request.objective)
