"""The few facts that manifest, card and events must agree on, computed from the events alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import Event, Loss

PURE, APPROXIMATE, ZCDP = "Pure DP", "Approximate DP", "Zero-concentrated DP"


def releases_combined_with(release: str, payloads: Mapping[str, str]) -> tuple[str, ...]:
    """The earlier releases whose measurements a release is read together with; their cells are in its numbers."""
    return tuple(json.loads(payloads[release]).get("also", ()))


def combined_event(event: Event, release: str, payloads: Mapping[str, str]) -> Event:
    """All that made a release's numbers: its own event, and those of the releases that it is read together with.

    Guarantee: whoever sees the numbers sees no more than an outcome of this event.
    Because: they are computed from the measurements of these events alone, and losses add. A refinement counts as
        the noise of its numbers alone, whatever was paid before.
    """
    earlier = (json.loads(payloads[id_])["event"] for id_ in releases_combined_with(release, payloads))
    return events.by_itself(events.compose([event, *map(events.from_data, earlier)]))


def loss_of(event: Event, *, doubled: bool) -> Loss:
    """What a release loses. `doubled`: exact totals of these people were published, so neighbours change one unit.

    Because: changing a unit is removing one and adding one: pure losses and delta twice, rho four times
        (docs/proofs/filters.md, invariants).
    """
    loss = events.loss(event)
    if not doubled:
        return loss
    return Loss(
        epsilon=None if loss.epsilon is None else 2 * loss.epsilon, rho=4 * loss.rho, delta=min(_ONE, 2 * loss.delta)
    )


_ONE = 1 - Fraction(1, exact.DELTA_UNITS)


def claims_of(
    *, release: str, kind: str, table: str, version: int, unit: str, event: Event, doubled: bool
) -> dict[str, Any]:
    """The claims, exact numbers as text. `event`: all that made the numbers; see `combined_event`."""
    named = {"release": release, "kind": kind, "table": table, "version": version, "privacy_unit": unit}
    return named | claims_of_event(event, doubled=doubled)


def claims_of_event(event: Event, *, doubled: bool) -> dict[str, Any]:
    """What follows from the event alone."""
    loss = loss_of(event, doubled=doubled)
    return {
        "variant": variant(loss),
        "epsilon": None if loss.epsilon is None else exact.write(loss.epsilon),
        "rho": exact.write(loss.rho),
        "delta": exact.write(loss.delta),
        "neighbours": "change one" if doubled else "add or remove one",
    }


def variant(loss: Loss) -> str:
    """The variant of differential privacy, in the registry's words."""
    if loss.epsilon is None:
        return ZCDP
    return APPROXIMATE if loss.delta else PURE


def parameters(claims: Mapping[str, Any]) -> dict[str, float]:
    """The parameters of the variant as a card shows them, rounded up."""
    names = {PURE: ("epsilon",), APPROXIMATE: ("epsilon", "delta"), ZCDP: ("rho",)}[claims["variant"]]
    if claims["variant"] == ZCDP and exact.read(claims["delta"]):
        names = ("rho", "delta")
    return {name: exact.as_float(exact.read(claims[name]), up=True) for name in names}
