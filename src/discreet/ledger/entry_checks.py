"""What may be entered: events of exact positive loss, printable names, plain JSON, regions that can be kept."""

from __future__ import annotations

from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import (
    ComposedEvent,
    Event,
    ForgottenEvent,
    GapEvent,
    RefinedEvent,
    ReservationEvent,
)
from discreet.accounting.filter import Cost
from discreet.accounting.region import Region
from discreet.errors import DiscreetError, UsageError
from discreet.exact import MAX_QUESTION_EPSILON
from discreet.ledger.chain import canonical_json

_LONGEST_NAME = 200


def check_event(event: Event) -> Cost:
    """The cost of an event that may be charged: exact by type, positive, and not absurd."""
    try:
        decoded_event = events.from_data(events.to_data(event))
        loss = events.loss(decoded_event)
    except (
        DiscreetError,
        KeyError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ) as problem:
        raise UsageError("the loss of an event must be an exact positive number") from problem
    if (
        decoded_event != event
        or _contains_event(event, GapEvent)
        or _contains_event(event, ForgottenEvent)
        or (isinstance(event, ComposedEvent) and _contains_event(event, ReservationEvent))
    ):
        raise UsageError("this event cannot be charged")
    if (loss.epsilon or 0) > MAX_QUESTION_EPSILON or loss.rho > MAX_QUESTION_EPSILON**2 / 2:
        raise UsageError(f"one request cannot cost more than epsilon {exact.show(MAX_QUESTION_EPSILON)}")
    return Cost.of(loss)


def check_step_event(event: Event) -> None:
    """A step is drawn from a reservation, and reserves nothing itself."""
    check_event(event)
    if isinstance(event, ReservationEvent) or _contains_event(event, RefinedEvent):
        raise UsageError("this event cannot be a step of a reservation")


def _contains_event(event: Event, kind: type[Event]) -> bool:
    return isinstance(event, kind) or (
        isinstance(event, ComposedEvent) and any(_contains_event(part, kind) for part in event.events)
    )


def check_name(value: object, *, what: str) -> str:
    """A name that people can read."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
        raise UsageError(f"{what} must be printable text of 1 to {_LONGEST_NAME} characters")
    return value


def check_json_object(value: object, *, what: str) -> dict[str, Any]:
    """An object that the chain can hash."""
    try:
        canonical_json(value)
    except (TypeError, ValueError) as problem:
        raise UsageError(f"{what} must be plain JSON data") from problem
    if not isinstance(value, dict):
        raise UsageError(f"{what} must be a JSON object")
    return value


def region_data(region: Region) -> list[dict[str, Any]]:
    """A region that reads back as itself."""
    try:
        data = region.to_data()
        if Region.from_data(data) == region:
            return data
    except (TypeError, ValueError, KeyError, AttributeError) as problem:
        raise UsageError("this region cannot be stored") from problem
    raise UsageError("this region cannot be stored")
