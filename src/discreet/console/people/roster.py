"""The roster: persons, their roles and their passwords' hashes. Nobody is struck from it; they are disabled."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from discreet.console.people.clock import Clock, iso_time
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.typed_text import clean_name, fold_name
from discreet.errors import Command, Message, UsageError

PersonRole = Literal["analyst", "owner"]
ROLES: tuple[PersonRole, ...] = get_args(PersonRole)

COLUMNS = "people.number, people.name, people.role, people.analyst, people.disabled, people.created, people.temporary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody who may log in. `analyst`: the name under which their questions are charged.

    temporary: their password was chosen by somebody else, and must be changed before anything else.
    """

    number: int
    name: str
    role: PersonRole
    analyst: str
    disabled: bool
    created: int
    temporary: bool = False

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "number": self.number,
            "name": self.name,
            "role": self.role,
            "analyst": self.analyst,
            "disabled": self.disabled,
            "created": iso_time(self.created),
            "temporary": self.temporary,
        }


class PeopleRoster:
    """Who there is. What takes something from a person ends their sessions in the same transaction."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def add(
        self, name: str, *, role: PersonRole, password_hash: str, analyst: str | None = None, temporary: bool = False
    ) -> Person:
        """A new person; refused where somebody has the name, capitals aside."""
        with self._store.writing() as connection:
            person = insert_person(connection, name, role, password_hash, analyst, now=int(self._clock()))
            connection.execute("UPDATE people SET temporary = ? WHERE number = ?", (temporary, person.number))
            return _get_person(connection, person.name)

    def all(self) -> list[Person]:
        """Everybody, in the order in which they came."""
        with self._store.reading() as connection:
            rows = connection.execute(f"SELECT {COLUMNS} FROM people ORDER BY number").fetchall()
        return [person_of(row) for row in rows]

    def find(self, name: str) -> Person | None:
        """The person of this name, capitals aside."""
        with self._store.reading() as connection:
            return _find_person(connection, name)

    def get(self, name: str) -> Person:
        """The same; refused where there is none."""
        with self._store.reading() as connection:
            return _get_person(connection, name)

    def find_number(self, number: int) -> Person | None:
        """The person of this number."""
        with self._store.reading() as connection:
            row = connection.execute(f"SELECT {COLUMNS} FROM people WHERE number = ?", (number,)).fetchone()
        return None if row is None else person_of(row)

    def credentials(self, name: str) -> tuple[Person, str] | None:
        """The person of this name and their password's hash, in one look; None where nobody who may come has it."""
        folded_name = fold_name(name) if name.isprintable() else ""  # nobody's
        with self._store.reading() as connection:
            row = connection.execute(
                f"SELECT {COLUMNS}, password FROM people WHERE folded = ? AND disabled = 0", (folded_name,)
            ).fetchone()
        return None if row is None else (person_of(row[:-1]), row[-1])

    def set_role(self, name: str, role: PersonRole) -> Person:
        """Give a role. Ends the person's sessions; the last owner stays one."""
        role = role_of(role)
        with self._store.writing() as connection:
            person = _get_person(connection, name)
            if role != "owner":
                _keep_an_owner(connection, person)
            connection.execute("UPDATE people SET role = ? WHERE number = ?", (role, person.number))
            _end_sessions(connection, person)
            return _get_person(connection, name)

    def set_analyst(self, name: str, analyst: str) -> Person:
        """Say under which name a person's questions are charged."""
        with self._store.writing() as connection:
            person = _get_person(connection, name)
            connection.execute("UPDATE people SET analyst = ? WHERE number = ?", (clean_name(analyst), person.number))
            return _get_person(connection, name)

    def set_password(
        self, name: str, password_hash: str, *, temporary: bool = False, instead_of: str | None = None
    ) -> Person:
        """Give a new password. Ends the person's sessions. `instead_of`: refused unless this is the hash until now."""
        with self._store.writing() as connection:
            person = _get_person(connection, name)
            changed = connection.execute(
                "UPDATE people SET password = ?, temporary = ? WHERE number = ? AND ifnull(password = ?, TRUE)",
                (password_hash, temporary, person.number, instead_of),
            ).rowcount
            if not changed:
                raise UsageError("the password was changed meanwhile", hint="log in with the newest one")
            _end_sessions(connection, person)
            return _get_person(connection, name)

    def rehash(self, person: Person, *, old: str, new: str) -> None:
        """Store the same password under newer parameters, unless it was changed meanwhile."""
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE people SET password = ? WHERE number = ? AND password = ?", (new, person.number, old)
            )

    def disable(self, name: str) -> Person:
        """Keep a person out. Ends their sessions and revokes their tokens for good; the last owner stays."""
        with self._store.writing() as connection:
            person = _get_person(connection, name)
            _keep_an_owner(connection, person)
            connection.execute("UPDATE people SET disabled = 1 WHERE number = ?", (person.number,))
            _end_sessions(connection, person)
            connection.execute(
                "UPDATE tokens SET revoked = ? WHERE person = ? AND revoked IS NULL",
                (int(self._clock()), person.number),
            )
            return _get_person(connection, name)

    def enable(self, name: str) -> Person:
        """Let a person in again. Their tokens stay revoked."""
        with self._store.writing() as connection:
            person = _get_person(connection, name)
            connection.execute("UPDATE people SET disabled = 0 WHERE number = ?", (person.number,))
            return _get_person(connection, name)


