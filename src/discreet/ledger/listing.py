"""Listing: the ledger's rows for people and files, without the time that counting took.

Guarantee: nothing here depends on how long a question was counted, given when it was charged.
Because: a row that follows a charge (its answer, its failure, a step) has the charge's time, and all times are whole
    seconds. Rows of earlier versions are stored with microseconds, which their digests cover: whoever has a digest and
    the rest of the row can try all of them. So a ledger with such a row shows no digest. The MAC needs the key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discreet.ledger.chain import FOLLOWING, Entry, to_the_second
from discreet.ledger.state import State


def listed(entries: Iterable[Entry], state: State) -> list[dict[str, Any]]:
    """Rows as JSON data."""
    return [
        {
            "seq": one.seq,
            "time": shown_time(one, state),
            "kind": one.kind,
            "body": one.data(),
            "digest": shown_digest(one, state),
            "mac": one.mac,
        }
        for one in entries
    ]


def shown_time(entry: Entry, state: State) -> str:
    """When a row was written, to the second; for what follows a charge, when that was charged."""
    charge = state.charge_of(entry.data()) if entry.kind in FOLLOWING else None
    return to_the_second(entry.time if charge is None else charge.time)


def shown_digest(entry: Entry, state: State) -> str | None:
    """A row's digest, where no time can be tried out by it."""
    return None if state.fine_times else entry.digest
