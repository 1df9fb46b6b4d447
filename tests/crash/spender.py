"""A life at the ledger: charge, store, say, and again; when the budget is gone, look at it, until killed.

Arguments: the ledger, and perhaps `mutant=NAME`, `die=POINT` (leave at that point of the third charge) or `threads=N`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from crash.harness import say
from crash.mutants import MUTANTS
from discreet.errors import BudgetExceeded
from discreet.ledger import anchor
from discreet.ledger.anchor import Anchor
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress, parse_location
from discreet.ledger.postgres_ledger import PostgresLedgerStore
from discreet.ledger.sqlite_ledger import SqliteLedgerStore
from ledger.ledgers import ask, laplace

#: Steps of a charge, in their order: what is wrapped, and whether to die before or after it.
POINTS: dict[str, tuple[object, str, bool]] = {
    "before the transaction": (SqliteLedgerStore, "begin", True),
    "after the transaction began": (SqliteLedgerStore, "begin", False),
    "before the entry": (SqliteLedgerStore, "append", True),
    "after the entry": (SqliteLedgerStore, "append", False),
    "before the digests": (Anchor, "write_digests", True),
    "after the digests": (Anchor, "write_digests", False),
    "before the commit": (SqliteLedgerStore, "commit", True),
    "after the commit": (SqliteLedgerStore, "commit", False),
    "before the head": (Anchor, "write_head", True),
    "before the anchor's rename": (os, "replace", True),
    "after the anchor's rename": (os, "replace", False),
    "before the folder is synced": (anchor, "_sync_folder", True),
    "after the head": (Anchor, "write_head", False),
}


def die_at(point: str, ledger: Ledger) -> None:
    """From now on, leave this process at that point, without any goodbye."""
    owner, name, before = POINTS[point]
    if owner is SqliteLedgerStore and isinstance(ledger.path, DatabaseAddress):
        owner = PostgresLedgerStore
    act = getattr(owner, name)

    def deadly(*arguments: object, **named: object) -> object:
        if before:
            os._exit(9)
        act(*arguments, **named)
        os._exit(9)

    setattr(owner, name, deadly)


def live(arguments: list[str], ready: Callable[[], None]) -> None:
    path, *options = arguments
    told = dict(option.split("=") for option in options)
    if "mutant" in told:
        MUTANTS[told["mutant"]]()
    with Ledger.open(parse_location(path)) as ledger:
        ready()
        for _ in range(1, int(told.get("threads", 1))):
            threading.Thread(target=spend, args=(ledger, None), daemon=True).start()
        spend(ledger, told.get("die"))


def spend(ledger: Ledger, die: str | None) -> None:
    for number in range(sys.maxsize):
        if die is not None and number == 2:
            die_at(die, ledger)
        try:
            charge = ask(ledger, laplace("0.01"), price="0.01", question=str(os.getpid()))
        except BudgetExceeded:
            ledger.refresh()
            continue
        say(f"{charge.id} {ledger.store(charge.id, f'answer to {charge.id}')}")
