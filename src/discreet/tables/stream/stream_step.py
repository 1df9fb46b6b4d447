"""Taking a step of a stream: the third, and smallest, place where exact numbers and randomness meet.

    lock -> what was counted -> count the newest version -> keep what is counted -> noise -> the ledger's row -> show

What `curator` promises holds for every step:

1. The charge for the whole matrix is durable before any data is touched; a step costs nothing more.
2. A count or a draw that raises is one constant sentence, and closes the stream.
3. The event that was charged is the event that the draw returns; they are compared.
4. What was drawn is stored before it is shown, and what is shown is read back from the store.

Guarantee: all that a stream ever releases is read off one draw of noise of the charged law on C x, where x_t is the
    number of rows first seen at step t, and adding or removing a person moves x by at most K in total over all steps.
Because: a step's state is durable before its noise is drawn, and is what the ledger's row names, so the next step goes
    on from what the last one counted, through any crash (engines/stream_counts.py); a state without a row is never
    read. A step that has no row is taken anew: its first draw, if there was one, died unseen. Later data and later
    labels may depend on earlier rows (docs/proofs/stream.md).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.engines import stream_counts
from discreet.engines.person_keys import MARK
from discreet.engines.stream_counts import StreamCounts
from discreet.errors import Command, DiscreetError, LedgerFault, LedgerLocked, Message, QueryFailed, UsageError
from discreet.kernel.curator import Curator, Version
from discreet.ledger.records import StreamRecord as LedgerStream
from discreet.ledger.stream_rows import open_stream
from discreet.tables.stream.stored_counters import Law, open_counter
from discreet.tables.stream.stream_counter import StreamCounter
from discreet.tables.stream.stream_persons import person_identity
from discreet.tables.stream.stream_row import StreamRow, estimate_steps


def folder_of(curator: Curator, id_: str) -> Path:
    """Where a stream keeps what it has counted."""
    return curator.folder / stream_counts.FOLDER / id_


def take_step(
    curator: Curator,
    id_: str,
    newest: Callable[[], Version],
    *,
    label: str | None,
) -> StreamRow:
    """Take the next step of a stream; a step of this label that was taken before is read back."""
    folder, ledger = folder_of(curator, id_), curator.ledger
    with stream_counts.lock_stream(folder, wait=False):
        ledger.refresh()
        rows = [StreamRow.from_text(text) for text in ledger.stream_rows(id_)]
        earlier_row = next((row for row in rows if label is not None and row.label == label), None)
        if earlier_row is not None:
            return earlier_row
        version = newest()
        record = _check_ready(curator, id_, version)
        kept = record.rows[-1].owner_file if record.rows else None
        before = (
            StreamCounts.empty(id_, record.table)
            if kept is None
            else stream_counts.load(folder, kept, ledger.keyed_digest)
        )
        if (before.stream, before.table, len(before.exact_steps)) != (id_, record.table, len(rows)):
            raise LedgerFault("the stream's stored counts belong to another step", hint="restore the project folder")
        stream_counts.drop_other_states(folder, keep=kept)
        row, kept = _draw_row(curator, record, before, version, rows, label=label)
        text = ledger.append_stream_row(id_, number=row.step, owner_file=kept, payload=row.to_text())
        stream_counts.drop_other_states(folder, keep=kept if row.step < record.count else None)
        return StreamRow.from_text(text)


def _check_ready(curator: Curator, id_: str, version: Version) -> LedgerStream:
    """The stream, where it may go on; refusals are the same whatever the data."""
    state = curator.ledger.state
    record = open_stream(state, id_)
    if state.is_locked(record.table):
        raise LedgerLocked(
            f"table {record.table!r} is locked: too many charged queries on it could not be completed",
            hint=Message("the owner finds the cause, then runs ", Command("ledger acknowledge")),
        )
    if len(record.rows) >= record.count:
        raise UsageError(
            f"the stream {record.name!r} has reached its horizon of {record.count:,} steps",
            hint="start another stream with another name; what this one released stays",
        )
    marked = state.version(version.table, version.number).source.get(MARK)
    if (
        version.table != record.table
        or record.of["whose"] != person_identity(version, curator)
        or record.of["persons"] != marked
    ):
        raise UsageError(
            f"{record.table!r} identifies persons differently from when the stream {record.name!r} began",
            hint=Message(
                "declare `person` as it was and ", Command("refresh", record.table), ", or start another stream"
            ),
        )
    return record


def _draw_row(
    curator: Curator,
    record: LedgerStream,
    before: StreamCounts,
    version: Version,
    rows: list[StreamRow],
    *,
    label: str | None,
) -> tuple[StreamRow, str]:
    """Count, keep what is counted, and draw. Nothing of it is shown before the ledger has the row."""
    counter, law, moves = open_counter(record)
    forgotten = curator.ledger.state.tombstones(part["table"] for part in record.of["whose"])
    try:
        after = before.advance(
            curator.persons(version),
            limit=min(record.of["contributions"], version.schema.unit.rows),
            forgotten=[bytes.fromhex(tag) for tag in forgotten],
        )
        kept = stream_counts.save(folder_of(curator, record.id), after, curator.ledger.keyed_digest)
        noisy, happened = curator.add_noise(law, counter.exact(after.exact_steps), moves)
        row = _row(counter, law, rows, noisy.tolist(), version=version.number, label=label)
    except DiscreetError:  # one of our own sentences, about the disk: nothing was drawn
        raise
    except Exception:  # whatever it was may quote a cell: say one constant thing
        curator.ledger.fail(record.id)
        raise QueryFailed from None
    if happened != record.event:
        curator.ledger.fail(record.id)
        raise LedgerFault("the noise drawn is not the noise charged", hint="this is a defect; please report it")
    return row, kept


def _row(
    counter: StreamCounter, law: Law, rows: list[StreamRow], drawn: list[int], *, version: int, label: str | None
) -> StreamRow:
    step = len(rows)
    noisy = [value for row in rows for value in row.noisy] + drawn
    return StreamRow(
        step=step + 1,
        label=label,
        version=version,
        count=estimate_steps(counter, law, noisy, step, step),
        total=estimate_steps(counter, law, noisy, 0, step),
        noisy=tuple(drawn),
    )
