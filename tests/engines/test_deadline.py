"""A question past its deadline is charged and told to the owner as late. It locks nobody out, and no try of it is free."""

from contextlib import contextmanager
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from clinic import make
from discreet.cli.main import app
from discreet.console.pages import ledger_rows
from discreet.engines import deadline
from discreet.engines.stop_signal import StopSignal, stoppable_by
from discreet.errors import LedgerLocked, QueryFailed
from discreet.sql.sql_writer import SqlWriter
from engines.test_stopping import COUNT, SLOW, kinds, slow
from kernel.test_program import BUDGET, LINES, cut_of, start
from synth.worlds import PEOPLE, open_project


@contextmanager
def late(project):
    """Whatever is counted takes minutes, and has a fifth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlWriter, "count", lambda self, cells, region: SLOW)
        patch.setattr(project.curator.engine, "_deadline_s", 0.2)
        yield


def failures(project):
    return [entry.data() for entry in project.ledger.entries() if entry.kind == "failure"]


@pytest.fixture
def project(tmp_path):
    made = make(tmp_path)
    made.version("patients")
    return made


def test_it_locks_nobody_out(project):
    for _ in range(4):
        with late(project), pytest.raises(QueryFailed) as told:
            project.sql(COUNT).ask(epsilon="0.0005", fresh=True)
        assert str(told.value) == str(QueryFailed()), "who asked is told what every failure is told"
    assert [body["late"] for body in failures(project)] == [True] * 4
    assert kinds(project).count("charge") == 4, "each is paid"
    assert not project.ledger.is_locked("patients")
    assert len(project.sql(COUNT).ask(epsilon="0.1")) == 1
    assert project.verify().sound


def test_other_failures_still_lock(project, monkeypatch):
    """Also after a late one: what is noted is noted of one draw alone."""
    with late(project), pytest.raises(QueryFailed):
        project.sql(COUNT).ask(epsilon="0.01", fresh=True)
    monkeypatch.setattr(SqlWriter, "count", lambda self, cells, region: "no SQL")
    for _ in range(3):
        with pytest.raises(QueryFailed):
            project.sql(COUNT).ask(epsilon="0.01", fresh=True)
    assert [body.get("late", False) for body in failures(project)] == [True, False, False, False]
    with pytest.raises(LedgerLocked):
        project.sql(COUNT).ask(epsilon="0.01", fresh=True)


def test_a_stop_is_not_late(project):
    stop = StopSignal()
    with slow(stop), stoppable_by(stop), pytest.raises(QueryFailed):
        project.sql(COUNT).ask(epsilon="0.1", fresh=True)
    (body,) = failures(project)
    assert body["stopped"] is True and "late" not in body


def test_a_late_step_ends_its_program_so_that_another_try_is_paid(tmp_path, monkeypatch):
    project = open_project(tmp_path, PEOPLE, LINES, budget=BUDGET)
    program = start(project)
    monkeypatch.setattr(SqlWriter, "places", lambda self, plan, axes, region: SLOW)
    monkeypatch.setattr(project.curator.engine, "_deadline_s", 0.2)
    with pytest.raises(QueryFailed):
        cut_of(program).measure([(0,)], [program.law(Fraction(1, 4))])
    assert failures(project) == [{"id": program.id, "late": True}]
    assert project.ledger.reservation(program.id).closed and not project.ledger.is_locked("people")
    assert start(project).id != program.id


def test_the_owner_is_told(project, monkeypatch):
    with late(project), pytest.raises(QueryFailed):
        project.sql(COUNT).ask(epsilon="0.1", fresh=True)
    stop = StopSignal()
    with slow(stop), stoppable_by(stop), pytest.raises(QueryFailed):
        project.sql(COUNT).ask(epsilon="0.1", fresh=True)
    monkeypatch.setattr(SqlWriter, "count", lambda self, cells, region: "no SQL")
    with pytest.raises(QueryFailed):
        project.sql(COUNT).ask(epsilon="0.1", fresh=True)
    words = [ledger_rows.row_sentence("failure", body) for body in failures(project)]
    told = ["took too long", "was stopped", "was not completed"]
    assert words == [f"{body['id']} {how}; the charge stays" for body, how in zip(failures(project), told, strict=True)]
    shown = CliRunner().invoke(app, ["ledger", "show", "--project", str(project.folder)], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    marks = [line.split("failure")[1].split()[0] for line in shown.output.splitlines() if "failure" in line]
    assert marks[0] == "," and "failure, late" in shown.output and "failure, stopped" in shown.output


def test_what_nobody_keeps_is_noted_for_nobody():
    deadline.expiry_callback()()
    with deadline.watch_deadline() as one:
        note = deadline.expiry_callback()
        with deadline.watch_deadline() as other:
            note()
    assert one.passed and not other.passed
