"""Queries that were refused, for their authors alone: to look at again, to mend, and to forget.

A query's text is what its author typed. It is kept for that person, in the file of the console, until they or later
refusals remove it. No page shows it to anybody else, owners included, and no log holds it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.console.people.clock import Clock, iso_time
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.roster import Person

#: Of one person. The oldest are forgotten.
EACH = 30
#: Longer ones are not kept: half a query is no query.
LONGEST = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedQuery:
    """A query that was refused, and why. Nothing was charged for it."""

    number: int
    time: int
    text: str = field(repr=False)
    why: str
    hint: str

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "number": self.number, "time": iso_time(self.time), "text": self.text, "why": self.why, "hint": self.hint
        }  # fmt: skip


class RefusedQueries:
    """Keeps the latest of each person."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def keep(self, person: Person, *, text: str, why: str, hint: str = "") -> None:
        """Keep one. The same text again replaces what was kept of it."""
        if not text.strip() or len(text) > LONGEST:
            return
        with self._store.writing() as connection:
            connection.execute("DELETE FROM refused_queries WHERE person = ? AND text = ?", (person.number, text))
            connection.execute(
                "INSERT INTO refused_queries (person, time, text, why, hint) VALUES (?, ?, ?, ?, ?)",
                (person.number, int(self._clock()), text, why[:1_000], hint[:1_000]),
            )
            connection.execute(
                "DELETE FROM refused_queries WHERE person = ? AND number NOT IN"
                " (SELECT number FROM refused_queries WHERE person = ? ORDER BY number DESC LIMIT ?)",
                (person.number, person.number, EACH),
            )

    def of(self, person: Person, *, most: int = EACH) -> list[RefusedQuery]:
        """A person's own, the newest first."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT number, time, text, why, hint FROM refused_queries WHERE person = ?"
                " ORDER BY number DESC LIMIT ?",
                (person.number, most),
            ).fetchall()
        return [
            RefusedQuery(number=number, time=time, text=text, why=why, hint=hint)
            for number, time, text, why, hint in rows
        ]

    def forget(self, person: Person) -> int:
        """Forget all of a person's; says how many."""
        with self._store.forgetting() as connection:
            return connection.execute("DELETE FROM refused_queries WHERE person = ?", (person.number,)).rowcount
