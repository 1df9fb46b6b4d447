"""Requests: an analyst asks for more budget, an owner approves or declines with a word. Each is decided once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet import exact
from discreet.console.people.clock import Clock, iso_time
from discreet.console.people.people_store import PeopleStore
from discreet.console.people.roster import Person
from discreet.console.people.typed_text import clean_line, clean_lines
from discreet.errors import UsageError

State = Literal["open", "approved", "declined"]
#: Open ones of a person at once.
EACH = 20
_COLUMNS = "number, person, analyst, table_name, epsilon, why, made, state, decided, decided_by, word"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRequest:
    """A wish for `epsilon` more on a table, and what became of it."""

    number: int
    person: str
    analyst: str
    table: str
    epsilon: Fraction
    why: str
    made: int
    state: State
    decided: int | None
    decided_by: str | None
    word: str

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "number": self.number,
            "person": self.person,
            "analyst": self.analyst,
            "table": self.table,
            "epsilon": exact.show(self.epsilon),
            "why": self.why,
            "made": iso_time(self.made),
            "state": self.state,
            "decided": None if self.decided is None else iso_time(self.decided),
            "decided_by": self.decided_by,
            "word": self.word,
        }


class BudgetRequests:
    """Makes, lists and decides them."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def ask(self, person: Person, *, table: str, epsilon: object, why: str) -> BudgetRequest:
        """A new, open request. Whether there is such a table is for who calls to know."""
        exact_epsilon = exact.positive(epsilon, name="epsilon", most=exact.MAX_BUDGET_EPSILON)
        table = clean_line(table, name="the table's name", most=200)
        why = clean_lines(why, name="why", most=1_000, least=1)
        with self._store.writing() as connection:
            waiting = "SELECT count(*) FROM requests WHERE person = ? AND state = 'open'"
            if connection.execute(waiting, (person.name,)).fetchone()[0] >= EACH:
                raise UsageError(f"{EACH} of your requests are still open", hint="wait for an owner's decision")
            row = connection.execute(
                "INSERT INTO requests (person, analyst, table_name, epsilon, why, made) VALUES (?, ?, ?, ?, ?, ?)"
                f" RETURNING {_COLUMNS}",
                (person.name, person.analyst, table, exact.write(exact_epsilon), why, int(self._clock())),
            ).fetchone()
        return _request(row)

    def all(self, *, most: int = 1_000) -> list[BudgetRequest]:
        """The newest, newest first."""
        with self._store.reading() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM requests ORDER BY number DESC LIMIT ?", (most,))
            return [_request(row) for row in rows]

    def get(self, number: int) -> BudgetRequest:
        """One."""
        with self._store.reading() as connection:
            row = connection.execute(f"SELECT {_COLUMNS} FROM requests WHERE number = ?", (number,)).fetchone()
        if row is None:
            raise UsageError(f"there is no request {number}")
        return _request(row)

    def approve(
        self, number: int, *, by: Person, word: str = "", act: Callable[[BudgetRequest], None]
    ) -> BudgetRequest:
        """Approve; `act` does what was asked for.

        Two owners at once act once: `act` runs inside the transaction that decides, and where it raises the request
        stays open. Where the machine stops between the two, `act` has happened and the request is open: it must be
        something that may be done again, as raising a limit to a number is.
        """
        return self._decide(number, "approved", by, word, act)

    def decline(self, number: int, *, by: Person, word: str = "") -> BudgetRequest:
        """Decline."""
        return self._decide(number, "declined", by, word, lambda request: None)

    def _decide(
        self, number: int, state: State, by: Person, word: str, act: Callable[[BudgetRequest], None]
    ) -> BudgetRequest:
        word = clean_lines(word, name="the message", most=1_000)
        with self._store.writing() as connection:
            request = self.get(number)
            if request.state != "open":
                raise UsageError(f"request {number} was already {request.state} by {request.decided_by}")
            act(request)
            connection.execute(
                "UPDATE requests SET state = ?, decided = ?, decided_by = ?, word = ? WHERE number = ?",
                (state, int(self._clock()), by.name, word, number),
            )
            return self.get(number)


def _request(row: Sequence[Any]) -> BudgetRequest:
    number, person, analyst, table, epsilon, why, made, state, decided, decided_by, word = row
    return BudgetRequest(
        number=number,
        person=person,
        analyst=analyst,
        table=table,
        epsilon=exact.read(epsilon),
        why=why,
        made=made,
        state=state,
        decided=decided,
        decided_by=decided_by,
        word=word,
    )
