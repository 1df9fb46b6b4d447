"""From a declared table of persons and an epsilon to a model of persons: reserve, describe, records, steps.

Long because it is the whole order of such a fit, with what it refuses before paying and warns of after it; the
parts are in `chain_fit`, `person_layout` and `kernel.person_table`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.answers.reservation_choice import keys_delta
from discreet.errors import Flag, Message, Refused, UsageError
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.curator import Version
from discreet.kernel.person_table import WEIGHT, PersonColumn, PersonReader, RecordProgram
from discreet.kernel.program import Program, noise_sd
from discreet.kernel.project_session import Session
from discreet.schema.address import engine_kind
from discreet.schema.column import Column, TextColumn
from discreet.schema.schema import Schema
from discreet.sql.typed_expression import column_expression
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.attribute_discovery import UndeclaredColumns, describe_attributes, undeclared_columns
from discreet.synth.fit_request import PERSONS, FitRequest
from discreet.synth.fit_task import FitTask, ModelFit, Progress, no_progress
from discreet.synth.model import Model, ModelCard
from discreet.synth.model_choice import ModelChoice, choose_model
from discreet.synth.model_kinds import KINDS
from discreet.synth.persons.chain import Chain, ChainVariable
from discreet.synth.persons.chain_fit import ChainFit, StepVariable, fit_chain
from discreet.synth.persons.person_layout import (
    PersonLayout,
    after_name,
    axis_of,
    declared_constants,
    gap_name,
    layout_of,
    renamed,
    rows_attribute,
    time_column,
)
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.synthesis import (
    MOST_NOISE,
    MOST_OUTSIDE,
    card_delta,
    choose_noise,
    column_warnings,
    earlier_reservation,
    in_shown_order,
    make_card,
    modelled_columns,
    names_in_order,
    possible_reservations,
    reserve,
)

#: Of what is left after describing: to find out which columns are constant; then of the rest, for records.
CHANGES, PURE_CHANGES = Fraction(1, 50), Fraction(3, 40)
RECORDS = Fraction(9, 20)

#: Of what is left then: to find out which moments are never earlier than the time of their row.
EARLIER, PURE_EARLIER = Fraction(1, 100), Fraction(1, 40)

#: A column is constant if at most this part of the persons with several rows have two values in it, or as many as noise
#: makes; where the noise is larger than the second part, nothing is said.
CHANGING, MOST_UNSURE = 0.01, 0.25
SURE = 2.5

#: Where a person may have more rows than this, a share finds how many are had: up to where as many as this number of
#: standard deviations of the noise have so many or more.
FEW_ROWS, CLEAR = 4, 3.0
MOST_ROWS, PURE_MOST_ROWS = Fraction(1, 50), Fraction(1, 20)

#: Noise is drawn for no smaller part of a fit than this, for each column.
SMALLEST = Fraction(1, 5000)

#: A model of fewer persons than this many standard deviations of its noise is mostly noise.
MOSTLY_NOISE = 10


def settle_kind(request: FitRequest, session: Session) -> FitRequest:
    """The same request, of persons or of rows.

    `auto` is of persons where they have several rows and nothing speaks against it: options of row models, rows that
    cannot be read here, or the same fit stored as one of rows, which is read back; one by an earlier method is refused
    (`earlier_reservation`), until it was made anew.
    """
    version = session.version
    if request.kind == PERSONS:
        return request
    if request.kind != "auto" or not has_several_rows(version.schema):
        _refuse_person_options(request)
        return replace(request, rows_only=False)
    is_of_rows = request.rows_only or bool(request.row_options) or engine_kind(version.engine) == "spark"
    if is_of_rows:
        _refuse_person_options(request)
    settled = replace(request, rows_only=True) if is_of_rows else replace(request, kind=PERSONS)
    if request.person_options or request.fresh or _is_stored(settled, session):
        return settled
    earlier = replace(request, rows_only=False)
    return earlier if _is_stored(earlier, session) else settled


def why_rows_only(request: FitRequest) -> str:
    """Why options that were given are those of models of rows."""
    if "constraints" in request.row_options:
        return "constraints are about single rows, and the rows of a person are drawn one after the other"
    return "only models of single rows have such options"


def rows_note(request: FitRequest, settled: FitRequest, session: Session) -> str | None:
    """Why a table of persons gets a model of rows, where options decided it; before anything is paid."""
    is_by_options = request.kind == "auto" and not request.rows_only and bool(request.row_options)
    if not is_by_options or settled.kind == PERSONS or not has_several_rows(session.version.schema):
        return None
    options = " and ".join(request.row_options)
    return f"this is a fit of rows, not of persons, because of {options}: {why_rows_only(request)}"


def has_several_rows(schema: Schema) -> bool:
    """Whether a person of this table may have several rows."""
    unit = schema.unit
    return not unit.is_row and not unit.ends and unit.rows > 1


def _refuse_person_options(request: FitRequest) -> None:
    if request.person_options:
        raise UsageError(
            f"{' and '.join(request.person_options)} can be given only for a model of persons",
            hint=Message(Flag("model", PERSONS), ", for a table with a person and several rows each"),
        )


def _is_stored(request: FitRequest, session: Session) -> bool:
    """Whether the same fit was stored."""
    columns = modelled_columns(session.version, request.columns)
    needs = undeclared_columns(columns, keys=keys_delta(session.guarantee, request.delta) > 0)
    prices = possible_reservations(session.guarantee, request, texts=bool(needs.texts))
    return earlier_reservation(request, prices, session) is not None


def fit_persons(
    request: FitRequest,
    session: Session,
    *,
    order: Sequence[str] = (),
    progress: Progress = no_progress,
    announce: Callable[[str], None] = lambda note: None,
) -> PersonModel:
    """Fit a model of persons. The same fit of the same version is read back from the ledger, free.

    Guarantee: one charge of a reservation for all rows of a person, and all that the model holds is drawn from it or
        public.
    """
    request = replace(request, kind=PERSONS)
    version, guarantee = session.version, session.guarantee
    columns = check_fit(request, version)
    needs = undeclared_columns(columns, keys=keys_delta(guarantee, request.delta) > 0)
    _refuse_nothing(columns, needs)
    constants = declared_constants(columns, request.constant)
    prices = possible_reservations(guarantee, request, texts=bool(needs.texts))
    earlier = earlier_reservation(request, prices, session)
    event, noise = (earlier.event, "") if earlier is not None else choose_noise(prices, session, columns=len(columns))
    refuse_noise(request, event, columns=len(columns))
    if noise:
        announce(noise)
    reservation_id = reserve(request, event, session) if earlier is None else earlier.id
    program = Program(session.curator, version, reservation_id)
    progress("describing", 0.0)
    attributes = describe_attributes(program, columns, needs, from_constraints={})
    shown = in_shown_order(columns, order)
    requested = [] if request.time is None else [request.time.lower()]
    constants, notes = find_constants(
        program, shown, [each for each in attributes if each.name.lower() not in requested], constants
    )
    rows = find_most_rows(program, version.schema.unit.rows, [column.name for column in columns])
    time = time_column(shown, constants, request.time)
    layout = layout_of(attributes, constants=constants, time=time, rows=rows)
    reader = layout.reader(program)
    layout = replace(layout, later=find_later(program, reader, layout))
    share = program.share_left * RECORDS
    record_program = RecordProgram(program, reader, layout.record_columns(), share=share)
    choice = choose_model(
        replace(request, kind="auto"), [each.column for each in layout.record_attributes()], event, most_rows=1
    )
    made = fit_records(record_program, layout, choice, request, progress)
    chain = fit_steps(program, reader, layout, made, progress, share=program.share_left)
    outside = {
        attribute.name: rows
        for attribute, rows in zip(made.attributes, made.outside, strict=True)
        if attribute.name in needs.numbers
    }
    card = replace(
        make_card(choice, request, event, program, version, delta=card_delta(guarantee, request, event)),
        kind=PERSONS,
        because=f"one record a person ({choice.kind}), and the rows of a person one after the other",
        repeat=earlier is not None,
        outside=outside,
        doubtful=tuple(name for name, rows in outside.items() if rows > MOST_OUTSIDE * made.total),
        warnings=(
            *choice.warnings,
            *_noise_warnings(made.total, event, width=len(made.attributes)),
            *notes,
            *column_warnings(shown, _fitted_ones(attributes, made), needs, version, linked=True),
        ),
    )
    model = assemble(card, columns, order, version, layout, made, chain, choice)
    summary = {"kind": "model", "model": PERSONS, "steps": program.steps, "contents": program.contents()}
    program.finish(json.dumps(summary))
    progress("done", 1.0)
    return model


def _fitted_ones(attributes: Sequence[Attribute], made: ModelFit) -> list[Attribute]:
    """The attributes as they were fitted; as they were described, those of which only a difference was."""
    fitted = {attribute.name: attribute for attribute in made.attributes}
    return [fitted.get(attribute.name, attribute) for attribute in attributes]


def check_fit(request: FitRequest, version: Version) -> tuple[Column, ...]:
    """The columns of a fit. What cannot be fitted is refused before anything is paid, by public facts alone."""
    columns = modelled_columns(version, request.columns)
    if not has_several_rows(version.schema):
        raise UsageError(
            f"in table {version.table!r} nobody has several rows, so that there are no persons to model",
            hint="declare person and rows_per_person, or fit a model of rows",
        )
    if engine_kind(version.engine) == "spark":
        raise Refused(
            f"{version.table!r} is on spark, but models of persons are fitted only on duckdb and postgresql",
            hint=Message(Flag("rows-only"), " fits a model of rows there"),
        )
    if request.row_options:
        raise UsageError(
            f"a model of persons does not take {' and '.join(request.row_options)}: {why_rows_only(request)}",
            hint=Message(Flag("rows-only"), " fits a model of rows, which does"),
        )
    time_column(columns, declared_constants(columns, request.constant), request.time)
    return columns


def refuse_noise(request: FitRequest, event: ReservationEvent, *, columns: int) -> None:
    """An epsilon so small that its noise cannot be drawn is refused before anything is paid."""
    if noise_sd(event, most_rows=WEIGHT, share=SMALLEST / columns) > MOST_NOISE:
        epsilon = exact.show(request.epsilon or Fraction(0))
        raise UsageError(f"epsilon {epsilon} is too small: the result would be only noise")


def _noise_warnings(noisy_total: float, event: ReservationEvent, *, width: int) -> Iterator[str]:
    """Where noise hides the data, by the noisy number of persons."""
    sd = noise_sd(event, most_rows=1, share=RECORDS / (3 * width))
    if noisy_total < MOSTLY_NOISE * sd:
        yield (
            f"this model is mostly noise: at this epsilon each of its counts is off by about ±{2 * sd:,.0f}, and the "
            f"table has about {max(noisy_total, 0):,.0f} persons; use a larger epsilon or fewer columns"
        )


def _refuse_nothing(columns: Sequence[Column], needs: UndeclaredColumns) -> None:
    open_ = {*needs.numbers, *needs.texts}
    if all(attribute_of(column) is None and column.name not in open_ for column in columns):
        raise UsageError(
            "no column of the table can be modelled: finding the values of text columns needs a threshold, which needs "
            "a delta",
            hint="declare bounds, values or bins for some columns, or give the table a budget with a delta",
        )


def find_constants(
    program: Program, columns: Sequence[Column], attributes: Sequence[Attribute], constants: tuple[str, ...]
) -> tuple[tuple[str, ...], list[str]]:
    """The constants, those that are found among them; and what to tell about these.

    Numbers and moments are compared by their codes, text by the words that are told apart.
    """
    declared = {column.name: column for column in columns}
    unsure = [each for each in attributes if each.name not in constants]
    texts = [each for each in unsure if isinstance(declared[each.name], TextColumn)]
    coded = [each for each in unsure if not isinstance(declared[each.name], TextColumn)]
    if not unsure:
        return constants, []
    reader = PersonReader(
        program,
        [axis_of(each) for each in texts],
        [column_expression(declared[each.name]).expression for each in coded],
    )
    noisy, law = reader.measure_changes(
        reader.axes, range(len(coded)), share=program.share_left * (PURE_CHANGES if program.is_pure else CHANGES)
    )
    several, sd = float(noisy[0]), math.sqrt(float(law.variance()))
    limit = max(CHANGING * several, SURE * sd)
    if limit > MOST_UNSURE * several:
        return constants, []
    new = [each.name for each, changed in zip([*texts, *coded], noisy[1:], strict=True) if changed <= limit]
    shown = ", ".join(names_in_order(new, columns))
    note = (
        f"{shown} {'seems' if len(new) == 1 else 'seem'} to be constant for a person, "
        f"and {'is' if len(new) == 1 else 'are'} kept so: fewer than about {100 * limit / several:.1f}% of the persons "
        "with several rows have two values"
    )
    return (*constants, *new), [note] if new else []


def find_later(program: Program, reader: PersonReader, layout: PersonLayout) -> tuple[str, ...]:
    """The moments that are not earlier than their row's time, but for as few persons as noise makes."""
    if not layout.afters:
        return ()
    share = program.share_left * (PURE_EARLIER if program.is_pure else EARLIER)
    noisy, law = reader.measure_earlier(range(1, 1 + len(layout.afters)), share=share)
    limit = max(CHANGING * float(noisy[0]), SURE * math.sqrt(float(law.variance())))
    return tuple(name for name, earlier in zip(layout.afters, noisy[1:], strict=True) if earlier <= limit)


