"""Four processes of eight threads race for one budget. It is spent to the last unit, and not by one more."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from crash.harness import IMPORTS
from discreet.ledger.ledger import Ledger
from ledger.ledgers import guarantee, make
from tiers import size

RACER = Path(__file__).with_name("racer.py")
PROCESSES, THREADS = 4, 8
LIMIT = Fraction(size(1, 2))  # 100 charges of 0.01 each


def race(path: Path, *mutants: str) -> tuple[list[str], list[str]]:
    """Start them, let them go together; return the ids they were given and what went wrong with them."""
    racers = subprocess.Popen(
        [sys.executable, str(RACER), str(path), str(THREADS), f"processes={PROCESSES}", *mutants],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": IMPORTS},
    )
    assert racers.stdout is not None
    assert racers.stdout.readline() == "ready\n"
    said, wrong = racers.communicate("go\n", timeout=400)
    errors = [line for line in wrong.splitlines() if "Error" in line or "Fault" in line or "Tampered" in line]
    return said.split(), errors


def problems(path: Path, ids: list[str], errors: list[str]) -> list[str]:
    """Everything that a race must never leave behind."""
    found = list(errors)
    raw = sqlite3.connect(path)
    rows = [row[0] for row in raw.execute("SELECT id FROM charges")]
    units = raw.execute("SELECT sum(pure) FROM charges").fetchone()[0] or 0
    raw.close()
    if units != LIMIT * 10**9:
        found.append(f"{units} units spent of {LIMIT * 10**9}")
    if len(ids) != LIMIT * 100:
        found.append(f"{len(ids)} charges were accepted")
    if sorted(ids) != sorted(rows):
        found.append("an accepted charge has no row, or more than one")
    try:
        with Ledger.open(path) as ledger:
            if ledger.account_status("patients").remaining.epsilon != 0:
                found.append("something remains")
            if not ledger.verify().sound:
                found.append("the chain does not verify")
    except Exception as fault:
        found.append(f"the ledger does not open: {fault}")
    return found


def test_the_budget_is_spent_exactly(path: Path):
    make(path, guarantee(LIMIT, 0, "pure")).close()
    ids, errors = race(path)
    assert problems(path, ids, errors) == []


def test_reading_before_locking_is_caught(path: Path):
    make(path, guarantee(LIMIT, 0, "pure")).close()
    ids, errors = race(path, "without_locks")
    assert problems(path, ids, errors) != []
