"""From declared tables that share their persons, and an epsilon, to a model of all of them.

Reserve once; then fit the traits of persons with their numbers of rows, the rows of each table given the traits, and
what refers to a row given that row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.errors import Command, Message, UsageError
from discreet.kernel.joined_persons import JoinedProgram, JoinedReader, RowProgram
from discreet.kernel.person_table import PersonColumn, RecordProgram
from discreet.kernel.project_session import Session
from discreet.kernel.version import Version
from discreet.plan.expressions import Expression
from discreet.plan.relation import joined_column_name
from discreet.schema.column import Column, MomentColumn, TextColumn
from discreet.sql.typed_expression import column_expression
from discreet.synth.attribute import Attribute
from discreet.synth.fit_request import PERSONS, FitRequest
from discreet.synth.fit_task import FitTask, ModelFit, Progress, no_progress
from discreet.synth.model import Model, ModelCard
from discreet.synth.model_choice import choose_model
from discreet.synth.model_kinds import KINDS
from discreet.synth.persons.chain import Chain, ChainVariable
from discreet.synth.persons.chain_fit import StepVariable, fit_chain
from discreet.synth.persons.person_fit import (
    assemble,
    fit_records,
    fit_steps,
    person_names,
    refuse_noise,
    why_rows_only,
)
from discreet.synth.persons.person_layout import (
    PersonLayout,
    after_name,
    difference,
    layout_of,
    renamed,
    rows_attribute,
    time_column,
)
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.persons.table_links import (
    LinkedTable,
    ReferringTable,
    TableLinks,
    brought_along,
    declared_attributes,
    link_tables,
    linked_rows,
    main_rows,
    number_attribute,
    own_columns,
    referring_attribute,
    referring_rows,
    shared_columns,
)
from discreet.synth.persons.tables_contents import LinkedModel, ReferringModel
from discreet.synth.persons.tables_model import PersonTablesModel
from discreet.synth.synthesis import (
    card_delta,
    choose_noise,
    earlier_reservation,
    in_shown_order,
    make_card,
    possible_reservations,
    reserve,
)

#: How the guarantee is split: among the main table, each linked one, and each that refers to another.
MAIN, LINKED, REFERRING = 2, 6, 2

#: Of what a linked table may cost, for the first rows of persons; the rest for the rows that follow.
RECORDS = Fraction(9, 20)


def fit_tables(
    request: FitRequest,
    session: Session,
    *,
    orders: Mapping[str, Sequence[str]],
    progress: Progress = no_progress,
    announce: Callable[[str], None] = lambda note: None,
) -> PersonTablesModel:
    """Fit a model of tables that share their persons: that of the session, and those that it joins.

    `orders`: the columns of each table as people know them. The same fit of the same versions is read back from the
    ledger, free.

    Guarantee: one charge of a reservation for all rows of a person in all tables, and all that the model holds is drawn
        from it or public.
    """
    links = link_tables(session.versions)
    session = replace(session, version=links.main, joined=links.versions[1:])
    request = tables_request(request, session)
    traits, _ = declared_attributes(own_columns(links.main, without=()))
    if not traits:
        _refuse_undeclared(links)
        raise UsageError(
            f"no column of {links.main.table!r} can be modelled: several tables need declared bounds or values",
            hint=Message("declare some of them, or measure them first with ", Command("bounds", links.main.table)),
        )
    prices = possible_reservations(session.guarantee, request, texts=False)
    earlier = earlier_reservation(request, prices, session)
    if earlier is None:
        _refuse_undeclared(links)
    columns = [column for version in links.versions for column in version.schema.columns]
    event, noise = (earlier.event, "") if earlier is not None else choose_noise(prices, session, columns=len(columns))
    refuse_noise(request, event, columns=len(columns) * len(links.versions))
    for note in [*([noise] if noise else []), *([] if earlier is not None else placeholder_notes(links))]:
        announce(note)
    id_ = reserve(request, event, session) if earlier is None else earlier.id
    program = JoinedProgram(session.curator, links.main, id_, joined=session.joined)
    fitting = _TablesFit(program=program, links=links, request=request, progress=progress, orders=orders)
    records, linked = fitting.fit(traits)
    choice = choose_model(replace(request, kind="auto"), [each.column for each in traits], event, most_rows=1)
    card = replace(
        make_card(choice, request, event, program, links.main, delta=card_delta(session.guarantee, request, event)),
        kind=PERSONS,
        unit=f"person, with all rows in {len(links.versions)} tables",
        because="traits of persons, the rows of each table one after the other, and what refers to a row given it",
        repeat=earlier is not None,
        warnings=tuple(placeholder_notes(links)),
    )
    model = PersonTablesModel(
        card=card,
        main=links.main.table,
        columns=fitting.shown(links.main),
        person=person_names(links.main, [column.name for column in links.main.schema.columns]),
        records=replace(records, card=replace(card, warnings=())),
        linked=linked,
    )
    joined = {
        "tables": [version.table for version in session.joined],
        "table_versions": [version.number for version in session.joined],
    }
    summary = {"kind": "model", "model": PERSONS, "steps": program.steps, "contents": program.contents()}
    program.finish(json.dumps(summary | joined))
    progress("done", 1.0)
    return model


def tables_request(request: FitRequest, session: Session) -> FitRequest:
    """The request, which names the versions of the other tables: another version is another fit."""
    if options := (*request.row_options, *(["columns"] if request.columns is not None else [])):
        why = f": {why_rows_only(request)}" if request.row_options else ""
        raise UsageError(f"{' and '.join(options)} cannot be given for several tables{why}")
    if request.constant or request.time is not None:
        raise UsageError(
            "constant and time cannot be given for several tables",
            hint="put what is constant into the table with one row a person; the first date column gives the order",
        )
    if request.kind not in ("auto", PERSONS):
        raise UsageError(f"several tables give a model of persons, not {request.kind}")
    tables = tuple((version.table, version.number) for version in session.joined)
    return replace(request, kind=PERSONS, tables=tables)


@dataclass(slots=True, kw_only=True)
class _TablesFit:
    """The steps of a fit, table by table."""

    program: JoinedProgram
    links: TableLinks
    request: FitRequest
    progress: Progress
    orders: Mapping[str, Sequence[str]]

    def fit(self, traits: tuple[Attribute, ...]) -> tuple[Model, tuple[LinkedModel, ...]]:
        """The main table, then each linked one with what refers to it."""
        links = self.links
        parts = MAIN + sum(LINKED + REFERRING * len(each.referring) for each in links.linked)
        whole = self.program.share_left
        self.progress("persons", 0.0)
        made = self._fit_main(traits, whole * MAIN / parts)
        fitted = {attribute.name: attribute for attribute in made.attributes}
        grouped = tuple(fitted[attribute.name] for attribute in traits)
        linked = []
        for turn, each in enumerate(links.linked):
            is_last = turn == len(links.linked) - 1
            share = whole * (LINKED + REFERRING * len(each.referring)) / parts
            linked.append(self._fit_linked(each, grouped, self.program.share_left if is_last else share))
            self.progress("rows", (turn + 1) / len(links.linked))
        records = Model(
            card=ModelCard(kind=PERSONS, table=links.main.table, version=links.main.number, unit="person"),
            columns=tuple(attribute.column for attribute in made.attributes),
            attributes=made.attributes,
            fitted=made.fitted,
            measured=made.measured,
            total_sd=made.total_sd,
        )
        return records, tuple(linked)

    def _fit_main(self, traits: tuple[Attribute, ...], share: Fraction) -> ModelFit:
        """The traits of persons, and how many rows they have in each linked table."""
        numbers = [number_attribute(each.version, place) for place, each in enumerate(self.links.linked)]
        attributes = (*traits, *numbers)
        axes = [attribute.axis(outside=True) for attribute in attributes]
        reader = JoinedReader(self.program, axes, rows=main_rows(self.links))
        program = RecordProgram(self.program, reader, [PersonColumn(of="row", axis=axis) for axis in axes], share=share)
        choice = choose_model(
            replace(self.request, kind="auto"), [each.column for each in attributes], program.event, most_rows=1
        )
        task = FitTask(
            program=program,
            attributes=attributes,
            rounds=choice.rounds,
            model_mb=choice.model_mb,
            workload=choice.workload,
            adjacent=self.request.adjacent,
        )
        return KINDS[choice.kind](task)

    def _fit_linked(self, linked: LinkedTable, traits: Sequence[Attribute], share: Fraction) -> LinkedModel:
        """Persons with their rows in one table, given their traits; and what refers to these rows."""
        main, version = self.links.main, linked.version
        repeated = shared_columns(version, main)
        own, _ = declared_attributes(own_columns(version, without=(*linked.ids, *repeated)))
        numbers = tuple(referring_attribute(each) for each in linked.referring)
        brought = tuple(brought_along(attribute, main.table, 0) for attribute in traits)
        constants = tuple(attribute.name for attribute in brought)
        layout = layout_of(
            (*brought, *own, *numbers),
            constants=constants,
            time=time_column([attribute.column for attribute in own], (), None),
            rows=rows_attribute(version.schema.unit.rows, [each.name for each in (*brought, *own, *numbers)]),
        )
        reader = JoinedReader(
            self.program,
            [each.axis(outside=True) for each in layout.attributes if each.name not in layout.afters],
            [_code(version, name) for name in (layout.time, *layout.afters) if name is not None],
            rows=linked_rows(linked, main, traits),
        )
        weight = Fraction(LINKED, LINKED + REFERRING * len(linked.referring))
        rest = share * (1 - weight)
        model, made = self._fit_rows(linked, layout, reader, share * weight)
        grouped = {attribute.name: attribute for attribute in made.attributes}
        parent = [grouped[each.name] for each in own if each.name in grouped and each.name != layout.time]
        referring = []
        for turn, each in enumerate(linked.referring):
            part = rest / (len(linked.referring) - turn)
            referring.append(self._fit_referring(each, linked, layout, parent, traits, part))
            rest -= part
        return LinkedModel(
            name=version.table,
            columns=self.shown(version),
            person=version.schema.unit.person or self._person_column(version),
            number=number_attribute(version, 0).name,
            model=model,
            repeated=repeated,
            referring=tuple(referring),
        )

    def _person_column(self, version: Version) -> tuple[str, ...]:
        """What the person is called in a table that reaches persons through the main one, or through one left out."""
        unit = version.schema.unit
        is_direct = (unit.through or "").lower() == self.links.main.table.lower()
        return unit.on if is_direct else person_names(version, [column.name for column in version.schema.columns])

    def _fit_rows(
        self, linked: LinkedTable, layout: PersonLayout, reader: JoinedReader, share: Fraction
    ) -> tuple[PersonModel, ModelFit]:
        choice = choose_model(
            replace(self.request, kind="auto"),
            [each.column for each in layout.record_attributes()],
            self.program.event,
            most_rows=1,
        )
        records = RecordProgram(self.program, reader, layout.record_columns(), share=share * RECORDS)
        made = fit_records(records, layout, choice, self.request, no_progress)
        chain = fit_steps(self.program, reader, layout, made, no_progress, share=share * (1 - RECORDS))
        columns = [attribute.column for attribute in layout.attributes]
        card = ModelCard(kind=PERSONS, table=linked.name, version=linked.version.number, unit="person")
        card = replace(card, epsilon=self.request.epsilon, rho=None if self.program.is_pure else self.program.event.rho)
        model = assemble(card, columns, [], linked.version, layout, made, chain, choice)
        return model, made

    def _fit_referring(
        self,
        referring: ReferringTable,
        linked: LinkedTable,
        layout: PersonLayout,
        parent: Sequence[Attribute],
        traits: Sequence[Attribute],
        share: Fraction,
    ) -> ReferringModel:
        """One row of a table, given the row that it refers to and the traits of the person."""
        main, version = self.links.main, referring.version
        repeated = shared_columns(version, main)
        own, _ = declared_attributes(own_columns(version, without=(referring.on, *repeated)))
        time = None if layout.time is None else linked.version.schema.column(layout.time)
        afters = tuple(
            each.name
            for each in own
            if isinstance(each.column, MomentColumn)
            and isinstance(time, MomentColumn)
            and each.column.type == time.type
        )
        settled = [
            *(_settled(brought_along(each, linked.name, 0)) for each in parent if each.name not in layout.afters),
            *(_settled(brought_along(each, main.table, 1)) for each in traits),
        ]
        following: list[tuple[StepVariable, PersonColumn | None]] = []
        for each in own:
            if each.name in afters:
                assert layout.time is not None
                attribute = difference(layout.attribute(layout.time), after_name(each.name, layout.time), signed=True)
                column = PersonColumn(of="after", axis=attribute.axis(outside=True), code=1 + afters.index(each.name))
            else:
                attribute, column = each, PersonColumn(of="row", axis=each.axis(outside=True))
            variable = ChainVariable(role="next", column=each.name)
            following.append((StepVariable(variable=variable, attribute=attribute, column=column), None))
        brought = [each.column for each in parent if each.name not in layout.afters]
        codes: list[Expression] = []
        if afters:
            assert time is not None
            brought.append(time)
            codes = [column_expression(time, name=joined_column_name(0, time.name)).expression]
            codes += [_code(version, name) for name in afters]
        reader = JoinedReader(
            self.program,
            [*(each.column.axis for each in settled), *(e.column.axis for e, _ in following if e.column.of == "row")],
            codes,
            rows=referring_rows(referring, linked.version, brought, main, traits),
        )
        fitted = fit_chain(
            self.program, reader, settled, following, share=share, progress=no_progress, counting=RowProgram
        )
        names = [variable.column for variable in fitted.variables]
        attributes = tuple(renamed(each, name) for each, name in zip(fitted.attributes, names, strict=True))
        model = Model(
            card=ModelCard(kind="rows", table=version.table, version=version.number, unit="person"),
            columns=tuple(attribute.column for attribute in attributes),
            attributes=attributes,
            fitted=fitted.fitted,
            measured=fitted.measured,
            total_sd=fitted.total_sd,
        )
        return ReferringModel(
            name=version.table,
            columns=self.shown(version),
            on=referring.on,
            number=referring_attribute(referring).name,
            rows=Chain(model, fitted.variables),
            afters=afters,
        )

    def shown(self, version: Version) -> tuple[Column, ...]:
        """The columns of a table as they come out."""
        return in_shown_order(version.schema.columns, self.orders.get(version.table, ()))


def left_out_columns(links: TableLinks) -> list[tuple[str, Column]]:
    """The columns of all tables that cannot be modelled as they are declared, each with its table."""
    left_out = [(links.main.table, column) for column in _left_out(own_columns(links.main, without=()))]
    for linked in links.linked:
        for version in (linked.version, *(each.version for each in linked.referring)):
            ids = (*linked.ids, *shared_columns(version, links.main))
            left_out += [(version.table, column) for column in _left_out(own_columns(version, without=ids))]
    return left_out


def _left_out(columns: Sequence[Column]) -> list[Column]:
    _, names = declared_attributes(columns)
    return [column for column in columns if column.name in names]


def _refuse_undeclared(links: TableLinks) -> None:
    """Numbers and moments without bounds are refused by name, before anything is paid: placeholders would be text."""
    left_out = [(table, column) for table, column in left_out_columns(links) if not isinstance(column, TextColumn)]
    if left_out:
        names = [f"{table}.{column.name}" for table, column in left_out]
        raise UsageError(
            f"a fit of several tables needs low and high for {', '.join(names)}",
            hint=Message(
                "declare them, or measure them once with ",
                Command("bounds", left_out[0][0]),
                "; a column that only numbers the rows can be left out of discreet.toml",
            ),
        )


def placeholder_notes(links: TableLinks) -> list[str]:
    """What the owner should know: columns of text that hold no values."""
    names = [f"{table}.{column.name}" for table, column in left_out_columns(links)]
    if not names:
        return []
    holds = "contains" if len(names) == 1 else "contain"
    return [
        f"{', '.join(names)} {holds} only placeholders: a fit of several tables finds no values of text; declare "
        'values that are public (type = "category")'
    ]


def _settled(attribute: Attribute) -> StepVariable:
    return StepVariable(
        variable=ChainVariable(role="trait", column=attribute.name),
        attribute=attribute,
        column=PersonColumn(of="row", axis=attribute.axis(outside=True)),
    )


def _code(version: Version, name: str) -> Expression:
    column = version.schema.column(name)
    assert column is not None
    return column_expression(column).expression
