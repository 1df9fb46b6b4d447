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

from discreet.ledger.chain import FOLLOWS_CHARGE, LedgerEntry, file_name_reveals_second, truncate_to_second
from discreet.ledger.state import LedgerState


def entries_as_data(entries: Iterable[LedgerEntry], state: LedgerState) -> list[dict[str, Any]]:
    """Rows as JSON data."""
    return [
        {
            "seq": entry.seq,
            "time": public_time(entry, state),
            "kind": entry.kind,
            "body": public_body(entry),
            "digest": public_digest(entry, state),
            "mac": entry.mac,
        }
        for entry in entries
    ]


def public_body(entry: LedgerEntry) -> dict[str, Any]:
    """What a row says, without a file's name that holds a second."""
    body = entry.data()
    if entry.kind == "version" and file_name_reveals_second(body["file"]):
        del body["file"]
    return body


def public_time(entry: LedgerEntry, state: LedgerState) -> str:
    """When a row was written, to the second; for what follows a charge, when that was charged."""
    charge = state.charge_of(entry.data()) if entry.kind in FOLLOWS_CHARGE else None
    return truncate_to_second(entry.time if charge is None else charge.time)


def public_digest(entry: LedgerEntry, state: LedgerState) -> str | None:
    """A row's digest, where no time can be tried out by it."""
    return None if state.fine_times else entry.digest
