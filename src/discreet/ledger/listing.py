"""Listing: the ledger's rows for people and files, without the time that counting took.

Guarantee: nothing here depends on how long a question was counted, given when it was charged; nor, but for which of two
    days the name of a version's file holds, on how long a version was made, given when it was entered.
Because: a row that follows a charge (its answer, its failure, a step) has the charge's time, and all times are whole
    seconds. The name of a version's file holds a day after its making began. Rows of earlier versions are stored with
    microseconds, and name files by the second at which their making began. Digests cover both: whoever has a digest and
    the rest of the row can try all of them. So a ledger with such a row shows neither those names nor any digest. The
    MAC needs the key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.ledger.chain import FOLLOWING, Entry, names_a_second, to_the_second
from discreet.ledger.state import State


def listed(entries: Iterable[Entry], state: State) -> list[dict[str, Any]]:
    """Rows as JSON data."""
    return [
        {
            "seq": one.seq,
            "time": shown_time(one, state),
            "kind": one.kind,
            "body": shown_body(one),
            "digest": shown_digest(one, state),
            "mac": one.mac,
        }
        for one in entries
    ]


def shown_body(entry: Entry) -> dict[str, Any]:
    """What a row says, without a file's name that holds a second."""
    found = entry.data()
    if entry.kind == "version" and names_a_second(found["file"]):
        del found["file"]
    return found


def shown_time(entry: Entry, state: State) -> str:
    """When a row was written, to the second; for what follows a charge, when that was charged."""
    charge = state.charge_of(entry.data()) if entry.kind in FOLLOWING else None
    return to_the_second(entry.time if charge is None else charge.time)


def shown_digest(entry: Entry, state: State) -> str | None:
    """A row's digest, where no time can be tried out by it."""
    return None if state.fine_times else entry.digest
