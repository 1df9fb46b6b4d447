"""What a project publishes: histograms, ranges, marginals, descriptions, tables, streams, models, answers that agree.

One short function for each verb, and each is a method of `Project`; what they do lies in `tables`, `synth` and
`answers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from discreet import exact
from discreet.errors import UsageError
from discreet.kernel.project_session import open_session, quote_session
from discreet.schema.column import NumberColumn
from discreet.schema.schema import closest_name_hint
from discreet.sql.dialect import identifier

if TYPE_CHECKING:
    from discreet.answers.reconcile.agreement import Agreement
    from discreet.graph.project_network import Network
    from discreet.project.question import QueryProject, Question
    from discreet.synth.fit_request import FitOptions
    from discreet.synth.inspect.model_comparison import Comparison
    from discreet.synth.model import Model
    from discreet.synth.persons.person_model import PersonModel
    from discreet.synth.persons.tables_model import PersonTablesModel
    from discreet.tables.description.description import Description
    from discreet.tables.description.description_plan import DescriptionPlan
    from discreet.tables.marginals.marginals_release import MarginalsRelease
    from discreet.tables.marginals.marginals_request import MarginalsOptions, MarginalsQuote
    from discreet.tables.publish.publish import PublicationQuote as PublishQuote
    from discreet.tables.publish.published_tables import PublishedTables
    from discreet.tables.ranges.range_answers import Ranges
    from discreet.tables.ranges.range_groups import RangesByGroup
    from discreet.tables.ranges.ranges_release import RangesCut
    from discreet.tables.ranges.ranges_release import RangesQuote as RangesQuote
    from discreet.tables.stream.stream import TableStream


class RowsAndBins(TypedDict, total=False):
    """Of which rows (a condition, as after WHERE), by which groups, and in which bins (of a width, or so many)."""

    where: str | None
    by: Sequence[str] | str
    bins: object
    width: object


class RangesOptions(TypedDict, total=False):
    """What a release of ranges over all groups together takes: as `ranges`, without `by`."""

    epsilon: object
    delta: object
    ranges: Iterable[tuple[object, object]] | str | PathLike[str] | None
    strategy: str
    seconds: object
    only: bool
    analyst: str | None
    fresh: bool
    where: str | None
    bins: object
    width: object


def _check_options(call: str, more: RowsAndBins) -> None:
    """Refuse an argument that there is not: a price that is ignored would surprise."""
    if unknown := sorted(set(more) - RowsAndBins.__annotations__.keys()):
        hint = "; give the price to .ask(epsilon=0.5)" if unknown[0] in ("epsilon", "within") else ""
        raise TypeError(f"{call}() has no argument {unknown[0]!r}{hint}")


def histogram(project: QueryProject, name: str, *columns: str, **more: Unpack[RowsAndBins]) -> Question:
    """A query that counts the rows with each value, or each combination of values, of some columns.

    `where`: of some rows only; `by`: for each group of these columns; `bins`, `width`: the first column, a number or a
    date, in at most so many bins, or in bins of this width (10, or "month").
    """
    from discreet.answers.row_condition import bracketed

    _check_options("histogram", more)
    if not columns:
        raise UsageError("a histogram needs a column", hint="project.histogram('patients', 'age')")
    by = more.get("by", ())
    named = [*((by,) if isinstance(by, str) else by), *columns]
    if len({column.lower() for column in named}) < len(named):
        raise UsageError("a column is named twice")
    keys = {column: identifier(_column(project, name, column)) for column in named}
    binned = _binned(project, name, columns[0], more)
    shown = [f"{binned} AS {keys[each]}" if each == columns[0] and binned else keys[each] for each in named]
    groups = [binned if each == columns[0] and binned else keys[each] for each in named]
    counted = identifier(_unused_name("rows", named))
    where = more.get("where")
    of_rows = "" if where is None else f" WHERE {bracketed(where)}"
    outputs, grouped = ", ".join([*shown, f"count(*) AS {counted}"]), ", ".join(groups)
    return project.sql(f"SELECT {outputs} FROM {identifier(name)}{of_rows} GROUP BY {grouped}")


def _binned(project: QueryProject, table: str, column: str, more: RowsAndBins) -> str | None:
    """A column cut into bins, in SQL: each bin is called by where it starts. None where nothing is said of bins."""
    from discreet.tables.ranges.ruler_cut import width_of

    declared = next(each for each in project.private(table).schema.columns if each.name.lower() == column.lower())
    width = width_of(declared, bins=more.get("bins"), width=more.get("width"))
    if width is None or (isinstance(declared, NumberColumn) and width == declared.step and declared.edges is None):
        return None
    own = identifier(declared.name)
    if isinstance(width, str):
        return f"date_trunc('{width}', {own})"
    return f"floor({own} / {exact.show(width)}) * {exact.show(width)}"


def _column(project: QueryProject, table: str, column: str) -> str:
    project.peek_version(project.private(table).name)  # refuses a table of which nothing can be counted
    column_names = [each.name for each in project.private(table).schema.columns]
    if column.lower() not in [name.lower() for name in column_names]:
        raise UsageError(f"table {table!r} has no column {column[:60]!r}", hint=closest_name_hint(column, column_names))
    return column


@overload
def ranges(
    project: QueryProject, name: str, column: str, *, by: Sequence[str] | str, **more: Unpack[RangesOptions]
) -> RangesByGroup: ...


@overload
def ranges(project: QueryProject, name: str, column: str, **more: Unpack[RangesOptions]) -> Ranges: ...


def ranges(
    project: QueryProject,
    name: str,
    column: str,
    *,
    epsilon: object = None,
    delta: object = None,
    ranges: Iterable[tuple[object, object]] | str | PathLike[str] | None = None,
    strategy: str = "best",
    seconds: object = 1,
    only: bool = False,
    analyst: str | None = None,
    fresh: bool = False,
    **more: Unpack[RowsAndBins],
) -> Ranges | RangesByGroup:
    """Counts of all ranges of a column, and its quantiles: one release, charged once; reading it is free.

    Without an epsilon, a stored release is read, free. `ranges`: the most important ranges, as pairs or a CSV file.
    `only`: measure these ranges alone; they are more precise, but no others can be read. `where`: of some rows only;
    `by`: for each group of these columns, at the price of one; `bins`, `width`: in such bins, with less noise.
    """
    from discreet.tables.ranges.ranges_release import RangesRequest, release
    from discreet.tables.table_reservation import ReservationTerms

    asker = project.asker(analyst)
    terms = None if epsilon is None else ReservationTerms.of(epsilon, delta)
    session = open_session(project, project.private(name).name, asker)
    request = RangesRequest.of(column, ranges, strategy, seconds, only, **_cut(project, session.version.table, more))
    return release(request, terms, session, fresh=fresh)


def _cut(project: QueryProject, table: str, more: RowsAndBins) -> RangesCut:
    """Which rows, groups and bins, with the condition read."""
    _check_options("ranges", more)
    from discreet.answers.row_condition import condition_statement, row_condition

    where = more.get("where")
    rows = None if where is None else row_condition(project.sql(condition_statement(table, where)).query, where)
    return {"rows": rows, "by": more.get("by", ()), "bins": more.get("bins"), "width": more.get("width")}


def plan_ranges(
    project: QueryProject,
    name: str,
    column: str,
    *,
    epsilon: object,
    delta: object = None,
    ranges: Iterable[tuple[object, object]] | str | PathLike[str] | None = None,
    strategy: str = "best",
    seconds: object = 1,
    only: bool = False,
    **more: Unpack[RowsAndBins],
) -> RangesQuote:
    """How precise a release of ranges would be, and its strategy. Free: no data is read."""
    from discreet.tables.ranges.ranges_release import RangesRequest, quote
    from discreet.tables.table_reservation import ReservationTerms

    session = quote_session(project, project.private(name).name)
    request = RangesRequest.of(column, ranges, strategy, seconds, only, **_cut(project, session.version.table, more))
    return quote(request, ReservationTerms.of(epsilon, delta), session)


def marginals(
    project: QueryProject,
    name: str,
    columns: Sequence[str] = (),
    *,
    epsilon: object,
    delta: object = None,
    confidence: object = "0.95",
    analyst: str | None = None,
    fresh: bool = False,
    **wish: Unpack[MarginalsOptions],
) -> MarginalsRelease:
    """All marginals of up to `order` columns (2 by default), consistent with each other. Charged once.

    `columns`: by default all whose values are declared. `wish`: order, exactly, tables (names, or names to
    weights), objective; see `tables.marginals.marginals_request.MarginalsRequest`. A repeat is free.
    """
    from discreet.tables.marginals.marginals_request import MarginalsRequest, release_requested
    from discreet.tables.table_reservation import ReservationTerms

    asker = project.asker(analyst)
    request, terms = MarginalsRequest.of(columns, **wish), ReservationTerms.of(epsilon, delta)
    declared = [column.name for column in project.private(name).schema.columns]
    session = open_session(project, name, asker)
    return release_requested(request, terms, session, declared=declared, confidence=confidence, fresh=fresh)


def plan_marginals(
    project: QueryProject,
    name: str,
    columns: Sequence[str] = (),
    *,
    epsilon: object,
    delta: object = None,
    **wish: Unpack[MarginalsOptions],
) -> MarginalsQuote:
    """What marginals would cost and how precise they would be. Free."""
    from discreet.tables.marginals.marginals_request import MarginalsRequest, quote_marginals
    from discreet.tables.table_reservation import ReservationTerms

    request, terms = MarginalsRequest.of(columns, **wish), ReservationTerms.of(epsilon, delta)
    declared = [column.name for column in project.private(name).schema.columns]
    return quote_marginals(request, terms, quote_session(project, name), declared=declared)


def describe(
    project: QueryProject,
    name: str,
    *,
    epsilon: object,
    delta: object = None,
    analyst: str | None = None,
    fresh: bool = False,
) -> Description:
    """A private profile of every column: rows, NULL, bounds, quantiles, common words, a histogram. Charged once.

    What is not declared is found for the same price. Words of text need a delta. A repeat is free.
    """
    from discreet.tables.description.description_release import describe
    from discreet.tables.table_reservation import ReservationTerms

    asker, terms, table = project.asker(analyst), ReservationTerms.of(epsilon, delta), project.private(name)
    made = describe(terms, open_session(project, table.name, asker), fresh=fresh)
    return made.in_order([column.name for column in table.schema.columns])


def describe_plan(project: QueryProject, name: str, *, epsilon: object, delta: object = None) -> DescriptionPlan:
    """What a description would cost, how precise it would be, and how many rows it needs to make sense. Free."""
    from discreet.tables.description.description_plan import plan_description
    from discreet.tables.table_reservation import ReservationTerms

    terms, table = ReservationTerms.of(epsilon, delta), project.private(name)
    planned = plan_description(terms, quote_session(project, table.name))
    return planned.in_order([column.name for column in table.schema.columns])


def publish(
    project: QueryProject,
    plan: str | PathLike[str] | Mapping[str, Any],
    *,
    epsilon: object,
    delta: object = None,
    to: str | PathLike[str] | None = None,
    confidence: object = "0.95",
    analyst: str | None = None,
    fresh: bool = False,
    force: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> PublishedTables:
    """Publish tables of places and attributes that add up exactly. Charged once; a repeat of the plan is free."""
    from discreet.tables.publish.publish import no_progress, plan_of, publish
    from discreet.tables.publish.published_tables import check_folder

    asker, publication_plan = project.asker(analyst), plan_of(plan)
    name = project.private(publication_plan.table).name
    if to is not None:
        check_folder(Path(to), force=force)
    publication = publish(
        publication_plan,
        open_session(project, name, asker),
        epsilon=epsilon,
        delta=delta,
        publics=project.public,
        confidence=confidence,
        fresh=fresh,
        progress=progress or no_progress,
    )
    if to is not None:
        publication.write(to, force=force)
    return publication


def plan_publish(
    project: QueryProject, plan: str | PathLike[str] | Mapping[str, Any], *, epsilon: object, delta: object = None
) -> PublishQuote:
    """What a plan would cost and how precise it would be. Free."""
    from discreet.tables.publish.publish import plan_of, quote

    publication_plan = plan_of(plan)
    name = project.private(publication_plan.table).name
    session = quote_session(project, name)
    return quote(publication_plan, session, epsilon=epsilon, delta=delta, publics=project.public)


def stream(
    project: QueryProject,
    name: str,
    stream: str,
    *,
    epsilon: object = None,
    delta: object = None,
    horizon: object = None,
    contributions: object = None,
    analyst: str | None = None,
) -> TableStream:
    """Totals of a table, step by step. With an epsilon, start and charge a stream; else open the existing one."""
    from discreet.tables.stream import project_streams

    return project_streams.stream(
        project,
        name,
        stream,
        epsilon=epsilon,
        delta=delta,
        horizon=horizon,
        contributions=contributions,
        analyst=analyst,
    )[0]


def reconcile(project: QueryProject, name: str, releases: Sequence[str] = (), *, whole: bool = False) -> Agreement:
    """Make the released answers of a table, or some of them, consistent with each other. Free: no data is read."""
    from discreet.answers.reconcile.agreement import agree

    return agree(
        project.peek_version(project.private(name).name),
        curator=project.curator,
        reads=project.stored_statement_reader(),
        only=releases,
        wholes=whole,
    )


def synthesize(
    project: QueryProject,
    name: str | Sequence[str],
    *,
    epsilon: object = None,
    delta: object = None,
    model: str = "auto",
    columns: Sequence[str] | None = None,
    constraints: Mapping[str, Any] | str | PathLike[str] | None = None,
    analyst: str | None = None,
    fresh: bool = False,
    public: str | None = None,
    progress: Callable[[str, float], None] | None = None,
    announce: Callable[[str], None] | None = None,
    **more: Unpack[FitOptions],
) -> Model | PersonModel | PersonTablesModel:
    """Fit a model of a table. Sampling rows from it is free. Charged once; a repeat of the same fit is free.

    Several names, of tables that share their persons: one model of all of them, for one charge. See
    `persons.PersonTablesModel`.

    Where a person of the table may have several rows, `auto` fits a model of persons: see `persons.PersonModel`.
    `constant`: columns that do not change within a person; `time`: the column that orders a person's rows; `rows_only`:
    a model of rows all the same.

    `public`: a public table with the same columns; mst selects its marginals from it, free. `announce`: called
    with a note, before anything is paid: which noise was chosen, and why. `more`: degree, seconds, model_mb,
    workload, rows, weights, marginals, adjacent; see `synth.fit_request.FitRequest`.
    """
    from discreet.synth.fit_request import PERSONS, FitRequest, constraints_of
    from discreet.synth.fit_task import no_progress
    from discreet.synth.persons.person_fit import fit_persons, rows_note, settle_kind
    from discreet.synth.synthesis import synthesize

    asker = project.asker(analyst)
    names = [name] if isinstance(name, str) else list(name)
    if not names:
        raise UsageError("no table is named")
    for each in names:
        project.private(each)
    name = names[0]
    parsed_constraints = constraints_of(constraints, project.peek_version(name).schema)
    request = FitRequest.of(
        epsilon=epsilon,
        delta=delta,
        kind=model,
        columns=columns,
        constraints=parsed_constraints,
        public=public,
        fresh=fresh,
        **more,
    )
    session = open_session(project, name, asker)
    if len(names) > 1:
        from discreet.synth.persons.tables_fit import fit_tables

        return fit_tables(
            request,
            replace(session, joined=tuple(project.version(each) for each in names[1:])),
            orders={each: [column.name for column in project.table(each).schema.columns] for each in names},
            progress=progress or no_progress,
            announce=announce or (lambda note: None),
        )
    wish, request = request, settle_kind(request, session)
    if announce is not None and (note := rows_note(wish, request, session)) is not None:
        announce(note)
    if request.kind == PERSONS:
        return fit_persons(
            request,
            session,
            order=[column.name for column in project.table(name).schema.columns],
            progress=progress or no_progress,
            announce=announce or (lambda note: None),
        )
    return synthesize(
        request,
        session,
        order=[column.name for column in project.table(name).schema.columns],
        public=None if public is None else project.public(public),
        progress=progress or no_progress,
        announce=announce or (lambda note: None),
    )


def graph(
    project: QueryProject,
    name: str,
    *,
    ends: Sequence[str] | None = None,
    nodes: str | None = None,
    key: str | None = None,
    by: str | None = None,
    edges_per_node: int | None = None,
) -> Network:
    """The network of a table of edges, for graph statistics. Free: it reads public facts only.

    `ends`: the columns of the two ends, if they are not declared and not called from and to. `nodes`: the table of
    the nodes, with their `key` and an attribute to group edges `by`. Under edge privacy `by` may also be two columns of
    the table of edges, "from_group,to_group"; then at most `edges_per_node` edges of a node count, if that is given.
    """
    from discreet.graph.project_network import network

    return network(project, name, ends=ends, nodes=nodes, key=key, by=by, edges_per_node=edges_per_node)


def compare(
    project: QueryProject,
    model: Model,
    *,
    epsilon: object,
    delta: object = None,
    analyst: str | None = None,
    fresh: bool = False,
) -> Comparison:
    """Measure privately how far a model's pairs of columns are from the table it was fitted to. Charged."""
    from discreet.synth.inspect.model_comparison import compare

    asker = project.asker(analyst)
    name = project.private(model.card.table).name
    rho_delta = project.guarantee(name).delta_rho if delta is None else exact.probability(delta, name="delta")
    checked_epsilon = exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
    session = open_session(project, name, asker)
    return compare(model, session, epsilon=checked_epsilon, delta=rho_delta, fresh=fresh)


def _unused_name(name: str, taken: Sequence[str]) -> str:
    """A name that no column has."""
    return name if name not in [each.lower() for each in taken] else _unused_name(f"{name}_", taken)
