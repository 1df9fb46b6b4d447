"""From a declared table and an epsilon to a model: reserve, describe, fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet import exact
from discreet.accounting.convert import rho_from_epsilon
from discreet.accounting.events import Reserved, to_data
from discreet.accounting.guarantee import Guarantee
from discreet.answers.charging import charged
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.errors import BudgetExceeded, UsageError
from discreet.program import Program, noise_sd
from discreet.schema.column import Column
from discreet.schema.schema import closest
from discreet.sql.catalog import PublicTable
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.choosing import Choice, chosen
from discreet.synth.describe import Needs, describe, is_unworded, needs_of
from discreet.synth.ends import reaching, refuse_contradiction, told_by_totals
from discreet.synth.fitting import Fit, Progress, Task, silent
from discreet.synth.kinds import KINDS
from discreet.synth.model import Card, Model
from discreet.synth.public import public_rows, refuse_other_columns
from discreet.synth.random import random_model
from discreet.synth.room import refuse_large
from discreet.synth.wanted import Wanted

#: Such a part of delta finds the values of text columns; the rest converts rho.
KEYS_PART = Fraction(1, 20)

#: Where more than this share of the rows may lie outside bought bounds, nothing about the column is relied on.
MOST_OUTSIDE = 0.05

#: Noise of a standard deviation beyond this is not drawn.
MOST_NOISE = 5e11


def synthesize(
    wanted: Wanted,
    *,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
    order: Sequence[str] = (),
    public: PublicTable | None = None,
    progress: Progress = silent,
) -> Model:
    """Fit a model. The same fit of the same version is read back from the ledger, free; a broken-off one goes on.

    Guarantee: one charge of a reservation, and all that the model holds is drawn from it or public.
    """
    columns = wanted_columns(version, wanted.columns)  # in the version's own order, whatever the file's is now
    if wanted.kind == "random":
        return random_model(version, shown(columns, order))
    told = told_by_totals(columns, wanted.constraints.totals)
    needs = needs_of(columns, keys=_keys(guarantee, wanted) > 0, told=told)
    open_ = (*told, *needs.numbers, *needs.texts)
    if all(attribute_of(column) is None and column.name not in open_ for column in columns):
        raise UsageError(
            "no column of the table can be modelled: values of text are found by a threshold, which needs a delta",
            hint="declare bounds, values or bins for some columns, or give the table a budget with a delta",
        )
    _refuse_unknown(wanted, columns, public)
    event = reservation(guarantee, wanted, texts=bool(needs.texts))
    _refuse_noise(wanted, columns, event, version)
    refuse_contradiction(wanted.constraints, columns, told)
    choice = chosen(wanted, columns, event, most_rows=version.schema.unit.rows)
    refuse_large(wanted, columns, told, model_mb=choice.model_mb)
    held, known = _reserve(wanted, event, version, curator, asker)
    program = Program(curator, version, held)
    progress("describing", 0.0)
    attributes = reaching(wanted.constraints, describe(program, columns, needs, told=told), columns)
    task = Task(
        program=program,
        attributes=attributes,
        constraints=wanted.constraints,
        degree=wanted.degree,
        rounds=choice.rounds,
        model_mb=choice.model_mb,
        workload=choice.workload,
        weights={_places(attributes, names): weight for names, weight in wanted.weights},
        marginals=tuple(filter(None, dict.fromkeys(_places(attributes, names) for names in wanted.marginals))),
        adjacent=wanted.adjacent,
        public=None if public is None else public_rows(public, attributes),
        progress=progress,
    )
    made = KINDS[choice.kind](task)
    outside = _outside(made, needs)
    doubted = tuple(name for name, rows in outside.items() if rows > MOST_OUTSIDE * made.total)
    model = Model(
        card=replace(
            _card(choice, wanted, event, program, version, delta=_delta(guarantee, wanted)),
            repeat=known,
            doubtful=doubted,
            outside=outside,
            warnings=(*choice.warnings, *_doubts(doubted), *_described(columns, attributes, needs, version)),
        ),
        columns=shown(columns, order),
        attributes=made.attributes,
        fitted=made.fitted,
        measured=made.measured,
        total_sd=made.total_sd,
        constraints=wanted.constraints,
    )
    program.finish(json.dumps({"kind": "model", "model": choice.kind, "steps": program.steps}))
    progress("done", 1.0)
    return model


def _refuse_unknown(wanted: Wanted, columns: Sequence[Column], public: PublicTable | None) -> None:
    """What is named must be there, and is looked for before anything is paid."""
    sets = [*wanted.marginals, *(names for names, _ in wanted.weights)]
    known = [column.name for column in columns]
    for name in (name for names in sets for name in names):
        if name.lower() not in {each.lower() for each in known}:
            raise UsageError(f"no column {name[:60]!r} is modelled", hint=closest(name, known))
    if (public is None) != (wanted.public is None):
        raise UsageError("a public table to choose by must be named, and be there")
    if public is not None:
        refuse_other_columns(public, known)


def _places(attributes: Sequence[Attribute], names: Sequence[str]) -> tuple[int, ...]:
    """Which attributes names mean, in rising order. Text of which no value is known is none."""
    wanted = {name.lower() for name in names}
    return tuple(place for place, attribute in enumerate(attributes) if attribute.name.lower() in wanted)


def _refuse_noise(wanted: Wanted, columns: Sequence[Column], event: Reserved, version: Version) -> None:
    """An epsilon so small that its noise cannot be drawn is refused before anything is paid."""
    finest = noise_sd(event, most_rows=version.schema.unit.rows, share=Fraction(1, 30 * len(columns)))
    if finest > MOST_NOISE:
        raise UsageError(f"epsilon {exact.show(wanted.epsilon or Fraction(0))} is too small: all would be noise")


def wanted_columns(version: Version, names: Sequence[str] | None) -> tuple[Column, ...]:
    """The columns that are modelled: all of the table's, or those that are named."""
    known = version.schema.columns
    if names is None:
        return known
    for name in names:
        if version.schema.column(name) is None:
            hint = closest(name, [column.name for column in known])
            raise UsageError(f"table {version.table!r} has no column {name[:60]!r}", hint=hint)
    return tuple(column for column in known if column.name.lower() in [name.lower() for name in names])


