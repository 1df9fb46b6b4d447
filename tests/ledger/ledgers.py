"""Ledgers to test on: one population, one table, and questions with a price."""

from __future__ import annotations

import itertools
import pickle
import shutil
from fractions import Fraction
from pathlib import Path

import psycopg

from discreet.accounting.events import Event, GaussianEvent, LaplaceEvent
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Box, Region, ValueSet
from discreet.ledger.charge_request import Asker, ChargeRequest
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress, LedgerLocation
from discreet.ledger.postgres_tables import TABLES
from discreet.ledger.records import ChargeRecord

WHOLE = Region.whole()
_questions = itertools.count()


def guarantee(epsilon: object = 3, delta: object = 0, accounting: str = "renyi") -> Guarantee:
    return Guarantee(epsilon=Fraction(epsilon), delta=Fraction(delta), accounting=accounting)


def people(*groups: int) -> Region:
    """Those whose column `group` holds one of these."""
    return Region.of([Box({"group": ValueSet.of(groups)})])


def laplace(epsilon: object) -> LaplaceEvent:
    return LaplaceEvent(scale=1 / Fraction(epsilon), l1=1)


def gaussian(rho: object) -> GaussianEvent:
    return GaussianEvent(sigma2=1 / (2 * Fraction(rho)), l2_squared=1)


def make(path: LedgerLocation, budget: Guarantee | None = None) -> Ledger:
    """A ledger with population and table `patients`, version 1."""
    ledger = Ledger.create(path)
    ledger.declare("patients", budget or guarantee())
    ledger.add_version("patients", population="patients", schema={"a": 1}, source={"file": "x.csv"})
    return ledger


def ask(
    ledger: Ledger,
    event: Event,
    *,
    region: Region = WHOLE,
    table: str = "patients",
    population: str = "patients",
    version: int = 1,
    question: str | None = None,
    price: object = "0.5",
    analyst: str | None = None,
) -> ChargeRecord:
    return ledger.charge(
        ChargeRequest(
            population=population,
            table=table,
            version=version,
            region=region,
            event=event,
            question=question or f"q{next(_questions)}",
            price=price,
            asker=Asker(name=analyst),
        )
    )


def copy_ledger(path: LedgerLocation, to: LedgerLocation) -> None:
    """Copy a ledger's files, its write-ahead log included. Close it first: a copy drops this process's locks.

    A ledger in PostgreSQL is copied to a file, and back as a superuser restores a dump.
    """
    if isinstance(path, DatabaseAddress):
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(pickle.dumps(dump(path)))
        return
    if isinstance(to, DatabaseAddress):
        restore(to, pickle.loads(path.read_bytes()))
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    for ending in ("", "-wal", "-shm"):
        source, target = path.with_name(path.name + ending), to.with_name(to.name + ending)
        target.unlink(missing_ok=True)
        if source.exists():
            shutil.copyfile(source, target)


def dump(address: DatabaseAddress) -> dict[str, list[tuple]]:
    """All rows of a ledger in PostgreSQL."""
    with psycopg.connect(address.url) as raw:
        return {name: raw.execute(f"SELECT * FROM discreet_ledger_{name}").fetchall() for name in TABLES}


def restore(address: DatabaseAddress, rows: dict[str, list[tuple]]) -> None:
    """Put rows in the place of those that are there, past every trigger."""
    with psycopg.connect(address.url) as raw:
        raw.execute("SET session_replication_role = replica")
        for name in TABLES:
            raw.execute(f"DELETE FROM discreet_ledger_{name}")
            for row in rows[name]:
                raw.execute(f"INSERT INTO discreet_ledger_{name} VALUES ({', '.join(['%s'] * len(row))})", row)


def copy_folder(folder: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)


class Copies:
    """Copies of a closed ledger and of its state folder, by name."""

    def __init__(self, path: Path, state: Path, folder: Path) -> None:
        self.path, self.state, self.folder = path, state, folder

    def take(self, name: str) -> None:
        copy_ledger(self.path, self.folder / name / "ledger.db")
        copy_folder(self.state, self.folder / name / "state")

    def restore_ledger(self, name: str) -> None:
        copy_ledger(self.folder / name / "ledger.db", self.path)

    def restore_state(self, name: str) -> None:
        copy_folder(self.folder / name / "state", self.state)
