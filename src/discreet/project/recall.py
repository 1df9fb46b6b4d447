"""Recall: what the ledger says of a release, and an SQL answer read back at any time, whatever has changed since.

A text means what the schemas said when it was asked. They are in the ledger, so an answer is read against the version
that it is of; the digest of the question that was charged says whether it still means the same. Reading back is
post-processing: it sees noisy values and public facts alone, charges nothing and touches no data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from discreet import exact
from discreet.accounting import events
from discreet.answers.answer_release import make_release
from discreet.answers.query_quote import QueryWish, cost_of
from discreet.answers.refine import AnswerReading
from discreet.answers.repeats import (
    BOUNDS_TEXT_START,
    not_a_single_statement,
    read_stored_queries,
    single_statement,
)
from discreet.answers.sql import reread_release
from discreet.answers.workload.drawn_batch import drawn_batch, statement_reading
from discreet.answers.workload.stored_batch import KIND as BATCH
from discreet.errors import Flag, Message, UsageError, no_release
from discreet.kernel.curator import Curator, Version
from discreet.kernel.measurement import Law
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import ChargeRecord, Reservation
from discreet.ledger.records import VersionRecord as VersionRecord
from discreet.ledger.state import LedgerState
from discreet.plan.price import confidence_of
from discreet.project.versions import Versions
from discreet.release import Release, Spending
from discreet.schema.project_file import read_table
from discreet.sql.catalog import Catalog, CatalogTable
from discreet.sql.query_text import split_statements

#: Under which a version says what kind of engine it was made on; no part of its schema.
_ENGINE = "engine"

#: The confidence of an answer that is read back, where none is asked for.
_CONFIDENCE = Fraction(95, 100)

#: What a release is, by what is stored under it, and in words.
KINDS: Mapping[str, str] = {
    "question": "the answer to a query",
    "batch": "the answers to a batch of queries",
    "again": "an answer that was made more precise",
    "bounds": "bounds, values or limits that were measured",
    "model": "a model of a table, from which rows are sampled",
    "comparison": "a comparison of a model with its table",
    "ranges": "the ranges and quantiles of a column",
    "marginals": "marginals that are consistent with each other",
    "description": "a description of the columns of a table",
    "publish": "tables that add up exactly",
    "stream": "totals of a table, step by step",
    "graph": "statistics of a network",
    "graph model": "a model of a network, from which graphs are sampled",
    "unfinished": "a charge that has no answer yet",
    "other": "a kind of release that this version of Discreet does not know",
}

#: Where not all was drawn that was charged: whether the rest can still be.
Lacks = Literal["unfinished", "failed"]
_LACKS: Mapping[Lacks, str] = {
    "unfinished": "charged, but not finished",
    "failed": "charged, but failed",
}

#: Releases that are read at a time.
_TOGETHER = 200

#: Releases of networks.
_NETWORKS = ("graph", "graph model")

#: The parts of them that are steps of their own; all others are drawn together, in one.
_OWN_STEPS = frozenset({"limit", "persons", "triangles", "wedges"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledRelease:
    """What is known of a release: whose it is, of what, what it cost, and what was asked. Nothing of it is exact.

    texts: the statements that it answers, as they were asked; none where it was no SQL. `about`: what else it says of
    itself, such as the column of ranges. event: None where it was charged and nothing was stored. lacks: what was
    said before a draw is stored, and not all of its numbers are.
    """

    id: str
    kind: str
    charge: ChargeRecord
    texts: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    event: events.Event | None = None
    about: Mapping[str, Any]
    lacks: Lacks | None = None

    @property
    def cost(self) -> Spending:
        """What was charged for it. Worked out where it is looked at: a list of thousands shows a few."""
        cost = _charged_spending(self.charge) if self.event is None else cost_of(self.event)
        return replace(cost, budget=self.charge.moved)

    @property
    def cost_of_numbers(self) -> Spending:
        """What its numbers lose by themselves; for a refinement, by its noise alone, whatever was paid before."""
        return self.cost if self.event is None else cost_of(events.by_itself(self.event))

    @property
    def words(self) -> str:
        """What it is, for people."""
        return KINDS[self.kind] if self.lacks is None else f"{KINDS[self.kind]} ({_LACKS[self.lacks]})"

    @property
    def is_readable(self) -> bool:
        """Whether it is an answer in rows, which `read_back` reads."""
        return self.kind in ("question", "batch", "again")


def recall_release(id_: str, *, ledger: Ledger) -> RecalledRelease:
    """What the ledger says of a release of any kind."""
    state = ledger.refresh()
    if id_ not in state.charges:
        raise no_release(id_)
    return next(recall_releases([id_], ledger=ledger))


def recall_releases(ids: Sequence[str], *, ledger: Ledger) -> Iterator[RecalledRelease]:
    """What the ledger says of charges that it has, in their order. They are read in groups: reading one by one would
    look at the end of the ledger for each.
    """
    for first in range(0, len(ids), _TOGETHER):
        group, state = ids[first : first + _TOGETHER], ledger.state
        texts = ledger.stored_texts([id_ for id_ in group if id_ in state.answers and id_ not in state.streams])
        yield from (_recall(state.charges[id_], state, texts.get(id_)) for id_ in group)


def _recall(charge: ChargeRecord, state: LedgerState, stored_text: str | None) -> RecalledRelease:
    """A release by what is stored under its charge; None where nothing is, or where it is a stream's."""
    id_ = charge.id
    if id_ in state.streams:
        stream = state.streams[id_]
        about = {"name": stream.name, "rows": len(stream.rows), "count": stream.count, "closed": stream.closed}
        return _recalled_release(charge, "stream", stream.event, about=about)
    reservation = state.reservations.get(id_)
    if stored_text is None:
        return _recalled_release(charge, "unfinished", None if reservation is None else reservation.event)
    stored_answer = json.loads(stored_text)
    if reservation is not None:
        kind = str(stored_answer.get("kind", "other"))
        recalled_release = _recalled_release(
            charge,
            kind if kind in KINDS else "other",
            reservation.event,
            texts=tuple(stored_answer["texts"]) if kind == BATCH else (),
            about=_short_facts(stored_answer),
        )
        return replace(recalled_release, lacks=_missing_draws(stored_answer, reservation, state))
    if "parts" not in stored_answer:
        return _recalled_release(charge, "other", None)
    return _recalled_answer(charge, stored_answer)