def find_most_rows(program: Program, most_rows: int, taken: Sequence[str]) -> Attribute:
    """The number of rows of a person, up to what more than noise has. Persons with more count as those who have it.

    A limit that was declared generously would else leave many cells that hold noise alone, for very many rows.
    """
    rows = rows_attribute(most_rows, taken)
    if most_rows <= FEW_ROWS:
        return rows
    axis = axis_of(rows)
    share = program.share_left * (PURE_MOST_ROWS if program.is_pure else MOST_ROWS)
    counted = RecordProgram(program, PersonReader(program, ()), [PersonColumn(of="rows", axis=axis)], share=share)
    law = counted.law(share)
    (noisy,) = BinnedTable(counted, (axis,)).measure([(0,)], [law], word="describing")
    beyond = np.cumsum(noisy[::-1].astype(np.float64))[::-1]
    sds = math.sqrt(float(law.variance())) * np.sqrt(np.arange(len(noisy), 0, -1))
    clear = np.flatnonzero(beyond > CLEAR * sds)
    last = max(int(clear[-1]) if len(clear) else 0, FEW_ROWS - 1)
    most = rows.edges[min(last, len(noisy) - 1) + 1] - 1
    return rows_attribute(most, taken)


def fit_records(
    program: RecordProgram, layout: PersonLayout, choice: ModelChoice, request: FitRequest, progress: Progress
) -> ModelFit:
    """The model of records, by the kind of model that suits them."""
    task = FitTask(
        program=program,
        attributes=layout.record_attributes(),
        degree=None,
        rounds=choice.rounds,
        model_mb=choice.model_mb,
        workload=choice.workload,
        adjacent=request.adjacent,
        progress=lambda word, done: progress(word, done / 2),
    )
    made = KINDS[choice.kind](task)
    return replace(made, attributes=(*made.attributes[:-1], _with_tail(made.attributes[-1])))


