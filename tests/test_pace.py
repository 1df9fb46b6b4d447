"""What comes of counting is entered when its clock says so: answers, failures, rows of streams, first versions."""

import pytest

from clinic import make
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import DiscreetError
from discreet.timing import hold_entries_until, wait_until_due


def kinds(project):
    return [entry.kind for entry in project.ledger.entries()]


@pytest.mark.parametrize(
    "act",
    [
        lambda ledger: ledger.store("r-nothing", "{}"),
        lambda ledger: ledger.fail("r-nothing"),
        lambda ledger: ledger.append_stream_row("r-nothing", number=1, owner_file="", payload="{}"),
    ],
    ids=["store", "fail", "row"],
)
def test_an_end_waits_before_it_is_entered(tmp_path, act):
    project, waited = make(tmp_path), []
    with hold_entries_until(lambda: waited.append(1)), pytest.raises(DiscreetError):
        act(project.ledger)
    assert waited == [1]


def test_a_question_waits_for_its_first_version_and_for_its_answer(tmp_path):
    project, seen = make(tmp_path), []
    with hold_entries_until(lambda: seen.append(kinds(project))):
        project.sql("select count(*) from patients").ask(epsilon="0.1")
    made, answered = seen
    assert "version" not in made and "population" not in made, "nothing of the making is entered before"
    assert answered[-1] == "charge" and kinds(project)[-1] == "answer"


def test_a_making_that_fails_waits_too(tmp_path, monkeypatch):
    """Else who waits behind it would know when it failed."""
    project, waited = make(tmp_path), []
    monkeypatch.setattr(DuckDBEngine, "declare", lambda *told, **more: 1 / 0)
    with hold_entries_until(lambda: waited.append(1)), pytest.raises(ZeroDivisionError):
        project.sql("select count(*) from patients").ask(epsilon="0.1")
    assert waited == [1]


def test_elsewhere_there_is_no_wait():
    with hold_entries_until(pytest.fail):
        pass
    wait_until_due()
