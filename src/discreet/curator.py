"""The curator: the only place where exact numbers and randomness meet.

    charge -> count -> noise -> store -> release

Read this file to believe the rest. It imports the engines, the mechanisms and the ledger together;
nothing else does. What it promises:

1. No data is touched before the charge is durable: `Ledger.charge` returns after its commit.
2. Nothing is refunded. A failure after the charge is one constant sentence, counted for the owner.
3. The event that was charged is the event that the draw returns; they are compared.
4. An answer is stored before it is shown, and what is shown is read back from the store.
5. Exact cells live in one local variable between counting and noise, and are never written down.

Cost, refusal and the order of rows are functions of the question and public facts, so this file
needs no branch on data, and has none.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.accounting.events import Event
from discreet.accounting.guarantee import Guarantee
from discreet.engines.engine import Engine, Making
from discreet.errors import LedgerFault, QueryFailed
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.bits import Bits, system
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.price import Price
from discreet.release import Measurement
from discreet.schema.schema import Schema, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One declared table that exists: its number, its schema as the ledger holds it, and whose budget it is."""

    table: str
    number: int
    population: str
    schema: Schema
    file: str


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
        base: Path,
        guarantee: Guarantee,
        number: int | None = None,
    ) -> Making:
        """Make a new version of a declared table, and open its population's account where there is none.

        An act of the owner; costs nothing.
        `number`: refused if it is not the next one.

        The file has a name of its own, which the ledger keeps: a race for a number leaves no version with
        another's rows.
        """
        name = f"{_slug(table.name)}-{secrets.token_hex(8)}.parquet"
        making = self.engine.declare(table, folder=base, target=self.folder / name)
        try:
            self.ledger.declare(table.population, guarantee)
            self.ledger.add_version(
                table.name,
                population=table.population,
                schema=dict(schema),
                source=dict(source),
                file=name,
                number=number,
            )
        except BaseException:
            (self.folder / name).unlink(missing_ok=True)
            raise
        return making

    def measure(self, price: Price, version: Version, *, analyst: str | None = None) -> Measurement:
        """Charge, count, add noise, store, and return what was stored.

        Guarantee: the answer's privacy loss, for neighbours under the version's unit, is that of
            `price.event` on the records of `price.cells.region`, and the ledger holds it before data is read.
        Because: `price.sensitivity` bounds how far the cells move (plan/stability), the mechanism's noise
            is exact for that bound (mechanisms/), and everything after the noise reads the noisy cells alone.
        """
        cells = price.cells
        if cells.table != version.table:
            raise ValueError("a price for another table")
        if not (self.folder / version.file).is_file():
            raise LedgerFault(
                f"version {version.number} of {version.table!r} is not on the disk any more",
                hint=f"bring the folder back, or discreet refresh {version.table}",
            )
        charge = self.ledger.charge(
            population=version.population,
            table=version.table,
            version=version.number,
            region=cells.region,
            event=price.event,
            question=cells.question(),
            price=price.epsilon,
            analyst=analyst,
        )
        try:
            noisy_values, event = self._noisy(price, version)
        except Exception:  # whatever it was may quote a cell: say one constant thing
            self.ledger.fail(charge.id)
            raise QueryFailed from None
        if event != price.event:
            self.ledger.fail(charge.id)
            raise LedgerFault("the noise drawn is not the noise charged", hint="this is a defect; please report it")
        measurement = Measurement(
            id=charge.id,
            cells=cells.to_data(),
            shape=cells.shape,
            noisy_values=noisy_values,
            law=price.mechanism,
            event=event,
        )
        self.ledger.store(charge.id, measurement.to_text())
        return self.stored(charge.id)

    def stored(self, id_: str) -> Measurement:
        """A stored measurement, as it was first stored."""
        return Measurement.from_text(self.ledger.answer(id_))

    def _noisy(self, price: Price, version: Version) -> tuple[tuple[int, ...], Event]:
        """Exact cells in, noisy cells and the event out."""
        exact_cells = self.engine.count(price.cells, version.schema, file=self.folder / version.file).exact_values
        if exact_cells.size != price.cells.size:
            raise ValueError("the engine returned another number of cells")
        mechanism, moves = price.mechanism, price.sensitivity
        if isinstance(mechanism, DiscreteLaplace):
            noisy, event = mechanism.release(exact_cells, l1=moves.l1, bits=self._bits)
        else:
            noisy, event = mechanism.release(exact_cells, l2_squared=moves.l2_squared, bits=self._bits)
        return tuple(int(value) for value in noisy), event


def _slug(name: str) -> str:
    """A table's name as part of a file's name: for people, not for machines."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)[:40]