def shown(columns: Sequence[Column], order: Sequence[str]) -> tuple[Column, ...]:
    """The columns as they come out: in the order in which people know them."""
    places = {name.lower(): place for place, name in enumerate(order)}
    return tuple(sorted(columns, key=lambda column: places.get(column.name.lower(), len(places))))


def _delta(guarantee: Guarantee, wanted: Wanted) -> Fraction:
    """The delta of the fit's guarantee: as asked, else what the population converts rho with."""
    if wanted.delta is not None:
        return wanted.delta
    return guarantee.delta_rho or guarantee.keys


def _keys(guarantee: Guarantee, wanted: Wanted) -> Fraction:
    """The part of delta that finding values of text may cost, as for the keys of a question."""
    delta = _delta(guarantee, wanted)
    return min(guarantee.keys, delta * KEYS_PART)


def reservation(guarantee: Guarantee, wanted: Wanted, *, texts: bool) -> Reserved:
    """What (epsilon, delta) is in the terms of the ledger: rho by inverse conversion, or pure where no delta is."""
    assert wanted.epsilon is not None
    delta, keys = _delta(guarantee, wanted), _keys(guarantee, wanted) if texts else Fraction(0)
    if guarantee.delta_rho == 0 or delta - keys <= 0:
        return Reserved(epsilon=wanted.epsilon, rho=wanted.epsilon**2 / 2, delta=keys)
    rho = rho_from_epsilon(wanted.epsilon, delta - keys)
    if rho <= 0:
        raise UsageError(
            f"epsilon {exact.show(wanted.epsilon)} at delta {exact.show(delta)} is too small for any noise to be finite"
        )
    return Reserved(epsilon=None, rho=rho, delta=keys)


def _outside(made: Fit, needs: Needs) -> dict[str, float]:
    """For each column with bought bounds the most rows that lie outside of them, from noisy counts."""
    limits = zip(made.attributes, made.outside, strict=True)
    return {attribute.name: rows for attribute, rows in limits if attribute.name in needs.numbers}


def _doubts(doubted: Sequence[str]) -> Iterator[str]:
    """The loudest of warnings: what comes out of these columns may be cut off."""
    if doubted:
        yield (
            f"the bounds of {', '.join(doubted)} may be too narrow: they were bought, and the noise allows that "
            f"more than {MOST_OUTSIDE:.0%} of the rows lie outside; declare low and high, give the table a delta, or "
            "use a larger epsilon"
        )


def _described(
    columns: Sequence[Column], attributes: Sequence[Attribute], needs: Needs, version: Version
) -> Iterator[str]:
    """What the owner should know about the columns of a model. Public: what was found is noisy."""
    known = {attribute.name for attribute in attributes if not is_unworded(attribute)}
    bought = [name for name in (*needs.numbers, *needs.texts) if name in known]
    if bought:
        told = f"discreet bounds {version.table} writes such facts down for all questions"
        yield f"bounds or values of {', '.join(bought)} were not declared and were bought; {told}"
    for column in columns:
        if column.name not in known:
            why = (
                "no value of it is shared by enough people"
                if column.name in needs.texts
                else "finding its values needs a delta"
            )
            yield f"{column.name} comes out as placeholders: it is text, and {why}; or declare it as a category"
    if not version.schema.unit.is_row:
        yield "rows of one person are not tied together: a sample has no persons, and rows for each cannot be studied"


def _reserve(wanted: Wanted, event: Reserved, version: Version, curator: Curator, asker: Asker) -> tuple[str, bool]:
    """The id of the reservation, one that is there for the same fit or a new charge; and whether it was there."""
    asked = {"synth": wanted.data(), "table": version.table, "version": version.number, "event": to_data(event)}
    told = json.dumps(asked, sort_keys=True)
    question = hashlib.sha256(told.encode()).hexdigest()
    known = None if wanted.fresh else curator.ledger.reserved(version.table, version.number, question)
    if known is not None:
        return known.id, True
    try:
        assert wanted.epsilon is not None
        id_ = charged(
            version,
            event,
            question=question,
            price=wanted.epsilon,
            curator=curator,
            asker=asker,
            once=not wanted.fresh,
        )
    except BudgetExceeded as problem:
        if problem.binding == "keys":
            problem.hint = "leave text columns out with --columns, or declare their values: finding them takes delta"
        raise
    return id_, False


def _card(
    choice: Choice, wanted: Wanted, event: Reserved, program: Program, version: Version, *, delta: Fraction
) -> Card:
    unit = version.schema.unit
    return Card(
        kind=choice.kind,
        table=version.table,
        version=version.number,
        unit="row" if unit.is_row else f"person, at most {unit.rows:,} rows",
        release=program.id,
        epsilon=wanted.epsilon,
        delta=delta,
        rho=None if event.epsilon is not None else event.rho,
        steps=program.steps,
        shares=dict(program.shares),
        because=choice.because,
        warnings=choice.warnings,
    )
