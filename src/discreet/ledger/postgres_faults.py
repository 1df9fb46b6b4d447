"""What is said of the ledger's server where it fails, beside the common sentences of storage/."""

from __future__ import annotations

from discreet.errors import Command, LedgerFault, Message
from discreet.storage.postgres_errors import PostgresUse, SentencesByCode

_LOST = (
    "the connection to {server} was lost",
    "what was charged stays charged; repeat the query when the server is back",
)
_WAITED = ("another process has locked the ledger and does not release it", "wait and repeat")
_ACKNOWLEDGE = Message("restore a copy, then run ", Command("ledger acknowledge"))
_RULE = ("the database refused the entry: it breaks a rule of the ledger", "")

#: By the first characters of the error's code, the longest that is known.
_SENTENCES: SentencesByCode = {
    "08": _LOST,
    "57P": _LOST,
    "25P": _LOST,  # it ended a transaction that stood still
    "55P03": _WAITED,
    "57014": _WAITED,
    "23": _RULE,
    "22": _RULE,
    "P0": _RULE,
    "42501": ("{server} does not allow this role to use the ledger", "GRANT it what the ledger needs"),
    "42P01": (
        "the ledger's tables are gone",
        Message("run ", Command("ledger restore", "FILE"), " to restore a backup"),
    ),
    "53100": ("the disk is full, so nothing can be charged", "free disk space, then repeat the query"),
    "XX001": ("the ledger is damaged on its server", _ACKNOWLEDGE),
    "XX002": ("the ledger is damaged on its server", _ACKNOWLEDGE),
}

LEDGER_SERVER = PostgresUse(
    what="a ledger in PostgreSQL",
    server="the ledger's server",
    error=LedgerFault,
    application="discreet-ledger",
    loss="a charge might be lost",
    unreachable_hint="check the address, the network and the server; nothing was charged",
    sentences=_SENTENCES,
)
