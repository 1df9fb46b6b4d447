"""Starting a stream: what it costs and how good it will be, before anything is spent; then one charge for all of it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import exact
from discreet.accounting.convert import rho_from_epsilon
from discreet.accounting.events import Gaussian, Laplace, to_data
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.engines.person_keys import MARK
from discreet.errors import UsageError
from discreet.schema.schema import Schema
from discreet.tables.stream.counter import Counter
from discreet.tables.stream.counters import law_of
from discreet.tables.stream.root import Root
from discreet.tables.stream.tree import best_tree

#: Steps of a stream. More than this is forty-four years of days.
MOST_STEPS = 2**14

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What somebody wants of a stream. `delta` None: that of the population; 0: pure differential privacy."""

    name: str
    epsilon: Fraction
    delta: Fraction | None
    horizon: int
    contributions: int | None

    @staticmethod
    def of(name: str, *, epsilon: object, delta: object, horizon: object, contributions: object) -> Wanted:
        """The same in the words of the command line or of Python, checked."""
        if horizon is None:
            raise UsageError("a stream needs a horizon: how many steps it will ever have", hint="--horizon 365")
        return Wanted(
            name=check_name(name),
            epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
            delta=None if delta is None else exact.probability(delta, name="delta"),
            horizon=_whole(horizon, name="the horizon", most=MOST_STEPS),
            contributions=None if contributions is None else _whole(contributions, name="contributions", most=10**9),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be drawn, from public facts alone."""

    counter: Counter
    event: Laplace | Gaussian
    contributions: int
    epsilon: Fraction
    delta: Fraction

    @property
    def sds(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The standard deviation of the total at each step."""
        return np.sqrt(self.counter.total_variances() * law_of(self.event).variance())

    @property
    def expected_rmse(self) -> float:
        """Of the totals, over all steps."""
        return float(np.sqrt(np.mean(self.sds**2)))


def check_name(name: str) -> str:
    """A name that can be typed."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(
            f"a stream's name is letters, digits, dots, dashes and underscores, got {str(name)[:60]!r}",
            hint="--stream visits",
        )
    return name


def whose(table: str, schema: Schema, path: tuple[tuple[str, Schema], ...] = ()) -> list[dict[str, Any]]:
    """Who a person is, as data: the columns that name them, and those on the way to them."""
    return [
        {"table": name, "person": list(own.unit.person), "through": own.unit.through, "on": list(own.unit.on)}
        for name, own in ((table, schema), *path)
    ]


def planned(wanted: Wanted, schema: Schema, guarantee: Guarantee) -> Plan:
    """Choose the counter and its noise. Free, and the same on an empty table.

    Gaussian noise where a delta turns (epsilon, delta) into rho; else a tree under Laplace noise.
    """
    unit = schema.unit
    if unit.is_row:
        raise UsageError(
            f"a stream follows persons through the versions of a table, and {schema.table!r} has rows alone",
            hint='declare the column that identifies a row: person = "id", rows_per_person = 1',
        )
    contributions = unit.rows if wanted.contributions is None else wanted.contributions
    if contributions > unit.rows:
        raise UsageError(
            f"the table keeps at most {unit.rows:,} rows of a person, so none can be counted {contributions:,} times",
            hint=f"--contributions {unit.rows}, or less",
        )
    delta = _delta(wanted, guarantee)
    counter: Counter = Root(wanted.horizon) if delta else best_tree(wanted.horizon)
    moves = counter.strategy.moves(contributions)
    event: Laplace | Gaussian
    if delta:
        rho = rho_from_epsilon(wanted.epsilon, delta)
        if rho <= 0:
            raise UsageError(f"epsilon {exact.show(wanted.epsilon)} at this delta is too small for noise to be finite")
        event = Gaussian(sigma2=Fraction(moves.l2_squared) / (2 * rho), l2_squared=moves.l2_squared)
    else:
        event = Laplace(scale=Fraction(moves.l1) / wanted.epsilon, l1=moves.l1)
    law_of(event)  # refuses noise that cannot be drawn
    return Plan(counter=counter, event=event, contributions=contributions, epsilon=wanted.epsilon, delta=delta)


def charge(wanted: Wanted, plan: Plan, *, version: Version, whose: list[Any], curator: Curator, asker: Asker) -> str:
    """The stream's id: the one that was charged for the very same, where it is open, or a new charge."""
    ledger = curator.ledger
    state = ledger.refresh()
    of = {
        "counter": plan.counter.to_data(),
        "contributions": plan.contributions,
        "epsilon": exact.write(plan.epsilon),
        "delta": exact.write(plan.delta),
        "whose": whose,
        "persons": state.version(version.table, version.number).source.get(MARK),
    }
    known = state.stream(version.table, wanted.name)
    if known is not None and not known.closed and (known.of, known.event) == (of, plan.event):
        return known.id
    asked = {"stream": wanted.name, "of": of, "event": to_data(plan.event)}
    return ledger.charge(
        population=version.population,
        table=version.table,
        version=version.number,
        region=Region.whole(),
        event=plan.event,
        question=hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest(),
        price=wanted.epsilon,
        analyst=asker.name,
        quota=asker.quota,
        stream={"name": wanted.name, "count": wanted.horizon, "of": of},
    ).id


def _delta(wanted: Wanted, guarantee: Guarantee) -> Fraction:
    """The delta of the stream's guarantee; 0 where it is to be pure."""
    if wanted.delta and guarantee.limits.rho is None:
        raise UsageError(
            "--delta means Gaussian noise, and the table's budget has no delta to convert its rho with",
            hint="leave --delta out",
        )
    if wanted.delta is not None:
        return wanted.delta
    return guarantee.delta_rho if guarantee.limits.rho is not None else Fraction(0)


def _whole(value: object, *, name: str, most: int) -> int:
    found = exact.number(value, name=name)
    if found.denominator != 1 or not 1 <= found <= most:
        raise UsageError(f"{name} must be a whole number from 1 to {most:,}, got {exact.show(found)}")
    return int(found)
