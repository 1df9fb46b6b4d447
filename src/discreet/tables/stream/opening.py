"""Starting a stream: what it costs and how good it will be, before anything is spent; then one charge for all of it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.accounting.events import Gaussian, Laplace, Reserved, loss, to_data
from discreet.accounting.guarantee import Guarantee
from discreet.answers.caveats import doubled
from discreet.answers.charging import charged
from discreet.answers.quoting import cost_of
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.engines.person_keys import MARK
from discreet.errors import UsageError
from discreet.release import Spending
from discreet.tables.reserving import Terms
from discreet.tables.stream.counter import Counter
from discreet.tables.stream.counters import law_of
from discreet.tables.stream.root import Root
from discreet.tables.stream.tree import best_tree
from discreet.tables.stream.whose import whose_of

#: Steps of a stream. More than this is forty-four years of days.
MOST_STEPS = 2**14

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What somebody wants of a stream. `contributions` None: as many as the table keeps of a person."""

    name: str
    terms: Terms
    horizon: int
    contributions: int | None

    @staticmethod
    def of(name: str, *, epsilon: object, delta: object, horizon: object, contributions: object) -> Wanted:
        """The same in the words of the command line or of Python, checked."""
        if horizon is None:
            raise UsageError("a stream needs a horizon: how many steps it will ever have", hint="--horizon 365")
        return Wanted(
            name=check_name(name),
            terms=Terms.of(epsilon, delta),
            horizon=_whole(horizon, name="the horizon", most=MOST_STEPS),
            contributions=None if contributions is None else _whole(contributions, name="contributions", most=10**9),
        )

    def asked(self) -> dict[str, Any]:
        """Its terms as data: the same wish is known again whatever was spent meanwhile."""
        delta = self.terms.delta
        return {"epsilon": exact.write(self.terms.epsilon), "delta": None if delta is None else exact.write(delta)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be drawn, from public facts alone."""

    counter: Counter
    event: Laplace | Gaussian
    contributions: int
    asked: dict[str, Any]

    @property
    def cost(self) -> Spending:
        """What the whole horizon costs."""
        return cost_of(self.event)

    @property
    def price(self) -> str:
        """The same for people: a pure epsilon, the pair that was asked for, or rho."""
        epsilon = exact.read(self.asked["epsilon"])
        if isinstance(self.event, Laplace):
            return f"epsilon {exact.show(epsilon, up=True)} (pure)"
        rho = f"rho {exact.show(loss(self.event).rho, up=True)}"
        if not self.asked["delta"]:
            return rho
        delta = exact.show(exact.read(self.asked["delta"]), up=True)
        return f"epsilon {exact.show(epsilon, up=True)}, delta {delta} ({rho})"

    @property
    def sds(self) -> NDArray[np.float64]:
        """The standard deviation of the total at each step."""
        return np.asarray(np.sqrt(self.counter.total_variances() * law_of(self.event).variance()))

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


def notes(plan: Plan, guarantee: Guarantee, *, population: str, curator: Curator) -> list[str]:
    """What the reader of a stream should know; its intervals do not speak of it."""
    limit = f"each person is counted at most {times(plan.contributions)} in all; rows beyond that are left out"
    delta = plan.asked["delta"]
    terms = Terms(epsilon=exact.read(plan.asked["epsilon"]), delta=None if delta is None else exact.read(delta))
    lost = loss(plan.event)
    noise = terms.notes(Reserved(epsilon=lost.epsilon, rho=lost.rho, delta=Fraction(0)), guarantee)
    return [limit, *noise, *doubled(curator.ledger, population)]


def times(count: int) -> str:
    """How often, in words."""
    return "once" if count == 1 else f"{count:,} times"


def planned(wanted: Wanted, version: Version, guarantee: Guarantee, curator: Curator) -> Plan:
    """Choose the counter and its noise. Free, and the same on an empty table.

    Gaussian noise on the square root where the terms come to rho (see `Terms.event`); else a tree under Laplace noise.
    """
    unit = version.schema.unit
    if unit.is_row:
        raise UsageError(
            f"a stream follows persons through the versions of a table, and {version.table!r} has rows alone",
            hint='declare the column that identifies a row: person = "id", rows_per_person = 1',
        )
    contributions = unit.rows if wanted.contributions is None else wanted.contributions
    if contributions > unit.rows:
        raise UsageError(
            f"the table keeps at most {unit.rows:,} rows of a person, so none can be counted {contributions:,} times",
            hint=f"--contributions {unit.rows}, or less",
        )
    reserved = wanted.terms.event(guarantee, version, curator)
    pure = wanted.terms.epsilon if wanted.terms.delta == 0 else reserved.epsilon  # a delta of 0 that is said is meant
    counter: Counter = Root(wanted.horizon) if pure is None else best_tree(wanted.horizon)
    moves = counter.strategy.moves(contributions)
    event: Laplace | Gaussian
    if pure is None:
        event = Gaussian(sigma2=Fraction(moves.l2_squared) / (2 * reserved.rho), l2_squared=moves.l2_squared)
    else:
        event = Laplace(scale=Fraction(moves.l1) / pure, l1=moves.l1)
    law_of(event)  # refuses noise that cannot be drawn
    return Plan(counter=counter, event=event, contributions=contributions, asked=wanted.asked())


def known(wanted: Wanted, version: Version, curator: Curator) -> str | None:
    """The id of an open stream that was started with the very same wish."""
    held = curator.ledger.refresh().stream(version.table, wanted.name)
    if held is None or held.closed:
        return None
    contributions = version.schema.unit.rows if wanted.contributions is None else wanted.contributions
    same = (held.count, held.of["contributions"], held.of["asked"])
    return held.id if same == (wanted.horizon, contributions, wanted.asked()) else None


def charge(wanted: Wanted, plan: Plan, *, version: Version, curator: Curator, asker: Asker) -> str:
    """Charge a stream for its whole horizon; return its id."""
    of = {
        "counter": plan.counter.to_data(),
        "contributions": plan.contributions,
        "asked": plan.asked,
        "whose": whose_of(version, curator),
        "persons": curator.ledger.refresh().version(version.table, version.number).source.get(MARK),
    }
    asked = {"stream": wanted.name, "of": of, "event": to_data(plan.event)}
    return charged(
        version,
        plan.event,
        question=hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest(),
        price=wanted.terms.epsilon,
        curator=curator,
        asker=asker,
        stream={"name": wanted.name, "count": wanted.horizon, "of": of},
    )


def _whole(value: object, *, name: str, most: int) -> int:
    found = exact.number(value, name=name)
    if found.denominator != 1 or not 1 <= found <= most:
        raise UsageError(f"{name} must be a whole number from 1 to {most:,}, got {exact.show(found)}")
    return int(found)
