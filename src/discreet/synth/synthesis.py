"""From a declared table and an epsilon to a model: reserve, describe, fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet import exact
from discreet.accounting.events import ReservationEvent, to_data
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.zcdp_conversion import rho_from_epsilon
from discreet.answers.reservation_choice import (
    cheapest_noise,
    guarantee_delta,
    keys_delta,
    reservation_of,
    reservations_for,
)
from discreet.answers.whole_table_charge import charge_whole_table
from discreet.errors import BudgetExceeded, Command, Flag, Message, UsageError
from discreet.kernel.curator import Version
from discreet.kernel.program import Program, noise_sd
from discreet.kernel.project_session import Session
from discreet.ledger.records import Reservation
from discreet.present.cell_text import counted
from discreet.schema.column import Column, TextColumn
from discreet.schema.schema import closest_name_hint
from discreet.sql.catalog import PublicTable
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.attribute_discovery import (
    OTHER,
    UndeclaredColumns,
    describe_attributes,
    has_no_words,
    is_empty,
    rows_for_words,
    undeclared_columns,
)
from discreet.synth.column_differences import add_differences
from discreet.synth.constraint_bounds import attributes_from_totals, refuse_contradiction, stretch_to_constraints
from discreet.synth.fine_cells import shape_cells
from discreet.synth.fit_request import FitRequest
from discreet.synth.fit_task import FitTask, ModelFit, Progress, no_progress
from discreet.synth.model import Model, ModelCard
from discreet.synth.model_choice import ModelChoice, choose_model
from discreet.synth.model_kinds import KINDS
from discreet.synth.model_size import refuse_large_marginals
from discreet.synth.public_rows import public_rows, refuse_other_columns
from discreet.synth.random_model import random_model
from discreet.synth.shape_measurement import measure_shapes

#: A model of fewer rows than this many standard deviations of its noise is mostly noise.
MOSTLY_NOISE = 10

#: Where more than this share of the rows may lie outside bought bounds, nothing about the column is relied on.
MOST_OUTSIDE = 0.05

#: The steps that a fit takes; 2 since it measures shapes, groups of cells and bins once more; 3 since cells outside
#: bought bounds reach farther; 4 since they go on by a curve, and rare codes are kept; 5 since a round may choose to
#: measure nothing, and ends by powers of two are enough where cells widen.
METHOD = 5

#: The delta that a table without one is compared with; and 95% of either noise, in standard deviations.
USUAL_DELTA = Fraction(1, 10**6)
GAUSSIAN, LAPLACE = 1.96, 2.12

#: Noise of a standard deviation beyond this is not drawn.
MOST_NOISE = 5e11


def synthesize(
    request: FitRequest,
    session: Session,
    *,
    order: Sequence[str] = (),
    public: PublicTable | None = None,
    progress: Progress = no_progress,
    announce: Callable[[str], None] = lambda note: None,
) -> Model:
    """Fit a model. The same fit of the same version is read back from the ledger, free; a broken-off one goes on.

    `announce` is called with a note, before anything is paid: which noise was chosen, and why.

    Guarantee: one charge of a reservation, and all that the model holds is drawn from it or public.
    """
    version, guarantee = session.version, session.guarantee
    columns = modelled_columns(version, request.columns)  # in the version's own order, whatever the file's is now
    if request.kind == "random":
        return random_model(version, in_shown_order(columns, order), request.constraints)
    from_constraints = attributes_from_totals(columns, request.constraints.totals)
    needs = undeclared_columns(
        columns, keys=keys_delta(guarantee, request.delta) > 0, from_constraints=from_constraints
    )
    open_ = (*from_constraints, *needs.numbers, *needs.texts)
    if all(attribute_of(column) is None and column.name not in open_ for column in columns):
        raise UsageError(
            "no column of the table can be modelled: finding the values of text columns needs a threshold, which needs "
            "a delta",
            hint="declare bounds, values or bins for some columns, or give the table a budget with a delta",
        )
    _refuse_unknown(request, columns, public)
    prices = possible_reservations(guarantee, request, texts=bool(needs.texts))
    earlier = earlier_reservation(request, prices, session)
    event, noise = (earlier.event, "") if earlier is not None else choose_noise(prices, session, columns=len(columns))
    _refuse_noise(request, columns, event, version)
    refuse_contradiction(request.constraints, columns, from_constraints)
    choice = choose_model(request, columns, event, most_rows=version.schema.unit.rows)
    refuse_large_marginals(request, columns, from_constraints, model_mb=choice.model_mb)
    for note in [noise] if noise else _notes_without_delta(request, in_shown_order(columns, order), event, session):
        if earlier is None:
            announce(note)
    reservation_id = reserve(request, event, session) if earlier is None else earlier.id
    program = Program(session.curator, version, reservation_id)
    progress("describing", 0.0)
    described = describe_attributes(program, columns, needs, from_constraints=from_constraints)
    attributes = stretch_to_constraints(request.constraints, [shape_cells(each) for each in described], columns)
    attributes = add_differences(measure_shapes(program, attributes), request.constraints)
    task = FitTask(
        program=program,
        attributes=attributes,
        constraints=request.constraints,
        degree=request.degree,
        rounds=choice.rounds,
        model_mb=choice.model_mb,
        workload=choice.workload,
        weights={_places(attributes, names): weight for names, weight in request.weights},
        marginals=tuple(filter(None, dict.fromkeys(_places(attributes, names) for names in request.marginals))),
        adjacent=request.adjacent,
        public=None if public is None else public_rows(public, attributes),
        progress=progress,
    )
    made = KINDS[choice.kind](task)
    outside, shown = _outside(made, needs), in_shown_order(columns, order)
    doubted = tuple(names_in_order([name for name in outside if outside[name] > MOST_OUTSIDE * made.total], shown))
    model = Model(
        card=replace(
            make_card(choice, request, event, program, version, delta=card_delta(guarantee, request, event)),
            repeat=earlier is not None,
            doubtful=doubted,
            outside=outside,
            warnings=(
                *choice.warnings,
                *_noise_warnings(request, made.total, event, version, width=len(columns)),
                *_bounds_warnings(doubted, pure=program.is_pure),
                *column_warnings(shown, made.attributes, needs, version),
                *_value_warnings(made, program, needs, shown),
            ),
        ),
        columns=shown,
        attributes=made.attributes,
        fitted=made.fitted,
        measured=made.measured,
        total_sd=made.total_sd,
        constraints=request.constraints,
    )
    summary = {"kind": "model", "model": choice.kind, "steps": program.steps, "contents": program.contents()}
    program.finish(json.dumps(summary))
    progress("done", 1.0)
    return model


def _refuse_unknown(request: FitRequest, columns: Sequence[Column], public: PublicTable | None) -> None:
    """What is named must be there, and is looked for before anything is paid."""
    sets = [*request.marginals, *(names for names, _ in request.weights)]
    column_names = [column.name for column in columns]
    for name in (name for names in sets for name in names):
        if name.lower() not in {each.lower() for each in column_names}:
            raise UsageError(f"column {name[:60]!r} is not modelled", hint=closest_name_hint(name, column_names))
    if (public is None) != (request.public is None):
        raise UsageError("the public table that guides the model is missing or not named")
    if public is not None:
        refuse_other_columns(public, column_names)


def _places(attributes: Sequence[Attribute], names: Sequence[str]) -> tuple[int, ...]:
    """Which attributes names mean, in rising order. Text of which no value is known is none."""
    lowered_names = {name.lower() for name in names}
    return tuple(place for place, attribute in enumerate(attributes) if attribute.name.lower() in lowered_names)


def _refuse_noise(request: FitRequest, columns: Sequence[Column], event: ReservationEvent, version: Version) -> None:
    """An epsilon so small that its noise cannot be drawn is refused before anything is paid."""
    finest = noise_sd(event, most_rows=version.schema.unit.rows, share=Fraction(1, 30 * len(columns)))
    if finest > MOST_NOISE:
        epsilon = exact.show(request.epsilon or Fraction(0))
        raise UsageError(f"epsilon {epsilon} is too small: the result would be only noise")


def modelled_columns(version: Version, names: Sequence[str] | None) -> tuple[Column, ...]:
    """The columns that are modelled: all of the table's, or those that are named."""
    columns = version.schema.columns
    if names is None:
        return columns
    for name in names:
        if version.schema.column(name) is None:
            hint = closest_name_hint(name, [column.name for column in columns])
            raise UsageError(f"table {version.table!r} has no column {name[:60]!r}", hint=hint)
    return tuple(column for column in columns if column.name.lower() in [name.lower() for name in names])