def _with_tail(rows: Attribute) -> Attribute:
    """Numbers of rows that are too rare to be told apart: fewer and fewer, as the larger of the frequent ones are.

    Noise in many empty cells would make persons with very many rows.
    """
    sizes = np.bincount(rows.groups)
    rare = np.flatnonzero(sizes[rows.groups] > 1)
    kept = np.flatnonzero(sizes[rows.groups] == 1)
    if not len(rare) or len(kept) < 2 or rare[0] < kept[-1]:
        return rows
    widths = np.diff(rows.edges)
    densities = np.maximum(rows.weights[kept] / widths[kept], 1e-9)
    back = min(3, len(kept) - 1)
    starts = np.array(rows.edges[:-1], dtype=np.float64)
    slope = math.log(densities[-1] / densities[-1 - back]) / (starts[kept[-1]] - starts[kept[-1 - back]])
    slope = min(max(slope, math.log(0.1)), math.log(0.95))
    weights = rows.weights.copy()
    weights[rare] = widths[rare] * np.exp(slope * (starts[rare] - starts[rare[0]]))
    return replace(rows, weights=weights)


def fit_steps(
    program: Program,
    reader: PersonReader,
    layout: PersonLayout,
    made: ModelFit,
    progress: Progress,
    *,
    share: Fraction,
) -> ChainFit | None:
    """The chain of a person's rows, for a share of the program; None where no column changes."""
    grouped = {attribute.name: attribute for attribute in made.attributes}
    settled = [
        StepVariable(
            variable=ChainVariable(role="trait", column=each.name),
            attribute=grouped[each.name],
            column=PersonColumn(of="row", axis=axis_of(each)),
        )
        for each in layout.traits
    ]
    settled.append(
        StepVariable(
            variable=ChainVariable(role="rows", column=layout.rows.name),
            attribute=grouped[layout.rows.name],
            column=PersonColumn(of="rows", axis=axis_of(layout.rows)),
        )
    )
    following: list[tuple[StepVariable, PersonColumn | None]] = []
    if layout.time is not None:
        time = layout.attribute(layout.time)
        settled.append(
            StepVariable(
                variable=ChainVariable(role="time", column=time.name),
                attribute=grouped[time.name],
                column=PersonColumn(of="previous", axis=axis_of(time)),
            )
        )
        gap = layout.gap
        assert gap is not None
        own = StepVariable(
            variable=ChainVariable(role="gap", column=time.name),
            attribute=gap,
            column=PersonColumn(of="gap", axis=axis_of(gap)),
        )
        following.append((own, None))
    for each in layout.changing:
        own = StepVariable(
            variable=ChainVariable(role="next", column=each.name),
            attribute=each,
            column=PersonColumn(of="row", axis=axis_of(each)),
        )
        following.append((own, PersonColumn(of="previous", axis=axis_of(each))))
    for number, name in enumerate(layout.afters, start=1):
        after = layout.after(name)
        own = StepVariable(
            variable=ChainVariable(role="next", column=name),
            attribute=after,
            column=PersonColumn(of="after", axis=axis_of(after), code=number),
        )
        following.append((own, PersonColumn(of="previous_after", axis=axis_of(after), code=number)))
    if not following:
        return None
    made_chain = fit_chain(program, reader, settled, following, share=share, progress=progress)
    return replace(
        made_chain,
        attributes=tuple(
            renamed(attribute, variable_name(variable, layout))
            for variable, attribute in zip(made_chain.variables, made_chain.attributes, strict=True)
        ),
    )


