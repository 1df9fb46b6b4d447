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
from discreet.accounting.events import GaussianEvent, LaplaceEvent, ReservationEvent, loss, to_data
from discreet.accounting.guarantee import Guarantee
from discreet.answers.caveats import ledger_caveats
from discreet.answers.query_quote import cost_of
from discreet.answers.whole_table_charge import charge_whole_table
from discreet.engines.person_keys import MARK
from discreet.errors import Flag, Message, UsageError
from discreet.kernel.curator import Curator, Version
from discreet.kernel.project_session import Session
from discreet.release import Spending
from discreet.tables.stream.square_root_counter import SquareRootCounter
from discreet.tables.stream.stored_counters import law_of
from discreet.tables.stream.stream_counter import StreamCounter
from discreet.tables.stream.stream_persons import person_identity
from discreet.tables.stream.tree_counter import best_tree
from discreet.tables.table_reservation import ReservationTerms

#: Steps of a stream. More than this is forty-four years of days.
MOST_STEPS = 2**14

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRequest:
    """What somebody wants of a stream. `contributions` None: as many as the table keeps of a person."""

    name: str
    terms: ReservationTerms
    horizon: int
    contributions: int | None

    @staticmethod
    def of(name: str, *, epsilon: object, delta: object, horizon: object, contributions: object) -> StreamRequest:
        """The same in the words of the command line or of Python, checked."""
        if horizon is None:
            raise UsageError(
                "a stream needs a horizon: the most steps that it can ever have", hint=Message(Flag("horizon", 365))
            )
        return StreamRequest(
            name=check_name(name),
            terms=ReservationTerms.of(epsilon, delta),
            horizon=_whole(horizon, name="the horizon", most=MOST_STEPS),
            contributions=None if contributions is None else _whole(contributions, name="contributions", most=10**9),
        )

    def terms_data(self) -> dict[str, Any]:
        """Its terms as data: the same wish is known again whatever was spent meanwhile."""
        delta = self.terms.delta
        return {"epsilon": exact.write(self.terms.epsilon), "delta": None if delta is None else exact.write(delta)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """What will be drawn, from public facts alone."""

    counter: StreamCounter
    event: LaplaceEvent | GaussianEvent
    contributions: int
    terms_data: dict[str, Any]

    @property
    def cost(self) -> Spending:
        """What the whole horizon costs."""
        return cost_of(self.event)

    @property
    def price(self) -> str:
        """The same for people: a pure epsilon, the pair that was asked for, or rho."""
        epsilon = exact.read(self.terms_data["epsilon"])
        if isinstance(self.event, LaplaceEvent):
            return f"epsilon {exact.show(epsilon, up=True)} (pure)"
        rho = f"rho {exact.show(loss(self.event).rho, up=True)}"
        if not self.terms_data["delta"]:
            return rho
        delta = exact.show(exact.read(self.terms_data["delta"]), up=True)
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
            f"a stream's name can have only letters, digits, dots, dashes and underscores, got {str(name)[:60]!r}",
            hint="a name such as visits or daily-2026",
        )
    return name


def notes(plan: StreamPlan, guarantee: Guarantee, *, population: str, curator: Curator) -> list[str]:
    """What the reader of a stream should know; its intervals do not speak of it."""
    limit = f"each person is counted at most {times(plan.contributions)} in total; further rows are left out"
    delta = plan.terms_data["delta"]
    terms = ReservationTerms(
        epsilon=exact.read(plan.terms_data["epsilon"]), delta=None if delta is None else exact.read(delta)
    )
    lost = loss(plan.event)
    noise = terms.notes(ReservationEvent(epsilon=lost.epsilon, rho=lost.rho, delta=Fraction(0)), guarantee)
    return [limit, *noise, *ledger_caveats(curator.ledger, population)]


def times(count: int) -> str:
    """How often, in words."""
    return "once" if count == 1 else f"{count:,} times"


def choose_plan(request: StreamRequest, session: Session) -> StreamPlan:
    """Choose the counter and its noise. Free, and the same on an empty table.

    Gaussian noise on the square root where the terms come to rho (see `ReservationTerms.event`); else a tree under
    Laplace noise.
    """
    version, unit = session.version, session.version.schema.unit
    if unit.is_row:
        raise UsageError(
            f"a stream follows persons across the versions of a table, but {version.table!r} declares no person column",
            hint='declare the column that identifies a row: person = "id", rows_per_person = 1',
        )
    contributions = unit.rows if request.contributions is None else request.contributions
    if contributions > unit.rows:
        raise UsageError(
            f"the table keeps at most {unit.rows:,} rows per person, so no one can be counted {contributions:,} times",
            hint=Message(Flag("contributions", unit.rows), ", or less"),
        )
    reserved = request.terms.event(session)
    pure = request.terms.epsilon if request.terms.delta == 0 else reserved.epsilon  # a delta of 0 that is said is meant
    counter: StreamCounter = SquareRootCounter(request.horizon) if pure is None else best_tree(request.horizon)
    moves = counter.strategy.sensitivity(contributions)
    event: LaplaceEvent | GaussianEvent
    if pure is None:
        event = GaussianEvent(sigma2=Fraction(moves.l2_squared) / (2 * reserved.rho), l2_squared=moves.l2_squared)
    else:
        event = LaplaceEvent(scale=Fraction(moves.l1) / pure, l1=moves.l1)
    law_of(event)  # refuses noise that cannot be drawn
    return StreamPlan(counter=counter, event=event, contributions=contributions, terms_data=request.terms_data())


def find_open_stream(request: StreamRequest, version: Version, curator: Curator) -> str | None:
    """The id of an open stream that was started with the very same wish."""
    record = curator.ledger.refresh().stream(version.table, request.name)
    if record is None or record.closed:
        return None
    contributions = version.schema.unit.rows if request.contributions is None else request.contributions
    same = (record.count, record.of["contributions"], record.of["asked"])
    return record.id if same == (request.horizon, contributions, request.terms_data()) else None


def charge_stream(request: StreamRequest, plan: StreamPlan, session: Session) -> str:
    """Charge a stream for its whole horizon; return its id."""
    version, curator = session.version, session.curator
    of = {
        "counter": plan.counter.to_data(),
        "contributions": plan.contributions,
        "asked": plan.terms_data,
        "whose": person_identity(version, curator),
        "persons": curator.ledger.refresh().version(version.table, version.number).source.get(MARK),
    }
    question_data = {"stream": request.name, "of": of, "event": to_data(plan.event)}
    return charge_whole_table(
        session,
        plan.event,
        question=hashlib.sha256(json.dumps(question_data, sort_keys=True).encode()).hexdigest(),
        price=request.terms.epsilon,
        stream={"name": request.name, "count": request.horizon, "of": of},
    )


def _whole(value: object, *, name: str, most: int) -> int:
    number = exact.number(value, name=name)
    if number.denominator != 1 or not 1 <= number <= most:
        raise UsageError(f"{name} must be a whole number from 1 to {most:,}, got {exact.show(number)}")
    return int(number)
