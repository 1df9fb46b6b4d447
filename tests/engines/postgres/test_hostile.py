"""Rows as bad as can be in PostgreSQL, under every construct: after the charge nothing fails, and nothing is told."""

import logging

import pytest

import discreet
from discreet.sql.postgres_dialect import PostgreSQLDialect
from engines.postgres.server import execute, load
from laws.constructs import EXPRESSIONS, POSITIONS
from laws.test_errors_tell_nothing import BAD, DECLARED, GOOD, MARKS, NAMES, outcome
from tiers import size


def make(folder, address, rows):
    """A project over a table of texts that holds these rows."""
    table = load(
        address,
        [{name: str(cell) or None for name, cell in zip(NAMES, row, strict=True)} for row in rows],
        types=dict.fromkeys(NAMES, "text"),
    )
    discreet.init(folder)
    name = table.strip('"')
    told = DECLARED.replace('source = "visits.csv"', f'source = "{name}"\nengine = "{address}"')
    with (folder / "discreet.toml").open("a") as stream:
        stream.write(told)
    project = discreet.open(folder)
    project.refresh("visits")
    return project


@pytest.fixture(scope="module")
def kept(tmp_path_factory, quick_files, postgres_address):
    state = str(tmp_path_factory.mktemp("kept"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", state)
        rows = {"good": GOOD, "bad": [*GOOD[:6], *BAD, *GOOD[6:]], "empty": []}
        made = {name: make(tmp_path_factory.mktemp(name), postgres_address, these) for name, these in rows.items()}
    return made, state


@pytest.fixture
def clinics(kept, monkeypatch):
    made, state = kept
    monkeypatch.setenv("DISCREET_STATE", state)
    return made


def ask(clinics, position, expressions):
    """How many were answered, all alike."""
    answered = 0
    for expression in expressions:
        text = POSITIONS[position].format(expression, expression)
        good, bad, empty = (outcome(clinics[name], text) for name in ("good", "bad", "empty"))
        assert good == bad == empty, text
        answered += good[0] == "answer"
        assert not any(mark in str(good).lower() for mark in MARKS)
    return answered


@pytest.mark.parametrize("position", POSITIONS)
def test_no_construct_tells_of_a_row(clinics, capfd, caplog, position):
    caplog.set_level(logging.DEBUG)
    turn = list(POSITIONS).index(position)
    assert ask(clinics, position, EXPRESSIONS[turn % 5 :: size(15, 5)])
    seen = capfd.readouterr()
    assert not any(mark in (seen.out + seen.err + caplog.text).lower() for mark in MARKS)


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("position", POSITIONS)
def test_no_construct_at_all_tells_of_a_row(clinics, position):
    ask(clinics, position, EXPRESSIONS)


def test_a_row_that_fails_would_be_seen(clinics, monkeypatch):
    """With a form that some rows turn into an error the check fails."""
    text = "SELECT count(*) AS n FROM visits WHERE length(note) > 3"
    assert outcome(clinics["bad"], text)[0] == "answer"
    monkeypatch.setattr(PostgreSQLDialect, "length", lambda self, text: f"CAST(substr({text}, 7) || '0' AS BIGINT)")
    with pytest.raises(AssertionError, match="failed after its charge"):
        outcome(clinics["bad"], text)


def test_the_server_was_told_no_cell(clinics, postgres_address):
    """What is left there of our statements holds no word of a row."""
    seen = execute(
        postgres_address,
        "SELECT query FROM pg_stat_activity WHERE application_name = 'discreet' AND datname = current_database()",
    )
    assert seen and not any(mark in str(seen) for mark in MARKS)