def variable_name(variable: ChainVariable, layout: PersonLayout) -> str:
    """What people call a variable of the chain."""
    name = variable.column
    if variable.role == "gap":
        return gap_name(name)
    if name in layout.afters and layout.time is not None:
        name = after_name(name, layout.time)
    return f"last {name}" if variable.role in ("previous", "time") else name


def assemble(
    card: ModelCard,
    columns: Sequence[Column],
    order: Sequence[str],
    version: Version,
    layout: PersonLayout,
    made: ModelFit,
    chain: ChainFit | None,
    choice: ModelChoice,
) -> PersonModel:
    """The model of persons from its fitted parts."""
    shown = in_shown_order(columns, order)
    names = {attribute.name for attribute in made.attributes}
    others = [column for column in shown if column.name not in names and column.name not in layout.afters]
    records = Model(
        card=replace(card, kind=choice.kind, because=choice.because, warnings=()),
        columns=tuple([attribute.column for attribute in made.attributes] + others),
        attributes=made.attributes,
        fitted=made.fitted,
        measured=made.measured,
        total_sd=made.total_sd,
    )
    steps = None
    if chain is not None:
        model = Model(
            card=replace(card, kind="steps", because="", warnings=()),
            columns=tuple(attribute.column for attribute in chain.attributes),
            attributes=chain.attributes,
            fitted=chain.fitted,
            measured=chain.measured,
            total_sd=chain.total_sd,
        )
        steps = Chain(model, chain.variables)
    return PersonModel(
        card=card,
        columns=shown,
        person=person_names(version, [column.name for column in shown]),
        constants=(*layout.constants, *(c.name for c in columns if c.constant and c.name not in layout.constants)),
        time=layout.time,
        afters=layout.afters,
        rows_name=layout.rows.name,
        records=records,
        steps=steps,
    )


def person_names(version: Version, taken: Sequence[str]) -> tuple[str, ...]:
    """What the columns are called that hold the number of a synthetic person."""
    if version.schema.unit.person:
        return version.schema.unit.person
    name = "person"
    while name.lower() in {each.lower() for each in taken}:
        name = f"synthetic {name}"
    return (name,)
