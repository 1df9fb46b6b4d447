"""Drafts: questions that somebody sent to be priced or rehearsed, or that were refused, kept for a while in memory.

A form's answer has no address that a browser can come back to. A draft has one: Back and a reload show it again, and
send nothing.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from discreet.console.jobs.query_request import QueryRequest
from discreet.console.pages.query_builder import QueryChoices
from discreet.sql.query_text import split_statements

#: What a question costs unless somebody says otherwise.
EPSILON = "0.1"

#: Of one person, and of all together. The oldest are forgotten.
EACH, ALL = 10, 300


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDraft:
    """What stands in the form. `by`: whether a price or a width is told. choices: from which a query was built."""

    sql: str
    by: str = "epsilon"
    epsilon: str = EPSILON
    within: str = ""
    confidence: str = "0.95"
    delta: str = ""
    rows: str = ""
    fresh: bool = False
    key: str
    choices: QueryChoices = field(default_factory=QueryChoices)

    def to_query_request(self) -> QueryRequest:
        """The request that the form makes."""
        by_width = self.by == "within"
        return QueryRequest(
            kind="batch" if len(split_statements(self.sql)) > 1 else "query",
            text=self.sql,
            epsilon=None if by_width else self.epsilon or None,
            within=(self.within or None) if by_width else None,
            confidence=self.confidence or "0.95",
            delta=self.delta or None,
            fresh=self.fresh,
        )

    def key_of(self, query_request: QueryRequest) -> str:
        """The form's key, for this question: sent twice it is one request, changed it is another."""
        return f"{self.key}-{query_request.digest().hex()[:16]}"

    def data(self) -> dict[str, Any]:
        names = (name for name in self.__slots__ if name != "choices")
        return {**{name: getattr(self, name) for name in names}, "choices": self.choices.data()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedDraft:
    """What a person's form held. rehearsal, trouble: what came of it, as its page shows it."""

    person: str
    form: QueryDraft = field(repr=False)
    rehearsal: dict[str, Any] | None = field(default=None, repr=False)
    trouble: dict[str, Any] | None = field(default=None, repr=False)


class DraftStore:
    """Keeps the latest of each person. A restart forgets them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._drafts: OrderedDict[str, SavedDraft] = OrderedDict()

    def keep(self, saved_draft: SavedDraft) -> str:
        """Keep one; the name that leads to it."""
        name = secrets.token_urlsafe(18)
        with self._lock:
            own = [each for each, other in self._drafts.items() if other.person == saved_draft.person]
            if len(own) >= EACH:
                del self._drafts[own[0]]
            if len(self._drafts) >= ALL:
                self._drafts.popitem(last=False)
            self._drafts[name] = saved_draft
        return name

    def find(self, name: str, *, person: str) -> SavedDraft | None:
        """A person's own."""
        with self._lock:
            saved_draft = self._drafts.get(name)
        return saved_draft if saved_draft is not None and saved_draft.person == person else None

    def of(self, person: str) -> list[tuple[str, SavedDraft]]:
        """A person's own, each with the name that leads to it, the newest first; one of each text."""
        with self._lock:
            own = [(name, each) for name, each in reversed(self._drafts.items()) if each.person == person]
        return list({each.form.sql: (name, each) for name, each in reversed(own)}.values())[::-1]

    def forget(self, person: str) -> None:
        """Forget a person's own."""
        with self._lock:
            for name in [name for name, each in self._drafts.items() if each.person == person]:
                del self._drafts[name]

    def close(self) -> None:
        """Forget all."""
        with self._lock:
            self._drafts.clear()
