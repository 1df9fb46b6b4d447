"""What a bundle tells, read from the ledger: the question, what was measured, what it cost, and whose guarantee it is.

Everything here is of the release's own time, or of the last row that changed its guarantee (a grant, an exact total, a
gap): so the same release gives the same bundle, until what can be said of it has changed.

The ledger's row is committed to, not shown: SHA-256 of a salt that only the ledger's key gives and the row's digest. A
digest alone would tell the row's time to the microsecond to whoever tries all times, and times tell how long
counting took. The owner can open the commitment; `verify` beside the project does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.guarantee import Guarantee
from discreet.answers.refine import AnswerReading
from discreet.answers.repeats import BOUNDS_TEXT_START
from discreet.bundle import answer_replay, networks, proof
from discreet.bundle.about import About
from discreet.bundle.answer_replay import schema_of
from discreet.bundle.batch_replay import KIND as BATCH
from discreet.bundle.batch_replay import batch_queries, batch_readings, batch_sheets, batch_text
from discreet.bundle.claims import claims_of, combined_event, releases_combined_with
from discreet.bundle.guarantee_check import PRACTICE_MARK
from discreet.bundle.number_sheets import model_sheet, noisy_number_sheets, stored_sheets
from discreet.bundle.sheet import Sheet
from discreet.errors import Flag, Message, Refused, UsageError, no_release
from discreet.kernel.measurement import Measurement
from discreet.ledger.chain import LedgerEntry
from discreet.ledger.ledger import Ledger
from discreet.ledger.state import LedgerState
from discreet.plan.relation import public_tables
from discreet.project.recall import recall_release
from discreet.schema.source_layout import LAYOUT_KEYS
from discreet.sql.catalog import Catalog

if TYPE_CHECKING:
    from discreet.project.project import Project

CONFIDENCE = Fraction(95, 100)

#: Of a table's declaration, what says where it lies stays at home.
_AT_HOME = frozenset({"source", "engine"}) | LAYOUT_KEYS


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleContent:
    """One release, whole. `payloads`: what the ledger stores under it, as it is stored.

    event: of its own charge. made_by: all that made its numbers, earlier releases that it is read with included.
    doubled: exact totals of these people were published. publics: the tables that it reads and does not protect.
    as_of: the last row that is told of. steps: of a program, the events that the ledger holds of them, in their order.
    derivation: why an answer moves as little as it does; see `proof`. unit_changes: what an older program let change of
    whom the population protects, after something was released.
    """

    release: str
    kind: str
    question: str
    text: str
    table: str
    version: int
    unit: str
    unit_words: str
    day: str
    event: events.Event
    guarantee: Guarantee
    spent: Fraction
    doubled: bool
    invariants: tuple[str, ...]
    as_of: int
    confidence: Fraction
    schemas: Mapping[str, Any]
    payloads: Mapping[str, str]
    warnings: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    publics: tuple[str, ...]
    ledger: Mapping[str, Any]
    about: About
    steps: tuple[Mapping[str, Any], ...] = ()
    derivation: Mapping[str, Any] | None = None
    unit_changes: tuple[str, ...] = ()

    @property
    def combined_event(self) -> events.Event:
        return combined_event(self.event, self.release, self.payloads)

    @property
    def also(self) -> tuple[str, ...]:
        return releases_combined_with(self.release, self.payloads)

    @property
    def claims(self) -> dict[str, Any]:
        return claims_of(
            release=self.release,
            kind=self.kind,
            table=self.table,
            version=self.version,
            unit=self.unit_words,
            event=self.combined_event,
            doubled=self.doubled,
        )

    @property
    def sampled(self) -> bool:
        """Whether the first sheet is of rows sampled from a model; the last is of the numbers that it was fitted to."""
        return self.kind == "model" and len(self.sheets) > 1

    def to_plan(self) -> dict[str, Any]:
        """All but the sheets, as JSON data."""
        return {
            "release": self.release,
            "kind": self.kind,
            "question": self.question,
            "text": self.text,
            "table": self.table,
            "version": self.version,
            "privacy_unit": self.unit_words,
            "unit_changes": list(self.unit_changes),
            "day": self.day,
            "event": events.to_data(self.event),
            "explanation": explain_event(self.combined_event, person=self.unit),
            "guarantee": self.guarantee.to_data(),
            "spent": exact.write(self.spent),
            "doubled": self.doubled,
            "invariants": list(self.invariants),
            "as_of": self.as_of,
            "confidence": exact.write(self.confidence),
            "schemas": dict(self.schemas),
            "payloads": dict(self.payloads),
            "warnings": list(self.warnings),
            "publics": bool(self.publics),
            "steps": [dict(step) for step in self.steps],
            "about": self.about.to_data(),
        }


def content_of(
    project: Project, release: str, about: About | None = None, *, as_of: int | None = None
) -> BundleContent:
    """A stored release of a project, as a bundle tells it. Free: it reads what was released.

    as_of: as it was told at one of `guarantee_rows`; at the last of them, where none is named.
    """
    ledger = project.ledger
    state = ledger.refresh()
    if release not in state.charges or release not in state.answers:
        raise no_release(release)
    refuse_unmeasured(ledger, release)
    entries = list(ledger.entries())
    payloads = _payloads(ledger, release)
    charge = state.charges[release]
    as_of = as_of or _guarantee_rows(state, entries, payloads, charge.population)[-1]
    then = LedgerState()
    for entry in entries[:as_of]:
        then.apply(entry)
    account = then.account(charge.population)
    schemas = {charge.table: _version(state, charge.table, charge.version)}
    unit = schema_of(charge.table, schemas).unit
    entry = entries[charge.seq - 1]
    content = BundleContent(
        release=release,
        kind="answer",
        question=charge.question,
        text="",
        table=charge.table,
        version=charge.version,
        unit="row" if unit.is_row else "person",
        unit_words=str(unit),
        day=entry.time[:10],
        event=events.from_data(entry.data()["event"]),
        guarantee=account.guarantee,
        spent=account.status().spent.epsilon,
        doubled=account.invariant,
        invariants=tuple(each.words for each in then.invariants.values() if each.population == account.name),
        as_of=as_of,
        confidence=CONFIDENCE,
        schemas=schemas,
        payloads=payloads,
        warnings=(),
        sheets=(),
        publics=(),
        ledger=_ledger_commitment(ledger, release, entry) | {"as_of": as_of},
        about=about or About(),
        steps=tuple(_step(entry) for entry in entries if entry.kind == "step" and entry.data()["id"] == release),
        unit_changes=tuple(then.protected_units[charge.population].changes),
    )
    return _with_sheets(project, content)


def refuse_unmeasured(ledger: Ledger, release: str) -> None:
    """Refuse what was charged and lacks some of its numbers: programs store what they will draw before they draw it."""
    recalled_release = recall_release(release, ledger=ledger)
    if recalled_release.lacks is not None:
        again = Message("ask for it again with ", Flag("fresh", True), ", which is charged again")
        raise UsageError(
            f"release {release} has no complete answer: it is {recalled_release.words}",
            hint=again if recalled_release.lacks == "failed" else "ask for it again: it costs nothing more",
        )


def guarantee_rows(ledger: Ledger, release: str) -> tuple[int, ...]:
    """The rows of the ledger at which what can be said of a release began to hold: its answer, then every change."""
    state = ledger.refresh()
    return _guarantee_rows(state, list(ledger.entries()), _payloads(ledger, release), state.charges[release].population)


def _guarantee_rows(
    state: LedgerState, entries: list[LedgerEntry], payloads: Mapping[str, str], population: str
) -> tuple[int, ...]:
    first = max(state.answers[id_].seq for id_ in payloads)
    return (first, *(entry.seq for entry in entries if entry.seq > first and _changes_guarantee(entry, population)))


def _with_sheets(project: Project, content: BundleContent) -> BundleContent:
    """With its text, tables of numbers and warnings, by what kind of release it is."""
    stored = json.loads(content.payloads[content.release])
    if "text" in stored:
        return _answer(project, content)
    kind = str(stored.get("kind", "measurement"))
    if kind == BATCH:
        return _batch(project, content)
    schema = schema_of(content.table, content.schemas)
    sheets = stored_sheets(kind, content.payloads, content.release, schema, confidence=content.confidence)
    if kind == "model":
        sheets = (*model_sheet(project.folder, content.release), *sheets)
    if kind in networks.KINDS:
        content = _network(project.ledger.state, content, stored)
    if kind == "model" and stored.get("tables"):
        numbers = zip(stored["tables"], stored["table_versions"], strict=True)
        joined = {table: _version(project.ledger.state, table, number) for table, number in numbers}
        content = replace(content, schemas={**content.schemas, **joined})
    return replace(content, kind=kind, text=title_of(kind, content.table, stored), sheets=sheets)


def title_of(kind: str, table: str, stored: Mapping[str, Any]) -> str:
    """What stands for the text of what no SQL asked for. A model of several tables names all of them."""
    words = {"model": "synthetic data", "publish": "tables that add up"}.get(kind, kind)
    return f"{words} of {', '.join((table, *stored.get('tables', ())))}"


def _network(state: LedgerState, content: BundleContent, stored: Mapping[str, Any]) -> BundleContent:
    """With the tables beside that of its edges: a public one of nodes, or a private one whose persons are counted."""
    counted = networks.counted_of(stored)
    schemas = {} if counted is None else {counted[0]: _version(state, *counted)}
    return replace(content, schemas={**content.schemas, **schemas}, publics=networks.publics_of(stored))


def _answer(project: Project, content: BundleContent) -> BundleContent:
    """An answer to SQL: its rows follow from the schemas, the text and the measurements that the bundle holds."""
    measurement = Measurement.from_text(content.payloads[content.release])
    if measurement.text.startswith(BOUNDS_TEXT_START):
        sheets = noisy_number_sheets(content.payloads, content.release)
        return replace(content, kind="bounds", text=measurement.text, sheets=sheets)
    publics = {name: table for name, table in project.versions.catalog().items() if table.public is not None}
    every, readings = _versions_and_readings(project.ledger.state, content, measurement, publics)
    used = {scan.table for reading in readings for scan in reading.query.tables}
    schemas = {name: schema for name, schema in every.items() if name in used}
    joined = dict.fromkeys(name for reading in readings for name in public_tables(reading.query.inquiry.plan))
    sheets = answer_replay.sheets_of(
        content.release,
        content.payloads,
        answer_replay.catalog_of(schemas, publics),
        question=content.question,
        confidence=content.confidence,
    )
    warnings = dict.fromkeys(line for reading in readings for line in answer_replay.warnings_of(reading.query))
    return replace(
        content,
        text=measurement.text,
        schemas=schemas,
        sheets=sheets,
        warnings=tuple(warnings),
        publics=tuple(joined),
        derivation=proof.answer_derivation(readings, content.payloads, schemas),
    )


def _batch(project: Project, content: BundleContent) -> BundleContent:
    """A batch that was planned as one: a table for each of its statements, and every number as it was drawn."""
    publics = {name: table for name, table in project.versions.catalog().items() if table.public is not None}
    assert isinstance(content.event, events.ReservationEvent)
    payloads, release = content.payloads, content.release
    for every in _versions_at(project.ledger.state, content):
        try:
            queries = batch_queries(payloads, release, answer_replay.catalog_of(every, publics))
            readings = batch_readings(payloads, release, content.event, queries)
        except (Refused, UsageError):
            continue
        used = {scan.table for query in queries for scan in query.tables}
        warnings = dict.fromkeys(line for each in readings for line in answer_replay.warnings_of(each.query))
        return replace(
            content,
            kind=BATCH,
            text=batch_text(payloads, release),
            schemas={name: schema for name, schema in every.items() if name in used},
            sheets=batch_sheets(payloads, release, readings, confidence=content.confidence),
            warnings=tuple(warnings),
            publics=tuple(dict.fromkeys(name for query in queries for name in public_tables(query.inquiry.plan))),
        )
    raise UsageError(f"release {release} can no longer be read: a table that it uses has changed")


def _versions_at(state: LedgerState, content: BundleContent) -> Iterator[dict[str, Any]]:
    """The versions that a text may be of: those there were when it was charged, then the newest."""
    charged = state.charges[content.release].seq
    for latest in (charged, None):
        yield {
            name: _version(state, name, max(numbers))
            for name, made in state.versions.items()
            if (numbers := [number for number, version in made.items() if latest is None or version.seq < latest])
        } | dict(content.schemas)


def _versions_and_readings(
    state: LedgerState, content: BundleContent, measurement: Measurement, publics: Catalog
) -> tuple[dict[str, Any], list[AnswerReading]]:
    """The versions that a text was asked of, and its readings: those there were when it was charged, else the newest.

    Which versions of other tables it joined is in the digest of the question, so only the right ones are taken.
    """
    *_, last = possible = list(_versions_at(state, content))
    for every in possible:
        try:
            return every, answer_replay.readings_of(
                measurement, answer_replay.catalog_of(every, publics), question=content.question
            )
        except UsageError:
            if every is last:
                raise
    raise AssertionError("one of the two was returned or raised")


def _payloads(ledger: Ledger, release: str) -> dict[str, str]:
    """What is stored under a release: its answer, its steps, and the earlier measurements that it is read with."""
    state = ledger.state
    steps = [id_ for id_ in state.answers if id_ == release or id_.startswith(f"{release}.")]
    stored = {id_: ledger.answer(id_) for id_ in steps}
    return stored | {id_: ledger.answer(id_) for id_ in releases_combined_with(release, stored)}


def _changes_guarantee(entry: LedgerEntry, population: str) -> bool:
    """Whether a row changes what is guaranteed to a population."""
    if entry.kind == "gap":
        return True
    if entry.kind not in ("grant", "invariant", "adopt"):
        return False
    body = entry.data()
    return bool(population == body.get("population") or population in body.get("sealed", ()))


def _version(state: LedgerState, table: str, number: int) -> dict[str, Any]:
    version = state.version(table, number)
    persons = {"persons": version.naming} if version.naming else {}
    return {"version": number, "population": version.population, "declared": _declared(version.schema), **persons}


def _declared(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in _AT_HOME}


def _step(entry: LedgerEntry) -> dict[str, Any]:
    """A step of a program: its number, the digest of what it measured, and what was done."""
    return {name: entry.data()[name] for name in ("number", "of", "event")}


def _ledger_commitment(ledger: Ledger, release: str, entry: LedgerEntry) -> dict[str, Any]:
    return {
        "ledger": f"{PRACTICE_MARK}{ledger.state.ledger}" if ledger.state.practice else ledger.state.ledger,
        "row": entry.seq,
        "commitment": commitment(ledger, release, entry.digest),
    }


def commitment(ledger: Ledger, release: str, digest: str) -> str:
    """What stands in a bundle for the digest of a ledger's row."""
    salt = ledger.keyed_digest(f"bundle {release}")
    return hashlib.sha256(f"{salt} {digest}".encode()).hexdigest()


