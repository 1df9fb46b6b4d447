"""From a declared table and an epsilon to marginals: read the wish, plan, reserve, measure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, get_args

from discreet import exact
from discreet.accounting.events import Reserved
from discreet.accounting.guarantee import Guarantee
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.errors import Refused, UsageError
from discreet.inference.linear.residual import Precision
from discreet.plan.cells import Axis
from discreet.plan.price import confidence_of
from discreet.program import Program
from discreet.schema.column import Column
from discreet.schema.schema import closest
from discreet.sql.keys import declared_axis
from discreet.tables.marginals.planning import Planned, plan
from discreet.tables.marginals.release import Marginals, expected_rmse, in_order, release_marginals, spending
from discreet.tables.marginals.workload import MOST_WEIGHT, Objective, Wish
from discreet.tables.reserving import Terms, left_out, reserve

#: Without an order, pairs of columns: what one column says about another.
ORDER = 2

#: What a wish says beside its columns.
_WISHES = ("order", "exactly", "tables", "objective")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for: columns and an order, or named tables with weights; columns None: all that have known keys."""

    columns: tuple[str, ...] | None = None
    order: int | None = None
    exactly: bool = False
    tables: tuple[tuple[tuple[str, ...], Fraction], ...] = ()
    objective: Objective = "mean"

    def __post_init__(self) -> None:
        if self.objective not in get_args(Objective):
            raise UsageError(f"the objective is mean or max, not {str(self.objective)[:40]!r}")
        if self.tables and self.order is not None and self.exactly:
            raise UsageError("named tables and an exact order say two things", hint="give one of the two")
        for names in [self.columns or (), *(names for names, _ in self.tables)]:
            lowered = [name.lower() for name in names]
            if twice := next((name for name in lowered if lowered.count(name) > 1), None):
                raise UsageError(f"the column {twice[:60]!r} is named twice")

    @staticmethod
    def of(
        columns: Sequence[str] | str = (),
        *,
        order: object = None,
        exactly: bool = False,
        tables: Mapping[Sequence[str], object] | Sequence[Sequence[str]] = (),
        objective: str = "mean",
        **unknown: object,
    ) -> Wanted:
        """What was asked, in the words of the command line or of Python. `tables`: names, or names to weights."""
        if unknown:
            name = next(iter(unknown))
            raise UsageError(f"marginals know no {name[:40]!r}", hint=closest(name, _WISHES))
        return Wanted(
            columns=_names(columns) or None,
            order=None if order is None else _whole(order),
            exactly=exactly,
            tables=tuple((_names(names), _weight(weight)) for names, weight in _weights(tables).items()),
            objective=objective,  # type: ignore[arg-type]  # checked at birth
        )


def _names(names: object) -> tuple[str, ...]:
    """Names of columns; one string is one name."""
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (names,)
    for name in found:
        if not isinstance(name, str):
            raise UsageError(f"a column is named by text, not by {str(name)[:40]}", hint='["sex", "ward"]')
    return found


def _weights(tables: object) -> Mapping[Any, object]:
    """Tables and how much each matters, where that is said; one string is a table of one column."""
    if isinstance(tables, Mapping):
        return tables
    found = (tables,) if isinstance(tables, str) or not isinstance(tables, Iterable) else tables
    return dict.fromkeys(map(_names, found), 1)


def _weight(value: object) -> Fraction:
    return exact.positive(value, name="a weight", most=Fraction(MOST_WEIGHT))


