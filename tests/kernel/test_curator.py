"""The curator's five promises, each with the bug that it rules out planted and seen."""

import json

import numpy as np
import pytest

from clinic import make
from discreet.accounting.events import LaplaceEvent
from discreet.engines.engine import EngineFailure, ExactCells
from discreet.errors import LedgerFault, LedgerLocked, QueryFailed, UsageError
from discreet.kernel.measurement import Measurement
from discreet.mechanisms.laplace import DiscreteLaplace

COUNT = "select count(*) from patients"


class Spy:
    """An engine that looks around when it is asked to count, and may fail."""

    def __init__(self, engine, look=lambda: None, fail=None):
        self.engine, self.look, self.fail = engine, look, fail

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def at(self, address):
        return self

    def count(self, *args, **more):
        self.look()
        if self.fail:
            raise self.fail
        return self.engine.count(*args, **more)


def spied(project, **more):
    curator = project.curator
    project.__dict__["curator"] = type(curator)(
        ledger=curator.ledger, engine=Spy(curator.engine, **more), folder=curator.folder
    )
    return project


def kinds(project):
    return [entry.kind for entry in project.ledger.entries()]


def test_the_charge_is_durable_before_data_is_touched(tmp_path):
    import discreet

    project = make(tmp_path)
    seen = []
    spied(project, look=lambda: seen.append(kinds(discreet.open(tmp_path))[-1]))
    project.sql(COUNT).ask(epsilon="0.1")
    assert seen == ["charge"]  # another process would have seen it
    assert kinds(project)[-2:] == ["charge", "answer"]


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "problem", [EngineFailure("cell 4711"), RuntimeError("patient 4711"), MemoryError(), ValueError()]
)
def test_a_failure_is_one_constant_sentence_and_stays_charged(tmp_path, problem):
    project = spied(make(tmp_path), fail=problem)
    with pytest.raises(QueryFailed) as caught:
        project.sql(COUNT).ask(epsilon="0.1")
    assert "4711" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    assert str(caught.value) == str(QueryFailed())
    assert project.budget("patients").spent.epsilon == pytest.approx(0.1)
    assert kinds(project)[-1] == "failure"


def test_three_failures_lock_the_table_until_the_owner_acknowledges(tmp_path):
    project = make(tmp_path)
    spied(project, fail=EngineFailure("no"))
    for _ in range(3):
        with pytest.raises(QueryFailed):
            project.sql(COUNT).ask(epsilon="0.1")
    with pytest.raises(LedgerLocked):
        project.sql(COUNT).ask(epsilon="0.1")
    assert project.budget("patients").spent.epsilon == pytest.approx(0.3)
    assert project.acknowledge().unlocked == ("patients",)
    project.curator.engine.fail = None
    assert not project.sql(COUNT).ask(epsilon="0.1").cached


def test_a_failed_question_is_charged_anew(tmp_path):
    project = make(tmp_path)
    spied(project, fail=EngineFailure("no"))
    with pytest.raises(QueryFailed):
        project.sql(COUNT).ask(epsilon="0.1")
    project.curator.engine.fail = None
    assert not project.sql(COUNT).ask(epsilon="0.1").cached
    assert project.budget("patients").spent.epsilon == pytest.approx(0.2)


def test_a_keyboard_interrupt_keeps_the_charge_and_is_no_failure(tmp_path):
    project = spied(make(tmp_path), fail=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        project.sql(COUNT).ask(epsilon="0.1")
    assert kinds(project)[-1] == "charge"


def test_noise_that_is_not_the_noise_charged_is_never_shown(tmp_path, monkeypatch):
    project = make(tmp_path)
    real = DiscreteLaplace.add_noise

    def cheat(self, exact, *, l1, bits):
        noisy, _ = real(self, exact, l1=l1, bits=bits)
        return noisy, LaplaceEvent(scale=self.scale / 2, l1=l1)

    monkeypatch.setattr(DiscreteLaplace, "add_noise", cheat)
    with pytest.raises(LedgerFault, match="not the noise charged"):
        project.sql(COUNT).ask(epsilon="0.1")
    assert "answer" not in kinds(project)


def test_an_answer_is_stored_before_it_is_shown(tmp_path, monkeypatch):
    project = make(tmp_path)
    monkeypatch.setattr(type(project.ledger), "store", lambda *_: (_ for _ in ()).throw(LedgerFault("disk full")))
    with pytest.raises(LedgerFault, match="disk full"):
        project.sql(COUNT).ask(epsilon="0.1")
    assert "charge" in kinds(project) and "answer" not in kinds(project)


def test_what_is_shown_is_read_back_from_the_store(tmp_path):
    project = make(tmp_path)
    release = project.sql(COUNT).ask(epsilon="0.1")
    stored = Measurement.from_text(project.ledger.answer(release.id))
    (part,) = stored.parts
    assert part.noisy_values == ((release.rows[0][0],),)
    assert stored.event == release.event == part.laws[0].event(l1=1)
    assert stored.text == COUNT
    assert Measurement.from_text(stored.to_text()) == stored


def test_exact_cells_do_not_leave(tmp_path):
    import pickle

    cells = ExactCells((np.array([4711]),))
    assert "4711" not in f"{cells!r} {cells!s} {cells}"
    with pytest.raises(TypeError):
        pickle.dumps(cells)


def test_no_exact_count_is_written_anywhere(tmp_path, monkeypatch):
    """A canary: the engine counts 977,977,977 and noise is small; the exact number is in no byte that is written."""
    project = make(tmp_path)
    project.version("patients")
    count = 977_977_977
    monkeypatch.setattr(type(project.curator.engine), "count", lambda *_, **__: ExactCells((np.array([count]),)))
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, size, *, bits: np.full(size, 5, dtype=np.int64))
    release = project.sql(COUNT).ask(epsilon="0.1")
    assert release.rows == ((count + 5,),)
    stored = json.loads(project.ledger.answer(release.id))
    assert set(stored) == {"id", "text", "parts", "event", "also"}
    assert set(stored["parts"][0]) == {"kind", "place", "statistics", "noisy", "laws"}
    project.ledger.close()
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix not in {".csv", ".parquet"}]
    assert len(written) >= 2
    for path in written:
        assert str(count).encode() not in path.read_bytes()


def test_a_price_belongs_to_its_table(tmp_path):
    from dataclasses import replace

    project = make(tmp_path)
    question = project.sql(COUNT)
    version = project.version("patients")
    from fractions import Fraction

    from discreet.plan.price import price

    asked = question.query
    found = price(asked.inquiry, asked.reach, needs=asked.needs, epsilon=Fraction(1, 10))
    for other in (replace(version, table="others"), replace(version, number=7)):
        with pytest.raises(KeyError):
            project.curator.measure(found, [other])
    strangers = replace(version, population="others")
    with pytest.raises(UsageError):
        project.curator.measure(found, [strangers])
    assert "charge" not in kinds(project)


def test_an_engine_that_returns_other_cells_fails(tmp_path):
    project = make(tmp_path)
    spied(project)
    project.curator.engine.count = lambda *args, **more: ExactCells((np.zeros(3, dtype=np.int64),))
    with pytest.raises(QueryFailed):
        project.sql(COUNT).ask(epsilon="0.1")