def _missing_draws(stored_answer: Mapping[str, Any], reservation: Reservation, state: LedgerState) -> Lacks | None:
    """Whether a program drew all that it said it would.

    A step without an answer failed, or died; so did a network's release with fewer steps than its shares need, and a
    batch with fewer than its plan has.
    """
    needed = 1
    if stored_answer.get("kind") in _NETWORKS:
        requested = stored_answer["shape"] if "shape" in stored_answer else stored_answer["recipe"]
        needed = len({part if part in _OWN_STEPS else "measured" for part in requested["shares"]})
    if stored_answer.get("kind") == BATCH:
        needed = stored_answer["steps"]
    if len(reservation.steps) >= needed and all(step.id in state.answers for step in reservation.steps):
        return None
    return "failed" if reservation.closed else "unfinished"


def noise_laws(id_: str, *, curator: Curator) -> list[Law]:
    """The laws of the noise of an SQL answer, as they are stored; none where it is not drawn in full."""
    if id_ not in curator.ledger.state.reservations:
        return curator.stored_measurement(id_).laws
    drawn = drawn_batch(curator.ledger, id_)
    if drawn is None:
        return []
    return [*(grid.law for grid in drawn.stored.grids), *(law for each in drawn.lone.values() for law in each.laws)]


def repeatable_statement(id_: str, *, versions: Versions) -> str:
    """The one statement of a release that is to be made more precise; refuses what cannot be, with what can."""
    recalled_release = recall_release(id_, ledger=versions.ledger)
    if not recalled_release.is_readable and recalled_release.kind != "bounds":
        raise UsageError(
            f"release {id_} is {recalled_release.words}; only answers to SQL queries can be made more precise",
            hint=Message(
                "run its command again, with ",
                Flag("fresh", True),
                " if it has that flag: this is charged and makes a new release",
            ),
        )
    if id_ in versions.ledger.state.reservations:
        raise not_a_single_statement(id_, recalled_release.texts)
    return single_statement(versions.curator.stored_measurement(id_))


def _recalled_answer(charge: ChargeRecord, stored_answer: Mapping[str, Any]) -> RecalledRelease:
    """An SQL answer, or bounds that were bought, by what `Measurement.to_text` wrote; its cells are not looked at."""
    event, text, also = (
        events.from_data(stored_answer["event"]),
        str(stored_answer["text"]),
        tuple(stored_answer.get("also", ())),
    )
    if text.startswith(BOUNDS_TEXT_START):
        return _recalled_release(charge, "bounds", event, about={"asked": text})
    texts = tuple(split_statements(text))
    kind = "batch" if len(texts) > 1 else "again" if also or events.is_refinement(event) else "question"
    return _recalled_release(charge, kind, event, texts=texts, also=also)


def _recalled_release(
    charge: ChargeRecord,
    kind: str,
    event: events.Event | None,
    *,
    texts: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
    about: Mapping[str, Any] | None = None,
) -> RecalledRelease:
    return RecalledRelease(
        id=charge.id, kind=kind, charge=charge, texts=texts, also=also, event=event, about=about or {}
    )


def _charged_spending(charge: ChargeRecord) -> Spending:
    """What was charged, in the ledger's units, where no event is at hand."""
    cost = charge.cost
    return Spending(
        epsilon=None if cost.pure == exact.UNBOUNDED else Fraction(cost.pure, exact.EPSILON_UNITS),
        rho=Fraction(cost.rho, exact.RHO_UNITS),
        delta=Fraction(cost.delta, exact.DELTA_UNITS),
    )


def _short_facts(stored_answer: Mapping[str, Any]) -> dict[str, Any]:
    """The short facts of what a program stored; its numbers have readers of their own."""
    return {
        name: part
        for name, part in stored_answer.items()
        if isinstance(part, str | int | float | bool) and name != "law"
    }


