"""The charge of everything that is not a question in SQL: a fit, a table, a stream. It touches everybody, unless it
is said whom."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.events import Event, ReservationEvent, loss
from discreet.accounting.region import Region
from discreet.answers.affordability import SMALL_QUOTA, largest_question, largest_that_fits, quota_left
from discreet.errors import BudgetExceeded, Flag, Message, Piece
from discreet.kernel.project_session import Session
from discreet.ledger.charge_request import ChargeRequest


def charge_whole_table(
    session: Session,
    event: Event,
    *,
    question: str,
    price: Fraction,
    once: bool = False,
    stream: dict[str, Any] | None = None,
    region: Region | None = None,
) -> str:
    """Charge an event to everybody in a version, or to those of a region; return its id.

    `once` and `stream`: see `ChargeRequest`.
    """
    version = session.version
    session.curator.check_ready(version)
    request = ChargeRequest(
        population=version.population,
        table=version.table,
        version=version.number,
        region=Region.whole() if region is None else region,
        event=event,
        question=question,
        price=price,
        asker=session.asker,
        once=once,
        stream=stream,
        reads=[(read.table, read.number) for read in session.joined],
    )
    try:
        return session.ledger.charge(request).id
    except BudgetExceeded as problem:
        if not problem.hint and problem.binding in ("loss", "quota"):
            problem.hint = affordable_hint(session, price, is_gaussian=loss(event).epsilon is None)
        raise


def affordable_hint(session: Session, epsilon: Fraction, *, is_gaussian: bool = False) -> str:
    """A hint: the largest epsilon, up to `epsilon`, that the budget and the quota still allow, without a delta."""
    version = session.version
    account = session.ledger.refresh().account_or_new(version.population, session.guarantee)
    left = quota_left(account, session.asker)
    pure = session.guarantee.accounting != "zcdp"

    def fits(millionths: int) -> bool:
        smaller = Fraction(millionths, 10**6)
        event = ReservationEvent(epsilon=smaller if pure else None, rho=smaller**2 / 2, delta=Fraction(0))
        decision = session.preview(event, booking=False)
        if left is None or not decision.accepted:
            return decision.accepted
        moved = account.epsilon_moved((version.table, version.number), decision)
        return moved is not None and moved <= left

    near = int(largest_question(account.remaining_by_arm()) * 10**6)
    millionths = largest_that_fits(fits, near=near, most=int(epsilon * 10**6))
    if not millionths:
        return (
            SMALL_QUOTA
            if left is not None
            else "no budget remains; ask the owner to grant more, or use what was released"
        )
    without: list[Piece] = [", without ", Flag("delta")] if is_gaussian and pure else []
    return Message(
        Flag("epsilon", exact.show(Fraction(millionths, 10**6))),
        f" (this fits the remaining {'budget' if left is None else 'budget and the quota'}",
        *without,
        "), or ask the owner to grant more" if left is None else f"), or {SMALL_QUOTA}",
    )
