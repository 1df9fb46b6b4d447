"""SQL answers: price a question, let the curator measure it, and read the measurement as rows.

Everything after `Curator.measure` is post-processing: it sees noisy numbers alone and is free.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import Gaussian, Laplace
from discreet.accounting.filter import Cost, Decision, Segment
from discreet.accounting.guarantee import Guarantee, Limits
from discreet.accounting.sensitivity import Sensitivity
from discreet.curator import Curator, Version
from discreet.errors import BudgetExceeded, UsageError
from discreet.ledger.account import Account, Amount, Room, Standing
from discreet.ledger.ledger import Ledger
from discreet.ledger.refusal import refusal as exceeded
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.price import Price, epsilon_within, price
from discreet.plan.stability import sensitivity
from discreet.release import Measurement, Release, ReleaseColumn, Spending
from discreet.sql.read import Asked
from discreet.sql.write import count_sql


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How exact an answer should be: an epsilon to spend, or a width to stay within."""

    epsilon: Fraction | None = None
    within: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.within is None):
            raise UsageError(
                "say how much to spend or how exact to be",
                hint="--epsilon 0.1, or --within 50; one of the two",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A priced question and what the ledger would decide about it now."""

    asked: Asked
    price: Price
    version: Version
    guarantee: Guarantee
    decision: Decision
    because: str


def quote(asked: Asked, wish: Wish, *, version: Version, guarantee: Guarantee, ledger: Ledger) -> Quote:
    """Price a question. Free; reads the ledger's public state and no data.

    Laplace keeps both filters alive. A Gaussian has less noise at the same rho but ends the pure filter
    for the people it touches, so it is used only where the owner set accounting = "zcdp", or where the
    pure filter cannot take the question any more and the zCDP filter can.
    """
    if guarantee.accounting == "zcdp":
        return _quoted(asked, wish, version, guarantee, ledger, gaussian=True, because="accounting = 'zcdp'")
    laplace = _quoted(
        asked, wish, version, guarantee, ledger, gaussian=False, because="Laplace keeps both filters open"
    )
    if guarantee.limits.rho is None or laplace.decision.arm == "pure":
        return laplace
    gaussian = _quoted(
        asked,
        wish,
        version,
        guarantee,
        ledger,
        gaussian=True,
        because="the pure filter is full here; the zCDP one is not",
    )
    return gaussian if gaussian.decision.accepted else laplace


def _quoted(
    asked: Asked,
    wish: Wish,
    version: Version,
    guarantee: Guarantee,
    ledger: Ledger,
    *,
    gaussian: bool,
    because: str,
) -> Quote:
    cells, unit = asked.cells, version.schema.unit
    epsilon = wish.epsilon
    if epsilon is None:
        assert wish.within is not None
        epsilon = epsilon_within(
            sensitivity(cells, unit), width=wish.within, confidence=wish.confidence, gaussian=gaussian
        )
    found = price(cells, unit, epsilon=epsilon, gaussian=gaussian)
    decision = ledger.preview(
        population=version.population,
        table=version.table,
        version=version.number,
        region=cells.region,
        event=found.event,
        guarantee=guarantee,
    )
    return Quote(asked=asked, price=found, version=version, guarantee=guarantee, decision=decision, because=because)


def spending(amount: Amount) -> Spending:
    """A ledger's amount as a release shows it."""
    return Spending(epsilon=amount.epsilon, delta=amount.delta)


def standing_after(quoted: Quote, ledger: Ledger, *, free: bool) -> Standing:
    """Where the population would stand after this question; a stored answer moves nothing."""
    version, decision = quoted.version, quoted.decision
    account = ledger.refresh().accounts.get(version.population) or Account(
        name=version.population, guarantee=quoted.guarantee
    )
    if free:
        return account.standing()
    segments = {**account.segments, (version.table, version.number): Segment(balance=decision.balance)}
    return replace(account, segments=segments, delta=decision.delta).standing()


def cost_of(event: events.Event) -> Spending:
    """An event's cost for people: on a Gaussian epsilon is None, for it has no pure bound."""
    loss = events.loss(event)
    return Spending(epsilon=loss.epsilon, rho=loss.rho, delta=loss.delta)


def ask(
    asked: Asked,
    wish: Wish,
    *,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
    analyst: str | None,
    fresh: bool,
) -> Release:
    """Answer a question: from the store where it was answered before, else by charging."""
    ledger = curator.ledger
    known = None if fresh else stored(asked, wish, version=version, curator=curator)
    if known is not None:
        return read(asked, known, wish, version=version, ledger=ledger, cached=True)
    quoted = quote(asked, wish, version=version, guarantee=guarantee, ledger=ledger)
    try:
        measurement = curator.measure(quoted.price, version, analyst=analyst)
    except BudgetExceeded as problem:
        problem.hint = problem.hint or affordable(quoted, wish, ledger)
        raise
    return read(asked, measurement, wish, version=version, ledger=ledger, cached=False)


def stored(asked: Asked, wish: Wish, *, version: Version, curator: Curator) -> Measurement | None:
    """The most exact stored answer to this question, the newest of equals; None where it is not exact enough."""
    ids = curator.ledger.find(version.table, version.number, asked.cells.question())
    found = min((curator.stored(id_) for id_ in reversed(ids)), key=lambda known: known.law.variance(), default=None)
    if found is None or (wish.within is not None and found.law.half_width(wish.confidence) > wish.within):
        return None
    return found


def refusal(quoted: Quote, wish: Wish, ledger: Ledger) -> BudgetExceeded:
    """The refusal of a question that the budget does not hold, as a charge would give it."""
    account = ledger.refresh().accounts.get(quoted.version.population) or Account(
        name=quoted.version.population, guarantee=quoted.guarantee
    )
    found = exceeded(account, Cost.of(events.loss(quoted.price.event)), quoted.decision)
    found.hint = affordable(quoted, wish, ledger)
    return found


def affordable(quoted: Quote, wish: Wish, ledger: Ledger) -> str:
    """A hint: what the same question could still get, if anything."""
    limits, version = quoted.guarantee.limits, quoted.version
    left = ledger.room(version.population, guarantee=quoted.guarantee)
    pure = Fraction(left.pure, exact.EPSILON_UNITS) if limits.pure is not None else Fraction(0)
    rho = exact.sqrt(2 * Fraction(left.rho, exact.RHO_UNITS), up=False) if limits.rho is not None else Fraction(0)
    epsilon = Fraction(exact.units_down(max(pure, rho), 10**6), 10**6)
    if epsilon <= 0:
        return "a question about a group nobody has asked about yet, or ask the owner to grant more"
    cheap = price(
        quoted.asked.cells,
        version.schema.unit,
        epsilon=min(epsilon, exact.MAX_QUESTION_EPSILON),
        gaussian=rho > pure,
    )
    width = cheap.mechanism.half_width(wish.confidence)
    return f"--epsilon {exact.show(epsilon)} (each cell within {width}), or a group nobody has asked about yet"


def counts_left(limits: Limits, room: Room, *, width: int) -> int:
    """How many more counts of everybody, each within `width` at 95%, the budget holds."""
    rows = Sensitivity(l0=1, l1=1, l2_squared=1, linf=1, because=())
    found = []
    for gaussian, limit, left, units in (
        (False, limits.pure, room.pure, exact.EPSILON_UNITS),
        (False, limits.rho, room.rho, exact.RHO_UNITS),
        (True, limits.rho, room.rho, exact.RHO_UNITS),
    ):
        if limit is None:
            continue
        epsilon = epsilon_within(rows, width=Fraction(width), confidence=Fraction(95, 100), gaussian=gaussian)
        price_each = epsilon if units == exact.EPSILON_UNITS else epsilon**2 / 2
        found.append(left // exact.units_up(price_each, units))
    return max(found, default=0)


def read(
    asked: Asked, measurement: Measurement, wish: Wish, *, version: Version, ledger: Ledger, cached: bool
) -> Release:
    """A measurement as the rows that the question asked for, sorted by its keys as selected."""
    standing = ledger.standing(version.population)
    paid = cost_of(measurement.event)
    free = Spending(epsilon=Fraction(0), rho=Fraction(0), delta=Fraction(0))
    return Release(
        id=measurement.id,
        table=version.table,
        version=version.number,
        columns=tuple(ReleaseColumn(name=output.name, kind=output.kind) for output in asked.outputs),
        rows=_rows(asked, measurement),
        law=measurement.law,
        event=measurement.event,
        confidence=wish.confidence,
        cost=free if cached else paid,
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        cached=cached,
        warnings=tuple(_warnings(measurement, wish, cached=cached)),
    )


def _rows(asked: Asked, measurement: Measurement) -> tuple[tuple[Any, ...], ...]:
    axes = asked.cells.axes
    noisy = np.array(measurement.noisy_values, dtype=object).reshape(measurement.shape)
    shown = list(dict.fromkeys(output.axis for output in asked.outputs if output.axis is not None))
    order = [*shown, *(place for place in range(len(axes)) if place not in shown)]
    rows = []
    for places in itertools.product(*(range(axes[place].size) for place in order)):
        at = dict(zip(order, places, strict=True))
        value = noisy[tuple(at[place] for place in range(len(axes)))]
        rows.append(
            tuple(
                int(value) if output.axis is None else axes[output.axis].labels[at[output.axis]]
                for output in asked.outputs
            )
        )
    return tuple(rows)


def _warnings(measurement: Measurement, wish: Wish, *, cached: bool) -> list[str]:
    told = []
    if cached and wish.epsilon is not None and _price_of(measurement) < wish.epsilon:
        told.append("this is the stored answer, measured at a smaller epsilon; a fresh draw (--fresh) is charged")
    width = measurement.law.half_width(wish.confidence)
    cells = len(measurement.noisy_values)
    drowned = sum(value <= width for value in measurement.noisy_values)
    if drowned:
        which = "the number is" if cells == 1 else f"{drowned} of {cells} numbers are"
        told.append(f"{which} no larger than the noise of ± {width}; a larger epsilon or wider groups would show more")
    return told


def _price_of(measurement: Measurement) -> Fraction:
    """The epsilon a measurement was bought at, rounded up."""
    match measurement.event:
        case Laplace(scale=scale, l1=l1):
            return l1 / scale
        case Gaussian(sigma2=sigma2, l2_squared=l2_squared):
            return exact.sqrt(l2_squared / sigma2, up=True)
        case _:
            return Fraction(0)


def explain(quoted: Quote, known: Measurement | None, *, confidence: Fraction, ledger: Ledger) -> dict[str, Any]:
    """What `discreet explain` says, as JSON data; the keys are a contract. `known`: a stored answer, which is free."""
    after = standing_after(quoted, ledger, free=known is not None)
    cost = Spending(epsilon=Fraction(0), rho=Fraction(0), delta=Fraction(0)) if known else cost_of(quoted.price.event)
    moves, mechanism = quoted.price.sensitivity, quoted.price.mechanism
    laplace = isinstance(mechanism, DiscreteLaplace)
    scale = mechanism.scale if isinstance(mechanism, DiscreteLaplace) else exact.sqrt(mechanism.sigma2, up=True)
    noise = {
        "mechanism": "discrete Laplace" if laplace else "discrete Gaussian",
        "scale": exact.as_float(scale, up=True),
        "plus_minus": mechanism.half_width(confidence),
        "because": quoted.because,
    }
    return {
        "accepted": True,
        "cost": cost.to_data(up=True),
        "spent_after": spending(after.spent).to_data(up=True),
        "remaining_after": spending(after.remaining).to_data(up=False),
        "sensitivity": {
            "l0": moves.l0,
            "l1": moves.l1,
            "l2": exact.as_float(exact.sqrt(Fraction(moves.l2_squared), up=True), up=False),
            "linf": moves.linf,
            "because": list(moves.because),
        },
        "noise": [{"column": output.name} | noise for output in quoted.asked.outputs if output.kind == "noisy"],
        "stored": None if known is None else {"release": known.id, "plus_minus": known.law.half_width(confidence)},
        "cells": quoted.asked.cells.size,
        "confidence": float(confidence),
        "region": region_words(quoted.asked, quoted.version),
        "filter": quoted.decision.arm or "none",
        "engine_sql": count_sql(quoted.asked.cells, quoted.version.schema, source=f'"{quoted.version.table}"'),
    }


def region_words(asked: Asked, version: Version) -> str:
    """The people a question can touch, in words."""
    region = asked.cells.region
    if region.is_whole:
        return f"everybody in {version.table}"
    boxes = [" and ".join(_side(version, name, allowed) for name, allowed in box.sides.items()) for box in region.boxes]
    return " or ".join(boxes)


def _side(version: Version, name: str, allowed: Any) -> str:
    column = version.schema.column(name)

    def label(code: Any) -> str:
        if isinstance(code, str):
            return repr(code)
        try:
            return str(column.label(code))  # type: ignore[union-attr]
        except OverflowError:  # beyond the calendar
            return str(code)

    words = []
    for low, high in allowed.runs:
        if isinstance(low, int) and isinstance(high, int):
            ends = [label(code) for code in (range(low, high) if high - low <= 3 else (low, high - 1))]
            words.append(", ".join(ends) if high - low <= 3 else " to ".join(ends))
        elif isinstance(low, str) and high == low + "\0":
            words.append(repr(low))
        else:
            low_word = "" if low is None else f"from {label(low)} "
            high_word = "" if high is None else f"up to {label(high - 1 if isinstance(high, int) else high)}"
            words.append((low_word + high_word).strip() or "anything")
    if allowed.null:
        words.append("NULL")
    return f"{name} is {' or '.join(words)}"