def in_shown_order(columns: Sequence[Column], order: Sequence[str]) -> tuple[Column, ...]:
    """The columns as they come out: in the order in which people know them."""
    places = {name.lower(): place for place, name in enumerate(order)}
    return tuple(sorted(columns, key=lambda column: places.get(column.name.lower(), len(places))))


def names_in_order(names: Collection[str], columns: Sequence[Column]) -> list[str]:
    """Names of columns in the order of these."""
    return [column.name for column in columns if column.name in names]


def reservation(guarantee: Guarantee, request: FitRequest, *, texts: bool) -> ReservationEvent:
    """What (epsilon, delta) is in the terms of the ledger: rho by inverse conversion, or pure where no delta is."""
    assert request.epsilon is not None
    return reservation_of(guarantee, request.epsilon, request.delta, texts=texts)


def possible_reservations(guarantee: Guarantee, request: FitRequest, *, texts: bool) -> list[ReservationEvent]:
    """The reservations that keep (epsilon, delta) of a fit."""
    assert request.epsilon is not None
    return reservations_for(guarantee, request.epsilon, request.delta, texts=texts)


def choose_noise(prices: Sequence[ReservationEvent], session: Session, *, columns: int) -> tuple[ReservationEvent, str]:
    """The noise that costs the budget least for the same quality of a fit, and why.

    A third of a fit measures the columns one by one, and the size of that noise is used for the comparison
    (`model_choice`).
    """
    return cheapest_noise(prices, session, share=Fraction(1, 3 * columns), what="fit")