def _whole(value: object) -> int:
    found = exact.positive(value, name="the order", most=Fraction(1000))
    if found.denominator != 1:
        raise UsageError(f"the order is a whole number, got {exact.show(found)}")
    return int(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """A wish with its plan: what `--plan` shows. Free."""

    columns: tuple[Column, ...]
    axes: tuple[Axis, ...]
    shown: tuple[int, ...]
    event: Reserved
    planned: Planned
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
        sets = in_order(self.planned.wish.sets, self.shown)
        return [math.sqrt(self._precision.variance(tuple(sorted(axes)))) for axes in sets]

    @property
    def _precision(self) -> Precision:
        return self.planned.precision(self.planned.laws(self.event, rows=self.rows))

    def to_data(self) -> dict[str, Any]:
        sets = in_order(self.planned.wish.sets, self.shown)
        told = zip(sets, self.errors, strict=True)
        return {
            "marginals": [
                {"columns": [self.columns[axis].name for axis in axes], "standard_error": error} for axes, error in told
            ],
            "cells": sum(self.planned.wish.cells),
            "expected_rmse": self.expected_rmse,
            "lower_bound": self.lower_bound,
            "strategy": self.planned.words,
            "cost": spending(self.event).to_data(up=True),
            "warnings": list(self.warnings),
        }


def priced(
    wanted: Wanted,
    terms: Terms,
    *,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
    declared: Sequence[str] = (),
) -> Priced:
    """What the marginals would cost and how exact they would be. Free: it looks at no data.

    `declared`: the columns in the order of the file, which is how they are shown where none are named; what is
    measured does not depend on it.
    """
    columns = _columns(wanted, version)
    axes = tuple(_axis(column) for column in columns)
    wish = _wish(wanted, [column.name for column in columns], [axis.size for axis in axes])
    event = terms.event(guarantee, version, curator)
    found = Priced(
        columns=columns,
        axes=axes,
        shown=_shown(wanted.columns or tuple(declared), columns),
        event=event,
        planned=plan(wish, gaussian=event.epsilon is None),
        rows=version.schema.unit.rows,
        warnings=(),
    )
    return _noted(found, terms, version, guarantee, curator)


def _noted(price: Priced, terms: Terms, version: Version, guarantee: Guarantee, curator: Curator) -> Priced:
    """With what the reader should know of it."""
    limits = left_out(version, curator, [column.name for column in price.columns])
    told = (*limits, *terms.notes(price.event, guarantee), *_advice(price, guarantee))
    return replace(price, warnings=told)


def ask(
    wanted: Wanted,
    terms: Terms,
    *,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
    declared: Sequence[str] = (),
    confidence: object = "0.95",
    fresh: bool = False,
) -> Marginals:
    """Marginals of a version. One charge; the same wish again is read back from the ledger, free.

    Guarantee: all that is released is drawn from one reservation of what the terms allow, or public.
    """
    sure = confidence_of(confidence)
    price = priced(wanted, terms, version=version, guarantee=guarantee, curator=curator, declared=declared)
    asked = {"marginals": price.planned.wish.to_data(), "columns": [column.name.lower() for column in price.columns]}
    id_, event, known = reserve(asked, price.event, terms, version=version, curator=curator, asker=asker, fresh=fresh)
    if event != price.event:
        price = replace(price, event=event, planned=plan(price.planned.wish, gaussian=event.epsilon is None))
        price = _noted(price, terms, version, guarantee, curator)
    return release_marginals(
        Program(curator, version, id_),
        [column.name for column in price.columns],
        price.axes,
        _stored(id_, price.planned, asked["columns"], curator),
        shown=price.shown,
        confidence=sure,
        cached=known,
        warnings=price.warnings,
    )


def _stored(id_: str, planned: Planned, columns: Sequence[str], curator: Curator) -> Planned:
    """The plan by which a release is measured: the first that was made for it.

    Stored before the draw: a planner may get better, or round otherwise on another machine, and what is begun must be
    gone on with. With the names of its columns, for whoever reads the release alone.
    """
    told = curator.ledger.store(id_, json.dumps({"kind": "marginals", "columns": columns, **planned.to_data()}))
    return planned.from_data(json.loads(told))


def _advice(price: Priced, guarantee: Guarantee) -> Iterator[str]:
    """Where Gaussian noise at the same rho would be much better, say so: it is the owner's choice."""
    if price.event.epsilon is None or guarantee.limits.rho is None:
        return
    other = replace(price, event=replace(price.event, epsilon=None), planned=plan(price.planned.wish, gaussian=True))
    here, there = price.expected_rmse, other.expected_rmse
    if there < here / 2:
        yield (
            f"expected error {here:.3g}; Gaussian noise of the same rho {exact.show(price.event.rho)} would have "
            f'{there:.3g}: --delta D, or accounting = "zcdp" in the table\'s budget'
        )


def _columns(wanted: Wanted, version: Version) -> tuple[Column, ...]:
    """The columns in the version's own order: those that are named, or all that have known keys."""
    schema = version.schema
    named = {name for names, _ in wanted.tables for name in names} | set(wanted.columns or ())
    for name in sorted(named):
        if schema.column(name) is None:
            hint = closest(name, [column.name for column in schema.columns])
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
            f"the values of {column.name!r} are not declared, or are too many to count one by one",
            hint="declare values, or low, high and bins, in discreet.toml; discreet bounds finds them privately",
        )
    return axis


def _wish(wanted: Wanted, names: Sequence[str], sizes: Sequence[int]) -> Wish:
    if not names:
        raise UsageError("no column of the table has known keys", hint="declare values, or low, high and bins")
    lowered = [name.lower() for name in names]
    tables = {
        tuple(sorted(lowered.index(name.lower()) for name in own)): float(weight) for own, weight in wanted.tables
    }
    if len(tables) != len(wanted.tables):
        raise UsageError("a table is named twice")
    if tables and wanted.order is None:
        return Wish.of_sets(sizes, tables, objective=wanted.objective)
    order = min(ORDER, len(names)) if wanted.order is None else wanted.order
    found = Wish.of_order(sizes, order, exactly=wanted.exactly, objective=wanted.objective)
    weights = dict(zip(found.sets, found.weights, strict=True)) | tables
    return Wish.of_sets(sizes, weights, objective=wanted.objective)
