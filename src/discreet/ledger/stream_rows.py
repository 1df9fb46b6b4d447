"""Rows: what a linear map of counts says at one time after another, drawn from one charge for the whole map.

A program's steps each have a loss, and losses add. Rows of one matrix do not: a unit moves all of them, by its columns,
and the charge is for the longest column. So a row has no loss of its own; what the ledger keeps is that each was
drawn once, in order, and never beyond the map that was paid for.

Guarantee: every row of a stream is entered at most once, the earlier ones first, and what is entered stays.
Because: the number is compared with those that are there under the lock that all writers take.
"""

from __future__ import annotations

from typing import Any

from discreet.accounting.events import Event, GaussianEvent, LaplaceEvent
from discreet.errors import LedgerFault, UsageError
from discreet.ledger.chain_reader import sha256_of
from discreet.ledger.entry_checks import check_json_object, check_name
from discreet.ledger.journal import Journal
from discreet.ledger.records import StreamRecord
from discreet.ledger.state import LedgerState


def check_stream(state: LedgerState, table: str, event: Event, stream_data: dict[str, Any]) -> dict[str, Any]:
    """What a charge says of its stream: {"name", "count", "of"}; refused where the name is taken."""
    if not isinstance(event, LaplaceEvent | GaussianEvent):
        raise UsageError("a stream must be noise of one distribution on a linear map")
    name, count = check_name(stream_data["name"], what="a stream's name"), stream_data["count"]
    earlier_stream = state.stream(table, name)
    if earlier_stream is not None and not earlier_stream.closed:
        raise UsageError(f"{table!r} already has a stream {name!r}", hint="choose another name")
    if type(count) is not int or count < 1:
        raise UsageError("a stream must have at least one step")
    return {"name": name, "count": count, "of": check_json_object(stream_data["of"], what="a stream")}


def open_stream(state: LedgerState, id_: str) -> StreamRecord:
    """A stream that may still be drawn from."""
    if id_ not in state.streams:
        raise UsageError(f"no stream was charged under {id_!r}")
    stream = state.streams[id_]
    if stream.closed:
        raise LedgerFault(
            f"the stream {stream.name!r} is closed: a step failed, or the ledger was rolled back or copied",
            hint="released totals stay valid; start another stream, with the same name if you like",
        )
    return stream


def append_row(journal: Journal, stream: StreamRecord, *, number: int, owner_file: str, payload: str) -> str:
    """Append a row, inside a section."""
    if number <= len(stream.rows):
        raise UsageError(f"another process has just taken step {number} of the stream {stream.name!r}")
    if number != len(stream.rows) + 1 or number > stream.count:
        raise UsageError(f"step {number} of the stream {stream.name!r} is out of order")
    sha256 = sha256_of(payload)
    body = {"id": stream.id, "number": number, "kept": check_name(owner_file, what="a file's name"), "sha256": sha256}
    journal.append("row", body, payload=(f"{stream.id}.{number}", sha256, payload))
    return payload
