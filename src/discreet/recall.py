"""Recall: what the ledger says of a release, and an SQL answer read back at any time, whatever has changed since.

A text means what the schemas said when it was asked. They are in the ledger, so an answer is read against the version
that it is of; the digest of the question that was charged says whether it still means the same. Reading back is
post-processing: it sees noisy values and public facts alone, charges nothing and touches no data.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from discreet import exact
from discreet.accounting import events
from discreet.answers.quoting import Wish, cost_of
from discreet.answers.refine import Reading
from discreet.answers.releasing import released
from discreet.answers.repeats import ERRAND, alone, whole_of
from discreet.answers.sql import reread
from discreet.curator import Version
from discreet.errors import UsageError, no_release
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import Charge, Reservation
from discreet.ledger.records import Version as Held
from discreet.ledger.state import State
from discreet.plan.price import confidence_of
from discreet.release import Release, Spending
from discreet.schema.file import read_table
from discreet.sql.catalog import Catalog, Known
from discreet.sql.read import read
from discreet.sql.text import statements
from discreet.versions import Versions

#: Under which a version says what kind of engine it was made on; no part of its schema.
_ENGINE = "engine"

#: The confidence of an answer that is read back, where none is asked for.
_CONFIDENCE = Fraction(95, 100)

#: What a release is, by what is stored under it, and in words.
KINDS: Mapping[str, str] = {
    "question": "the answer to a question",
    "batch": "the answers to several questions that were asked together",
    "again": "a question that was measured once more",
    "bounds": "bounds, values or limits that were bought",
    "model": "a model of a table, from which rows are sampled",
    "comparison": "how far a model is from its table",
    "ranges": "the intervals and quantiles of a column",
    "marginals": "tables of several columns that agree with each other",
    "publish": "tables that add up exactly",
    "stream": "totals of a table, step by step",
    "graph": "statistics of a network",
    "graph model": "a model of a network, from which graphs are sampled",
    "unfinished": "something that was charged and has no answer yet",
    "other": "something of a kind that this version does not know",
}

#: Where not all was drawn that was charged: whether the rest can still be.
Lacks = Literal["unfinished", "failed"]
_LACKS: Mapping[Lacks, str] = {
    "unfinished": "charged, and not measured to its end",
    "failed": "charged, and failed",
}

#: Releases of networks.
_NETWORKS = ("graph", "graph model")

#: The parts of them that are steps of their own; all others are drawn together, in one.
_OWN_STEPS = frozenset({"limit", "persons", "triangles", "wedges"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What is known of a release: whose it is, of what, what it cost, and what was asked. Nothing of it is exact.

    texts: the statements that it answers, as they were asked; none where it was no SQL. `about`: what else it says of
    itself, such as the column of ranges. event: None where it was charged and nothing was stored. lacks: what was
    said before a draw is stored, and not all of its numbers are.
    """

    id: str
    kind: str
    charge: Charge
    cost: Spending
    texts: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    event: events.Event | None = None
    about: Mapping[str, Any]
    lacks: Lacks | None = None

    @property
    def words(self) -> str:
        """What it is, for people."""
        return KINDS[self.kind] if self.lacks is None else f"{KINDS[self.kind]} ({_LACKS[self.lacks]})"

    @property
    def readable(self) -> bool:
        """Whether it is an answer in rows, which `read_back` reads."""
        return self.kind in ("question", "batch", "again")


def recalled(id_: str, *, ledger: Ledger) -> Recalled:
    """What the ledger says of a release of any kind."""
    state = ledger.refresh()
    charge = state.charges.get(id_)
    if charge is None:
        raise no_release(id_)
    if id_ in state.streams:
        stream = state.streams[id_]
        about = {"name": stream.name, "rows": len(stream.rows), "count": stream.count, "closed": stream.closed}
        return _of(charge, "stream", stream.event, about=about)
    held = state.reservations.get(id_)
    if id_ not in state.answers:
        return _of(charge, "unfinished", None if held is None else held.event)
    told = json.loads(ledger.answer(id_))
    if held is not None:
        kind = str(told.get("kind", "other"))
        found = _of(charge, kind if kind in KINDS else "other", held.event, about=_plain(told))
        return replace(found, lacks=_lacks(told, held, state))
    if "parts" not in told:
        return _of(charge, "other", None)
    return _answer(charge, told)


def _lacks(told: Mapping[str, Any], held: Reservation, state: State) -> Lacks | None:
    """Whether a program drew all that it said it would.

    A step without an answer failed, or died; so did a network's release with fewer steps than its shares need.
    """
    needed = {"measured"}
    if told.get("kind") in _NETWORKS:
        asked = told["shape"] if "shape" in told else told["recipe"]
        needed = {part if part in _OWN_STEPS else "measured" for part in asked["shares"]}
    if len(held.steps) >= len(needed) and all(step.id in state.answers for step in held.steps):
        return None
    return "failed" if held.closed else "unfinished"


def repeatable(id_: str, *, versions: Versions) -> str:
    """The one statement of a release that is to be measured again; refuses what cannot be, with what can."""
    found = recalled(id_, ledger=versions.ledger)
    if not found.readable and found.kind != "bounds":
        raise UsageError(
            f"release {id_} is {found.words}, and only answers to questions in SQL are measured again",
            hint="ask for it anew, with --fresh where its command has that: it is charged, and a release of its own",
        )
    return alone(versions.curator.stored(id_))


