"""Programs: fits that choose their next step by what the earlier ones said. They see noisy values alone.

A program reserves its whole guarantee in one charge, and draws its steps from that. It is the second place
where exact numbers and randomness meet (the third, and last, is the step of a stream). What `curator` promises holds
here for every step:

1. No data is touched before the step is durable, and the steps' losses stay within the reservation.
2. Nothing is refunded. A draw that raises is one constant sentence, and ends the program.
3. The event of the step is the event that the draw returns; they are compared.
4. What a step drew is stored before it is shown, and what is shown is read back from the store.

So a program that is started again, after a crash or to get the same model once more, reads its steps from the
ledger and draws only what was never stored.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from discreet.accounting import events
from discreet.accounting.events import Event, ReservationEvent, compose
from discreet.accounting.region import Region
from discreet.accounting.sensitivity import Sensitivity
from discreet.engines import deadline, stop_signal
from discreet.engines.engine import CodedRows, PersonRows, TableLocations
from discreet.errors import LedgerFault, QueryFailed
from discreet.kernel.curator import Curator, Version
from discreet.kernel.measurement import Law, Measurement
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.packed_integers import pack_integers, unpack_integers
from discreet.plan import relation
from discreet.plan.cell_statistics import RowCount, Sum, statistic_data
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Expression
from discreet.plan.inquiry import question_digest
from discreet.plan.price import Price, event_of
from discreet.plan.query_sensitivity import UnitReach, reach, reach_by_keys, sensitivity
from discreet.plan.relation import Filter, Plan, Scan, scans
from discreet.schema.schema import Schema

#: A choice's epsilon is a square root, rounded down to this grid.
_GRID = 10**12


class Measurable(Protocol):
    """What can be measured of counts: a strategy, or another whole-number function that says how far it moves."""

    def apply(self, exact_counts: Integers) -> Integers: ...

    def sensitivity(self, rows: int) -> Sensitivity:
        """How far it moves, at most, when a unit of at most so many rows comes or goes."""

    def to_data(self) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedRows:
    """What is added up in cells: the rows of a relation, or the values of an expression in them.

    `publics`: the public tables that the relation joins.
    """

    plan: Plan
    statistic: RowCount | Sum = field(default_factory=RowCount)
    publics: Mapping[int, Any] = field(default_factory=dict, repr=False, compare=False)

    def most_added(self, schemas: Mapping[str, Schema]) -> int:
        """How much one unit adds to all cells together, at most, without regard to signs.

        Guarantee: for neighbours D, D' the sum over all cells of |difference| is at most this.
        Because: a unit owns at most `rows` rows of the relation (plan/query_sensitivity), each lies in one cell and
            adds 1, or at most the largest term of the sum. A sum in grains is rounded in each cell, and is refused.
        """
        if isinstance(self.statistic, Sum) and self.statistic.grain != 1:
            raise ValueError("a sum that is rounded in every cell does not add up")
        # Its cells need not be the groups of a limit: only what that leaves of a unit in all says anything here.
        return sensitivity(self.statistic, reach_by_keys(self.reach(schemas), ()), touched=1).l1

    def reach(self, schemas: Mapping[str, Schema]) -> UnitReach:
        """How one unit reaches into the relation."""
        return reach(self.plan, schemas)

    def to_data(self) -> Any:
        return {"plan": relation.to_data(self.plan), "statistic": statistic_data(self.statistic)}


#: What the contents of a release's steps unpack to at most.
MOST_BYTES = 2**26


class ReservationSteps:
    """A reservation over one version of a declared table, and the next step of it.

    Shares are parts of the reservation: of its rho, or of its epsilon where it is pure. What a step draws from is for
    whoever takes it to say: the rows of a plan (`Program`), or a network (`graph`).
    """

    def __init__(self, curator: Curator, version: Version, reservation: str) -> None:
        self.version = version
        self.id = reservation
        self._curator = curator
        self._event = curator.ledger.reservation(reservation).event
        charge = curator.ledger.state.charges[reservation]
        if (charge.table, charge.version, charge.population) != (version.table, version.number, version.population):
            raise LedgerFault(f"{reservation} was not reserved for version {version.number} of {version.table!r}")
        self._spent: list[events.Loss] = []
        #: What shares went to: describing, selecting, measuring.
        self.shares: dict[str, Fraction] = {}
        #: What each step measured; its digest is what the ledger has of it.
        self._contents: list[Any] = []

    @property
    def event(self) -> ReservationEvent:
        """What was reserved."""
        return self._event

    @property
    def budget_cost(self) -> Fraction:
        """By how much the reservation raised the epsilon that its population has spent."""
        return self._curator.ledger.state.charges[self.id].moved

    @property
    def steps(self) -> int:
        """How many steps were taken, in this run or read back."""
        return len(self._spent)

    def contents(self) -> str:
        """What all steps measured, of which the ledger has digests: public and noisy facts, packed as text.

        Stored with a release, they let a checker derive how far a unit moves each step (verify/).
        """
        return base64.b64encode(zlib.compress(self.content_text().encode(), level=9)).decode()

    def content_text(self) -> str:
        """The same as it is, a list in JSON."""
        return json.dumps(self._contents, sort_keys=True, separators=(",", ":"))

    @property
    def share_left(self) -> Fraction:
        """The share that is left."""
        if self._event.epsilon is not None:
            spent = sum((loss.epsilon or Fraction(0) for loss in self._spent), Fraction(0))
            return 1 - spent / self._event.epsilon
        return 1 - sum((loss.rho for loss in self._spent), Fraction(0)) / self._event.rho

    @property
    def is_pure(self) -> bool:
        """Whether shares are of a pure epsilon; else of rho."""
        return self._event.epsilon is not None

    def choice_epsilon(self, share: Fraction) -> Fraction:
        """The epsilon of a choice by the exponential mechanism that costs this share at most."""
        return choice_epsilon(self._event, share)

    def pure_epsilon(self, share: Fraction) -> Fraction:
        """The epsilon of a pure mechanism that costs this share at most: epsilon^2 / 2 in rho."""
        return pure_epsilon(self._event, share)

    def beside(self, number: int) -> Any:
        """What was stored beside the numbers of a step that was drawn before; None where it was not."""
        id_ = f"{self.id}.{number}"
        ledger = self._curator.ledger
        return json.loads(ledger.answer(id_))["beside"] if id_ in ledger.refresh().answers else None

    def finish(self, summary: str) -> None:
        """Store what the program came to, under its charge. Noisy and public facts only."""
        self._curator.ledger.store(self.id, summary)

    def step(
        self, of: Any, event: Event, draw: Callable[[Curator], tuple[Any, Event]], *, word: str = "measuring"
    ) -> Any:
        """Take one step: read it back where it is stored, else pay, draw, store, and read it back.

        `word`: what its share goes to, for people.
        """
        ledger = self._curator.ledger
        digest = step_digest(of)
        loss = events.loss(event)
        step = ledger.step(self.id, event, of=digest, number=len(self._spent) + 1)
        if step.id not in ledger.state.answers:
            with deadline.watch_deadline() as time_over:
                try:
                    noisy, happened = draw(self._curator)
                except Exception:  # whatever it was may quote a cell: say one constant thing
                    ledger.fail(self.id, stopped=stop_signal.is_stop_requested(), late=time_over.passed)
                    raise QueryFailed from None
            if happened != event:
                ledger.fail(self.id)
                raise LedgerFault("the noise drawn is not the noise charged", hint="this is a defect; please report it")
            ledger.store(step.id, json.dumps(noisy, separators=(",", ":")))
        before = self.share_left
        self._spent.append(loss)
        self._contents.append(of)
        self.shares[word] = self.shares.get(word, Fraction(0)) + before - self.share_left
        return json.loads(ledger.answer(step.id))


class Program(ReservationSteps):
    """Steps that measure the rows of a plan over a declared table."""

    #: A digest of the condition on rows, where not all are measured; part of what a step says it measured.
    condition: str | None = None

    def __init__(
        self,
        curator: Curator,
        version: Version,
        reservation: str,
        *,
        plan: Plan | None = None,
        publics: Mapping[int, Any] | None = None,
        joined: Sequence[Version] = (),
        region: Region | None = None,
    ) -> None:
        """`plan`: where rows come from, if not from the declared table as it is; `publics`: the tables it joins.

        `joined`: the versions of other tables that its questions read. `region`: whom the reservation was charged to,
        if not everybody; no step looks at others.
        """
        super().__init__(curator, version, reservation)
        self._joined = tuple(joined)
        self._region = Region.whole() if region is None else region
        scan = Scan(table=version.table, version=version.number)
        self._plan: Plan = plan or scan
        unit_reach = reach(self._plan, {version.table: version.schema})
        if unit_reach.rows != version.schema.unit.rows or scans(self._plan) != [scan]:
            raise ValueError("the plan gives a person more rows, or reads another table")
        if isinstance(self._plan, Filter):
            self.condition = step_digest(relation.to_data(self._plan))
        # The rows of a unit may lie in as many cells.
        self.moves = sensitivity(RowCount(), unit_reach, touched=unit_reach.rows)
        self._tables = curator.locate_tables({scan: version}, publics or {})

    def law(self, share: Fraction) -> Law:
        """The noise on one marginal that costs this share, exactly."""
        if self._event.epsilon is not None:
            return DiscreteLaplace(scale=self.moves.l1 / (self._event.epsilon * share))
        return DiscreteGaussian(sigma2=Fraction(self.moves.l2_squared) / (2 * self._event.rho * share))

    @property
    def schemas(self) -> dict[str, Schema]:
        """The schemas of all tables that its steps read."""
        return {version.table: version.schema for version in (self.version, *self._joined)}

    def run(self, price: Price, *, publics: Mapping[int, Any] | None = None) -> Measurement:
        """A priced inquiry as one step: choices of bounds, keys that are found, a question of a batch.

        Whoever reserved for a part of the people says with the price that it touches no others.
        """
        question = price.inquiry.question()

        def draw(curator: Curator) -> tuple[Any, Event]:
            parts, event = curator.draw(price, curator.tables(price, [self.version, *self._joined], publics or {}))
            return json.loads(Measurement(id=self.id, text="", parts=parts, event=event).to_text()), event

        stored = self.step({"run": question}, price.event, draw, word="describing")
        self._contents[-1:] = [{"run": question, "inquiry": price.inquiry.to_data()}]
        return Measurement.from_text(json.dumps(stored))

    def linear(
        self,
        axes: tuple[Axis, ...],
        parts: Sequence[tuple[Measurable, Law]],
        *,
        beside: Any = None,
        added: AddedRows | None = None,
    ) -> list[Integers]:
        """What strategies make of the numbers of rows in the cells of some axes, each under its own law, as one step.

        `beside`: public data to store with the step. `added`: what is added up, if not the rows of the program's plan.

        Guarantee: the step's loss is the sum of the laws' losses, for neighbours under the version's unit, and nothing
            for units outside the region.
        Because: each strategy says, by its own columns, how far it moves where a unit adds so much to the cells in all
            (docs/proofs/batches.md); an engine counts no unit outside the region.
        """
        cells = Cells(
            plan=self._plan if added is None else added.plan,
            axes=axes,
            statistics=(RowCount() if added is None else added.statistic,),
        )
        most_added = self.version.schema.unit.rows if added is None else added.most_added(self.schemas)
        moves = [strategy.sensitivity(most_added) for strategy, _ in parts]

        def draw(curator: Curator) -> tuple[Any, Event]:
            tables = self._tables if added is None else self._locate(curator, added)
            (exact_counts,) = (
                curator.engine.at(self.version.engine).count(cells, self._region, tables=tables).exact_values
            )
            drawn = [
                curator.add_noise(law, strategy.apply(exact_counts), own)
                for (strategy, law), own in zip(parts, moves, strict=True)
            ]
            noisy = [pack_integers(values) for values, _ in drawn]
            return {"noisy": noisy, "beside": beside}, compose([event for _, event in drawn])

        of: dict[str, Any] = {"linear": [strategy.to_data() for strategy, _ in parts]}
        of |= {"axes": [axis.to_data() for axis in axes]}
        if self.condition is not None:
            of |= {"rows": self.condition}
        if added is not None:
            of |= {"added": added.to_data()}
        event = compose([event_of(law, own) for (_, law), own in zip(parts, moves, strict=True)])
        return [unpack_integers(text) for text in self.step(of, event, draw)["noisy"]]

    def _locate(self, curator: Curator, added: AddedRows) -> TableLocations:
        """Where the tables of a relation lie."""
        versions = {(version.table, version.number): version for version in (self.version, *self._joined)}
        of_scan = {scan: versions[scan.table, scan.version] for scan in scans(added.plan)}
        if any(version.population != self.version.population for version in of_scan.values()):
            raise ValueError("a query cannot read two populations")
        return curator.locate_tables(of_scan, added.publics)

    def read_coded_rows(self, axes: tuple[Axis, ...]) -> CodedRows:
        """The rows as numbers of cells, for `BinnedTable` alone."""
        return self._curator.engine.at(self.version.engine).coded(self._plan, axes, self._region, tables=self._tables)

    def read_person_rows(self, axes: tuple[Axis, ...], codes: tuple[Expression, ...]) -> PersonRows:
        """The rows as numbers of cells, with codes and persons, for `PersonReader` alone."""
        engine = self._curator.engine.at(self.version.engine)
        return engine.person_rows(self._plan, axes, codes, self._region, tables=self._tables)


def step_digest(of: Any) -> str:
    """What stands in the ledger for what a step measures."""
    return hashlib.sha256(json.dumps(of, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def unpack_contents(packed: str) -> Any:
    """What `contents` wrote, of a sane size: it may come from anybody."""
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(base64.b64decode(packed, validate=True), MOST_BYTES)
    if not unpacking.eof or unpacking.unused_data:
        raise ValueError("the contents of the steps are too long, or cut off")
    return json.loads(text)


def content_digest(content: Any) -> str:
    """What the ledger has of a step with this content."""
    if not isinstance(content, dict) or "inquiry" not in content:
        return step_digest(content)
    if set(content) != {"run", "inquiry"} or question_digest(content["inquiry"]) != content["run"]:
        raise ValueError("a step asked something other than its content says")
    return step_digest({"run": content["run"]})


def noise_sd(event: ReservationEvent, *, most_rows: int, share: Fraction) -> float:
    """The standard deviation of the noise on a marginal that costs a share of a reservation. Before any data."""
    if event.epsilon is not None:
        return math.sqrt(2) * float(most_rows / (event.epsilon * share))
    return float(most_rows) / math.sqrt(2 * float(event.rho * share))


def choice_epsilon(event: ReservationEvent, share: Fraction) -> Fraction:
    """The epsilon of a choice by the exponential mechanism that costs a share of a reservation at most.

    In rho a choice of epsilon costs epsilon^2 / 8.
    """
    return event.epsilon * share if event.epsilon is not None else _root(8 * event.rho * share)


def pure_epsilon(event: ReservationEvent, share: Fraction) -> Fraction:
    """The epsilon of a pure mechanism that costs a share of a reservation at most: epsilon^2 / 2 in rho."""
    return event.epsilon * share if event.epsilon is not None else _root(2 * event.rho * share)


def _root(square: Fraction) -> Fraction:
    """A square root, rounded down."""
    return Fraction(math.isqrt(square.numerator * _GRID**2 // square.denominator), _GRID)
