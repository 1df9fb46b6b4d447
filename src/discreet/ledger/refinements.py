"""Refinements: which releases may still be made more precise for the difference, and which were.

Guarantee: in the pure arm a release and its refinement cost together what the refinement alone does; so a release is
    refined once at most, about the same rows, and never where another history of the ledger may have refined it too.
Because: both are noise on the same integers, the second drawn given the first (docs/proofs/instalments.md). Two
    refinements of one release would together lose more than their charges add up to; so the entry that charges a
    refinement closes the release that it refines. Rows change by `forget` alone, some time between its tombstone and
    the entry that says they are gone: either closes every release, and what is charged between the two is never open,
    for it may have counted rows that go. A ledger that was restored, or adopted elsewhere, does not know what was
    refined after the copy: that closes every release, too. Whatever closes a release keeps the answer of a refinement
    that was charged before from being stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from discreet.accounting import events
from discreet.accounting.events import ComposedEvent, Event, RefinedEvent
from discreet.ledger.chain import canonical_json

_REFINABLE = ("laplace", "refined")


@dataclass(slots=True)
class Refinements:
    """Releases that may be refined, with what they measured; and for each refined release, what refined it."""

    open_releases: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    refined_by: dict[str, str] = field(default_factory=dict)
    #: Refinements that were charged and have no answer yet.
    waiting: set[str] = field(default_factory=set)
    #: The tags of persons whose rows are being erased, or may be: nobody said that they are gone.
    erasing: set[str] = field(default_factory=set)

    def check(self, body: dict[str, Any], *, answered: bool) -> None:
        """Raise where a charge refines what it may not. `answered`: whether what it refines has an answer."""
        event, refines = body["event"], body.get("refines")
        if refines is None and not any(part["kind"] == "refined" for part in _parts(event)):
            return
        measured, earlier = self.open_releases[str(refines)]
        if (
            measured != _measured(body)
            or not answered
            or not _refines(events.from_data(event), events.from_data(earlier))
        ):
            raise ValueError("a refinement is not of the release that it names")

    def fold_charge(self, body: dict[str, Any]) -> None:
        """Take in a charge that was checked."""
        event, id_, refines = body["event"], body["id"], body.get("refines")
        if refines is not None:
            del self.open_releases[refines]
            self.refined_by[refines] = id_
            self.waiting.add(id_)
        if "stream" not in body and not self.erasing and all(part["kind"] in _REFINABLE for part in _parts(event)):
            self.open_releases[id_] = release_of(body)

    def close(self) -> None:
        """Nothing that was released so far may be refined any more."""
        self.open_releases.clear()

    def fold_erasure(self, tag: str, *, is_over: bool) -> None:
        """Take in that somebody's rows go from now on, or are gone."""
        self.close()
        if is_over:
            self.erasing.discard(tag)
        else:
            self.erasing.add(tag)

    def fold_answer(self, id_: str) -> None:
        """Take in that a charge has its answer now."""
        if not self.may_answer(id_):
            raise ValueError("the rows of a refinement were changed before it was answered")
        self.waiting.discard(id_)

    def may_answer(self, id_: str) -> bool:
        """Whether what a charge drew is still about the rows that the release it refines was about."""
        return id_ not in self.waiting or id_ in self.open_releases

    def may_refine(self, release: str) -> bool:
        """Whether a release may be refined, or its refinement has no answer yet."""
        return release in self.open_releases or self.refined_by.get(release) in self.waiting

    def refined(self, id_: str) -> str | None:
        """The release that a charge makes more precise."""
        return next((release for release, later in self.refined_by.items() if later == id_), None)

    def later(self, release: str) -> tuple[str, ...]:
        """What refined a release, and what refined that, and so on, as far as they have answers."""
        refinements: list[str] = []
        while (release := self.refined_by.get(release, "")) and release not in self.waiting:
            refinements.append(release)
        return tuple(refinements)

    def last(self, release: str) -> str:
        """The release itself, or what refined it last and has its answer."""
        return (release, *self.later(release))[-1]


def release_of(body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What a charge released, as a refinement of it is compared with it."""
    return _measured(body), body["event"]


def _measured(body: dict[str, Any]) -> str:
    """What a charge measures, and of whom."""
    return canonical_json([body[name] for name in ("population", "table", "version", "question", "region")])


def _parts(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The single events of an event, as JSON data."""
    if event["kind"] != "together":
        yield event
        return
    for part in event["events"]:
        yield from _parts(part)


def _refines(event: Event, earlier: Event) -> bool:
    parts = event.events if isinstance(event, ComposedEvent) else (event,)
    scales = [part.scale for part in parts if isinstance(part, RefinedEvent)]
    return event == events.refinement_of(earlier, scales)
