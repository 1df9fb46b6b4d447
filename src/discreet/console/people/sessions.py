"""Sessions: browsers that are logged in. The cookie is a secret of 256 bits; only its digest is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.console.people import secret
from discreet.console.people.clock import DAY_S, HOUR_S, MINUTE_S, Clock, iso_time
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.roster import COLUMNS, Person, person_of

IDLE_S = 8 * HOUR_S
LONGEST_S = 7 * DAY_S
#: Sessions of one person at once; the one that was idle longest ends.
EACH = 100
#: How often it is written down that a session was seen: a visit need not wait for the disk.
_NOTED_S = 5 * MINUTE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSession:
    """A session that holds now. `csrf`: what forms of this session must carry."""

    person: Person
    csrf: str = field(repr=False)
    created: int
    seen: int


class BrowserSessions:
    """Begins, finds and ends them."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begin(self, person: Person, *, password_hash: str, instead_of: str = "") -> str | None:
        """A new session and its cookie; the one that the browser had before ends.

        None where the person was disabled, or the password changed, since it was checked: whoever changed it meant
        to end every session that was begun with the old one.
        """
        cookie, now = secret.new(), int(self._clock())
        with self._store.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE digest = ?", (secret.digest(instead_of),))
            connection.execute("DELETE FROM sessions WHERE seen <= ? OR created <= ?", (now - IDLE_S, now - LONGEST_S))
            begun = connection.execute(
                "INSERT INTO sessions (digest, person, created, seen) SELECT ?, number, ?, ? FROM people"
                " WHERE number = ? AND password = ? AND disabled = 0",
                (secret.digest(cookie), now, now, person.number, password_hash),
            ).rowcount
            connection.execute(
                "DELETE FROM sessions WHERE digest IN (SELECT digest FROM sessions WHERE person = ?"
                " ORDER BY seen DESC, created DESC LIMIT -1 OFFSET ?)",
                (person.number, EACH),
            )
        return cookie if begun else None

    def find(self, cookie: str) -> BrowserSession | None:
        """The session of a cookie, if it holds."""
        if not secret.is_secret(cookie):
            return None
        digest, now = secret.digest(cookie), int(self._clock())
        with self._store.reading() as connection:
            row = connection.execute(
                f"SELECT {COLUMNS}, sessions.created, seen FROM sessions JOIN people ON people.number = sessions.person"
                " WHERE digest = ? AND disabled = 0 AND seen > ? AND sessions.created > ?",
                (digest, now - IDLE_S, now - LONGEST_S),
            ).fetchone()
        if row is None:
            return None
        if now - row[-1] >= _NOTED_S:
            self._note(digest, now)
        return BrowserSession(
            person=person_of(row[:-2]), csrf=secret.derive(cookie, "csrf"), created=row[-2], seen=max(row[-1], now)
        )

    def end(self, cookie: str) -> None:
        """End one."""
        with self._store.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE digest = ?", (secret.digest(cookie),))

    def end_all(self, person: Person, *, but: str = "") -> int:
        """End all of a person's, but the one of a cookie; says how many."""
        with self._store.writing() as connection:
            return connection.execute(
                "DELETE FROM sessions WHERE person = ? AND digest <> ?", (person.number, secret.digest(but))
            ).rowcount

    def all(self) -> list[dict[str, Any]]:
        """Who is logged in: name, since when, last seen (to within minutes). Nothing that would let anybody go on."""
        now = int(self._clock())
        with self._store.reading() as connection:
            rows: Sequence[tuple[str, int, int]] = connection.execute(
                "SELECT name, sessions.created, seen FROM sessions JOIN people ON people.number = sessions.person"
                " WHERE disabled = 0 AND seen > ? AND sessions.created > ? ORDER BY sessions.created, name",
                (now - IDLE_S, now - LONGEST_S),
            ).fetchall()
        return [{"person": name, "since": iso_time(since), "seen": iso_time(seen)} for name, since, seen in rows]

    def _note(self, digest: bytes, now: int) -> None:
        with self._store.writing() as connection:
            connection.execute("UPDATE sessions SET seen = ? WHERE digest = ? AND seen < ?", (now, digest, now))
