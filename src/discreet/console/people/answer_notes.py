"""Names, tags and notes that people give to answers. They are for those who may ask, and never part of a release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.console.people.clock import Clock, iso_time
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.roster import Person
from discreet.console.people.typed_text import clean_line, clean_lines
from discreet.errors import UsageError

LONGEST_NAME = 120
LONGEST_TAG = 30
MOST_TAGS = 8
LONGEST_NOTE = 2_000
_COLUMNS = "release, name, tags, note, changed, by"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerNote:
    """What somebody wrote beside an answer. `changed`, `by`: when it was last written, and by whom."""

    release: str
    name: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""
    changed: int | None = None
    by: str = ""

    @property
    def version(self) -> str:
        """Which text this is: a form says what it showed."""
        texts = json.dumps([self.name, self.tags, self.note])
        return hashlib.sha256(texts.encode()).hexdigest()[:16]

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "version": self.version,
            "name": self.name,
            "tags": list(self.tags),
            "note": self.note,
            "changed": None if self.changed is None else iso_time(self.changed),
            "by": self.by,
        }


class AnswerNotes:
    """Writes and finds them. Whether there is such a release, and who may write, is for who calls to know."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def write(self, release: str, *, by: Person, name: str, tags: str, note: str, shown: str = "") -> AnswerNote:
        """Write them anew; where all three are empty, nothing is kept. `tags`: separated by commas.

        shown: the version that the writer saw. If somebody has written another since, nothing is overwritten.
        """
        name = clean_line(name, name="the name", most=LONGEST_NAME, least=0)
        note = clean_lines(note, name="the note", most=LONGEST_NOTE)
        tag_names = read_tags(tags)
        with self._store.writing() as connection:
            current = self.find(release)
            if shown and shown != current.version:
                raise UsageError(
                    "somebody changed the name, tags or note of this answer after you opened the page",
                    hint="go back to copy your text, then open the answer again",
                )
            connection.execute("DELETE FROM answer_notes WHERE release = ?", (release,))
            if name or tag_names or note:
                connection.execute(
                    f"INSERT INTO answer_notes ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
                    (release, name, json.dumps(tag_names, ensure_ascii=False), note, int(self._clock()), by.name),
                )
            return self.find(release)

    def find(self, release: str) -> AnswerNote:
        """What is written of a release; empty where nothing is."""
        with self._store.reading() as connection:
            row = connection.execute(f"SELECT {_COLUMNS} FROM answer_notes WHERE release = ?", (release,)).fetchone()
        return AnswerNote(release=release) if row is None else _note(row)

    def all(self) -> dict[str, AnswerNote]:
        """All of them, by release."""
        with self._store.reading() as connection:
            return {row[0]: _note(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM answer_notes")}


def read_tags(text: str) -> list[str]:
    """Tags as they are kept: in small letters, each once, in the order in which they were typed.

    >>> read_tags(" Yearly report, flu,,FLU ")
    ['yearly report', 'flu']
    """
    if len(text) > 8 * MOST_TAGS * LONGEST_TAG:
        raise UsageError(f"an answer may have at most {MOST_TAGS} tags")
    parts = [clean_line(part, name="a tag", most=LONGEST_TAG, least=0).lower() for part in text.split(",")]
    tags = list(dict.fromkeys(part for part in parts if part))
    if len(tags) > MOST_TAGS:
        raise UsageError(f"an answer may have at most {MOST_TAGS} tags")
    return tags


def _note(row: Sequence[Any]) -> AnswerNote:
    release, name, tags, note, changed, by = row
    return AnswerNote(release=release, name=name, tags=tuple(json.loads(tags)), note=note, changed=changed, by=by)