def card_delta(guarantee: Guarantee, request: FitRequest, event: ReservationEvent) -> Fraction:
    """The delta of a fit's guarantee, by the noise that was chosen: with Laplace noise only keys need one."""
    is_choice = event.epsilon is not None and guarantee.delta_rho > 0 and request.delta is None
    return event.delta if is_choice else guarantee_delta(guarantee, request.delta)


def _notes_without_delta(
    request: FitRequest, columns: Sequence[Column], event: ReservationEvent, session: Session
) -> Iterator[str]:
    """What a table without a delta loses by that, in numbers, before anything is paid."""
    if event.epsilon is None or guarantee_delta(session.guarantee, request.delta) > 0:
        return
    most_rows, share = session.version.schema.unit.rows, Fraction(1, 3 * len(columns))
    rho = rho_from_epsilon(event.epsilon, USUAL_DELTA)
    pure = noise_sd(event, most_rows=most_rows, share=share)
    if rho > 0:
        gaussian = ReservationEvent(epsilon=None, rho=rho, delta=Fraction(0))
        other = noise_sd(gaussian, most_rows=most_rows, share=share)
        if round(other * GAUSSIAN) < round(pure * LAPLACE):
            yield (
                f"without a delta each count of a column is off by about ±{pure * LAPLACE:,.0f} rows; a delta of 1e-6 "
                f"would make it ±{other * GAUSSIAN:,.0f}, so that {other * GAUSSIAN / (pure * LAPLACE):.0%} of the "
                "rows would give shares as exact, and more dependences between columns would be seen"
            )
    texts = [column.name for column in columns if isinstance(column, TextColumn)]
    if texts:
        yield (
            f"without a delta no values of text can be found: {', '.join(texts)} will contain only placeholders; "
            'declare their values (type = "category"), or give the table a budget with a delta of 1e-6'
        )


