"""Whole projects whose ledger lies in PostgreSQL: everything that enters a row there, from the command line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import discreet
from clinic import make, run
from discreet.ledger.ledger_location import DatabaseAddress
from tables.publish import census
from tables.stream import visits


@pytest.fixture
def folder(tmp_path: Path, address: DatabaseAddress) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "discreet.toml").write_text(f'[project]\nledger = "{address.url}"\n')
    return folder


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], folder: Path):
    def call(*words: str, code: int = 0):
        found, data, told = run(capsys, folder, *words)
        assert found == code, (data, told)
        return data

    return call


def rows(folder: Path) -> Counter[str]:
    """The kinds of rows, after the whole chain was verified from the server."""
    with discreet.open(folder).ledger as ledger:
        assert ledger.verify().sound
        return Counter(entry.kind for entry in ledger.entries())


COUNT = "select sex, count(*) n, avg(age) a from patients group by sex"


def test_questions(folder: Path, call):
    make(folder, budget="{ epsilon = 2.0 }")
    first = call("query", COUNT, "--epsilon", "0.5")
    assert call("query", COUNT, "--epsilon", "0.5")["rows"] == first["rows"]
    call("query", "select count(*) from patients where sex = 'F'", "--epsilon", "0.5")
    call("query", "select count(*) from patients where sex = 'M'", "--epsilon", "0.5")
    assert call("reconcile", "patients")["cost"]["epsilon"] == 0
    assert rows(folder) == {"open": 1, "population": 1, "version": 1, "charge": 3, "answer": 3}
    call("query", COUNT, "--epsilon", "5", "--fresh", code=4)
    call("budget", "grant", "patients", "--epsilon", "9")
    call("refresh", "patients", "--force")
    call("query", COUNT, "--epsilon", "0.5")
    assert rows(folder) == {"open": 1, "population": 1, "grant": 1, "version": 2, "charge": 4, "answer": 4}


def test_a_program_reserves_and_is_replayed(folder: Path, call):
    make(folder, budget="{ epsilon = 4, delta = 1e-6 }")
    words = ("synth", "fit", "patients", "--epsilon", "1", "--model", "mst")
    fitted = call(*words)
    found = rows(folder)
    assert found["charge"] == 1 and found["step"] > 1 and found["answer"] >= found["step"]
    assert call(*words)["release"] == fitted["release"]
    assert rows(folder) == found


def test_marginals(folder: Path, call):
    make(folder, budget="{ epsilon = 4, delta = 1e-6 }")
    call("marginals", "patients", "sex", "smoker", "--epsilon", "1")
    assert call("marginals", "patients", "sex", "smoker", "--epsilon", "1")["cached"]
    assert rows(folder)["charge"] >= 1


def test_tables_with_exact_totals(folder: Path, call):
    census.make(folder, extra=census.EXACT)
    plan = census.plan(folder, 'invariants = ["state"]\n' + census.PLAN)
    call("publish", str(plan), "--epsilon", "1", "--to", str(folder / "out"))
    found = rows(folder)
    assert found["invariant"] == 1 and found["charge"] >= 1
    with discreet.open(folder).ledger as ledger:
        (told,) = ledger.state.invariants
        assert ledger.answer(told)


def test_a_stream(folder: Path, call):
    project = visits.make(folder, {"a": 2, "b": 1})
    words = ("ranges", "visits", "--stream", "daily")
    call(*words, "--epsilon", "2", "--delta", "1e-6", "--horizon", "5", "--contributions", "2")
    for number in range(1, 4):
        assert len(call(*words, "--next")["rows"]) >= 1
        visits.grow(project, {"a": 2 + number, "b": 1, f"c{number}": 1})
    found = rows(folder)
    assert found["row"] == 3 and found["charge"] == 1
    with discreet.open(folder).ledger as ledger:
        (stream,) = ledger.state.streams.values()
        assert len(ledger.stream_rows(stream.id)) == 3


def test_somebody_is_forgotten_and_a_failure_is_kept(folder: Path, call):
    project = visits.make(folder, {"a": 2, "b": 1})
    call("query", "select count(*) from visits", "--epsilon", "0.5")
    call("forget", "visits", "a", "--yes")
    with project.ledger as ledger:
        for charge in list(ledger.refresh().charges.values())[:1] * 3:
            ledger.fail(charge.id)
    call("query", "select ward, count(*) n from visits group by ward", "--epsilon", "0.5", code=5)
    call("ledger", "acknowledge")
    call("query", "select ward, count(*) n from visits group by ward", "--epsilon", "0.5")
    found = rows(folder)
    assert (found["forget"], found["failure"], found["acknowledge"]) == (2, 3, 1)  # before and after
