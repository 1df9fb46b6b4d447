"""Steps: what a program draws from its reservation, one after the other, each once."""

from __future__ import annotations

from collections.abc import Callable

from discreet.accounting import events
from discreet.accounting.events import Event
from discreet.errors import Flag, LedgerFault, Message, UsageError
from discreet.ledger.entry_checks import check_name, check_step_event
from discreet.ledger.journal import Journal
from discreet.ledger.records import Reservation, StepRecord
from discreet.ledger.state import LedgerState


def take_step(
    journal: Journal,
    state: LedgerState,
    id_: str,
    event: Event,
    *,
    of: str,
    number: int | None,
    check: Callable[[], object],
) -> StepRecord:
    """Append a step, inside a section, or find the one of this number.

    `of`: a digest of what the step measures. `number`: counted from 1; else the next, or the last where that has no
    answer yet. A step that has an answer is not measured again. `check` refuses where nothing may be charged.

    Guarantee: the losses of all steps of a reservation stay within it, whatever they were chosen by.
    Because: the sum is exact and taken under the lock that all writers take. A step without an answer is measured again
        as the same step: its first draw died with the process, before anybody saw it, or the answer that is stored
        first stands; a draw that raised is a failure, and closes the reservation.
    """
    check_step_event(event)
    reservation, loss = state.reservations[id_], events.loss(event)
    waits = bool(reservation.steps) and reservation.steps[-1].id not in state.answers
    number = number or len(reservation.steps) + (not waits)
    earlier_step = reservation.steps[number - 1] if number <= len(reservation.steps) else None
    if earlier_step is None or earlier_step.id not in state.answers:
        check()
        _check_open(reservation)
    if earlier_step is not None and (earlier_step.of, earlier_step.loss) != (of, loss):
        raise LedgerFault(
            f"step {earlier_step.id} is not the step that this program takes",
            hint=Message("another version of Discreet started it; start over with ", Flag("fresh", True)),
        )
    if earlier_step is not None:
        return earlier_step
    if (
        number != len(reservation.steps) + 1
        or waits
        or not reservation.event.holds([*(step.loss for step in reservation.steps), loss])
    ):
        raise UsageError(f"this step is out of order, or beyond what {id_} reserved")
    body = {"id": id_, "number": number, "event": events.to_data(event), "of": check_name(of, what="a digest")}
    journal.append("step", body)
    return reservation.steps[-1]


def _check_open(reservation: Reservation) -> None:
    """Refuse a draw where no further one is safe."""
    if reservation.closed:
        raise LedgerFault(
            f"no further step can be drawn from {reservation.id}",
            hint=Message(
                "a step failed, or the ledger was rolled back or copied; start over with ", Flag("fresh", True)
            ),
        )
