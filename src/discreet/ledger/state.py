"""State: what the chain says, as a pure fold over its entries.

The chain is the truth. This is the same truth in a form that answers questions; the tables beside
the chain are a third copy, for outside readers and for the database's own checks. `apply` accepts
an entry or raises; it reads no clock, no file and no data.

One file, long as it is: what each kind of entry may do stands side by side, so that no kind is forgotten by a rule.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, assert_never, cast

from discreet.accounting import events
from discreet.accounting.filter import Cost, Decision, Segment
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.errors import DiscreetError, LedgerFault, UsageError
from discreet.exact import EPSILON_UNITS
from discreet.ledger.account import Account, larger_guarantee
from discreet.ledger.chain import (
    GENESIS,
    EntryKind,
    LedgerEntry,
    canonical_json,
    file_name_reveals_second,
    truncate_to_second,
)
from discreet.ledger.charge_data import account_totals, charge_record, cost_of, replay_charge
from discreet.ledger.digest_list import DigestList
from discreet.ledger.entry_index import StoredEntries, append_value
from discreet.ledger.protected_unit import ProtectedUnit
from discreet.ledger.records import (
    AnswerRecord,
    ChargeRecord,
    EntryEffects,
    Invariant,
    PlannedCharge,
    Reservation,
    StepRecord,
    StreamRecord,
    StreamRowRecord,
    VersionRecord,
)
from discreet.ledger.refinements import Refinements
from discreet.schema.person_identity import Naming, intermediate_namings

FORMAT = 1

_WHOLE_REGION = canonical_json(Region.whole().to_data())

#: What a population's neighbours differ by.
UNITS = ("row", "person")

#: Adoptions that leave one history: a machine that joined others at one database, a ledger that moved to one.
SINGLE_HISTORY_ADOPTIONS = ("joined", "moved")

#: After so many failures of charged questions a table is locked until its owner has looked.
MOST_FAILURES = 3


@dataclass(slots=True)
class LedgerState:
    """The fold. `digests[n - 1]` is the digest of entry n.

    In a long ledger what grows with every charge is read from the chain when it is needed, up to entry `indexed`; see
    `state_index`. `stored` reads it.
    """

    ledger: str = ""
    #: A project for generated or public data, which may be reset. Its first entry says so, and that never changes.
    practice: bool = False
    digests: DigestList = field(default_factory=DigestList)
    accounts: dict[str, Account] = field(default_factory=dict)
    versions: dict[str, dict[int, VersionRecord]] = field(default_factory=dict)
    largest_versions: dict[str, int] = field(default_factory=dict)
    population_of_table: dict[str, str] = field(default_factory=dict)
    charges: dict[str, ChargeRecord] = field(default_factory=dict)
    answers: dict[str, AnswerRecord] = field(default_factory=dict)
    questions: dict[tuple[str, int, str], list[str]] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    gap_seqs: dict[str, int] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    protected_units: dict[str, ProtectedUnit] = field(default_factory=dict)
    forgotten: dict[str, dict[str, str]] = field(default_factory=dict)
    reservations: dict[str, Reservation] = field(default_factory=dict)
    steps: dict[str, StepRecord] = field(default_factory=dict)
    invariants: dict[str, Invariant] = field(default_factory=dict)
    streams: dict[str, StreamRecord] = field(default_factory=dict)
    #: Tables that were removed before anything was released about their people: up to which version.
    removed: dict[str, int] = field(default_factory=dict)
    charge_of_key: dict[str, str] = field(default_factory=dict)
    refinements: Refinements = field(default_factory=Refinements)
    #: Charges of single answers that have neither an answer nor a failure, as they were entered; see `charge_lock`.
    unfinished: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Whether a row has a time finer than a second, or a file named by one, as earlier versions wrote them.
    fine_times: bool = False
    indexed: int = 0
    stored: StoredEntries | None = field(default=None, compare=False)

    @property
    def seq(self) -> int:
        """The number of entries."""
        return len(self.digests)

    @property
    def digest(self) -> str:
        """The digest of the last entry."""
        return self.digests[-1] if self.digests else GENESIS

    def apply(self, entry: LedgerEntry) -> EntryEffects:
        """Fold one entry whose place in the chain was checked. Raises where it makes no sense."""
        try:
            touched = self._fold(entry)
        except LedgerFault:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, DiscreetError) as fault:
            raise LedgerFault(f"entry {entry.seq} of the ledger is not valid ({entry.kind})") from fault
        self.digests.append(entry.digest)
        self.fine_times = self.fine_times or entry.time != truncate_to_second(entry.time)
        return touched

    def charge_of(self, body: Mapping[str, Any]) -> ChargeRecord | None:
        """The charge that a row belongs to: by its id, or by that of the step it is about."""
        return self.charges.get(str(body.get("id", "")).partition(".")[0])

    def account(self, population: str) -> Account:
        """The account of a declared population."""
        if population not in self.accounts:
            raise UsageError(f"the ledger has no population {population!r}", hint="declare a table with a budget first")
        return self.accounts[population]

    def account_or_new(self, population: str, guarantee: Guarantee | None) -> Account:
        """The account of a population; where it is not declared yet, the one that `guarantee` would open."""
        if population not in self.accounts and guarantee is not None:
            return Account(name=population, guarantee=guarantee)
        return self.account(population)

    def preview(
        self,
        *,
        population: str,
        table: str,
        version: int,
        region: Region,
        event: events.Event,
        guarantee: Guarantee | None = None,
        booking: bool = True,
    ) -> Decision:
        """What would be decided now. `guarantee` stands in for a population that is not declared yet."""
        cost = Cost.of(events.loss(event))
        account = self.account_or_new(population, guarantee)
        return account.decide((table, version), region=region, cost=cost, booking=booking)

    def closed_by(
        self, first: PlannedCharge, later: Sequence[PlannedCharge], *, guarantee: Guarantee | None = None
    ) -> list[bool]:
        """Of each later charge of the same population: would it be accepted now, and no more after the first? Free.

        `guarantee` stands in for a population that is not declared yet.

        Because: the first is booked in a copy of its segment, and the same rule decides there. Nothing else is changed:
            what a decision reads lazily is read before the copy is made.
        """
        account = self.account_or_new(first.population, guarantee)
        keys = [(each.table, each.version) for each in (first, *later)]
        decision = account.decide(keys[0], region=first.region, cost=first.cost)
        open_now = [
            account.decide(key, region=each.region, cost=each.cost, booking=False).accepted
            for key, each in zip(keys[1:], later, strict=True)
        ]
        segment = copy.deepcopy(account.segments.get(keys[0]) or Segment())
        segment.book(first.region, first.cost, decision.balance)
        after = replace(
            account,
            segments={**account.segments, keys[0]: segment},
            unread_charges=dict(account.unread_charges),
            delta=decision.delta,
        )
        return [
            is_open and not after.decide(key, region=each.region, cost=each.cost, booking=False).accepted
            for is_open, key, each in zip(open_now, keys[1:], later, strict=True)
        ]

    def tombstones(self, tables: Iterable[str]) -> dict[str, str]:
        """Everybody forgotten in any of these tables: tags, and the marks of the keys that made them."""
        return {tag: mark for table in tables for tag, mark in self.forgotten.get(table, {}).items()}

    def next_version(self, table: str) -> int:
        """One more than the largest number ever seen, also by a history that was rolled back."""
        return 1 + self.largest_versions.get(table, 0)

    def version(self, table: str, number: int) -> VersionRecord:
        """A version that was added."""
        version = self.versions.get(table, {}).get(number)
        if version is None or type(number) is not int:  # True and 1.0 are equal to 1, and are not it
            raise UsageError(f"the ledger has no version {number} of {table!r}")
        return version

    def find_reservation(self, table: str, version: int, question: str) -> Reservation | None:
        """The newest reservation for a question about a version that can still go on, or is complete."""
        for reservation in reversed(self.reservations.values()):
            charge = self.charges[reservation.id]
            same = (charge.table, charge.version, charge.question) == (table, version, question)
            if same and (not reservation.closed or reservation.id in self.answers):
                return reservation
        return None

    def stream(self, table: str, name: str) -> StreamRecord | None:
        """The newest stream of a name: only one that is closed is followed by another."""
        matching_streams = (
            stream for stream in reversed(self.streams.values()) if (stream.table, stream.name) == (table, name)
        )
        return next(matching_streams, None)

    def can_answer(self, id_: str) -> bool:
        """Whether something was charged, or said, that an answer may be stored under."""
        return id_ in self.charges or id_ in self.steps or id_ in self.invariants

    def check_refinement(self, body: dict[str, Any]) -> None:
        """Raise where a charge refines a release which it may not."""
        self.refinements.check(body, answered=body.get("refines") in self.answers)

    def is_locked(self, table: str) -> bool:
        """Whether too many charged questions on this table failed."""
        return self.failures.get(table, 0) >= MOST_FAILURES

    def totals(self) -> dict[str, Any]:
        """What the anchor keeps, to know what a rollback forgot."""
        return {
            "populations": {name: account_totals(account) for name, account in self.accounts.items()},
            "units": dict(self.units),
            "protected": {name: dict(unit.namings) for name, unit in self.protected_units.items()},
            "versions": dict(self.largest_versions),
            "owners": dict(self.population_of_table),
            "forgotten": {table: dict(tags) for table, tags in self.forgotten.items()},
            "removed": dict(self.removed),
        } | ({"practice": True} if self.practice else {})

    def _fold(self, entry: LedgerEntry) -> EntryEffects:
        body = entry.data()
        kind = cast(EntryKind, entry.kind)
        if (kind == "open") != (not self.digests):
            raise ValueError("only the first entry may open a ledger")
        match kind:
            case "open":
                return self._open(body)
            case "population":
                return self._population(body, entry)
            case "grant":
                return self._grant(body, entry)
            case "version":
                return self._version(body, entry)
            case "charge":
                return self._charge(body, entry)
            case "answer":
                return self._answer(body, entry)
            case "failure":
                return self._failure(body)
            case "gap":
                return self._gap(body, entry)
            case "acknowledge":
                return self._acknowledge(body)
            case "adopt":
                return self._adopt(body, entry)
            case "forget":
                return self._forget(body)
            case "step":
                return self._step(body)
            case "invariant":
                return self._invariant(body, entry)
            case "row":
                return self._row(body, entry)
            case _:
                assert_never(kind)

    def _open(self, body: dict[str, Any]) -> EntryEffects:
        if body["format"] != FORMAT:
            raise LedgerFault(f"the ledger has format {body['format']!r}", hint="upgrade: a newer version wrote it")
        self.ledger, self.practice = body["ledger"], body.get("practice", False) is True
        return EntryEffects()

    def _population(self, body: dict[str, Any], entry: LedgerEntry) -> EntryEffects:
        name, guarantee = body["population"], Guarantee.from_data(body["guarantee"])
        if body["unit"] not in UNITS:
            raise ValueError("the unit of a population is unknown")
        if name in self.accounts:
            self._correct(body, guarantee, entry)
        elif "removed" in body:
            raise ValueError("a table is removed from a population that is not declared")
        else:
            self.accounts[name] = Account(name=name, guarantee=guarantee, seq=entry.seq)
        self.units[name] = body["unit"]
        return EntryEffects(populations=(name,))

    def _correct(self, body: dict[str, Any], guarantee: Guarantee, entry: LedgerEntry) -> None:
        """A population that is declared again: with another limit, another unit, or without a table.

        Guarantee: no charge, exact total, tombstone or gap of the population stands before this entry.
        Because: `is_fixed` says so of the fold of every entry before it, and an entry is appended under the lock that
            all writers take.
        """
        name, account = body["population"], self.accounts[body["population"]]
        changes = body["unit"] != self.units.get(name), guarantee != account.guarantee, bool(body.get("removed"))
        if self.is_fixed(name) or not any(changes):
            raise ValueError("the population is declared twice, or something was released about it")
        if changes[0]:
            self.protected_units[name] = ProtectedUnit(corrected=entry.seq)
        if changes[1]:
            account.correct(guarantee, seq=entry.seq)
        for table in body.get("removed", ()):
            if self.population_of_table.get(table) != name:
                raise ValueError("the removed table belongs to another population")
            self._remove(str(table), number=self.largest_versions[table])

    def _remove(self, table: str, *, number: int) -> None:
        """Leave out all versions of a table up to a number: their source is nobody's again. Numbers are not reused."""
        self.removed[table] = number
        made = self.versions.get(table, {})
        for each in [each for each in made if each <= number]:
            del made[each]
        if made:
            return
        self.versions.pop(table, None)
        unit = self.protected_units.get(self.population_of_table.pop(table, ""), ProtectedUnit())
        unit.namings.pop(table, None)
        for others in self.versions.values():
            newest = others[max(others)]
            if self.protected_units.get(newest.population) is unit and not self.is_stale(newest):
                unit.namings |= dict(intermediate_namings(newest.naming))

    def is_fixed(self, population: str) -> bool:
        """Whether whom a population protects, its limit and its tables stay for good.

        So it is once something was released about it, or somebody forgotten; and after a restore, which may have
        forgotten either.
        """
        account = self.accounts.get(population)
        if account is None:
            return False
        if account.charges or account.invariant or account.sealed is not None or account.restored:
            return True
        return any(
            self.forgotten.get(table) for table, owner in self.population_of_table.items() if owner == population
        )

    def is_stale(self, version: VersionRecord) -> bool:
        """Whether a version names its persons by what was corrected since it was made."""
        unit = self.protected_units.get(version.population, ProtectedUnit())
        return unit.is_stale(version.table, version.naming, row=version.seq)

    def _grant(self, body: dict[str, Any], entry: LedgerEntry) -> EntryEffects:
        account = self.accounts[body["population"]]
        account.raise_to(Guarantee.from_data(body["guarantee"]))
        account.payers_unknown = False  # whoever raises a limit knows that quotas count from here
        account.seq = entry.seq
        return EntryEffects(populations=(account.name,))

    def _version(self, body: dict[str, Any], entry: LedgerEntry) -> EntryEffects:
        table, number, population = body["table"], body["version"], body["population"]
        if number < self.next_version(table) or population not in self.accounts:
            raise ValueError("a version is out of order, or belongs to no population")
        if self.population_of_table.setdefault(table, population) != population:
            raise ValueError("a table cannot change its population")
        version = self.versions.setdefault(table, {})[number] = VersionRecord(
            table=table,
            number=number,
            population=population,
            schema=body["schema"],
            source=body["source"],
            file=body["file"],
            time=entry.time,
            seq=entry.seq,
        )
        self._protect(population, table, version.naming, row=entry.seq, version=number)
        self.largest_versions[table] = number
        self.fine_times = self.fine_times or file_name_reveals_second(version.file)
        return EntryEffects()

    def _protect(self, population: str, table: str, naming: Naming, *, row: int, version: int | None = None) -> None:
        unit = self.protected_units.setdefault(population, ProtectedUnit())
        unit.record_naming(table, naming, row=row, fixed=self.is_fixed(population), version=version)

    def _charge(self, body: dict[str, Any], entry: LedgerEntry) -> EntryEffects:
        version = self.version(body["table"], body["version"])
        account = self.accounts[body["population"]]
        if body["id"] in self.charges or version.population != account.name:
            raise ValueError("this was already charged, or the charge belongs to another population")
        self.check_refinement(body)
        if "key" in body and self.charge_of_key.setdefault(str(body["key"]), body["id"]) != body["id"]:
            raise ValueError("this key was already used for a charge")
        charge = charge_record(body, entry)
        key = (version.table, version.number)
        replay_charge(account, key, body, region=canonical_json(body["region"]), cost=charge.cost, seq=entry.seq)
        self.refinements.fold_charge(body)
        self.charges[charge.id] = charge
        if body["event"]["kind"] == "reserved":
            event = cast(events.ReservationEvent, events.from_data(body["event"]))
            self.reservations[charge.id] = Reservation(id=charge.id, event=event)
        if "stream" in body:
            self._stream(charge, events.from_data(body["event"]), **body["stream"])
        if charge.id not in self.reservations and charge.id not in self.streams:
            self.unfinished[charge.id] = body
        if charge.analyst is not None:
            account.pay(charge.analyst, charge.moved)
        return EntryEffects(populations=(account.name,), segments=((account.name, key),), charge=charge.id)

    def _answer(self, body: dict[str, Any], entry: LedgerEntry) -> EntryEffects:
        if body["id"] in self.answers:
            raise ValueError("answered twice")
        stored = AnswerRecord(sha256=body["sha256"], seq=entry.seq)
        if body["id"] in self.steps or body["id"] in self.invariants:
            self.answers[body["id"]] = stored
            return EntryEffects()
        charge = self.charges[body["id"]]
        self.refinements.fold_answer(charge.id)
        self.answers[charge.id] = stored
        self.unfinished.pop(charge.id, None)
        append_value(self.questions, (charge.table, charge.version, charge.question), charge.id)
        return EntryEffects()

    def _step(self, body: dict[str, Any]) -> EntryEffects:
        reservation = self.reservations[body["id"]]
        step = StepRecord(
            id=f"{reservation.id}.{body['number']}", of=body["of"], loss=events.loss(events.from_data(body["event"]))
        )
        if body["number"] != len(reservation.steps) + 1 or reservation.closed:
            raise ValueError("a step is out of order, or its reservation is closed")
        if any(earlier.id not in self.answers for earlier in reservation.steps):
            raise ValueError("the step before this one has no answer yet")
        if not reservation.event.holds([*(earlier.loss for earlier in reservation.steps), step.loss]):
            raise ValueError("a step costs more than its reservation has")
        reservation.steps.append(step)
        self.steps[step.id] = step
        return EntryEffects()

    def _invariant(self, body: dict[str, Any], entry: LedgerEntry) -> EntryEffects:
        account = self.accounts[body["population"]]
        version = self.version(body["table"], body["version"])
        if body["id"] in self.invariants or version.population != account.name or not account.fits_counted_double():
            raise ValueError("an invariant is declared twice, belongs to another population, or exceeds the limit")
        if account.sealed is not None:
            raise ValueError("an invariant of people whose earlier charges are unknown")
        self.invariants[body["id"]] = Invariant(
            id=body["id"], population=account.name, table=version.table, version=version.number, words=body["words"]
        )
        account.invariant = True
        account.seq = entry.seq
        return EntryEffects(populations=(account.name,))

    def _stream(self, charge: ChargeRecord, event: events.Event, *, name: str, count: int, of: dict[str, Any]) -> None:
        earlier_stream = self.stream(charge.table, name)
        if not isinstance(event, events.LaplaceEvent | events.GaussianEvent):
            raise ValueError("a stream must be noise on a linear map")
        if (earlier_stream is not None and not earlier_stream.closed) or type(count) is not int or count < 1:
            raise ValueError("the name of the stream is taken, or the stream has no steps")
        self.streams[charge.id] = StreamRecord(
            id=charge.id, table=charge.table, name=name, event=event, count=count, of=dict(of)
        )

    def _row(self, body: dict[str, Any], entry: LedgerEntry) -> EntryEffects:
        stream = self.streams[body["id"]]
        row = StreamRowRecord(id=f"{stream.id}.{body['number']}", number=body["number"], owner_file=str(body["kept"]))
        if row.number != len(stream.rows) + 1 or row.number > stream.count or stream.closed:
            raise ValueError("a step is out of order, or its stream is closed")
        stream.rows.append(row)
        self.answers[row.id] = AnswerRecord(sha256=body["sha256"], seq=entry.seq)
        return EntryEffects()

    def _close_reservations(self) -> None:
        """Steps of a history that is not the only one may have been drawn elsewhere: none follows here.

        So may have been an answer that this history lacks: no charge of before is answered any more.
        """
        self.unfinished.clear()
        for reservation in self.reservations.values():
            reservation.closed = True
        for stream in self.streams.values():
            stream.closed = True

    def _failure(self, body: dict[str, Any]) -> EntryEffects:
        table = self.charges[body["id"]].table
        self.unfinished.pop(body["id"], None)
        if body.get("stopped") is True:
            return EntryEffects()
        if body["id"] in self.reservations:
            self.reservations[body["id"]].closed = True
        if body["id"] in self.streams:
            self.streams[body["id"]].closed = True
        if body.get("late") is not True:
            self.failures[table] = self.failures.get(table, 0) + 1
        return EntryEffects()

    def _gap(self, body: dict[str, Any], entry: LedgerEntry) -> EntryEffects:
        for name, data in body["guarantees"].items():
            self._adopt_guarantee(name, Guarantee.from_data(data), seq=entry.seq)
        for name, unit in body.get("units", {}).items():
            kept = self.units.get(name, unit) == unit or not self.is_fixed(name)
            if name not in self.accounts or unit not in UNITS or not kept:
                raise ValueError("the unit is unknown, or is not the one that was promised")
            self.units[name] = unit
        for name, namings in body.get("protected", {}).items():
            for table, naming in namings.items():
                self._protect(name, str(table), list(naming), row=entry.seq)
        for name, data in body["sealed"].items():
            self.accounts[name].seal(Guarantee.from_data(data))
        for part in body["charges"]:
            key = (str(part["table"]), int(part["version"]))
            replay_charge(
                self.accounts[part["population"]], key, part, region=_WHOLE_REGION, cost=cost_of(part), seq=entry.seq
            )
        for table, number in body["versions"].items():
            self.largest_versions[table] = max(self.largest_versions.get(table, 0), number)
        for table, number in body.get("removed", {}).items():
            self._remove(str(table), number=int(number))
        for table, population in body["owners"].items():
            self.population_of_table.setdefault(table, population)
        for table, tags in body.get("forgotten", {}).items():
            self.forgotten.setdefault(table, {}).update(tags)
        for name in body.get("invariants", ()):
            self.accounts[name].invariant = True
        self._repay(body)
        self.gap_seqs[body["head"]["digest"]] = entry.seq
        self._close_reservations()
        self.refinements.close()
        for account in self.accounts.values():
            account.seq, account.restored = entry.seq, True
        return EntryEffects(everything=True)

    def _repay(self, body: dict[str, Any]) -> None:
        """Count what analysts paid and a restored ledger forgot. A row from before that was kept tells of nobody."""
        for name, analyst, units in body.get("paid", ()):
            if type(units) is not int or units < 1:
                raise ValueError("a payment is not valid")
            self.accounts[name].pay(str(analyst), Fraction(units, EPSILON_UNITS))
        every = [] if "paid" in body else [part["population"] for part in body["charges"]]
        for name in body.get("payers_unknown", every):
            self.accounts[name].payers_unknown = True

    def _adopt_guarantee(self, name: str, guarantee: Guarantee, *, seq: int) -> None:
        """The limit that a restored ledger takes from its anchor: a larger one, or one that was corrected since."""
        if name not in self.accounts:
            self.accounts[name] = Account(name=name, guarantee=guarantee)
        elif larger_guarantee(self.accounts[name].guarantee, guarantee) == guarantee:
            self.accounts[name].raise_to(guarantee)
        else:
            self.accounts[name].correct(guarantee, seq=seq)

    def _acknowledge(self, body: dict[str, Any]) -> EntryEffects:
        for table in body["tables"]:
            self.failures.pop(table, None)
        return EntryEffects()

    def _adopt(self, body: dict[str, Any], entry: LedgerEntry) -> EntryEffects:
        if body["state"] not in SINGLE_HISTORY_ADOPTIONS:
            self._close_reservations()
        self.refinements.close()
        for name in body["sealed"]:
            self.accounts[name].seal(self.accounts[name].guarantee)
            self.accounts[name].payers_unknown = True
            self.accounts[name].seq = entry.seq
        return EntryEffects(everything=bool(body["sealed"]))

    def _forget(self, body: dict[str, Any]) -> EntryEffects:
        if not re.fullmatch(r"[0-9a-f]{32}", body["tag"]):
            raise ValueError("a tombstone has no tag")
        for table in body["tables"]:
            self.forgotten.setdefault(str(table), {})[body["tag"]] = str(body["key"])
        self.refinements.fold_erasure(body["tag"], is_over=body.get("erased") is True)
        return EntryEffects()
