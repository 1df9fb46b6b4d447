"""What is said of a PostgreSQL server that fails.

Before a charge, and for the owner, a sentence of storage/ says what to do. After a charge nothing is said at all: a
`ServerFault` with the five characters of the error's code is the cause, for the owner's eyes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from discreet.engines.engine import EngineFailure
from discreet.errors import UsageError
from discreet.storage.postgres_errors import PostgresUse, code_of, postgres_faults

Result = TypeVar("Result")

ENGINE_SERVER = PostgresUse(
    what="PostgreSQL",
    server="the PostgreSQL server",
    error=UsageError,
    application="discreet",
    failed="{server} failed",  # a code could tell of a cell
    unreachable_hint="check the engine's address, the network and the server",
    sentences={
        "3D000": ("{server} has no such database", "check the engine's address in discreet.toml"),
        "42501": (
            "{server} does not allow this role to do that",
            "it needs SELECT on sources, CREATE and USAGE on schema discreet, and TEMPORARY on the database",
        ),
    },
)


class ServerFault(Exception):
    """The code of a server's error, and nothing else of it."""


def translate_errors(reading: str = "") -> AbstractContextManager[None]:
    """Turns the server's errors into sentences. `reading`: what is being read."""
    return postgres_faults(ENGINE_SERVER, reading=reading)


def as_engine_failure(sentence: str, act: Callable[[], Result]) -> Result:
    """What `act` makes; of every error one constant sentence: a question was charged, and a cause may hold a cell."""
    try:
        return act()
    except Exception as fault:
        code = code_of(fault)
    # Out here the server's error is no context of ours: its words stay behind.
    raise EngineFailure(sentence) from ServerFault(code)


def quietly(act: Callable[[], object]) -> None:
    """Do it where it can be done."""
    import psycopg

    try:
        act()
    except (psycopg.Error, UsageError):
        return
