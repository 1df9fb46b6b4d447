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
    on from what the last one counted, through any crash (engines/counted.py); a state without a row is never read. A
    step that has no row is taken anew: its first draw, if there was one, died unseen. Later data and later labels may
    depend on earlier rows (docs/proofs/stream.md).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.curator import Curator, Version
from discreet.engines import counted
from discreet.engines.counted import Counted
from discreet.engines.person_keys import MARK
from discreet.errors import DiscreetError, LedgerFault, LedgerLocked, QueryFailed, UsageError
from discreet.ledger.records import Stream as Held
from discreet.ledger.rows import open_stream
from discreet.tables.stream.counter import Counter
from discreet.tables.stream.counters import Law, opened
from discreet.tables.stream.row import Row, estimated
from discreet.tables.stream.whose import whose_of


def folder_of(curator: Curator, id_: str) -> Path:
    """Where a stream keeps what it has counted."""
    return curator.folder / counted.FOLDER / id_


def take(
    curator: Curator,
    id_: str,
    newest: Callable[[], Version],
    *,
    label: str | None,
) -> Row:
    """Take the next step of a stream; a step of this label that was taken before is read back."""
    folder, ledger = folder_of(curator, id_), curator.ledger
    with counted.alone(folder, wait=False):
        ledger.refresh()
        rows = [Row.from_text(text) for text in ledger.drawn(id_)]
        known = next((row for row in rows if label is not None and row.label == label), None)
        if known is not None:
            return known
        version = newest()
        held = _ready(curator, id_, version)
        kept = held.rows[-1].kept if held.rows else None
        before = Counted.nobody(id_, held.table) if kept is None else counted.load(folder, kept, ledger.seal)
        if (before.stream, before.table, len(before.exact_steps)) != (id_, held.table, len(rows)):
            raise LedgerFault("what the stream has counted belongs to another step", hint="bring the folder back")
        counted.tidy(folder, keep=kept)
        row, kept = _drawn(curator, held, before, version, rows, label=label)
        text = ledger.row(id_, number=row.step, kept=kept, payload=row.to_text())
        counted.tidy(folder, keep=kept if row.step < held.count else None)
        return Row.from_text(text)


def _ready(curator: Curator, id_: str, version: Version) -> Held:
    """The stream, where it may go on; refusals are the same whatever the data."""
    state = curator.ledger.state
    held = open_stream(state, id_)
    if state.locked(held.table):
        raise LedgerLocked(
            f"table {held.table!r} is locked: too many charged questions on it could not be completed",
            hint="the owner looks into it, then discreet ledger acknowledge",
        )
    if len(held.rows) >= held.count:
        raise UsageError(
            f"the stream {held.name!r} has reached its horizon of {held.count:,} steps",
            hint="what it released stays; start another stream, under another name, for the time that follows",
        )
    marked = state.version(version.table, version.number).source.get(MARK)
    if version.table != held.table or held.of["whose"] != whose_of(version, curator) or held.of["persons"] != marked:
        raise UsageError(
            f"a person of {held.table!r} is not the same as when the stream {held.name!r} began",
            hint=f"declare `person` as it was and discreet refresh {held.table}, or start another stream",
        )
    return held


def _drawn(
    curator: Curator, held: Held, before: Counted, version: Version, rows: list[Row], *, label: str | None
) -> tuple[Row, str]:
    """Count, keep what is counted, and draw. Nothing of it is shown before the ledger has the row."""
    counter, law, moves = opened(held)
    forgotten = curator.ledger.state.tombstones(part["table"] for part in held.of["whose"])
    try:
        after = before.advanced(
            curator.persons(version),
            limit=min(held.of["contributions"], version.schema.unit.rows),
            forgotten=[bytes.fromhex(tag) for tag in forgotten],
        )
        kept = counted.save(folder_of(curator, held.id), after, curator.ledger.seal)
        noisy, happened = curator.add(law, counter.exact(after.exact_steps), moves)
        row = _row(counter, law, rows, noisy.tolist(), version=version.number, label=label)
    except DiscreetError:  # one of our own sentences, about the disk: nothing was drawn
        raise
    except Exception:  # whatever it was may quote a cell: say one constant thing
        curator.ledger.fail(held.id)
        raise QueryFailed from None
    if happened != held.event:
        curator.ledger.fail(held.id)
        raise LedgerFault("the noise drawn is not the noise charged", hint="this is a defect; please report it")
    return row, kept


def _row(counter: Counter, law: Law, rows: list[Row], drawn: list[int], *, version: int, label: str | None) -> Row:
    step = len(rows)
    noisy = [value for row in rows for value in row.noisy] + drawn
    return Row(
        step=step + 1,
        label=label,
        version=version,
        count=estimated(counter, law, noisy, step, step),
        total=estimated(counter, law, noisy, 0, step),
        noisy=tuple(drawn),
    )
