"""What owners chose to publish: releases that everybody may read, with the words that only people can write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.console.people.clock import Clock, iso_time
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.roster import Person
from discreet.console.people.typed_text import clean_lines
from discreet.errors import UsageError

MOST_FIELDS = 40
LONGEST_FIELD = 2_000
_FIELD = re.compile(r"[a-z][a-z0-9_.]{0,59}")
_COLUMNS = "release, published, by, fields"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A release that everybody may read. `fields`: the card's human fields."""

    release: str
    published: int
    by: str
    fields: Mapping[str, str]

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "release": self.release,
            "published": iso_time(self.published),
            "by": self.by,
            "fields": dict(self.fields),
        }


class Publications:
    """Publishes and takes back. Whether there is such a release is for who calls to know."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def publish(self, release: str, *, by: Person, fields: Mapping[str, str]) -> Publication:
        """Publish, or write the fields anew; its place and its first day stay."""
        text = json.dumps(_check_fields(fields), ensure_ascii=False, sort_keys=True)
        with self._store.writing() as connection:
            row = connection.execute(
                "INSERT INTO published (release, published, by, fields) VALUES (?, ?, ?, ?)"
                f" ON CONFLICT (release) DO UPDATE SET fields = excluded.fields RETURNING {_COLUMNS}",
                (release, int(self._clock()), by.name, text),
            ).fetchone()
        return _publication(row)

    def withdraw(self, release: str) -> bool:
        """Show it no more; says whether it was shown. What was read cannot be taken back."""
        with self._store.writing() as connection:
            return connection.execute("DELETE FROM published WHERE release = ?", (release,)).rowcount == 1

    def find(self, release: str) -> Publication | None:
        """The publication of a release, if it is published."""
        with self._store.reading() as connection:
            row = connection.execute(f"SELECT {_COLUMNS} FROM published WHERE release = ?", (release,)).fetchone()
        return None if row is None else _publication(row)

    def all(self) -> list[Publication]:
        """All of them, in the order in which they were published."""
        with self._store.reading() as connection:
            return [
                _publication(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM published ORDER BY number")
            ]


def _check_fields(fields: Mapping[str, str]) -> dict[str, str]:
    if len(fields) > MOST_FIELDS:
        raise UsageError(f"a card may have at most {MOST_FIELDS} fields of its own")
    for name in fields:
        if not _FIELD.fullmatch(name):
            raise UsageError(f"{name[:40]!r} is not a field of a card")
    return {name: clean_lines(text, name=name, most=LONGEST_FIELD) for name, text in fields.items()}


def _publication(row: Sequence[Any]) -> Publication:
    release, published, by, fields = row
    return Publication(release=release, published=published, by=by, fields=json.loads(fields))
