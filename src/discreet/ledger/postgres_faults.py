"""PostgreSQL's errors, in one sentence each. Its own could quote an address, a password's owner or a row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.errors import Command, LedgerFault, Message

if TYPE_CHECKING:
    import psycopg

_LOST = (
    "the connection to the ledger's server was lost",
    "what was charged stays charged; repeat the query when the server is back",
)
_WAITED = ("another process has locked the ledger and does not release it", "wait and repeat")
_RULE = ("the database refused the entry: it breaks a rule of the ledger", "")

#: By the first characters of the error's code, the longest that is known.
_SENTENCES = {
    "08": _LOST,
    "57P": _LOST,
    "25P": _LOST,  # it ended a transaction that stood still
    "55P03": _WAITED,
    "57014": _WAITED,
    "23": _RULE,
    "22": _RULE,
    "P0": _RULE,
    "25006": ("the ledger cannot be written: its server is read-only", "connect to the primary server"),
    "3D000": ("the ledger's server has no such database", "check the address"),
    "28": ("the ledger's server refused the login: the name or the password is wrong", "check the address"),
    "42501": ("the ledger's server does not allow this role to use the ledger", "GRANT it what the ledger needs"),
    "42P01": (
        "the ledger's tables are gone",
        Message("run ", Command("ledger restore", "FILE"), " to restore a backup"),
    ),
    "53100": ("the disk is full, so nothing can be charged", "free disk space, then repeat the query"),
    "53300": ("the ledger's server has no free connection", "wait and repeat"),
    "58": ("the disk of the ledger's server failed", "check the server"),
    "XX001": (
        "the ledger is damaged on its server",
        Message("restore a copy, then run ", Command("ledger acknowledge")),
    ),
    "XX002": (
        "the ledger is damaged on its server",
        Message("restore a copy, then run ", Command("ledger acknowledge")),
    ),
}


@contextmanager
def faults() -> Iterator[None]:
    """Turn the database's errors into ours."""
    try:
        yield
    except Exception as fault:
        import psycopg

        if not isinstance(fault, psycopg.Error):
            raise
        raise _fault(fault) from fault


def unreachable(fault: psycopg.Error) -> LedgerFault:
    """Why no connection could be made: the library tells no code then, only words, perhaps of another language."""
    words = str(fault).lower()
    if fault.sqlstate is None and "password" not in words and "authentication" not in words:
        known_sentence = _SENTENCES["3D000"] if 'database "' in words and "does not exist" in words else None
        sentence, hint = known_sentence or (
            "the ledger's server cannot be reached",
            "check the address, the network and the server; nothing was charged",
        )
        return LedgerFault(sentence, hint=hint)
    return _fault(fault, code=fault.sqlstate or "28P01")


def _fault(fault: psycopg.Error, *, code: str | None = None) -> LedgerFault:
    import psycopg

    code = code or fault.sqlstate or ("08006" if isinstance(fault, psycopg.OperationalError) else "")
    for length in (5, 3, 2):
        if known_sentence := _SENTENCES.get(code[:length]):
            return LedgerFault(known_sentence[0], hint=known_sentence[1])
    return LedgerFault(f"the ledger's database failed (PostgreSQL: {type(fault).__name__})")
