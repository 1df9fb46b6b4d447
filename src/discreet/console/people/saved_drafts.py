"""Drafts of queries, for their authors alone: kept in the console's file until the tenth newer one or a logout.

A draft is what its author typed, and what came of it before anything was charged. It is found by its author under a
name that cannot be guessed. No page shows it to anybody else, owners included, and no log holds it.
"""

from __future__ import annotations

import json
from typing import Any

from discreet.console.people import secret
from discreet.console.people.clock import Clock
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.roster import Person

#: Of one person. The oldest are forgotten.
EACH = 10


class SavedDrafts:
    """Keeps the latest of each person, each as JSON."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def keep(self, person: Person, data: dict[str, Any]) -> str:
        """Keep one; the name that leads to it."""
        name, content = secret.new(), json.dumps(data, allow_nan=False)
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO saved_drafts (name, person, time, content) VALUES (?, ?, ?, ?)",
                (name, person.number, int(self._clock()), content),
            )
            connection.execute(
                "DELETE FROM saved_drafts WHERE person = ? AND number NOT IN"
                " (SELECT number FROM saved_drafts WHERE person = ? ORDER BY number DESC LIMIT ?)",
                (person.number, person.number, EACH),
            )
        return name

    def find(self, name: str, person: Person) -> dict[str, Any] | None:
        """A person's own, by its name."""
        with self._store.reading() as connection:
            row = connection.execute(
                "SELECT content FROM saved_drafts WHERE name = ? AND person = ?", (name, person.number)
            ).fetchone()
        return None if row is None else json.loads(row[0])

    def of(self, person: Person) -> list[tuple[str, dict[str, Any]]]:
        """A person's own, each with its name, the newest first."""
        with self._store.reading() as connection:
            rows = connection.execute(
                "SELECT name, content FROM saved_drafts WHERE person = ? ORDER BY number DESC", (person.number,)
            ).fetchall()
        return [(name, json.loads(content)) for name, content in rows]

    def forget(self, person: Person) -> int:
        """Forget all of a person's; says how many."""
        with self._store.forgetting() as connection:
            return connection.execute("DELETE FROM saved_drafts WHERE person = ?", (person.number,)).rowcount
