"""Bundles of what is published: made once, and again when what can be said of a release has changed."""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from discreet.accounting import events
from discreet.accounting.events import Event
from discreet.bundle import bundle_files
from discreet.bundle.about import About
from discreet.bundle.content import BundleContent, content_of, explain_event
from discreet.bundle.registry_card import card_of
from discreet.bundle.signing_key import Signer, fingerprint
from discreet.console.people.publications import Publication
from discreet.console.request_context import RequestContext
from discreet.errors import no_release
from discreet.ledger.state import LedgerState
from discreet.project.folder import refuse_state_inside
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease

#: So many bundles are kept at once, and what the ledger says is taken for new so long.
MOST = 64
#: And what so many forms show before anything is published.
MOST_CONTENTS = 8
STALE_S = 2.0

#: The fields of the form, with what is said beside each.
FIELDS: Mapping[str, tuple[str, str]] = {
    "name": ("Name", "What the release is called."),
    "description": ("Description", "What it is, in a few sentences."),
    "intended_use": ("Intended use", "What people should use it for, and what they should not."),
    "curators": ("Curators", "Who is responsible for it, one name per line."),
    "region": ("Region", "Where the people in the data live."),
    "sector": ("Sector", "Health, education, transport …"),
    "publication_date": ("Date of publication", "For example 2026-03-01. If empty, the day of the query."),
    "sources": ("Sources", "Papers, code or pages with more information."),
    "registry_authors": ("Authors of this card", "One name per line."),
    "justification": ("Justification", "Why the budget and the other settings were chosen."),
}
_LISTS = ("curators", "registry_authors")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBundle:
    """A bundle, and what a page tells of it."""

    content: BundleContent
    card: Mapping[str, Any]
    files: Mapping[str, bytes]
    key: str

    @property
    def explanation(self) -> list[str]:
        return explain_event(self.content.combined_event, person=self.content.unit)


class BundleCache:
    """The newest bundles, by release, by what people told, and by the state of their guarantee.

    Everybody may come here, as often as they like; so the ledger, whose lock charges need, is asked seldom.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bundles: OrderedDict[str, PublishedBundle] = OrderedDict()
        self._contents: OrderedDict[str, BundleContent] = OrderedDict()
        self._recalled_releases: dict[str, RecalledRelease] = {}
        self._refreshed_at = -STALE_S

    def state(self, project: Project) -> LedgerState:
        """The ledger's state, not older than a moment."""
        with self._lock:
            now = time.monotonic()
            stale = now - self._refreshed_at >= STALE_S
            self._refreshed_at = now if stale else self._refreshed_at
        return project.ledger.refresh() if stale else project.ledger.state

    def recall(self, project: Project, release: str) -> RecalledRelease:
        """What the ledger says of a release, for ever."""
        recalled_release = self._recalled_releases.get(release)
        if recalled_release is None:
            recalled_release = self._recalled_releases[release] = project.recall(release)
        return recalled_release

    def combined_event(self, project: Project, release: str) -> Event | None:
        """All that made a release's numbers, the earlier ones that it is read together with included."""
        own = self.recall(project, release)
        maybe_events = [own.event, *(self.recall(project, each).event for each in own.also)]
        recorded_events = [event for event in maybe_events if event is not None]
        if len(recorded_events) != len(maybe_events):
            return None
        return events.by_itself(events.compose(recorded_events))

    def find(self, project: Project, publication: Publication) -> PublishedBundle:
        """The bundle of a publication. Of two visits at once both may make it; it is the same."""
        key = _cache_key(self.state(project), publication)
        with self._lock:
            cached_bundle = self._bundles.get(key)
            if cached_bundle is not None:
                self._bundles.move_to_end(key)
                return cached_bundle
        new_bundle = _make_bundle(project, publication)
        with self._lock:
            self._bundles[key] = new_bundle
            while len(self._bundles) > MOST:
                self._bundles.popitem(last=False)
        return new_bundle

    def content(self, project: Project, release: str) -> BundleContent:
        """What a bundle of a release would hold, without what people tell: it takes the whole ledger up to then."""
        state = project.ledger.refresh()
        if release not in state.charges:
            raise no_release(release)
        key = json.dumps([release, _guarantee_state(state, release)], sort_keys=True)
        with self._lock:
            content = self._contents.get(key)
        if content is None:
            content = content_of(project, release)
            with self._lock:
                self._contents[key] = content
                while len(self._contents) > MOST_CONTENTS:
                    self._contents.popitem(last=False)
        return content

    def close(self) -> None:
        """Forget them."""
        with self._lock:
            self._bundles.clear()
            self._contents.clear()


def bundle_of(context: RequestContext, publication: Publication) -> PublishedBundle:
    """The bundle of a publication, kept by the house."""
    return bundle_cache_of(context).find(context.handle.project, publication)


def content_with_card(
    context: RequestContext, release: str, form_texts: Mapping[str, str]
) -> tuple[BundleContent, Any]:
    """What a bundle would hold with these fields, and its card. Nothing is signed, and no fields are kept."""
    content = bundle_cache_of(context).content(context.handle.project, release)
    content = replace(content, about=about_of(form_texts))
    return content, card_of(content)


def bundle_cache_of(context: RequestContext) -> BundleCache:
    """The bundles of the house."""
    return context.handle.singleton(BundleCache, BundleCache)


def about_of(form_texts: Mapping[str, str]) -> About:
    """What a form tells, as a card takes it: lists come a line each."""
    field_names = {field.name for field in fields(About)}
    return About.from_data(
        {
            name: [line.strip() for line in text.splitlines() if line.strip()] if name in _LISTS else text.strip()
            for name, text in form_texts.items()
            if name in field_names
        }
    )


def _make_bundle(project: Project, publication: Publication) -> PublishedBundle:
    refuse_state_inside(project.folder)
    content, signer = content_of(project, publication.release, about_of(publication.fields)), Signer.load_or_make()
    return PublishedBundle(
        content=content,
        card=card_of(content),
        files=bundle_files.signed_files(content, signer),
        key=fingerprint(signer.public),
    )


def _cache_key(state: LedgerState, publication: Publication) -> str:
    """What a bundle depends on: see `bundle.content`. The ledger goes on with every question; these seldom do."""
    guarantee_state = _guarantee_state(state, publication.release)
    return json.dumps([publication.release, dict(publication.fields), guarantee_state], sort_keys=True)


def _guarantee_state(state: LedgerState, release: str) -> list[Any]:
    account = state.account(state.charges[release].population)
    sealed = None if account.sealed is None else account.sealed.to_data()
    return [
        account.guarantee.to_data(),
        account.invariant,
        sealed,
        len(state.gap_seqs),
        len(state.invariants),
    ]
