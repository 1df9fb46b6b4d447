"""The curator: the only place where exact numbers and randomness meet.

    charge -> count -> noise -> store -> release

Read this file to believe the rest. It imports the engines, the mechanisms and the ledger together;
nothing else does but `program`, `binned_table`, `person_table`, `graph.graph_steps` and `tables.stream.stream_step`,
which keep the same promises step by step (and `exact_totals`, through which totals leave that an owner publishes,
without noise and without this guarantee):

1. No data is touched before the charge is durable: `Ledger.charge` returns after its commit.
2. Nothing is refunded. A failure after the charge is one constant sentence, counted for the owner.
3. The event that was charged is the event that the draw returns; they are compared.
4. An answer is stored before it is shown, and what is shown is read back from the store.
5. Exact cells live in one local variable between counting and noise, and are never written down.

Cost, refusal and the order of rows are functions of the question and public facts, so this file
needs no branch on data, and has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, assert_never

from discreet.accounting.events import Event, compose
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.sensitivity import Sensitivity
from discreet.engines import deadline, stop_signal
from discreet.engines.engine import DeclarationOutcome, Engine, ExactPersons, TableLocations
from discreet.engines.person_keys import MARK
from discreet.errors import LedgerFault, QueryFailed
from discreet.kernel.erasure import person_keys
from discreet.kernel.measurement import ChosenBins, DiscoveredKeys, Law, Measurement, NoisyCells, Part
from discreet.kernel.priced_charge import priced_charge
from discreet.kernel.table_origin import TableOrigin
from discreet.kernel.version import Version, check_in_time, drop_unless_entered, locate_tables, new_version_name
from discreet.ledger.charge_request import UNNAMED, Asker
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.bits import Bits, system
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.floored_ladder import AnyLadder
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.threshold import KeyThreshold, most_common
from discreet.mechanisms.weighted_threshold import WeightedThreshold
from discreet.plan.cells import Cells, DiscoveredAxis
from discreet.plan.price import ChooseBin, Discover, Measure, Price, Step
from discreet.plan.relation import Scan, scans
from discreet.schema.edge_table import version_engine
from discreet.schema.schema import Table
from discreet.timing import wait_until_due

__all__ = ["Curator", "TableOrigin", "Version", "priced_charge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curator:
    """Answers priced questions over declared tables under a ledger. `_bits` is for tests alone."""

    ledger: Ledger
    engine: Engine
    folder: Path
    _bits: Bits = field(default_factory=system, repr=False)

    def make(
        self,
        table: Table,
        *,
        schema: Mapping[str, Any],
        source: Mapping[str, Any],
        origin: TableOrigin,
        guarantee: Guarantee,
        number: int | None = None,
        before_entry: Callable[[], None] | None = None,
    ) -> DeclarationOutcome:
        """Make a new version of a declared table, and open its population's account where there is none.

        An act of the owner; costs nothing.
        `number`: refused if it is not the next one. `before_entry`: called once it is sure to be entered.

        It has a name of its own, which the ledger keeps: a race for a number leaves no version with another's rows.

        Guarantee: a stop before the last look for it enters nothing and drops what was made; a later one does nothing.
        Because: the last look stands before the first entry; see `drop_unless_entered`.
        """
        stop_signal.check_stop()
        engine = self.engine.at(version_engine(table))
        name = new_version_name(table.name, ledger=self.ledger.id, ending=engine.ending)
        target = engine.place(name, folder=self.folder)
        keys = None if table.schema.unit.is_row else person_keys(self.ledger, self.folder)
        forgotten = self.ledger.refresh().tombstones(origin.whose)
        if keys is not None:
            source = {**source, MARK: keys.mark}
        try:
            try:
                making = origin.make(
                    engine, table, target=target, keys=keys, forgotten=[bytes.fromhex(tag) for tag in forgotten]
                )
            finally:
                wait_until_due()  # a first version is made inside a question, and how long that takes tells of rows
            source = origin.confirm(dict(source))
            check_in_time(name)
            stop_signal.check_stop()
            if before_entry is not None:
                before_entry()
            self.ledger.declare(table.population, guarantee, unit="row" if table.schema.unit.is_row else "person")
            self.ledger.add_version(
                table.name,
                population=table.population,
                schema=dict(schema),
                source=source,
                file=name,
                number=number,
                forgotten=None if keys is None else (origin.whose, forgotten),
            )
        except BaseException:  # a keyboard's, too, which may come just when a whole table has taken its name
            drop_unless_entered(name, ledger=self.ledger, engine=engine, target=target)
            raise
        return making

    def measure(
        self,
        price: Price,
        versions: Sequence[Version],
        *,
        text: str = "",
        publics: Mapping[int, Any] | None = None,
        asker: Asker = UNNAMED,
        also: tuple[str, ...] = (),
        surer: int = 1,
    ) -> Measurement:
        """Charge, count, add noise, store, and return what was stored.

        `versions` are those of the tables in the question, the one asked about first: its population pays. `also`,
        `surer`: see `Measurement`.

        Guarantee: the answer's privacy loss, for neighbours under the version's unit, is that of
            `price.event` on the records of `price.region`, and the ledger holds it before data is read.
        Because: each step's sensitivity bounds how far its cells move (plan/query_sensitivity), its mechanism is
            exact for that bound (mechanisms/), losses add, and everything after reads noisy values alone.
            A refinement is exact together with the release that it refines. The ledger lets a release be refined
            only once, and not after rows were erased; if they are erased after the charge, nothing is stored
            (ledger/refinements).
            A charge whose process died is answered later under the same charge: nothing of the first draw was shown,
            since only stored answers are returned, and one answer is stored under a charge (ledger/charge_lock).
        """
        tables = self.tables(price, versions, publics or {})
        stop_signal.check_stop()
        charge = self.ledger.charge(priced_charge(price, versions, asker))
        is_over = True  # what fails or is stopped stays paid; see `ledger/charge_lock`
        try:
            with deadline.watch_deadline() as time_over:
                try:
                    parts, event = self.draw(price, tables)
                except Exception:  # whatever it was may quote a cell: say one constant thing
                    self.ledger.fail(charge.id, stopped=stop_signal.is_stop_requested(), late=time_over.passed)
                    raise QueryFailed from None
            if event != price.event:
                self.ledger.fail(charge.id)
                raise LedgerFault("the noise drawn is not the noise charged", hint="this is a defect; please report it")
            measurement = Measurement(id=charge.id, text=text, parts=parts, event=event, also=also, surer=surer)
            measurement_text = measurement.to_text()
            try:
                stored = self.ledger.store(charge.id, measurement_text)  # of whoever was first: no other draw leaves
            except LedgerFault:
                is_over = False  # nobody was shown anything, and the ledger may be well again
                raise
            is_resumed = self.ledger.is_resumed(charge.id)
        finally:
            self.ledger.end_answer(charge.id, is_over=is_over)
        drawn = measurement if stored == measurement_text else Measurement.from_text(stored)
        return replace(drawn, is_resumed=is_resumed)

    def stored_measurement(self, id_: str) -> Measurement:
        """A stored measurement, as it was first stored."""
        return Measurement.from_text(self.ledger.answer(id_))

    def tables(self, price: Price, versions: Sequence[Version], publics: Mapping[int, Any]) -> TableLocations:
        """Where the tables of a question lie; refuses before the charge where one is not there."""
        version_of = {(version.table, version.number): version for version in versions}
        version_of_scan = {scan: version_of[scan.table, scan.version] for scan in scans(price.inquiry.plan)}
        if any(version.population != versions[0].population for version in version_of_scan.values()):
            raise ValueError("a query cannot read two populations")
        tables = self.locate_tables(version_of_scan, publics)
        self.engine.at(tables.engine).ready(tables)
        return tables

    def locate_tables(self, version_of_scan: Mapping[Scan, Version], publics: Mapping[int, Any]) -> TableLocations:
        """Where the versions of scans lie."""
        return locate_tables(version_of_scan, publics, engine=self.engine, folder=self.folder)

    def check_ready(self, version: Version) -> None:
        """Refuse, before anything is charged, where a version is not there or its engine cannot be reached."""
        self.engine.at(version.engine).ready(self.locate_tables({version.scan: version}, {}))

    def persons(self, version: Version) -> ExactPersons:
        """The exact persons of a version. For steps that are paid, in `tables.stream`."""
        engine = self.engine.at(version.engine)
        return engine.persons(engine.place(version.file, folder=self.folder))

    def draw(self, price: Price, tables: TableLocations) -> tuple[tuple[Part, ...], Event]:
        """Exact numbers in, noisy parts and the event out, for what is paid. Steps run in order: keys first."""
        parts: list[Part] = []
        happened: list[Event] = []
        discovered_axis: DiscoveredAxis | None = None
        refined = None if price.refines is None else self.stored_measurement(price.refines)
        for step in price.steps:
            part, events = self._step(step, price, tables, discovered_axis, refined)
            if isinstance(part, DiscoveredKeys) and isinstance(step, Discover):
                discovered_axis = DiscoveredAxis(of=step.keys, keys=part.keys)
            parts.append(part)
            happened += events
        return tuple(parts), compose(happened)

    def _step(
        self,
        step: Step,
        price: Price,
        tables: TableLocations,
        discovered_axis: DiscoveredAxis | None,
        refined: Measurement | None,
    ) -> tuple[Part, list[Event]]:
        match step:
            case Discover():
                return self._discover(step, price, tables)
            case Measure(cells=cells):
                exact_values = self._count(replace(cells, discovered_axis=discovered_axis), price, tables)
                drawn = self._noise(step, exact_values, refined)
                noisy = tuple(tuple(values.tolist()) for values, _ in drawn)
                part = NoisyCells(place=step.place, statistics=step.statistics, noisy_values=noisy, laws=step.laws)
                return part, [event for _, event in drawn]
            case ChooseBin(cells=cells, mechanism=mechanism):
                (exact_counts,) = self._count(replace(cells, discovered_axis=discovered_axis), price, tables)
                bins, event = mechanism.choose(exact_counts.reshape(-1, mechanism.bins), bits=self._bits)
                chosen = tuple((int(low), int(middle), int(high)) for low, middle, high in bins)
                return (
                    ChosenBins(
                        place=step.place,
                        quantile=step.quantile,
                        noisy_bins=chosen,
                        confidence=mechanism.confidence,
                    ),
                    [event],
                )
            case _:
                assert_never(step)

    def _count(self, cells: Cells, price: Price, tables: TableLocations) -> tuple[Integers, ...]:
        exact_values = self.engine.at(tables.engine).count(cells, price.region, tables=tables).exact_values
        if len(exact_values) != len(cells.statistics) or any(values.size != cells.size for values in exact_values):
            raise ValueError("the engine returned the wrong number of cells")
        return exact_values

    def add_noise(self, law: Law, exact_values: Integers, moves: Sensitivity) -> tuple[Integers, Event]:
        """Noise on exact cells, and the event that this was. For steps that are paid; the law draws."""
        if isinstance(law, DiscreteLaplace):
            return law.add_noise(exact_values, l1=moves.l1, bits=self._bits)
        return law.add_noise(exact_values, l2_squared=moves.l2_squared, bits=self._bits)

    def _noise(
        self, step: Measure, exact_values: tuple[Integers, ...], refined: Measurement | None
    ) -> list[tuple[Integers, Event]]:
        """Noise on exact cells; where an earlier release of them is refined, drawn given the noise that it has."""
        if refined is None:
            return list(map(self.add_noise, step.laws, exact_values, step.moves))
        earlier = refined.noisy_cells(step.place, step.statistics, step.earlier)
        return [
            part.add_noise(exact, noisy.reshape(exact.shape), l1=moves.l1, bits=self._bits)
            for part, exact, noisy, moves in zip(step.refinements(), exact_values, earlier, step.moves, strict=True)
        ]

    def choose(self, mechanism: ExponentialMechanism | AnyLadder, exact_scores: Integers) -> tuple[int, Event]:
        """A choice by exact scores, and the event that this was. For steps that are paid, in `program`."""
        return mechanism.choose(exact_scores, bits=self._bits)

    def _discover(self, step: Discover, price: Price, tables: TableLocations) -> tuple[Part, list[Event]]:
        """Keys that enough persons share. Sorted before the noise, so that an order tells nothing."""
        exact_groups = self.engine.at(tables.engine).keys(
            step.plan, step.keys, price.region, persons=step.persons, tables=tables, weights=step.weights
        )
        mechanism = step.mechanism
        if isinstance(mechanism, KeyThreshold | WeightedThreshold):
            places, noisy, event = mechanism.discover(exact_groups.exact_persons * step.most_weight, bits=self._bits)
            is_truncated = len(places) > price.most_keys
            places, noisy = most_common(places, noisy, most=price.most_keys)
            part = DiscoveredKeys(
                keys=tuple(exact_groups.exact_keys[place] for place in places),
                answers=step.answers,
                noisy_values=() if step.answers is None else tuple(noisy.tolist()),
                law=None if step.answers is None else mechanism.noise,  # of weights none is told
                threshold=mechanism.threshold,
                is_truncated=is_truncated,
            )
            return part, [event]
        chosen, event = mechanism.choose(exact_groups.exact_persons, bits=self._bits)
        return DiscoveredKeys(keys=tuple(exact_groups.exact_keys[place] for place in chosen)), [event]
