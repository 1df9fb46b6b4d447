"""Drafts: queries that somebody sent to be priced or rehearsed, or that were refused, kept for their author.

A form's answer has no address that a browser can come back to. A draft has one: Back and a reload show it again, and
send nothing. The last ten of a person stay in the console's file (`people/saved_drafts.py`) until they log out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from discreet.console.jobs.query_request import QueryRequest
from discreet.console.pages.query_builder import QueryChoices, QueryFilter
from discreet.console.people.roster import Person
from discreet.console.people.saved_drafts import SavedDrafts
from discreet.sql.query_text import split_statements

#: What a question costs unless somebody says otherwise.
EPSILON = "0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDraft:
    """What stands in the form. `by`: whether a price or a width is told. column: the one that the width is for.

    choices: from which a query was built.
    """

    sql: str
    by: str = "epsilon"
    epsilon: str = EPSILON
    within: str = ""
    column: str = ""
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
        """The form's key, for what it asks: sent twice it is one request, changed it is another.

        A width for one column is part of what it asks, and the epsilon that follows from it is not: that may change
        with the budget, and a form that is sent again must not be charged again.
        """
        column = self.column if query_request.within is not None else ""
        meant = query_request.digest() + column.encode("utf-8", "surrogatepass")
        return f"{self.key}-{hashlib.sha256(meant).hexdigest()[:16]}"

    def data(self) -> dict[str, Any]:
        names = (name for name in self.__slots__ if name != "choices")
        return {**{name: getattr(self, name) for name in names}, "choices": self.choices.data()}


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedDraft:
    """What a person's form held. rehearsal, trouble: what came of it, as its page shows it."""

    form: QueryDraft = field(repr=False)
    rehearsal: dict[str, Any] | None = field(default=None, repr=False)
    trouble: dict[str, Any] | None = field(default=None, repr=False)

    def keep(self, drafts: SavedDrafts, person: Person) -> str:
        """Keep it; the name that leads to it."""
        return drafts.keep(person, asdict(self))


def find_draft(drafts: SavedDrafts, name: str, person: Person) -> SavedDraft | None:
    """A person's own."""
    data = drafts.find(name, person)
    return None if data is None else _draft_of(data)


def drafts_of(drafts: SavedDrafts, person: Person) -> list[tuple[str, SavedDraft]]:
    """A person's own, each with the name that leads to it, the newest first; one of each text."""
    own = [(name, _draft_of(data)) for name, data in drafts.of(person)]
    return list({each.form.sql: (name, each) for name, each in reversed(own)}.values())[::-1]


def _draft_of(data: Mapping[str, Any]) -> SavedDraft:
    form, choices = dict(data["form"]), dict(data["form"]["choices"])
    choices["filters"] = tuple(QueryFilter(**each) for each in choices["filters"])
    form["choices"] = QueryChoices(**{**choices, "groups": tuple(choices["groups"])})
    return SavedDraft(form=QueryDraft(**form), rehearsal=data["rehearsal"], trouble=data["trouble"])