def _value_warnings(
    made: ModelFit, program: Program, needs: UndeclaredColumns, columns: Sequence[Column]
) -> Iterator[str]:
    """What was not found of columns that are not declared, from noisy numbers."""
    unit = "rows" if program.version.schema.unit.is_row else "people"
    places = {attribute.name: place for place, attribute in enumerate(made.attributes)}
    for name in names_in_order(places, columns):
        place, attribute = places[name], made.attributes[places[name]]
        if attribute.name in needs.texts and not has_no_words(attribute) and attribute.weights[_other(attribute)] > 0:
            counts = made.fitted.calibrated.project((place,))
            share = float(counts[attribute.groups[_other(attribute)]]) / max(made.total, 1.0)
            yield (
                f"about {min(1.0, share):.0%} of the rows have other values of {attribute.name}, each shared by fewer "
                f'than about {rows_for_words(program, needs):,} {unit}: they come out as "{OTHER}"'
            )
        elif attribute.name in needs.numbers and int((attribute.weights > 0).sum()) == 1:
            yield (
                f"only one value of {attribute.name} was seen: if there are others, this epsilon is too small to see "
                "them; declare low and high"
            )


def _other(attribute: Attribute) -> int:
    """The cell of all words that were not found."""
    return len(attribute.edges) - 2


def _outside(made: ModelFit, needs: UndeclaredColumns) -> dict[str, float]:
    """For each column with bought bounds the most rows that lie outside of them, from noisy counts."""
    limits = zip(made.attributes, made.outside, strict=True)
    return {attribute.name: rows for attribute, rows in limits if attribute.name in needs.numbers}


def _noise_warnings(
    request: FitRequest, noisy_total: float, event: ReservationEvent, version: Version, *, width: int
) -> Iterator[str]:
    """Where noise hides the data, by the noisy number of rows. Where their number was given, `choose_model` says it."""
    sd = noise_sd(event, most_rows=version.schema.unit.rows, share=Fraction(1, 3 * width))
    if request.rows is None and noisy_total < MOSTLY_NOISE * sd:
        yield (
            f"this model is mostly noise: at this epsilon each of its counts is off by about ±{2 * sd:,.0f}, and the "
            f"table has about {max(noisy_total, 0):,.0f} rows; use a larger epsilon or fewer columns"
        )


def _bounds_warnings(doubted: Sequence[str], *, pure: bool) -> Iterator[str]:
    """The loudest of warnings: what comes out of these columns may be cut off."""
    if doubted:
        yield (
            f"the bounds of {', '.join(doubted)} may be too narrow: they were measured with noise, and more than "
            f"{MOST_OUTSIDE:.0%} of the rows may be outside them; declare low and high, "
            f"{'give the table a delta, ' if pure else ''}or use a larger epsilon"
        )


def column_warnings(
    columns: Sequence[Column],
    attributes: Sequence[Attribute],
    needs: UndeclaredColumns,
    version: Version,
    *,
    linked: bool = False,
) -> Iterator[str]:
    """What the owner should know about the columns of a model. Public: what was found is noisy.

    `linked`: sampled rows belong to synthetic persons.
    """
    modelled_names = {attribute.name for attribute in attributes if not has_no_words(attribute)}
    bought = names_in_order({*needs.numbers, *needs.texts} & modelled_names, columns)
    if bought:
        yield Message(
            f"the bounds or values of {', '.join(bought)} were not declared, so this fit spent part of its budget to "
            "measure them; ",
            Command("bounds", version.table),
            " measures and declares them once, for all later queries and fits",
        )
    empty = names_in_order([attribute.name for attribute in attributes if is_empty(attribute)], columns)
    if empty:
        yield f"no value of {', '.join(empty)} was seen, so that all of them come out as NULL"
    placeholders = [column.name for column in columns if column.name not in (*modelled_names, *empty)]
    for why, names in (
        ("no value is shared by enough people; declare", [name for name in placeholders if name in needs.texts]),
        ("values of text need a delta; or declare", [name for name in placeholders if name not in needs.texts]),
    ):
        if names:
            holds = "contains" if len(names) == 1 else "contain"
            yield f'{", ".join(names)} {holds} only placeholders: {why} values that are public (type = "category")'
    if not linked and not version.schema.unit.is_row:
        yield (
            "one row of each person was used; if persons have several, raise rows_per_person for a model of persons"
            if version.schema.unit.rows == 1
            else "sampled rows are not linked to persons: you cannot use them to study several rows of one person"
        )


