"""Idempotency keys: who came with which key, for which question, and what it came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.console.people.clock import Clock
from discreet.console.people.people_store import PeopleStore

#: The state of a key whose question has not come to an end.
BEGUN = "begun"
_ONE = "SELECT key, body, state, result, made FROM keys WHERE owner = ? AND key = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey:
    """One key of one owner. `fresh`: it was taken by this very call."""

    key: str = field(repr=False)
    body: bytes
    state: str
    result: str | None
    made: int
    fresh: bool = False


class IdempotencyKeys:
    """The table. Owners and bodies are known by SHA-256 digests alone."""

    def __init__(self, store: PeopleStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begin(self, owner: bytes, key: str, body: bytes) -> IdempotencyKey:
        """Take a key, or find it taken: of many who come with it at once, one has it `fresh`."""
        with self._store.writing() as connection:
            taken = connection.execute(
                "INSERT INTO keys (owner, key, body, state, made) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (owner, key) DO NOTHING",
                (owner, key, body, BEGUN, int(self._clock())),
            ).rowcount
            row = connection.execute(_ONE, (owner, key)).fetchone()
        return _key(row, fresh=taken == 1)

    def finish(self, owner: bytes, key: str, *, state: str, result: str | None) -> IdempotencyKey | None:
        """Say what it came to; the first to say so wins. Returns what is stored; None where there is no such key."""
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE keys SET state = ?, result = ? WHERE owner = ? AND key = ? AND state = ?",
                (state, result, owner, key, BEGUN),
            )
            row = connection.execute(_ONE, (owner, key)).fetchone()
        return None if row is None else _key(row)

    def find(self, owner: bytes, key: str) -> IdempotencyKey | None:
        """A key, if it was taken."""
        with self._store.reading() as connection:
            row = connection.execute(_ONE, (owner, key)).fetchone()
        return None if row is None else _key(row)

    def drop(self, owner: bytes, key: str) -> bool:
        """Give a key back that came to nothing; one that came to something stays."""
        with self._store.writing() as connection:
            return (
                connection.execute(
                    "DELETE FROM keys WHERE owner = ? AND key = ? AND state = ?", (owner, key, BEGUN)
                ).rowcount
                == 1
            )

    def forget(self, *, before: int) -> int:
        """Forget keys that were made before a second; says how many."""
        with self._store.writing() as connection:
            return connection.execute("DELETE FROM keys WHERE made < ?", (before,)).rowcount


def _key(row: Sequence[Any], *, fresh: bool = False) -> IdempotencyKey:
    key, body, state, result, made = row
    return IdempotencyKey(key=key, body=body, state=state, result=result, made=made, fresh=fresh)
