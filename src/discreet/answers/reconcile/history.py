"""The history of a table: every released number of its newest version that can be added to others, and what stays out.

Reads stored, noisy answers and public facts alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from discreet.answers.reconcile.release_readers import READERS, ReconcilableRelease, ReleaseNumbers
from discreet.answers.reconcile.released_numbers import ExclusionReason, ReleasedNumber
from discreet.answers.reconcile.released_tables import ReleasedTable
from discreet.answers.reconcile.table_readers import read_tables
from discreet.answers.repeats import Reads
from discreet.errors import no_release
from discreet.kernel.curator import Curator, Version
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import ChargeRecord

Part = TypeVar("Part")

#: So many numbers are reconciled at once; those of older releases stay out.
MOST_NUMBERS = 4_000

#: What was read is remembered, up to so many numbers, and so many cells of tables.
_MOST_REMEMBERED = 100_000
_MOST_REMEMBERED_CELLS = 4_000_000


class _ReadCache:
    """What stored releases hold, as they were read.

    What is stored never changes, and ids are drawn at random, once for ever. Its text is read against a version, whose
    schema is in the ledger, and perhaps public tables, which are joins and hold nothing here.
    """

    def __init__(self) -> None:
        self.numbers_of_release: dict[str, ReleaseNumbers] = {}
        self.numbers = 0
        self.tables_of_release: dict[str, list[ReleasedTable]] = {}
        self.cells = 0

    def add(self, release: str, release_numbers: ReleaseNumbers) -> None:
        if self.numbers + len(release_numbers[0]) > _MOST_REMEMBERED:
            self.numbers_of_release, self.numbers = {}, 0
        self.numbers_of_release[release] = release_numbers
        self.numbers += 1 + len(release_numbers[0])

    def add_tables(self, release: str, tables: list[ReleasedTable]) -> None:
        cells = sum(table.sums.work for table in tables)
        if self.cells + cells > _MOST_REMEMBERED_CELLS:
            self.tables_of_release, self.cells = {}, 0
        self.tables_of_release[release] = tables
        self.cells += cells


_READ = _ReadCache()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedRelease:
    """A release, or a part of it, that is not reconciled, and why."""

    release: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Released numbers of one version of a table, the oldest first; and releases of tables, the newest first."""

    numbers: tuple[ReleasedNumber, ...]
    left_out: tuple[ExcludedRelease, ...]
    tables: tuple[ReleasedTable, ...] = ()


def history(
    version: Version,
    *,
    curator: Curator,
    reads: Reads,
    only: Collection[str] = (),
    most: int = MOST_NUMBERS,
    newest: int | None = None,
    with_tables: bool = False,
) -> History:
    """What was released about a version. `only`: these releases; `newest`: no more than so many, the newest.

    `with_tables`: releases of tables are given as such, and not by their numbers.
    """
    ledger = curator.ledger
    ledger.refresh()
    charges = [charge for charge in _charges(ledger, version, only) if charge.id in ledger.state.answers]
    since = last_erasure_seq(ledger, version.table)
    numbers: list[list[ReleasedNumber]] = []
    left_out: list[list[ExcludedRelease]] = []
    tables: list[ReleasedTable] = []
    room = most
    charges = charges[-newest:] if newest is not None else charges
    texts = _texts_to_read(charges, version, since, ledger)
    for charge in reversed(charges):
        if with_tables and charge.id in ledger.state.reservations:
            release_tables = _tables_of_release(charge, version, since, curator=curator, reads=reads)
            if not isinstance(release_tables, ExclusionReason):
                tables += release_tables
                continue
        release_numbers, outside = _numbers_of_release(
            charge, version, since, curator=curator, reads=reads, text=texts.get(charge.id)
        )
        if len(release_numbers) > room:
            release_numbers, outside = (
                [],
                [*outside, ExclusionReason(reason=f"more than {most:,} numbers at once; name fewer releases")],
            )
        room -= len(release_numbers)
        numbers.append(release_numbers)
        left_out.append([ExcludedRelease(release=charge.id, reason=each.reason) for each in outside])
    return History(numbers=_flat(numbers), left_out=_flat(left_out), tables=tuple(tables))


def _flat(parts_by_release: list[list[Part]]) -> tuple[Part, ...]:
    """The newest were taken first: they are what a question that was just paid is read with."""
    return tuple(part for parts in reversed(parts_by_release) for part in parts)


def _charges(ledger: Ledger, version: Version, only: Collection[str]) -> list[ChargeRecord]:
    charges = ledger.state.charges
    for name in only:
        if name not in charges:
            raise no_release(name)
    selected = [charges[name] for name in dict.fromkeys(only)] if only else list(charges.values())
    return sorted((each for each in selected if only or each.table == version.table), key=lambda each: each.seq)


def _texts_to_read(charges: list[ChargeRecord], version: Version, since: int, ledger: Ledger) -> dict[str, str]:
    """The stored answers to queries that are not remembered, read from the ledger together."""
    return ledger.stored_texts(
        [
            charge.id
            for charge in charges
            if charge.id not in ledger.state.reservations
            and charge.id not in _READ.numbers_of_release
            and _about_others(charge, version, since) is None
        ]
    )


def _numbers_of_release(
    charge: ChargeRecord, version: Version, since: int, *, curator: Curator, reads: Reads, text: str | None
) -> ReleaseNumbers:
    """What a release holds: read once, and then remembered."""
    if (of_others := _about_others(charge, version, since)) is not None:
        return [], [of_others]
    later = curator.ledger.state.refinements.refined_by.get(charge.id)
    if later is not None and later in curator.ledger.state.answers:
        return [], [ExclusionReason(reason=f"{later} is the same measurement with less noise")]
    if charge.id not in _READ.numbers_of_release:
        stored = ReconcilableRelease(charge=charge, version=version, curator=curator, reads=reads, text=text)
        release_numbers = next(numbers for reader in READERS if (numbers := reader(stored)) is not None)
        if charge.id in curator.ledger.state.reservations and not release_numbers[0]:
            return release_numbers  # a program that may go on
        _READ.add(charge.id, release_numbers)
    return _READ.numbers_of_release[charge.id]


def _tables_of_release(
    charge: ChargeRecord, version: Version, since: int, *, curator: Curator, reads: Reads
) -> list[ReleasedTable] | ExclusionReason:
    """The tables of a release: read once, and then remembered. Not that it cannot be read: it may not be finished."""
    if (of_others := _about_others(charge, version, since)) is not None:
        return of_others
    if charge.id not in _READ.tables_of_release:
        tables = read_tables(charge, version=version, curator=curator, reads=reads)
        if isinstance(tables, ExclusionReason):
            return tables
        _READ.add_tables(charge.id, tables)
    return _READ.tables_of_release[charge.id]


def _about_others(charge: ChargeRecord, version: Version, since: int) -> ExclusionReason | None:
    """Why a release is about other rows than those of this version, if it is."""
    if charge.table != version.table:
        return ExclusionReason(reason=f"it is about {charge.table!r}")
    if charge.version != version.number:
        return ExclusionReason(reason=f"it is about version {charge.version}, which has other rows")
    if charge.seq < since:
        return ExclusionReason(reason="it was answered before a person was forgotten, so it is about other rows")
    return None


def last_erasure_seq(ledger: Ledger, table: str) -> int:
    """The row of the ledger since which a version's rows are what they are: `forget` takes some, by an owner's act."""
    if not ledger.state.forgotten.get(table):
        return 0
    acts = [entry for entry in ledger.entries() if entry.kind == "forget" and table in entry.data()["tables"]]
    return max((entry.seq for entry in acts), default=0)
