"""The ledger: the only durable truth about spending.

Append-only, hash-chained, transactional. It knows regions, events and losses, and no data. A charge is
durable before `charge` returns, and nothing is refunded. See journal.py for how an append is made,
state.py for what entries mean, accounting/filter.py for what is accepted.

One file, long as it is: every act on a ledger stands here, each in a section of its own, so that none is outside one.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from discreet import exact
from discreet.accounting.events import Event
from discreet.accounting.filter import Decision
from discreet.accounting.guarantee import FilterLimits, Guarantee
from discreet.accounting.region import Region
from discreet.errors import Command, LedgerLocked, Message, UsageError
from discreet.ledger import invariants, owner_acts, receipts, repair, reservation_steps, stored_answers, stream_rows
from discreet.ledger.account import Account, AccountStatus, RemainingByArm
from discreet.ledger.chain import LedgerEntry, new_id
from discreet.ledger.charge_data import decision_data
from discreet.ledger.charge_lock import ChargeLock, matching_charges
from discreet.ledger.charge_request import ChargeRequest
from discreet.ledger.entry_checks import check_event, check_json_object, check_name
from discreet.ledger.journal import Journal
from discreet.ledger.ledger_location import LedgerLocation, parse_location
from discreet.ledger.owner_acts import refuse_stale
from discreet.ledger.records import ChargeRecord, PlannedCharge, Reservation, StepRecord, VersionRecord
from discreet.ledger.refusal import DuplicateCharge, charge_refusal, check_quota, refuse_refinement
from discreet.ledger.repair import LedgerVerification, RepairOutcome
from discreet.ledger.state import LedgerState
from discreet.ledger.store_factory import connection_warnings
from discreet.timing import wait_until_due


class Ledger:
    """An open ledger. May be shared by threads, and used again after a fork."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._charge_locks: dict[str, ChargeLock] = {}

    @staticmethod
    def create(path: LedgerLocation | str, *, practice: bool = False) -> Ledger:
        """Make a new ledger at a path or an address (postgresql://…), and its anchor in the state folder."""
        if practice:
            receipts.note_practice()
        return Ledger(Journal.create(parse_location(path), practice=practice))

    @staticmethod
    def open(path: LedgerLocation | str) -> Ledger:
        """Open a ledger: the chain is verified, folded, and compared with its tables and its anchor.

        All of it; of a long ledger that was opened before, what came after its checkpoint.
        """
        ledger = Ledger(Journal.attach(parse_location(path), use="resume"))
        try:
            if ledger.refresh().practice:
                receipts.note_practice()
        except BaseException:
            ledger.close()
            raise
        return ledger

    def close(self) -> None:
        """Let go of the database. The ledger answers nothing more."""
        self._journal.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> LedgerLocation:
        """Where the ledger lies: a path, or an address."""
        return self._journal.path

    @property
    def id(self) -> str:
        """What the ledger is called, for good: sixteen letters and digits of chance."""
        return self.refresh().ledger

    @property
    def shared(self) -> bool:
        """Whether other machines use it, each with a project folder of its own."""
        return self._journal.store.shared

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the owner should know about where the ledger lies."""
        return connection_warnings(self._journal.store)

    @property
    def state(self) -> LedgerState:
        """The fold as of the last `refresh`, charge or other act. To be read, never written."""
        return self._journal.state

    def refresh(self) -> LedgerState:
        """Read what other processes appended, and compare the chain with its anchor."""
        return self._journal.run_in_section(lambda: self._journal.state)

    # -- the owner's acts ---------------------------------------------------------------------

    def declare(self, population: str, guarantee: Guarantee, *, unit: Literal["row", "person"] = "row") -> None:
        """Open a population's account. Declaring the same again changes nothing."""
        with self._journal.committed_section():
            owner_acts.declare_population(self._journal, self.state, population, guarantee, unit=unit)

    def grant(self, population: str, guarantee: Guarantee) -> None:
        """Raise a population's limit to `guarantee`. What was lost stays lost."""
        with self._journal.committed_section():
            owner_acts.raise_limit(self._journal, self.state, population, guarantee)

    def correct(self, population: str, guarantee: Guarantee) -> None:
        """Set another limit of a population, larger or smaller. Refused once something was released about it."""
        with self._journal.committed_section():
            owner_acts.correct_limit(self._journal, self.state, population, guarantee)

    def remove_table(self, table: str) -> tuple[VersionRecord, ...]:
        """Take a table out of its population, and return its versions. Refused once something was released about it.

        Its source may then be declared under any population, for nobody has lost anything by it.
        """
        with self._journal.committed_section():
            return owner_acts.remove_table(self._journal, self.state, table)

    def next_version(self, table: str) -> int:
        """The number that the next version of a table will have."""
        return self.refresh().next_version(table)

    def add_version(
        self,
        table: str,
        *,
        population: str,
        schema: dict[str, Any],
        source: dict[str, Any],
        file: str = "",
        number: int | None = None,
        forgotten: tuple[Sequence[str], Collection[str]] | None = None,
    ) -> int:
        """Enter a new version of a declared table; return its number. `number`: refused if another took it.

        `forgotten`: the tables whose forgotten it was made without, and their tags; refused if somebody was
        forgotten there since.
        """
        body = {
            "table": check_name(table, what="a table's name"),
            "population": population,
            "schema": check_json_object(schema, what="a schema"),
            "source": check_json_object(source, what="a source"),
            "file": str(file),
        }
        with self._journal.committed_section():
            return owner_acts.add_version(self._journal, self.state, body, number=number, forgotten=forgotten)

    def forget(self, tables: Sequence[str], tag: bytes, *, key: str) -> None:
        """Keep a tombstone: this person is left out of every later version of these tables.

        `key` marks the key that the tag was made with.

        It is written before anybody is erased, so that a crash between leaves work to do, not a person.
        """
        with self._journal.committed_section():
            owner_acts.forget(self._journal, self.state, tables, tag, key=key)

    def end_forget(self, tables: Sequence[str], tag: bytes, *, key: str) -> None:
        """Keep that a person's rows are gone: what is released from now on is about the rows that are left."""
        with self._journal.committed_section():
            owner_acts.end_forget(self._journal, tables, tag, key=key)

    # -- questions ----------------------------------------------------------------------------

    def preview(
        self,
        *,
        population: str,
        table: str,
        version: int,
        region: Region,
        event: Event,
        guarantee: Guarantee | None = None,
        booking: bool = True,
    ) -> Decision:
        """What would be decided now. Free. `guarantee` stands in for a population that is not declared yet.

        Without `booking` only whether it would be accepted, and by which arm, is found out.
        """
        check_event(event)
        return self._journal.run_in_section(
            lambda: self.state.preview(
                population=population,
                table=table,
                version=version,
                region=region,
                event=event,
                guarantee=guarantee,
                booking=booking,
            )
        )

    def closed_by(
        self, first: PlannedCharge, later: Sequence[PlannedCharge], *, guarantee: Guarantee | None = None
    ) -> list[bool]:
        """Of each later charge of the same population: would it be accepted now, and no more after the first? Free."""
        return self._journal.run_in_section(lambda: self.state.closed_by(first, later, guarantee=guarantee))

    def charge(self, request: ChargeRequest) -> ChargeRecord:
        """Charge an event to a population, or refuse. When this returns, the charge is on the disk.

        With `request.resumes` it may be one whose process died before it stored an answer, see `charge_lock`.

        Guarantee: after every charge that returns, the accepted history satisfies the rule of the filters; and one key
            was charged once at most.
        Because: the decision reads a history that holds every committed charge (the newest entries are
            folded under a lock that all writers take) and is committed under the same lock.
        """
        cost = check_event(request.event)
        id_ = f"r-{new_id()}"
        body = request.to_data(id_, cost)
        table, version, asker = request.table, request.version, request.asker
        locked = [id_]

        def decide() -> ChargeRecord:
            reservation = self.state.find_reservation(table, version, request.question) if request.once else None
            if reservation is not None:
                return self.state.charges[reservation.id]
            resumed = self._resume(request, body) if request.resumes else None
            if resumed is not None:
                locked.append(resumed.id)
                receipts.note_charge(resumed.id)
                return resumed
            if asker.key is not None and asker.key in self.state.charge_of_key:
                raise DuplicateCharge(self.state.charge_of_key[asker.key])
            for read in request.reads:
                refuse_stale(self.state, *read)
            account = self._chargeable(request.population, table, version)
            refuse_refinement(self.state, body)
            if request.stream is not None:
                body["stream"] = stream_rows.check_stream(self.state, table, request.event, request.stream)
            decision = account.decide((table, version), region=request.region, cost=cost)
            moved = account.epsilon_moved((table, version), decision)
            if not decision.accepted or moved is None:
                raise charge_refusal(account, cost, decision, moved)
            if asker.quota is not None:
                check_quota(account, asker.name, needed=moved, quota=asker.quota)
            receipts.note_charge(id_)
            if request.resumes:
                self._charge_locks[id_] = ChargeLock.make(self._answering_folder, id_)
            units = exact.units_up(moved, exact.EPSILON_UNITS)
            self._journal.append("charge", {**body, "moved": units, "decision": decision_data(decision)})
            return self.state.charges[id_]

        try:
            return self._journal.run_in_section(decide)
        except BaseException:
            for each in locked:  # whether it was entered may be unknown
                self.end_answer(each, is_over=False)
            raise

    @property
    def _answering_folder(self) -> Path:
        return self._journal.anchor.folder / "answering"

    def _resume(self, request: ChargeRequest, body: dict[str, Any]) -> ChargeRecord | None:
        """A charge for the same that nobody will answer any more, now locked by us. Inside a section only."""
        for id_ in matching_charges(self.state, body):
            for read in request.reads:
                refuse_stale(self.state, *read)
            self._chargeable(request.population, request.table, request.version)
            lock = ChargeLock.take(self._answering_folder, id_)
            if lock is not None:
                self._charge_locks[id_] = lock
                return self.state.charges[id_]
        return None

    def can_resume(self, request: ChargeRequest) -> bool:
        """Whether a request would now be answered under a charge that was made before. Free."""
        cost = check_event(request.event)
        body = request.to_data("", cost)

        def look() -> bool:
            locks = (ChargeLock.take(self._answering_folder, id_) for id_ in matching_charges(self.state, body))
            lock = next(filter(None, locks), None)
            if lock is not None:
                lock.release(is_over=False)
            return lock is not None

        return bool(self.state.unfinished) and self._journal.run_in_section(look)

    def waits_for_answer(self, id_: str) -> bool:
        """Whether a charge of this machine is being answered, or its process died: the same request may finish it."""
        charge = self.state.charges.get(id_)
        if charge is None or id_ not in self.state.unfinished or not self.state.refinements.may_answer(id_):
            return False
        newest = max(self.state.versions.get(charge.table, {}), default=charge.version)
        return charge.version == newest and (self._answering_folder / id_).exists()

    def is_resumed(self, id_: str) -> bool:
        """Whether the charge that is being answered here was made by a process that died."""
        return id_ in self._charge_locks and self._charge_locks[id_].is_resumed

    def end_answer(self, id_: str, *, is_over: bool) -> None:
        """Let go of a charge that was made with `resumes`. `is_over`: it was answered, or never will be."""
        lock = self._charge_locks.pop(id_, None)
        if lock is not None:
            lock.release(is_over=is_over)

    def declare_invariant(self, table: str, version: int, *, words: str) -> str:
        """Say, for good, that exact totals of a version are published; return the id that they are stored under.

        From then on the population's neighbours change one unit and keep the totals, and every charge, old and new,
        counts double. The same words about the same version again change nothing.
        """
        return self._journal.run_in_section(
            lambda: invariants.declare_invariant(self._journal, self.state, table, version, words=words)
        )

    def _chargeable(self, population: str, table: str, version: int) -> Account:
        if self.state.version(table, version).population != population:
            raise UsageError(f"table {table!r} does not belong to population {population!r}")
        refuse_stale(self.state, table, version)
        if self.state.is_locked(table):
            raise LedgerLocked(
                f"table {table!r} is locked: too many charged queries on it could not be completed",
                hint=Message("ask the owner to find the cause, then to run ", Command("ledger acknowledge")),
            )
        return self.state.account(population)

    def store(self, id_: str, payload: str) -> str:
        """Store the answer of a charge; return what is stored. The first one stands."""
        wait_until_due()
        return self._journal.run_in_section(
            lambda: stored_answers.store_answer(self._journal, self.state, id_, payload)
        )

    def answer(self, id_: str) -> str:
        """The answer that is stored under a charge."""

        return self._journal.run_in_section(lambda: stored_answers.read_answer(self._journal, self.state, id_))

    def stored_texts(self, ids: Sequence[str]) -> dict[str, str]:
        """The answers that are stored under several charges, read together."""
        if not ids:
            return {}
        return self._journal.run_in_section(
            lambda: {id_: stored_answers.read_answer(self._journal, self.state, id_) for id_ in ids}
        )

    def find(self, table: str, version: int, question: str) -> tuple[str, ...]:
        """The ids of all stored answers to a question about a version, the oldest first."""
        return tuple(self.refresh().questions.get((table, version, question), ()))

    def step(self, id_: str, event: Event, *, of: str, number: int | None = None) -> StepRecord:
        """Draw a step of a program from its reservation; the one of this number, where it was drawn before.

        When this returns, the step is on the disk; see `reservation_steps`.
        """

        def draw() -> StepRecord:
            charge = self.state.charges[self.reservation(id_).id]
            check = partial(self._chargeable, charge.population, charge.table, charge.version)
            return reservation_steps.take_step(self._journal, self.state, id_, event, of=of, number=number, check=check)

        return self._journal.run_in_section(draw)

    def reservation(self, id_: str) -> Reservation:
        """The reservation that was charged under an id."""
        if id_ not in self.state.reservations:
            raise UsageError(f"nothing was reserved under {id_!r}")
        return self.state.reservations[id_]

    def find_reservation(self, table: str, version: int, question: str) -> Reservation | None:
        """The newest reservation for a question about a version that can still go on, or is complete."""
        return self.refresh().find_reservation(table, version, question)

    def fail(self, id_: str, *, stopped: bool = False, late: bool = False) -> None:
        """Record that a charged query could not be completed. The charge stays; the third locks the table.

        `stopped`: somebody stopped it. That is no failure of the question and counts towards no lock, nor does it close
        a reservation: like a process that died, it showed nobody anything. `late`: its time was over. That counts
        towards no lock either, and closes a reservation, so that every try is paid. See docs/decisions/0018.
        """
        why = {"stopped": True} if stopped else {"late": True} if late else {}

        def enter() -> None:
            if id_ not in self.state.charges:
                raise UsageError(f"nothing was charged under {id_!r}")
            self._journal.append("failure", {"id": id_, **why})

        wait_until_due()
        self._journal.run_in_section(enter)

    def append_stream_row(self, id_: str, *, number: int, owner_file: str, payload: str) -> str:
        """Enter a row of a stream, drawn this moment; return what is stored. When this returns, it is on the disk."""

        def enter() -> str:
            stream = stream_rows.open_stream(self.state, id_)
            charge = self.state.charges[stream.id]
            self._chargeable(charge.population, charge.table, charge.version)
            return stream_rows.append_row(self._journal, stream, number=number, owner_file=owner_file, payload=payload)

        wait_until_due()
        return self._journal.run_in_section(enter)

    def stream_rows(self, id_: str) -> list[str]:
        """What was drawn of a stream so far, the oldest first, as it was stored."""
        return self._journal.run_in_section(
            lambda: [
                stored_answers.read_answer(self._journal, self.state, row.id) for row in self.state.streams[id_].rows
            ]
        )

    def is_locked(self, table: str) -> bool:
        """Whether a table waits for its owner."""
        return self.refresh().is_locked(table)

    # -- balances -----------------------------------------------------------------------------

    def account_status(self, population: str) -> AccountStatus:
        """Limit, spent (rounded up), remaining (down), and the prices paid by each analyst."""
        return self._journal.run_in_section(lambda: self.state.account(population).status())

    def remaining_by_arm(self, population: str, *, guarantee: Guarantee | None = None) -> RemainingByArm:
        """What plain addition still allows in each arm. `guarantee` as in `preview`."""
        return self._journal.run_in_section(lambda: self.state.account_or_new(population, guarantee).remaining_by_arm())

    def limits(self, population: str) -> FilterLimits:
        """The integer limits of the filter in use."""
        return self._journal.run_in_section(lambda: self.state.account(population).limits)

    def keyed_digest(self, text: str) -> str:
        """A keyed digest of a private fact that the ledger must recognise again and must not tell."""
        return hmac.digest(self._journal.anchor.key, b"fact " + text.encode(), "sha256").hex()

    def entries(self, *, after: int | None = None, most: int | None = None) -> Iterator[LedgerEntry]:
        """Every entry, in order, for showing and exporting; or those after one, by its number, and so many at most.

        Each is compared with its digest: one from before the checkpoint was not read when the ledger was opened.
        """
        return iter(self._journal.verified_entries(after=after or 0, most=most))

    # -- trust --------------------------------------------------------------------------------

    def verify(self) -> LedgerVerification:
        """Verify everything anew, from the disk."""
        return repair.verify(self.path)

    def acknowledge(self) -> RepairOutcome:
        """Unlock what waits for the owner. A ledger that will not open: `repair.acknowledge(path)`."""
        done = repair.acknowledge(self.path)
        self.refresh()
        return done