def read_back(
    id_: str, *, versions: Versions, confidence: object = None, statement: int = 1, within: object = None
) -> Release:
    """An SQL answer as it was stored. Its cost is what was paid for it then; reading it is free.

    `statement`: which one of a batch, from 1. What was measured again is read together with what it was measured after.
    `within`: the width that it was asked for; where only the rest of it was bought, it is read with what else is known.
    """
    from discreet.sql.query_parser import parse_query

    ledger = versions.ledger
    recalled_release = recall_release(id_, ledger=ledger)
    if not recalled_release.is_readable:
        raise UsageError(
            f"release {id_} is not the answer to an SQL query: it is {recalled_release.words}",
            hint=f"it is about table {recalled_release.charge.table!r} "
            f"and was charged on {recalled_release.charge.time[:10]}",
        )
    confidence_level = _CONFIDENCE if confidence is None else confidence_of(confidence)
    wish = QueryWish(epsilon=recalled_release.charge.price, confidence=confidence_level)
    if recalled_release.lacks is not None:
        raise UsageError(f"release {id_} has no complete answer: it is {recalled_release.words}")
    read = _batch_reading if id_ in ledger.state.reservations else _reading
    reading, catalog = read(recalled_release, versions, statement)
    version = _version(ledger.state.version(recalled_release.charge.table, recalled_release.charge.version))
    if within is None or recalled_release.kind != "question":
        return make_release(reading, wish, version=version, ledger=ledger, cached=False)
    wish = QueryWish(within=exact.number(within, name="within"), confidence=confidence_level)
    return reread_release(
        reading, wish, version=version, curator=versions.curator, reads=lambda text: parse_query(text, catalog)
    )


def _check_statement(recalled_release: RecalledRelease, statement: int) -> None:
    if not 1 <= statement <= len(recalled_release.texts):
        raise UsageError(
            f"release {recalled_release.id} answers {len(recalled_release.texts)} statements; "
            f"there is no statement {statement}"
        )


def _batch_reading(
    recalled_release: RecalledRelease, versions: Versions, statement: int
) -> tuple[AnswerReading, Catalog]:
    """The reading of a statement of a batch that was planned as one, and the schemas that it is read against."""
    _check_statement(recalled_release, statement)
    drawn = drawn_batch(versions.ledger, recalled_release.id)
    assert drawn is not None
    for catalog in _catalogs(recalled_release.charge, versions):
        reading = statement_reading(drawn, statement - 1, catalog)
        if reading is not None:
            return reading, catalog
    raise _unreadable(recalled_release.id)


def _reading(recalled_release: RecalledRelease, versions: Versions, statement: int) -> tuple[AnswerReading, Catalog]:
    """The reading of a stored answer against the schemas of its time, and those."""
    from discreet.sql.query_parser import parse_query

    _check_statement(recalled_release, statement)
    stored = versions.curator.stored_measurement
    measurement = stored(recalled_release.id)
    for catalog in _catalogs(recalled_release.charge, versions):
        whole = read_stored_queries(measurement, reads=lambda text, of=catalog: parse_query(text, of))  # type: ignore[misc]
        if whole is not None and whole[0].question() == recalled_release.charge.question:
            inquiry, queries = whole
            reading = AnswerReading(
                query=queries[statement - 1],
                measurement=measurement,
                others=tuple(map(stored, measurement.also)),
                within=None if len(queries) == 1 else inquiry,
            )
            return reading, catalog
    raise _unreadable(recalled_release.id)


def _unreadable(id_: str) -> UsageError:
    return UsageError(
        f"release {id_} can no longer be read: a public table that its query names has changed or is gone",
        hint="run the query again; the charge and the stored numbers stay in the ledger",
    )


def _catalogs(charge: ChargeRecord, versions: Versions) -> Iterator[Catalog]:
    """What a text may have meant: by the versions there were when it was charged, else by the newest of the others.

    Which versions of other tables were joined is in the digest of the question, so only the right one is taken.
    """
    now = {name: entry for name, entry in versions.catalog().items() if entry.public is not None}
    own = versions.ledger.state.version(charge.table, charge.version)
    for latest in (charge.seq, None):
        catalog = dict(now)
        for made in versions.ledger.state.versions.values():
            records = [one for one in made.values() if latest is None or one.seq < latest]
            if records:
                newest = max(records, key=lambda one: one.number)
                catalog[newest.table] = _catalog_entry(newest)
        yield {**catalog, own.table: _catalog_entry(own)}


def _catalog_entry(record: VersionRecord) -> CatalogTable:
    version = _version(record)
    return CatalogTable(schema=version.schema, version=version.number, population=version.population)


def _version(record: VersionRecord) -> Version:
    """A version with the schema that the ledger holds; nothing is read from where it lies."""
    declaration = {name: part for name, part in record.schema.items() if name != _ENGINE}
    schema = read_table(record.table, declaration).schema
    return Version(
        table=record.table, number=record.number, population=record.population, schema=schema, file=record.file
    )
