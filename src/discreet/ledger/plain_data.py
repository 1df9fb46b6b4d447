"""Plain data of the ledger's own classes as JSON, and back: for a checkpoint, which only this program writes and reads.

A class that is not listed here cannot be written: then there is no checkpoint, and the ledger is read whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any, cast

from discreet.accounting import events
from discreet.accounting.filter import Balance, Cost, Segment
from discreet.accounting.guarantee import Guarantee
from discreet.ledger.account import Account, PooledLoss
from discreet.ledger.protected_unit import ProtectedUnit
from discreet.ledger.records import Invariant, Reservation, StepRecord, StreamRecord, StreamRowRecord, VersionRecord

_CLASSES: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        *(Account, Balance, Cost, Guarantee, ProtectedUnit),
        *(Invariant, Reservation, StepRecord, StreamRecord, StreamRowRecord, VersionRecord, events.Loss),
        *(events.LaplaceEvent, events.GaussianEvent, events.ReservationEvent),
    )
}


def to_plain(value: Any) -> Any:
    """A value as JSON data. What JSON has no word for is a list that begins with a mark."""
    kind = type(value)
    if value is None or kind in (str, int, bool):
        return value
    if kind is PooledLoss:  # one for each region that was ever asked about
        return ["p", value.pure_bounds_orders, *value.arms]
    if kind is Fraction:
        return ["f", value.numerator, value.denominator]
    if kind is list:
        return ["l", *map(to_plain, value)]
    if kind is tuple:
        return ["t", *map(to_plain, value)]
    if kind is set:
        return ["s", *sorted(value)]
    if kind is dict:
        return ["d", *([to_plain(key), to_plain(each)] for key, each in value.items())]
    if kind is float:
        return ["r", value.hex()]
    if kind is Segment:
        if not value.overlap.is_empty:
            raise TypeError("a history that was read already cannot be written")
        return ["g", to_plain(value.balance)]
    if kind.__name__ in _CLASSES:
        return ["c", kind.__name__, *(to_plain(getattr(value, each.name)) for each in fields(kind))]
    raise TypeError(f"{kind.__name__} cannot be written")


def from_plain(data: Any) -> Any:
    """What `to_plain` was given."""
    if not isinstance(data, list):
        return data
    mark, *parts = data
    match mark:
        case "p":
            return PooledLoss(pure_bounds_orders=parts[0], arms=tuple(parts[1:]))
        case "f":
            return Fraction(*parts)
        case "l":
            return [from_plain(each) for each in parts]
        case "t":
            return tuple(from_plain(each) for each in parts)
        case "s":
            return set(parts)
        case "d":
            return {from_plain(key): from_plain(each) for key, each in parts}
        case "r":
            return float.fromhex(parts[0])
        case "g":
            return Segment(balance=cast(Balance, from_plain(parts[0])))
        case "c":
            made = _CLASSES[parts[0]]
            names = [each.name for each in fields(cast(Any, made))]
            return made(**dict(zip(names, map(from_plain, parts[1:]), strict=True)))
    raise ValueError("not what was written")
