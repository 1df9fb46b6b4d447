"""Kinds of releases: how the numbers that a release holds are read. Others than SQL answers add their own here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.answers.reconcile.released_numbers import ExclusionReason, NumberLabels, ReleasedNumber, numbers_of
from discreet.answers.reconcile.table_readers import read_tables
from discreet.answers.repeats import BOUNDS_TEXT_START, Reads, read_stored_queries
from discreet.inference.reconcile import ColumnDomains
from discreet.kernel.curator import Curator, Version
from discreet.kernel.measurement import Measurement
from discreet.ledger.records import ChargeRecord
from discreet.plan.cell_statistics import Statistic
from discreet.sql.parsed_query import ParsedQuery

#: What a release holds: numbers that can be reconciled, and why others cannot.
ReleaseNumbers = tuple[list[ReleasedNumber], list[ExclusionReason]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcilableRelease:
    """A stored release of the version that is reconciled, and what it takes to read it. `text`: its answer, if read."""

    charge: ChargeRecord
    text: str | None = None
    version: Version
    curator: Curator
    reads: Reads


#: Reads a release of one kind; None where it is of another.
Reader = Callable[[ReconcilableRelease], ReleaseNumbers | None]


def read_program(stored: ReconcilableRelease) -> ReleaseNumbers | None:
    """Fits and workloads are programs; one that stored numbers is read by a reader of its own kind, before this one.

    Releases of tables are no lists of numbers: `table_readers` has their readers, and says why one cannot be read.
    """
    if stored.charge.id not in stored.curator.ledger.state.reservations:
        return None
    tables = read_tables(stored.charge, version=stored.version, curator=stored.curator, reads=stored.reads)
    return [], [tables if isinstance(tables, ExclusionReason) else ExclusionReason(reason="it is a release of tables")]


def read_answer(stored: ReconcilableRelease) -> ReleaseNumbers | None:
    """An SQL answer: alone, measured again, or several statements of a batch."""
    try:
        measurement = (
            stored.curator.stored_measurement(stored.charge.id)
            if stored.text is None
            else Measurement.from_text(stored.text)
        )
    except (KeyError, TypeError, ValueError):
        return [], [ExclusionReason(reason="it does not answer a query")]
    if measurement.text.startswith(BOUNDS_TEXT_START):
        return [], [ExclusionReason(reason="it contains measured bounds, which are found step by step")]
    stored_queries = read_stored_queries(measurement, reads=stored.reads)
    if stored_queries is None or stored_queries[0].question() != stored.charge.question:
        return [], [ExclusionReason(reason="its query has another meaning now: something that it names has changed")]
    inquiry, queries = stored_queries
    return numbers_of(measurement, inquiry, _names(queries), ColumnDomains.of(stored.version.schema.columns))


def _names(queries: list[ParsedQuery]) -> NumberLabels:
    statistics: dict[Statistic, tuple[str, Fraction]] = {}
    for each in queries:
        for output in each.outputs:
            if output.plain is not None:
                index, step = output.plain
                statistics.setdefault(each.inquiry.statistics[index], (output.name, step))
    first = queries[0]
    shown = {output.key: output.name for output in first.outputs if output.key is not None}
    axes = list(dict.fromkeys(axis for axes in first.inquiry.sets for axis in axes))
    places = [next(place for place, key in enumerate(first.keys) if key.axis == axis) for axis in axes]
    return NumberLabels(keys=tuple(shown.get(place, f"key {place + 1}") for place in places), statistics=statistics)


#: Tried in order.
READERS: list[Reader] = [read_program, read_answer]
