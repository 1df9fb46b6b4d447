"""What a PostgreSQL server says, in one sentence of ours each. Its own could quote a cell, a password or an address.

Before a charge, and for the owner, a sentence says what to do. After a charge nothing is said at all: a
`ServerFault` with the five characters of the error's code is the cause, for the owner's eyes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from discreet.engines.engine import EngineFailure
from discreet.errors import UsageError

if TYPE_CHECKING:
    import psycopg

Result = TypeVar("Result")
_SentencesByCode = Mapping[str, tuple[str, str]]

_LOST = ("the connection to the PostgreSQL server was lost", "try again when the server is back")

#: By the first characters of the error's code, the longest that is known.
_SENTENCES: _SentencesByCode = {
    "08": _LOST,
    "57P": _LOST,
    "25P": _LOST,
    "28": (
        "the PostgreSQL server refused the login: the user name or the password is wrong",
        "set PGPASSWORD, or use ~/.pgpass",
    ),
    "3D000": ("the PostgreSQL server has no such database", "check the engine's address in discreet.toml"),
    "25006": ("the PostgreSQL server is read-only, but a table must be written", "connect to the primary server"),
    "42501": (
        "the PostgreSQL server does not allow this role to do that",
        "it needs SELECT on sources, CREATE and USAGE on schema discreet, and TEMPORARY on the database",
    ),
    "53100": ("the disk of the PostgreSQL server is full", "free some space there, then try again"),
    "53300": ("the PostgreSQL server has no free connection", "try again later"),
    "53": ("the PostgreSQL server has run out of resources for this", "raise its limits, or try again later"),
    "55P03": ("another session keeps the table locked", "try again later"),
    "57014": ("the PostgreSQL server took too long", "try again when it is less busy"),
    "58": ("the PostgreSQL server had a disk or system error", "check the server"),
}  # fmt: skip

_UNREACHABLE = ("the PostgreSQL server cannot be reached", "check the engine's address, the network and the server")
_NO_TLS = (
    "the PostgreSQL server does not offer TLS",
    "turn it on there, or connect without TLS by sslmode=disable in the address",
)


class ServerFault(Exception):
    """The code of a server's error, and nothing else of it."""


def code_of(fault: BaseException) -> str:
    """The five characters of an error's code; 08006 for a lost connection, whose error has none."""
    import psycopg

    if not isinstance(fault, psycopg.Error):
        return type(fault).__name__
    return fault.sqlstate or ("08006" if isinstance(fault, psycopg.OperationalError) else type(fault).__name__)


def unreachable(fault: psycopg.Error) -> UsageError:
    """Why no connection could be made: libpq has no code then, only words, perhaps of another language."""
    words = str(fault).lower()
    if fault.sqlstate:
        return _sentence(fault.sqlstate)
    if "ssl" in words and "not support" in words:
        return UsageError(_NO_TLS[0], hint=_NO_TLS[1])
    if "password" in words or "authentication" in words or "pg_hba" in words or ("role" in words and "exist" in words):
        return _sentence("28P01")
    if 'database "' in words and "does not exist" in words:
        return _sentence("3D000")
    if "too many" in words:
        return _sentence("53300")
    return UsageError(_UNREACHABLE[0], hint=_UNREACHABLE[1])


def _sentence(code: str, shown: str = "") -> UsageError:
    for length in (5, 3, 2):
        if sentence_and_hint := _SENTENCES.get(code[:length]):
            return UsageError(sentence_and_hint[0], hint=sentence_and_hint[1])
    what = f"{shown} could not be read completely" if shown else "the PostgreSQL server failed"
    return UsageError(what, hint="see the server's log" if shown else "")


@contextmanager
def translate_errors(shown: str = "") -> Iterator[None]:
    """Turns the server's errors into sentences. `shown`: what was being read."""
    import psycopg

    try:
        yield
    except psycopg.Error as fault:
        raise _sentence(code_of(fault), shown) from None


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
