"""The one-time link by which the first owner comes in. It is gone once it is used, or once there is anybody."""

from __future__ import annotations

from discreet.console.people import secret
from discreet.console.people.clock import Clock
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.roster import Person, insert_person
from discreet.errors import Command, Message, UsageError


class SetupLink:
    """Makes the link, and takes it."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def link(self) -> str | None:
        """A new secret for the link; the one before it holds no more. None where there is somebody already."""
        made = secret.new()
        with self._store.writing() as connection:
            if connection.execute("SELECT count(*) FROM people").fetchone()[0]:
                return None
            connection.execute("INSERT OR REPLACE INTO setup (one, digest) VALUES (1, ?)", (secret.digest(made),))
        return made

    def holds(self, given: str) -> bool:
        """Whether this is the link's secret, and nobody has come yet."""
        with self._store.reading() as connection:
            row = connection.execute(
                "SELECT 1 FROM setup WHERE digest = ? AND NOT EXISTS (SELECT 1 FROM people)", (secret.digest(given),)
            ).fetchone()
        return row is not None

    def take(self, given: str, *, name: str, password_hash: str) -> Person:
        """The first owner; of two who come with the link at once, one."""
        with self._store.writing() as connection:
            if not self.holds(given):
                raise UsageError(
                    "this link is no longer valid", hint=Message("log in, or start ", Command("serve"), " again")
                )
            return insert_person(connection, name, "owner", password_hash, None, now=int(self._clock()))
