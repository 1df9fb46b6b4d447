"""Tokens: how programs come. `dsc_` and 256 bits; only the digest is stored, and the token is shown once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.console.people import secret
from discreet.console.people.clock import DAY_S, Clock, day, iso_time
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.roster import COLUMNS, ROLES, Person, PersonRole, person_of, role_of
from discreet.console.people.typed_text import clean_line
from discreet.errors import Command, Message, UsageError

PREFIX = "dsc_"
DAYS = 90
MOST_DAYS = 3_650
#: Tokens that hold at once, of one person.
EACH = 50

#: So many of a row's columns are its person's.
_PERSON = COLUMNS.count(",") + 1
_COLUMNS = "tokens.number, label, tokens.role, tokens.created, expires, revoked, used"
_JOINED = f"SELECT {COLUMNS}, {_COLUMNS} FROM tokens JOIN people ON people.number = tokens.person"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """What is known of a token. `used`: the last day on which somebody came with it."""

    number: int
    person: Person
    label: str
    granted: PersonRole
    created: int
    expires: int
    revoked: int | None
    used: str | None

    @property
    def role(self) -> PersonRole:
        """What it allows now: no more than it was made for, and no more than its person may."""
        return min(self.granted, self.person.role, key=ROLES.index)

    def why_not(self, now: float) -> str:
        """Why it does not hold; empty where it does."""
        if self.revoked is not None:
            return "the token was revoked"
        if now >= self.expires:
            return "the token has expired"
        return "the token's person is disabled" if self.person.disabled else ""

    def data(self, now: float) -> dict[str, Any]:
        """As JSON; never the token itself, which nobody knows any more."""
        return {
            "number": self.number,
            "person": self.person.name,
            "label": self.label,
            "role": self.role,
            "created": iso_time(self.created),
            "expires": iso_time(self.expires),
            "revoked": None if self.revoked is None else iso_time(self.revoked),
            "used": self.used,
            "holds": not self.why_not(now),
        }


class ApiTokens:
    """Makes, finds and revokes them."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def make(
        self,
        person: Person,
        *,
        label: str,
        days: int = DAYS,
        role: PersonRole | None = None,
        parent: ApiToken | None = None,
    ) -> tuple[str, ApiToken]:
        """A new token, and what is kept of it. `role`: no more than the person's own.

        `parent`: the token that asks for it. It ends no later, and with it: else whoever stole one could stay.
        """
        label = clean_line(label, name="the label", most=60)
        granted = person.role if role is None else role_of(role)
        if ROLES.index(granted) > ROLES.index(person.role):
            raise UsageError(f"{person.name!r} is not an {granted}, so their tokens cannot have that role")
        if not 1 <= days <= MOST_DAYS:
            raise UsageError(f"a token can be valid for 1 to {MOST_DAYS:,} days")
        text, now = PREFIX + secret.new(), int(self._clock())
        parent_number = None if parent is None else parent.number
        expires = min(now + days * DAY_S, now + days * DAY_S if parent is None else parent.expires)
        with self._store.writing() as connection:
            holding = "SELECT count(*) FROM tokens WHERE person = ? AND revoked IS NULL AND expires > ?"
            if connection.execute(holding, (person.number, now)).fetchone()[0] >= EACH:
                raise UsageError(f"{person.name!r} already has {EACH} active tokens", hint="revoke an unused token")
            number = connection.execute(
                "INSERT INTO tokens (digest, person, label, role, created, expires, parent)"
                " SELECT ?, number, ?, ?, ?, ?, ? FROM people WHERE number = ? AND disabled = 0 AND"
                " (? IS NULL OR EXISTS (SELECT 1 FROM tokens WHERE number = ? AND revoked IS NULL)) RETURNING number",
                (
                    secret.digest(text),
                    label,
                    granted,
                    now,
                    expires,
                    parent_number,
                    person.number,
                    parent_number,
                    parent_number,
                ),
            ).fetchone()
            if number is None:
                raise UsageError(f"{person.name!r} is disabled, or the token that made this request was revoked")
            made = _token(connection.execute(f"{_JOINED} WHERE tokens.number = ?", number).fetchone())
        return text, made

    def find(self, text: str) -> ApiToken | None:
        """The token that this is, whether it holds or not: see `why_not`. Unknown is None."""
        if not text.startswith(PREFIX) or not secret.is_secret(text.removeprefix(PREFIX)):
            return None
        with self._store.reading() as connection:
            row = connection.execute(f"{_JOINED} WHERE digest = ?", (secret.digest(text),)).fetchone()
        return None if row is None else _token(row)

    def note_use(self, token: ApiToken) -> None:
        """Note the day on which somebody came with it; written once a day."""
        today = day(self._clock())
        if token.used != today:
            with self._store.writing() as connection:
                connection.execute("UPDATE tokens SET used = ? WHERE number = ?", (today, token.number))

    def get(self, number: int) -> ApiToken:
        """What is kept of a token."""
        with self._store.reading() as connection:
            row = connection.execute(f"{_JOINED} WHERE tokens.number = ?", (number,)).fetchone()
        if row is None:
            raise UsageError(f"there is no token {number}", hint=Message(Command("people tokens")))
        return _token(row)

    def all(self, person: Person | None = None) -> list[ApiToken]:
        """All tokens ever made, or one person's."""
        with self._store.reading() as connection:
            rows = connection.execute(
                f"{_JOINED} WHERE ? IS NULL OR tokens.person = ? ORDER BY tokens.number",
                (None if person is None else person.number,) * 2,
            ).fetchall()
        return [_token(row) for row in rows]

    def revoke(self, number: int) -> ApiToken:
        """End a token for good, and all that were made with it."""
        self.get(number)
        with self._store.writing() as connection:
            connection.execute(
                "WITH RECURSIVE ending (number) AS (SELECT ? UNION"
                " SELECT tokens.number FROM tokens JOIN ending ON tokens.parent = ending.number)"
                " UPDATE tokens SET revoked = ? WHERE number IN (SELECT number FROM ending) AND revoked IS NULL",
                (number, int(self._clock())),
            )
        return self.get(number)


def _token(row: Sequence[Any]) -> ApiToken:
    number, label, granted, created, expires, revoked, used = row[_PERSON:]
    return ApiToken(
        number=number,
        person=person_of(row[:_PERSON]),
        label=label,
        granted=granted,
        created=created,
        expires=expires,
        revoked=revoked,
        used=used,
    )