def insert_person(
    connection: sqlite3.Connection, name: str, role: PersonRole, password_hash: str, analyst: str | None, *, now: int
) -> Person:
    """A new person, inside a transaction. Once there is anybody, the setup link is gone."""
    role, name = role_of(role), clean_name(name)
    if _find_person(connection, name) is not None:
        raise UsageError(f"there is already a person named {name!r}", hint="choose another name")
    charged = name if analyst is None else clean_name(analyst)
    connection.execute(
        "INSERT INTO people (name, folded, role, analyst, password, created) VALUES (?, ?, ?, ?, ?, ?)",
        (name, fold_name(name), role, charged, password_hash, now),
    )
    connection.execute("DELETE FROM setup")
    return _get_person(connection, name)


def person_of(row: Sequence[Any]) -> Person:
    """A person from the columns."""
    number, name, role, analyst, disabled, created, temporary = row
    return Person(
        number=number,
        name=name,
        role=role,
        analyst=analyst,
        disabled=bool(disabled),
        created=created,
        temporary=bool(temporary),
    )


def role_of(text: str) -> PersonRole:
    """A role, by its name; refuses one that nobody can have."""
    for role in ROLES:
        if role == text:
            return role
    raise UsageError(f"{text[:40]!r} is not a role", hint="owner or analyst")


def _find_person(connection: sqlite3.Connection, name: str) -> Person | None:
    try:
        folded_name = fold_name(clean_name(name))
    except UsageError:
        return None  # nobody can have such a name
    row = connection.execute(f"SELECT {COLUMNS} FROM people WHERE folded = ?", (folded_name,)).fetchone()
    return None if row is None else person_of(row)


def _get_person(connection: sqlite3.Connection, name: str) -> Person:
    person = _find_person(connection, name)
    if person is None:
        raise UsageError(f"there is no person named {name[:60]!r}", hint=Message(Command("people list")))
    return person


def _keep_an_owner(connection: sqlite3.Connection, leaving: Person) -> None:
    others = "SELECT count(*) FROM people WHERE role = 'owner' AND disabled = 0 AND number <> ?"
    if leaving.role == "owner" and connection.execute(others, (leaving.number,)).fetchone()[0] == 0:
        raise UsageError(
            f"{leaving.name!r} is the last owner, and a console needs at least one",
            hint="make somebody else an owner first",
        )


def _end_sessions(connection: sqlite3.Connection, person: Person) -> None:
    connection.execute("DELETE FROM sessions WHERE person = ?", (person.number,))