def explain_event(event: events.Event, *, person: str) -> list[str]:
    """What was done, in words: a line for each part of an event."""
    match event:
        case events.ComposedEvent(events=parts):
            return list(dict.fromkeys(line for part in parts for line in explain_event(part, person=person)))
        case events.LaplaceEvent(scale=scale, l1=l1):
            return [_noise("Laplace", f"scale {exact.show(scale)}", person, f"by at most {l1:,} in total")]
        case events.RefinedEvent():
            return explain_event(events.by_itself(event), person=person)
        case events.GaussianEvent(sigma2=sigma2, l2_squared=moved):
            size = exact.show(exact.sqrt(Fraction(moved), up=True), up=True)
            sigma = exact.show(exact.sqrt(sigma2, up=False))
            return [_noise("Gaussian", f"sigma {sigma}", person, f"by at most {size} in Euclidean norm")]
        case events.ExponentialEvent(epsilon=epsilon):
            return [f"a choice by the exponential mechanism with epsilon {exact.show(epsilon, up=True)}"]
        case events.PermuteAndFlipEvent(epsilon=epsilon):
            return [f"a choice by permute-and-flip with epsilon {exact.show(epsilon, up=True)}"]
        case events.LadderEvent(decay=decay, step=step, floor=floor):
            epsilon = events.ladder_epsilon(decay, step, floor)
            return [f"a number drawn by a ladder with epsilon {exact.show(epsilon, up=True)}"]
        case events.ThresholdEvent(scale=scale, delta=delta):
            return [
                f"keys discovered by a threshold on noisy numbers of persons: discrete Laplace noise with scale "
                f"{exact.show(scale)}, delta {exact.show(delta, up=True)}"
            ]
        case events.WeightedThresholdEvent(sigma2=sigma2, delta=delta):
            sigma = exact.show(exact.sqrt(sigma2, up=False))
            return [
                "keys discovered by a threshold on noisy weights, each person's weight split over that person's keys: "
                f"discrete Gaussian noise with sigma {sigma}, delta {exact.show(delta, up=True)}"
            ]
        case events.TopKEvent(choices=choices, epsilon=epsilon, delta=delta):
            return [
                f"the most common keys, by up to {choices:,} choices of the exponential mechanism with epsilon "
                f"{exact.show(epsilon, up=True)} each, delta {exact.show(delta, up=True)}"
            ]
        case events.ReservationEvent(epsilon=epsilon, rho=rho):
            size = f"rho {exact.show(rho, up=True)}" if epsilon is None else f"epsilon {exact.show(epsilon, up=True)}"
            return [f"a program whose steps together lose at most {size}, each drawn from one reservation"]
        case events.GapEvent() | events.ForgottenEvent():
            return ["losses that are missing from a restored ledger, charged again"]


def _noise(law: str, size: str, person: str, moved: str) -> str:
    return f"discrete {law} noise with {size} on whole numbers that one {person} changes {moved}"
