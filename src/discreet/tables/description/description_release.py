"""From a declared table and an epsilon to a description: plan, reserve, count, find, measure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import ReservationEvent
from discreet.answers.bounds.bounds_purchase import end_settings
from discreet.answers.bounds.end_search import EndSearch
from discreet.answers.bounds.program_purchase import find_ends, find_words, place_of_word, sorted_words
from discreet.answers.bounds.round_bounds import round_outward
from discreet.answers.bounds.row_limit import FAR
from discreet.errors import BudgetExceeded, Flag, Message
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.measurement import DiscoveredKeys, Law, NoisyCells
from discreet.kernel.program import Program, pure_epsilon
from discreet.kernel.project_session import Session
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Axis, equal_edges
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import price
from discreet.plan.query_sensitivity import reach
from discreet.plan.relation import Scan
from discreet.release import Spending
from discreet.schema.column import CategoryColumn, Column, Label, MomentColumn, NumberColumn, TextColumn, nullable
from discreet.sql.typed_expression import column_expression
from discreet.tables.description.description import (
    DescribedCell,
    DescribedColumn,
    DescribedQuantile,
    Description,
    NoisyNumber,
    noisy_number,
    noisy_sum,
    quantiles_of,
)
from discreet.tables.description.description_plan import (
    CELLS,
    ColumnPlan,
    DescriptionPlan,
    plan_description,
    plan_of,
)
from discreet.tables.table_reservation import ReservationTerms, reserve

#: The most words of a column, the first in order.
MOST_WORDS = 1000

#: Shares that are left over are given to histograms in such parts.
_GRID = 10**9


def describe(terms: ReservationTerms, session: Session, *, fresh: bool = False) -> Description:
    """Describe a version. One charge; the same again is read back from the ledger, free; a broken-off one goes on.

    Guarantee: all that is told is drawn from one reservation of what the terms allow, or public.
    Because: every step of a program is charged to its reservation before data is read. Shares of the steps: counts of
        rows and persons, `COUNTS`; what a column gets for finding its bounds or words, and the rest for its
        histogram. Histograms get what the steps before them left, which the ledger knows exactly.
    """
    plan = plan_description(terms, session)
    id_, event, is_repeat = _reserve(plan.event, terms, session, fresh=fresh)
    if event != plan.event:
        plan = replace(plan_of(session.version, event, terms.epsilon), notes=plan.notes)
    program = Program(session.curator, session.version, id_)
    description = _Drawing(program=program, plan=plan).description(cached=is_repeat)
    summary = {"kind": "description", "steps": program.steps, "columns": len(plan.columns)}
    program.finish(json.dumps(summary | {"contents": program.contents()}))
    return description


def repeat_description(program: Program) -> None:
    """Take the steps of a description again: they follow from the version, the reservation and what was drawn."""
    plan = plan_of(program.version, program.event, program.event.epsilon or Fraction(0))
    _Drawing(program=program, plan=plan).measure()


def _reserve(
    event: ReservationEvent, terms: ReservationTerms, session: Session, *, fresh: bool
) -> tuple[str, ReservationEvent, bool]:
    try:
        return reserve({"description": 1}, event, terms, session, fresh=fresh)
    except BudgetExceeded as problem:
        if problem.binding == "keys":
            problem.hint = Message(Flag("delta", 0), " describes the table without common words")
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """A column as it is counted: its axis, the codes of its cells, and what was found of it.

    `labels`: of the cells between what lies outside on either side. `is_open`: a cell lies beyond each end.
    """

    plan: ColumnPlan
    axis: Axis
    labels: tuple[Label, ...] = ()
    edges: tuple[int, ...] = ()
    is_open: bool = False
    is_other: bool = False
    low: Label = None
    high: Label = None
    settings: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    """The steps of a description, in order."""

    program: Program
    plan: DescriptionPlan

    def description(self, *, cached: bool) -> Description:
        plan, version = self.plan, self.program.version
        rows, persons, columns = self.measure()
        unit = version.schema.unit
        return Description(
            release=self.program.id,
            table=version.table,
            version=version.number,
            unit="row" if unit.is_row else f"person, at most {unit.rows:,} {'row' if unit.rows == 1 else 'rows'}",
            rows=rows,
            persons=persons,
            columns=columns,
            epsilon=plan.epsilon,
            cost=Spending(
                epsilon=plan.event.epsilon, rho=plan.event.rho, delta=plan.event.delta, budget=self.program.budget_cost
            ),
            cached=cached,
            notes=(*plan.notes, *_size_notes(plan, rows)),
        )

    def measure(self) -> tuple[NoisyNumber, NoisyNumber | None, tuple[DescribedColumn, ...]]:
        """All steps: the numbers of rows and persons, what is found of columns, and their histograms."""
        rows = self._count(roster=False)
        persons = self._count(roster=True) if self.plan.has_persons else None
        return rows, persons, self._columns(self._cuts())

    def _count(self, *, roster: bool) -> NoisyNumber:
        """The number of rows, or of persons on the roster, as one step."""
        version = self.program.version
        scan = Scan(table=version.table, version=version.number, roster=roster)
        priced = price(
            Inquiry(plan=scan, sets=((),), statistics=(RowCount(),)),
            reach(scan, {version.table: version.schema}),
            needs={},
            epsilon=self.program.pure_epsilon(self.plan.count_share),
            gaussian=not self.program.is_pure,
        )
        (part,) = self.program.run(priced).parts
        assert isinstance(part, NoisyCells)
        return noisy_number(part.noisy_values[0][0], part.laws[0])

    def _cuts(self) -> list[_Cut]:
        """Each column cut into cells; what is not declared is found first."""
        plan, program = self.plan, self.program
        bought = [each.column.name for each in plan.bought]
        share = sum((each.finding for each in plan.bought), Fraction(0))
        searches = {each.column.name: each for each in find_ends(program, bought, share=share)} if bought else {}
        words = {
            each.column.name: find_words(program, each.column.name, share=each.finding, columns=len(plan.words))
            for each in plan.words
        }
        return [self._cut(each, searches.get(each.column.name), words.get(each.column.name)) for each in plan.columns]

    def _cut(self, plan: ColumnPlan, search: EndSearch | None, words: DiscoveredKeys | None) -> _Cut:
        column = plan.column
        if isinstance(column, TextColumn):
            return _words_cut(plan, words, needed=0 if words is None else self.plan.threshold(plan))
        if search is not None:
            return _bought_cut(plan, search)
        return _declared_cut(plan, column)

    def _columns(self, cuts: Sequence[_Cut]) -> tuple[DescribedColumn, ...]:
        """All histograms, as one step, with all that is left of the reservation."""
        program, plan = self.program, self.plan
        planned = sum((cut.plan.histogram for cut in cuts), Fraction(0))
        extra = max(Fraction(0), (program.share_left - planned) / len(cuts))
        extra = Fraction(int(extra * _GRID), _GRID)
        laws = [plan.law(cut.plan.histogram + extra) for cut in cuts]
        table = BinnedTable(program, tuple(cut.axis for cut in cuts))
        noisy = table.measure([(place,) for place in range(len(cuts))], laws)
        return tuple(
            _described(cut, counts, law, pure_epsilon(plan.event, cut.plan.finding + cut.plan.histogram))
            for cut, counts, law in zip(cuts, noisy, laws, strict=True)
        )


def _declared_cut(plan: ColumnPlan, column: Column) -> _Cut:
    of = column_expression(column).expression
    if isinstance(column, NumberColumn | MomentColumn):
        assert column.low is not None and column.high is not None
        edges = column.edges or equal_edges(column.low, column.high + 1, CELLS)
        return _Cut(
            plan=plan,
            axis=Axis(of=of, edges=edges, null=True, labels=()),
            labels=_labels(column, edges),
            edges=edges,
            low=column.label(column.low),
            high=column.label(column.high),
        )
    values: tuple[Label, ...] = column.values if isinstance(column, CategoryColumn) else (False, True)
    edges = tuple(range(len(values) + 1))
    return _Cut(plan=plan, axis=Axis(of=of, edges=edges, null=nullable(column), labels=()), labels=values, edges=edges)


def _bought_cut(plan: ColumnPlan, search: EndSearch) -> _Cut:
    """Between bought bounds, with a cell beyond each; or, where they could not be known, only there or NULL."""
    column = search.column
    of = column_expression(column).expression
    if not search.is_known:
        note = f"the bounds of {column.name!r} could not be known at this price"
        return _Cut(plan=plan, axis=Axis(of=of, edges=(-FAR, FAR), null=True, labels=()), notes=(note,))
    distinct = search.with_distinct_ends()
    assert distinct.low is not None and distinct.high is not None
    low, high = round_outward(column, distinct.low, distinct.high)
    low, high = column.low if column.low is not None else low, column.high if column.high is not None else high
    edges = equal_edges(low, high + 1, CELLS)
    return _Cut(
        plan=plan,
        axis=Axis(of=of, edges=(-FAR, *edges, FAR), null=True, labels=()),
        labels=_labels(column, edges),
        edges=edges,
        is_open=True,
        low=column.label(low),
        high=column.label(high),
        settings=end_settings(distinct),
    )


def _words_cut(plan: ColumnPlan, discovered: DiscoveredKeys | None, *, needed: int) -> _Cut:
    """The words that were found, all others, and NULL. `needed`: how many persons must share a word."""
    name = plan.column.name
    words = () if discovered is None else tuple(sorted_words(discovered)[:MOST_WORDS])
    notes = []
    if discovered is not None and not words:
        notes.append(f"no value of {name!r} is shared by enough people (about {needed:,} are needed)")
    edges = tuple(range(len(words) + 2))
    return _Cut(
        plan=plan,
        axis=Axis(of=place_of_word(name, words), edges=edges, null=True, labels=()),
        labels=words,
        edges=edges,
        is_other=True,
        settings={"type": "category", "values": list(words)} if words else None,
        notes=tuple(notes),
    )


def _labels(column: NumberColumn | MomentColumn, edges: Sequence[int]) -> tuple[Label, ...]:
    """The cells of a number for people: a value, or from one to another."""
    return tuple(
        column.label(low) if high == low + 1 else f"{column.label(low)} to {column.label(high - 1)}"
        for low, high in pairwise(edges)
    )


def _described(cut: _Cut, noisy_counts: NDArray[np.int64], law: Law, measured: Fraction) -> DescribedColumn:
    """What the noisy histogram of a column says. Post-processing."""
    column, counts = cut.plan.column, noisy_counts.tolist()
    nulls = noisy_number(counts.pop(), law) if cut.axis.null else None
    outside: list[int] = []
    if cut.is_open:
        outside = [counts[0], counts[-1]]
        counts = counts[1:-1]
    elif cut.is_other:
        outside = [counts.pop()]
    quantiles: tuple[DescribedQuantile, ...] = ()
    if isinstance(column, NumberColumn | MomentColumn) and cut.edges:
        inside = np.array(counts, dtype=np.int64)
        if cut.is_open:  # what lies beyond an end counts to the cell beside it
            inside = inside + np.array([outside[0], *[0] * (len(counts) - 2), outside[1]], dtype=np.int64)
        quantiles = quantiles_of(column, cut.edges, inside, law, is_open=cut.is_open)
    others = noisy_sum(outside, law) if outside else None
    notes = list(cut.notes)
    if cut.is_open and others is not None and not others.is_below_noise:
        notes.append(f"about {others.noisy_value:,} rows of {column.name!r} lie outside the bought bounds")
    return DescribedColumn(
        column=column,
        source=cut.plan.source,
        nulls=nulls,
        low=cut.low,
        high=cut.high,
        quantiles=quantiles,
        cells=tuple(
            DescribedCell(label=label, number=noisy_number(count, law, among=max(1, len(cut.labels))))
            for label, count in zip(cut.labels, counts, strict=False)
        ),
        others=others,
        settings=cut.settings or {},
        measured=measured,
        notes=tuple(notes),
    )


def _size_notes(plan: DescriptionPlan, rows: NoisyNumber) -> list[str]:
    """Where the noisy number of rows shows that it was too few."""
    if rows.high >= plan.rows_needed:
        return []
    return [
        f"this takes about {plan.rows_needed:,} rows to make sense at this price, and the table has about "
        f"{max(0, rows.noisy_value):,}: rely on what is not below noise alone"
    ]