def _question(request: FitRequest, event: ReservationEvent, version: Version, *, method: int = METHOD) -> str:
    """What makes two fits of one version the same, as a digest."""
    question_data = {
        "synth": request.data(),
        "table": version.table,
        "version": version.number,
        "event": to_data(event),
        **({} if method == 1 else {"method": method}),
    }
    return hashlib.sha256(json.dumps(question_data, sort_keys=True).encode()).hexdigest()


def earlier_reservation(
    request: FitRequest, prices: Sequence[ReservationEvent], session: Session
) -> Reservation | None:
    """An earlier reservation for the same fit, whichever noise would be chosen now.

    One by an earlier method is refused: its steps lie in the ledger, and cannot be taken by this one.
    """
    if request.fresh:
        return None
    version = session.version
    for method in range(METHOD, 0, -1):
        for event in prices:
            question = _question(request, event, version, method=method)
            earlier = session.ledger.find_reservation(version.table, version.number, question)
            if earlier is not None and method < METHOD:
                raise UsageError(
                    "an earlier version of Discreet made this fit, and this version fits in another way",
                    hint=Message(
                        "use the model file of that fit, or fit again with ", Flag("fresh"), " (charged again)"
                    ),
                )
            if earlier is not None:
                return earlier
    return None


def reserve(request: FitRequest, event: ReservationEvent, session: Session) -> str:
    """Charge a fit; return the id of its reservation."""
    question = _question(request, event, session.version)
    try:
        assert request.epsilon is not None
        return charge_whole_table(session, event, question=question, price=request.epsilon, once=not request.fresh)
    except BudgetExceeded as problem:
        if problem.binding == "keys":
            problem.hint = Message(
                "leave text columns out with ",
                Flag("columns"),
                ", or declare their values: finding them spends delta",
            )
        elif problem.binding == "loss":
            problem.hint = _affordable_hint(request, session, texts=event.delta > 0)
        raise


def _affordable_hint(request: FitRequest, session: Session, *, texts: bool) -> Message:
    """The largest epsilon, in thousandths, at which the budget holds the same fit."""
    assert request.epsilon is not None

    def fits(thousandths: int) -> bool:
        try:
            smaller = replace(request, epsilon=Fraction(thousandths, 1000))
            prices = possible_reservations(session.guarantee, smaller, texts=texts)
        except UsageError:  # so small that no noise is large enough
            return False
        return any(session.preview(event, booking=False).accepted for event in prices)

    low, high = 0, int(request.epsilon * 1000)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    if not low:
        return Message(
            "no budget remains for a fit; ask the owner to grant more, or use a model that was fitted before"
        )
    return Message(
        Flag("epsilon", exact.show(Fraction(low, 1000))),
        " (this fits the remaining budget), or ask the owner to grant more",
    )


def make_card(
    choice: ModelChoice,
    request: FitRequest,
    event: ReservationEvent,
    program: Program,
    version: Version,
    *,
    delta: Fraction,
) -> ModelCard:
    unit = version.schema.unit
    return ModelCard(
        kind=choice.kind,
        table=version.table,
        version=version.number,
        unit="row" if unit.is_row else f"person, at most {counted(unit.rows, 'row')}",
        release=program.id,
        epsilon=request.epsilon,
        delta=delta,
        rho=None if event.epsilon is not None else event.rho,
        steps=program.steps,
        shares=dict(program.shares),
        because=choice.because,
        warnings=choice.warnings,
        degree=request.degree,
    )
