"""Rows: what a linear map of counts says at one time after another, drawn from one charge for the whole map.

A program's steps each have a loss, and losses add. Rows of one matrix do not: a unit moves all of them, by its columns,
and the charge is for the longest column. So a row has no loss of its own; what the ledger keeps is that each was
drawn once, in order, and never beyond the map that was paid for.

Guarantee: every row of a stream is entered at most once, the earlier ones first, and what is entered stays.
Because: the number is compared with those that are there under the lock that all writers take.
"""

from __future__ import annotations

from typing import Any

from discreet.accounting.events import Event, Gaussian, Laplace
from discreet.errors import LedgerFault, UsageError
from discreet.ledger.checked import json_object, readable
from discreet.ledger.journal import Journal, sha256_of
from discreet.ledger.records import Stream
from discreet.ledger.state import State


def checked(state: State, table: str, event: Event, wanted: dict[str, Any]) -> dict[str, Any]:
    """What a charge says of its stream: {"name", "count", "of"}; refused where the name is taken."""
    if not isinstance(event, Laplace | Gaussian):
        raise UsageError("a stream is noise of one law on a linear map")
    name, count = readable(wanted["name"], what="a stream's name"), wanted["count"]
    known = state.stream(table, name)
    if known is not None and not known.closed:
        raise UsageError(f"{table!r} has a stream {name!r} already", hint="take another name")
    if type(count) is not int or count < 1:
        raise UsageError("a stream has at least one step")
    return {"name": name, "count": count, "of": json_object(wanted["of"], what="a stream")}


def open_stream(state: State, id_: str) -> Stream:
    """A stream that may still be drawn from."""
    if id_ not in state.streams:
        raise UsageError(f"no stream was charged under {id_!r}")
    held = state.streams[id_]
    if held.closed:
        raise LedgerFault(
            f"the stream {held.name!r} is closed: a step failed, or the ledger was rolled back or copied",
            hint="what was released stays; start another stream, under the same name if you like",
        )
    return held


def enter(journal: Journal, held: Stream, *, number: int, kept: str, payload: str) -> str:
    """Append a row, inside a section."""
    if number <= len(held.rows):
        raise UsageError(f"step {number} of the stream {held.name!r} was taken by another process just now")
    if number != len(held.rows) + 1 or number > held.count:
        raise UsageError(f"step {number} of the stream {held.name!r} is out of order")
    sha256 = sha256_of(payload)
    body = {"id": held.id, "number": number, "kept": readable(kept, what="a file's name"), "sha256": sha256}
    journal.append("row", body, payload=(f"{held.id}.{number}", sha256, payload))
    return payload