def _answer(charge: Charge, told: Mapping[str, Any]) -> Recalled:
    """An SQL answer, or bounds that were bought, by what `Measurement.to_text` wrote; its cells are not looked at."""
    event, text, also = events.from_data(told["event"]), str(told["text"]), tuple(told.get("also", ()))
    if text.startswith(ERRAND):
        return _of(charge, "bounds", event, about={"asked": text})
    texts = tuple(statements(text))
    kind = "batch" if len(texts) > 1 else "again" if also else "question"
    return _of(charge, kind, event, texts=texts, also=also)


def _of(
    charge: Charge,
    kind: str,
    event: events.Event | None,
    *,
    texts: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
    about: Mapping[str, Any] | None = None,
) -> Recalled:
    cost = _charged(charge) if event is None else cost_of(event)
    return Recalled(
        id=charge.id, kind=kind, charge=charge, cost=cost, texts=texts, also=also, event=event, about=about or {}
    )


def _charged(charge: Charge) -> Spending:
    """What was charged, in the ledger's units, where no event is at hand."""
    cost = charge.cost
    return Spending(
        epsilon=None if cost.pure == exact.UNBOUNDED else Fraction(cost.pure, exact.EPSILON_UNITS),
        rho=Fraction(cost.rho, exact.RHO_UNITS),
        delta=Fraction(cost.delta, exact.DELTA_UNITS),
    )


def _plain(told: Mapping[str, Any]) -> dict[str, Any]:
    """The short facts of what a program stored; its numbers have readers of their own."""
    return {name: part for name, part in told.items() if isinstance(part, str | int | float | bool) and name != "law"}


def read_back(
    id_: str, *, versions: Versions, confidence: object = None, statement: int = 1, within: object = None
) -> Release:
    """An SQL answer as it was stored. Its cost is what was paid for it then; reading it is free.

    `statement`: which one of a batch, from 1. What was measured again is read together with what it was measured after.
    `within`: the width that it was asked for; where only the rest of it was bought, it is read with what else is known.
    """
    ledger = versions.ledger
    found = recalled(id_, ledger=ledger)
    if not found.readable:
        raise UsageError(
            f"release {id_} is no answer in rows: it is {found.words}",
            hint=f"it is of table {found.charge.table!r}, and was charged on {found.charge.time[:10]}",
        )
    wanted = _CONFIDENCE if confidence is None else confidence_of(confidence)
    wish = Wish(epsilon=found.charge.price, confidence=wanted)
    reading, catalog = _reading(found, versions, statement)
    version = _version(ledger.state.version(found.charge.table, found.charge.version))
    if within is None or found.kind != "question":
        return released(reading, wish, version=version, ledger=ledger, cached=False)
    wish = Wish(within=exact.number(within, name="within"), confidence=wanted)
    return reread(reading, wish, version=version, curator=versions.curator, reads=lambda text: read(text, catalog))


def _reading(found: Recalled, versions: Versions, statement: int) -> tuple[Reading, Catalog]:
    """The reading of a stored answer against the schemas of its time, and those."""
    if not 1 <= statement <= len(found.texts):
        raise UsageError(f"release {found.id} answers {len(found.texts)} statements, and has no number {statement}")
    stored = versions.curator.stored
    measurement = stored(found.id)
    for catalog in _catalogs(found.charge, versions):
        whole = whole_of(measurement, reads=lambda text, of=catalog: read(text, of))  # type: ignore[misc]
        if whole is not None and whole[0].question() == found.charge.question:
            inquiry, asked = whole
            reading = Reading(
                asked=asked[statement - 1],
                measurement=measurement,
                others=tuple(map(stored, measurement.also)),
                within=None if len(asked) == 1 else inquiry,
            )
            return reading, catalog
    raise UsageError(
        f"release {found.id} cannot be read any more: a public table that its text names has changed, or is gone",
        hint="the charge and the stored numbers stay in the ledger; ask the question anew",
    )


def _catalogs(charge: Charge, versions: Versions) -> Iterator[Catalog]:
    """What a text may have meant: by the versions there were when it was charged, else by the newest of the others.

    Which versions of other tables were joined is in the digest of the question, so only the right one is taken.
    """
    now = {name: known for name, known in versions.catalog().items() if known.public is not None}
    own = versions.ledger.state.version(charge.table, charge.version)
    for latest in (charge.seq, None):
        known = dict(now)
        for made in versions.ledger.state.versions.values():
            held = [one for one in made.values() if latest is None or one.seq < latest]
            if held:
                newest = max(held, key=lambda one: one.number)
                known[newest.table] = _known(newest)
        yield {**known, own.table: _known(own)}


def _known(held: Held) -> Known:
    version = _version(held)
    return Known(schema=version.schema, version=version.number, population=version.population)


def _version(held: Held) -> Version:
    """A version with the schema that the ledger holds; nothing is read from where it lies."""
    told = {name: part for name, part in held.schema.items() if name != _ENGINE}
    schema = read_table(held.table, told).schema
    return Version(table=held.table, number=held.number, population=held.population, schema=schema, file=held.file)
