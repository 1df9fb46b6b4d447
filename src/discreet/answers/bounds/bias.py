"""What the declared limits take away, estimated privately: rows beyond rows_per_person, numbers beyond their bounds.

A noise interval does not speak of either. Here both stand side by side, so that a person can choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np

from discreet.answers.bounds.bounds_terms import BoundsTerms
from discreet.answers.bounds.missing_bounds import ROWS_PER_PERSON, named_columns, refuse_other_persons
from discreet.answers.bounds.step_purchases import StepPurchases
from discreet.answers.bounds.truncation import CONFIDENCE, Truncation, roster_prices, truncation_of
from discreet.answers.query_quote import spending
from discreet.errors import Command, Message, UsageError
from discreet.kernel.curator import Version
from discreet.kernel.measurement import Measurement, NoisyCells
from discreet.kernel.project_session import Session
from discreet.mechanisms.noise_combination import CombinedNoise
from discreet.plan import formula
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Axis
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import Price, price
from discreet.plan.query_sensitivity import reach
from discreet.plan.relation import Scan
from discreet.release import Spending
from discreet.schema.column import Column, Label, MomentColumn, NumberColumn
from discreet.schema.schema import Table
from discreet.sql.typed_expression import column_expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamping:
    """Between what the share of a column's rows lies that are at each bound, or were moved there.

    None where the noise leaves open whether there is any row, or what share it is.
    """

    column: str
    low: Label
    high: Label
    at_low: tuple[float, float] | None
    at_high: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bias:
    """Truncation, where there are persons, and clamping of each column, with their price."""

    table: str
    version: int
    terms: BoundsTerms
    truncation: Truncation | None
    clamping: tuple[Clamping, ...]
    cost: Spending
    spent: Spending
    remaining: Spending
    releases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasScope:
    """What is to be judged: the limit of rows, and columns with bounds."""

    persons: bool
    columns: tuple[NumberColumn | MomentColumn, ...]


def estimate_bias(scope: BiasScope, terms: BoundsTerms, session: Session) -> Bias:
    """What limits and bounds take away.

    Guarantee: the losses of all charges add to terms.epsilon or less.
    Because: the roster and each column get equal shares of it, and losses add.
    """
    version, persons, columns = session.version, scope.persons, scope.columns
    share = terms.epsilon / (persons + len(columns))
    text = f"discreet bounds {version.table} --report"
    purse = StepPurchases(session=session, text=text)
    clamped = _clamped_price(version, columns, epsilon=share * len(columns)) if columns else None
    truncated: Truncation | None = None
    clamping: tuple[Clamping, ...] = ()
    if persons:
        wide, narrow = roster_prices(version, epsilon=share)
        coming = [] if clamped is None else [clamped.event]
        persons_wide = purse.buy(wide, coming=[narrow.event, *coming])
        persons_narrow = purse.buy(narrow, coming=coming)
        truncated = truncation_of(persons_wide, persons_narrow, terms, declared=version.schema.unit.rows)
    if clamped is not None:
        clamping = _clamping(purse.buy(clamped), columns, clamped.inquiry.order.sets)
    standing = session.ledger.account_status(version.population)
    return Bias(
        table=version.table,
        version=version.number,
        terms=terms,
        truncation=truncated,
        clamping=clamping,
        cost=purse.cost,
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        releases=tuple(purse.releases),
    )


def bias_scope(table: Table, version: Version, names: Sequence[str]) -> BiasScope:
    """What is asked about: of the columns named, else of all that have bounds, as the version declares them."""
    refuse_other_persons(table, version)
    chosen = named_columns(table, names)
    persons = ROWS_PER_PERSON in chosen
    if persons and version.schema.unit.is_row:
        raise UsageError(f"each row of {table.name!r} is one person, so no row is left out")
    columns = [version.schema.column(column.name) for column in chosen if not isinstance(column, str)]
    if any(column is None or not _bounded(column) for column in columns):
        raise UsageError(
            "only bounds of numbers, dates and timestamps can be checked, and only in a version that has them",
            hint=Message(
                Command("bounds", table.name, "COLUMN"),
                " finds bounds; ",
                Command("refresh", table.name),
                " applies them",
            ),
        )
    if not names:
        persons = not version.schema.unit.is_row
        columns = [column for column in version.schema.columns if _bounded(column)]
    if not persons and not columns:
        raise UsageError(
            f"{table.name!r} has no limit on rows and no bounds, so nothing is left out", hint="declare low and high"
        )
    return BiasScope(
        persons=persons, columns=tuple(one for one in columns if isinstance(one, NumberColumn | MomentColumn))
    )


def _bounded(column: Column) -> bool:
    if not isinstance(column, NumberColumn | MomentColumn) or column.low is None or column.high is None:
        return False
    return column.low < column.high


def _clamped_price(version: Version, columns: Sequence[NumberColumn | MomentColumn], *, epsilon: Fraction) -> Price:
    """For each column the rows at its low, between, and at its high bound: one histogram, which a row enters once."""
    plan = Scan(table=version.table, version=version.number)
    axes = [
        Axis(of=column_expression(column).expression, edges=_clamped_edges(column), null=False, labels=())
        for column in columns
    ]
    return price(
        Inquiry(plan=plan, sets=tuple((axis,) for axis in axes), statistics=(RowCount(),)),
        reach(plan, {version.table: version.schema}),
        needs={},
        epsilon=epsilon,
    )


def _clamped_edges(column: NumberColumn | MomentColumn) -> tuple[int, ...]:
    assert column.low is not None and column.high is not None
    return tuple(sorted({column.low, column.low + 1, column.high, column.high + 1}))


def _clamping(
    measured: Measurement, columns: Sequence[NumberColumn | MomentColumn], places: Sequence[int]
) -> tuple[Clamping, ...]:
    """`places`: under which number the cells of each column are stored, in whatever order they were asked for."""
    parts = {part.place: part for part in measured.parts if isinstance(part, NoisyCells)}
    clampings = []
    for column, place in zip(columns, places, strict=True):
        part = parts[place]
        assert column.low is not None and column.high is not None
        clampings.append(
            Clamping(
                column=column.name,
                low=column.label(column.low),
                high=column.label(column.high),
                at_low=_share(part, 0),
                at_high=_share(part, len(part.noisy_values[0]) - 1),
            )
        )
    return tuple(clampings)


def _share(part: NoisyCells, place: int) -> tuple[float, float] | None:
    """Between what the share of one cell of all rows lies, by the noise of both."""
    (noisy,), (law,) = part.noisy_values, part.laws
    cells: list[formula.Formula] = [formula.StatisticRef(index) for index in range(len(noisy))]
    total = reduce(lambda one, other: formula.Arithmetic("+", one, other), cells)
    share = formula.Quotient(cells[place], total, Fraction(0), Fraction(1))
    values, laws = [np.array([count]) for count in noisy], [law] * len(noisy)
    if sum(noisy) <= CombinedNoise(parts=tuple((Fraction(1), law) for _ in noisy)).half_width(Fraction(99, 100)):
        return None
    low, high = formula.interval(share, values, laws, CONFIDENCE)
    return None if (low[0], high[0]) == (0.0, 1.0) else (float(low[0]), float(high[0]))
