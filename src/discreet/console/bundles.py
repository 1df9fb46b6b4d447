"""Bundles of what is published: made once, and again when what can be said of a release has changed."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from discreet.accounting import events
from discreet.accounting.events import Event
from discreet.api import Project
from discreet.bundle import make
from discreet.bundle.about import About
from discreet.bundle.card import card_of
from discreet.bundle.content import Content, content_of, explained
from discreet.bundle.signing import Signer, fingerprint
from discreet.console.people.published import Publication
from discreet.console.visit import Visit
from discreet.folder import refuse_state_inside
from discreet.ledger.state import State
from discreet.recall import Recalled

#: So many bundles are kept at once, and what the ledger says is taken for new so long.
MOST = 64
STALE_S = 2.0

#: The fields of the form, with what is said beside each.
FIELDS: Mapping[str, tuple[str, str]] = {
    "name": ("Name", "What the release is called."),
    "description": ("Description", "What it is, in a few sentences."),
    "intended_use": ("Intended use", "What people should use it for, and what not."),
    "curators": ("Curators", "Who answers for it: a name a line."),
    "region": ("Region", "Where the people live whom it is about."),
    "sector": ("Sector", "Health, education, transport …"),
    "publication_date": ("Day of publication", "As 2026-03-01; left empty, the day on which it was asked."),
    "sources": ("Sources", "Papers, code or pages that say more."),
    "registry_authors": ("Authors of this card", "A name a line."),
    "justification": ("Why so", "How the budget and the other choices came about."),
}
_LISTS = ("curators", "registry_authors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A bundle, and what a page tells of it."""

    content: Content
    card: Mapping[str, Any]
    files: Mapping[str, bytes]
    key: str

    @property
    def explanation(self) -> list[str]:
        return explained(self.content.made_by, person=self.content.unit)


class Bundles:
    """The newest bundles, by release, by what people told, and by the state of their guarantee.

    Everybody may come here, as often as they like; so the ledger, whose lock charges need, is asked seldom.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Bundle] = OrderedDict()
        self._recalled: dict[str, Recalled] = {}
        self._asked = -STALE_S

    def state(self, project: Project) -> State:
        """The ledger's state, not older than a moment."""
        with self._lock:
            now = time.monotonic()
            stale = now - self._asked >= STALE_S
            self._asked = now if stale else self._asked
        return project.ledger.refresh() if stale else project.ledger.state

    def recalled(self, project: Project, release: str) -> Recalled:
        """What the ledger says of a release, for ever."""
        found = self._recalled.get(release)
        if found is None:
            found = self._recalled[release] = project.recalled(release)
        return found

    def made_by(self, project: Project, release: str) -> Event | None:
        """All that made a release's numbers, the earlier ones that it is read together with included."""
        own = self.recalled(project, release)
        found = [own.event, *(self.recalled(project, each).event for each in own.also)]
        known = [event for event in found if event is not None]
        return events.together(known) if len(known) == len(found) else None

    def find(self, project: Project, publication: Publication) -> Bundle:
        """The bundle of a publication. Of two visits at once both may make it; it is the same."""
        key = _key(self.state(project), publication)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        made = _made(project, publication)
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return made

    def close(self) -> None:
        """Forget them."""
        with self._lock:
            self._kept.clear()


def bundle_of(visit: Visit, publication: Publication) -> Bundle:
    """The bundle of a publication, kept by the house."""
    return bundles_of(visit).find(visit.desk.project, publication)


def bundles_of(visit: Visit) -> Bundles:
    """The bundles of the house."""
    return visit.desk.shared(Bundles, Bundles)


def about_of(told: Mapping[str, str]) -> About:
    """What a form tells, as a card takes it: lists come a line each."""
    known = {field.name for field in fields(About)}
    return About.from_data(
        {
            name: [line.strip() for line in text.splitlines() if line.strip()] if name in _LISTS else text.strip()
            for name, text in told.items()
            if name in known
        }
    )


def _made(project: Project, publication: Publication) -> Bundle:
    refuse_state_inside(project.folder)
    content, signer = content_of(project, publication.release, about_of(publication.fields)), Signer.here()
    return Bundle(
        content=content,
        card=card_of(content),
        files=make.files_of(content, signer),
        key=fingerprint(signer.public),
    )


def _key(state: State, publication: Publication) -> str:
    """What a bundle depends on: see `bundle.content`. The ledger goes on with every question; these seldom do."""
    account = state.account(state.charges[publication.release].population)
    sealed = None if account.sealed is None else account.sealed.to_data()
    told = [account.guarantee.to_data(), account.invariant, sealed, len(state.healed), len(state.invariants)]
    return json.dumps([publication.release, dict(publication.fields), told], sort_keys=True)
