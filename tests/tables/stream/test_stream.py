"""A stream on the whole path: charged once, each step once, what is counted bounded and remembered, refusals."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.accounting.events import GaussianEvent, LaplaceEvent, loss
from discreet.accounting.zcdp_conversion import rho_from_epsilon
from discreet.engines import stream_counts
from discreet.errors import BudgetExceeded, LedgerFault, QueryFailed, UsageError
from discreet.tables.stream import project_streams, stream_step
from discreet.tables.stream.square_root_counter import SquareRootCounter
from discreet.tables.stream.stored_counters import open_counter
from discreet.tables.stream.stream_row import StreamRow
from discreet.tables.stream.tree_counter import TreeCounter
from tables.stream.visits import as_an_older_program, grow, make, state, write

MANY = {f"p{number}": 1 + number % 4 for number in range(40)}


def started(project, name="daily", **more):
    terms = {"epsilon": 2, "delta": "1e-6", "horizon": 10, "contributions": 2} | more
    return project_streams.stream(project, "visits", name, **terms)[0]


@pytest.fixture
def project(tmp_path):
    return make(tmp_path, MANY)


def test_gaussian_where_there_is_a_delta_and_the_charge_is_that_of_the_matrix(project):
    stream = started(project)
    held = project.ledger.state.streams[stream.id]
    root = SquareRootCounter(10)
    assert held.event == GaussianEvent(
        sigma2=Fraction(4 * root.strategy.sensitivity(1).l2_squared)
        / (2 * rho_from_epsilon(Fraction(2), Fraction(1, 10**6))),
        l2_squared=4 * int(max((root.strategy.matrix().astype(object) ** 2).sum(axis=0))),
    )
    charge = project.ledger.state.charges[stream.id]
    assert Fraction(charge.cost.rho, 10**12) >= loss(held.event).rho
    assert project.budget("visits").events == 1
    assert stream.plan.price.startswith("epsilon 2, delta 1e-06 (rho 0.08")
    assert stream.plan.cost.epsilon is None


@pytest.mark.thin(1)
@pytest.mark.parametrize("budget", ["{ epsilon = 10 }", "{ epsilon = 10, delta = 1e-6 }"])
def test_a_tree_of_laplace_noise_where_there_is_none(tmp_path, budget):
    project = make(tmp_path, MANY, budget=budget)
    stream = started(project, delta=None if "delta" not in budget else 0, horizon=60)
    assert stream.plan.price == "epsilon 2 (pure)"
    held = project.ledger.state.streams[stream.id]
    assert isinstance(stream.plan.counter, TreeCounter)
    l1 = int(np.abs(stream.plan.counter.strategy.matrix()).sum(axis=0).max())
    assert held.event == LaplaceEvent(scale=Fraction(2 * l1, 2), l1=2 * l1)
    assert loss(held.event).epsilon == 2
    for _ in range(9):
        stream.next()
    assert [len(row.noisy) for row in stream.rows] == [1] * 7 + [2, 1]  # blocks of 8


def test_without_a_delta_it_is_as_for_every_question(tmp_path):
    """Pure where the pure arm holds it; under zCDP alone an epsilon is a price, and rho is half its square."""
    either = make(tmp_path / "either", MANY)
    assert isinstance(started(either, delta=None).plan.counter, TreeCounter)
    again, there = project_streams.stream(either, "visits", "daily", epsilon=2, horizon=10, contributions=2)
    assert there and again.plan.price == "epsilon 2 (pure)"
    zcdp = make(tmp_path / "zcdp", MANY, budget='{ epsilon = 10, delta = 1e-6 }\naccounting = "zcdp"')
    stream = started(zcdp, delta=None, epsilon=1, contributions=1)
    assert loss(stream.plan.event).rho == Fraction(1, 2)
    assert stream.plan.price == "rho 0.5"


def test_what_is_counted(project):
    stream = started(project)
    stream.next("mon")
    assert state(project, stream).exact_steps == (sum(min(2, count) for count in MANY.values()),)
    stream.next("tue")  # nothing arrived
    grow(project, {**MANY, "p0": 9, "new": 1, "newer": 7})
    stream.next("wed")
    grow(project, {"new": 3})  # everybody else was taken out
    stream.next("thu")
    grow(project, {**MANY, "new": 2})
    stream.next("fri")
    assert state(project, stream).exact_steps[1:] == (0, 1 + 1 + 2, 1, 0)
    assert int(state(project, stream).exact_counts.max()) == 2


def test_rows_stay_what_they_were_and_agree_with_what_was_drawn(project, tmp_path):
    stream = started(project)
    rows = [stream.next(label) for label in ("a", "b", "c")]
    again = project_streams.stream(discreet.open(tmp_path), "visits", "daily")[0]
    assert again.rows == stream.rows == tuple(rows)
    assert [row.step for row in rows] == [1, 2, 3]
    noisy = np.array([value for row in rows for value in row.noisy], dtype=float)
    matrix = SquareRootCounter(10).strategy.matrix()[:3, :3].astype(float)
    best = np.linalg.solve(matrix, noisy)
    assert np.allclose([row.count.value for row in rows], best)
    assert np.allclose([row.total.value for row in rows], np.cumsum(best))
    assert stream.interval("b", "c").value == pytest.approx(best[1:].sum())
    assert stream.interval().value == pytest.approx(best.sum()) == pytest.approx(rows[-1].total.value)
    assert stream.interval(2, 2) == rows[1].count
    assert stream.interval(1, 2).plus_minus < stream.interval(1, 2, confidence="0.999").plus_minus
    assert StreamRow.from_text(rows[0].to_text()) == rows[0]


def test_a_label_is_one_step(project):
    stream = started(project)
    first = stream.next("2026-03-01")
    seq = project.ledger.refresh().seq
    assert stream.next("2026-03-01") == first
    assert project.ledger.refresh().seq == seq
    assert stream.steps == 1


def test_starting_the_same_again_is_free_and_another_under_its_name_refused(project, tmp_path):
    stream, there = project_streams.stream(
        project, "visits", "daily", epsilon=2, delta="1e-6", horizon=10, contributions=2
    )
    assert not there
    other = discreet.open(tmp_path)
    again, there = project_streams.stream(
        other, "visits", "daily", epsilon="2.0", delta=1e-6, horizon="10", contributions="2"
    )
    assert there and again.id == stream.id
    assert project.budget("visits").events == 1
    for more in ({"epsilon": 1}, {"horizon": 11}, {"contributions": 1}, {"delta": 0}):
        with pytest.raises(UsageError, match="already"):
            started(project, **more)
    assert project.budget("visits").events == 1


def test_several_streams_have_their_own_memory(project):
    one, two = started(project), started(project, "weekly", contributions=5)
    one.next()
    grow(project, {**MANY, "new": 1})
    one.next()
    two.next()
    assert state(project, one).exact_steps[-1] == 1
    assert state(project, two).exact_steps == (sum(MANY.values()) + 1,)
    assert [each.name for each in project_streams.streams(project, "visits")] == ["daily", "weekly"]


def test_the_horizon(project):
    stream = started(project, horizon=2)
    stream.next()
    stream.next()
    seq = project.ledger.refresh().seq
    with pytest.raises(UsageError, match="horizon of 2 steps") as caught:
        stream.next()
    assert "another stream" in caught.value.hint
    assert project.ledger.refresh().seq == seq
    folder = project.curator.folder / stream_counts.FOLDER / stream.id
    assert stream_counts.states(folder) == []  # who was counted need not be known any more
    assert len(stream.rows) == 2


def test_only_the_newest_state_is_kept(project):
    stream = started(project)
    folder = project.curator.folder / stream_counts.FOLDER / stream.id
    for number in (1, 2, 3):
        stream.next()
        assert [file.name.split("-")[0] for file in stream_counts.states(folder)] == [str(number)]


@pytest.mark.parametrize("damage", ["gone", "altered", "older"])
def test_a_state_that_is_not_what_it_was_stops_the_stream(project, damage):
    stream = started(project)
    stream.next()
    folder = project.curator.folder / stream_counts.FOLDER / stream.id
    (old,) = stream_counts.states(folder)
    content = old.read_bytes()
    stream.next()
    (file,) = stream_counts.states(folder)
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(content if damage == "older" else file.read_bytes()[:-1] + b"\x07")
    seq = project.ledger.refresh().seq
    with pytest.raises(LedgerFault, match="no longer known"):
        stream.next()
    assert project.ledger.refresh().seq == seq
    assert len(stream.rows) == 2


def test_forgetting_somebody(project):
    stream = started(project)
    stream.next()
    before = state(project, stream)
    project.forget("visits", ["p3"])
    after = state(project, stream)
    assert len(after.exact_counts) == len(before.exact_counts) - 1
    assert after.exact_steps == before.exact_steps
    stream.next()  # the seal is that of the new content
    grow(project, {**MANY, "new": 1})  # p3 is still in the source, and in no version
    stream.next()
    assert state(project, stream).exact_steps[1:] == (0, 1)


def test_forgetting_that_broke_off_counts_nobody_twice(project, monkeypatch):
    """The tombstone is there and the person still in the version and in the state: the next step heals it."""
    stream = started(project)
    stream.next()
    before = len(state(project, stream).exact_counts)
    monkeypatch.setattr("discreet.kernel.erasure.erase_from_stream_counts", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        project.forget("visits", ["p3"])
    monkeypatch.undo()
    stream.next()
    assert state(project, stream).exact_steps[1] == 0
    assert len(state(project, stream).exact_counts) == before - 1


def test_another_person_is_another_stream(project, tmp_path, monkeypatch):
    """In a ledger whose older program let the person change: today the refresh is refused."""
    stream = started(project)
    stream.next()
    text = (tmp_path / "discreet.toml").read_text()
    (tmp_path / "discreet.toml").write_text(text.replace('person = "id"', 'person = "email"'))
    again = discreet.open(tmp_path)
    with pytest.raises(UsageError, match="identifies people by id"):
        again.refresh("visits")
    as_an_older_program(monkeypatch)
    again.refresh("visits")
    found = project_streams.stream(again, "visits", "daily")[0]
    with pytest.raises(UsageError, match="identifies persons differently"):
        found.next()
    assert len(found.rows) == 1


def test_fewer_rows_per_person_later_count_fewer(project, tmp_path):
    stream = started(project, contributions=5)
    text = (tmp_path / "discreet.toml").read_text()
    (tmp_path / "discreet.toml").write_text(text.replace("rows_per_person = 5", "rows_per_person = 1"))
    again = discreet.open(tmp_path)
    again.refresh("visits")
    project_streams.stream(again, "visits", "daily")[0].next()
    assert state(again, stream).exact_steps == (len(MANY),)


def test_through_another_table(tmp_path):
    (tmp_path / "orders.csv").write_text("order,customer\n1,a\n2,a\n3,b\n")
    (tmp_path / "items.csv").write_text("order,kind\n1,x\n1,x\n2,x\n3,x\n9,x\n")
    discreet.init(tmp_path)
    text = (tmp_path / "discreet.toml").read_text()
    text += """
[populations.customers]
budget = { epsilon = 9 }
[tables.orders]
source = "orders.csv"
person = "customer"
rows_per_person = 5
population = "customers"
[tables.orders.columns.order]
type = "integer"
[tables.items]
source = "items.csv"
person = { through = "orders", on = "order" }
rows_per_person = 5
population = "customers"
[tables.items.columns.kind]
type = "category"
values = ["x"]
"""
    (tmp_path / "discreet.toml").write_text(text)
    project = discreet.open(tmp_path)
    project.version("orders")
    stream = project_streams.stream(project, "items", "daily", epsilon=1, horizon=5, contributions=2)[0]
    stream.next()
    assert state(project, stream).exact_steps == (2 + 1,)
    project.forget("orders", ["a"])
    (tmp_path / "items.csv").write_text("order,kind\n1,x\n1,x\n2,x\n3,x\n3,x\n")
    project.refresh("items")
    stream.next()
    assert state(project, stream).exact_steps == (3, 1)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"horizon": None}, "horizon"),
        ({"horizon": 0}, "from 1 to 16,384"),
        ({"horizon": 10**6}, "from 1 to 16,384"),
        ({"horizon": "many"}, "horizon"),
        ({"horizon": 2.5}, "whole number"),
        ({"contributions": 0}, "whole number"),
        ({"contributions": 6}, "at most 5 rows"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "nan"}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": "1e-300"}, "delta"),
        ({"epsilon": "1e-6"}, "too small|noise"),
    ],
)
def test_wrong_terms_are_free(project, more, match):
    with pytest.raises(UsageError, match=match):
        started(project, **more)
    assert not project.ledger.refresh().charges
    assert not project.ledger.refresh().versions  # not even a version was made


@pytest.mark.parametrize("name", ["", "a b", "../x", "é", "x" * 61, "-x", "a/b", ".hidden"])
def test_wrong_names(project, name):
    with pytest.raises(UsageError, match="name"):
        started(project, name)


def test_wrong_steps_and_labels(project):
    stream = started(project)
    with pytest.raises(UsageError, match="nothing yet"):
        stream.interval()
    for label in ("", "7", "a\nb", "x" * 201):
        with pytest.raises(UsageError):
            stream.next(label)
    stream.next("mon")
    stream.next("tue")
    for first, last in ((0, 1), (1, 3), ("wed", 2), (2, 1), ("tue", "mon"), (-1, 1)):
        with pytest.raises(UsageError):
            stream.interval(first, last)
    for confidence in (0, 1, "0.9999999999", "x"):
        with pytest.raises(UsageError):
            stream.interval(1, 1, confidence=confidence)
    with pytest.raises(UsageError, match="no stream 'dally'") as caught:
        project_streams.stream(project, "visits", "dally")
    assert "daily" in caught.value.hint
    with pytest.raises(UsageError, match="needs an epsilon"):
        project_streams.stream(project, "visits", "other", horizon=3)


def test_rows_alone_are_refused(tmp_path):
    from clinic import make as clinic

    project = clinic(tmp_path)
    with pytest.raises(UsageError, match="declares no person column") as caught:
        project_streams.stream(project, "patients", "daily", epsilon="0.1", horizon=5)
    assert "rows_per_person = 1" in caught.value.hint


def test_a_budget_that_does_not_hold_it(project):
    with pytest.raises(BudgetExceeded):
        started(project, epsilon=11)
    assert not project.ledger.refresh().streams


def test_a_delta_that_the_budget_has_not(tmp_path):
    project = make(tmp_path, MANY, budget="{ epsilon = 3 }")
    with pytest.raises(UsageError, match="no delta"):
        started(project, delta="1e-6")


def test_a_step_that_cannot_be_counted_is_one_sentence_and_the_end(project, monkeypatch):
    stream = started(project)
    monkeypatch.setattr(stream_step, "open_counter", opened_with_a_bomb(stream_step.open_counter))
    with pytest.raises(QueryFailed, match="could not be completed") as caught:
        stream.next()
    assert "p3" not in str(caught.value)
    assert caught.value.__cause__ is None
    monkeypatch.undo()
    assert stream.closed
    with pytest.raises(LedgerFault, match="closed"):
        stream.next()
    assert started(project).id != stream.id  # the name is free; it is paid for again


def opened_with_a_bomb(real):
    def bombed(held):
        _, law, moves = real(held)

        class Bomb:
            def exact(self, steps):
                raise ValueError(f"person p3 has {steps}")

        return Bomb(), law, moves

    return bombed


def test_noise_that_was_not_charged_is_noticed(project, monkeypatch):
    """The curator draws something else: the step is not stored, the stream is closed."""
    from discreet.kernel.curator import Curator
    from discreet.mechanisms.gaussian import DiscreteGaussian

    stream = started(project)
    real = Curator.add_noise
    cheap = DiscreteGaussian(sigma2=Fraction(100))
    monkeypatch.setattr(Curator, "add_noise", lambda self, law, exact, moves: real(self, cheap, exact, moves))
    with pytest.raises(LedgerFault, match="not the noise charged"):
        stream.next()
    assert stream.rows == ()
    assert stream.closed


@pytest.mark.parametrize("change", ["contributions", "counter", "count"])
def test_what_was_not_charged_for_is_not_drawn(project, change):
    """The ledger's stream says one thing and its charge another: more contributions, a longer matrix."""
    stream = started(project)
    held = project.ledger.state.streams[stream.id]
    assert open_counter(held)[0].horizon == 10
    if change == "count":
        held.count = 11
    else:
        held.of[change] = {"contributions": 3, "counter": SquareRootCounter(11).to_data()}[change]
    with pytest.raises(LedgerFault, match="not what was charged"):
        open_counter(held)


def test_what_broke_off_is_cleared_away_before_the_next_attempt(project):
    stream = started(project)
    stream.next()
    folder = project.curator.folder / stream_counts.FOLDER / stream.id
    kept = stream_counts.states(folder)
    (folder / "2-abc.counted").write_bytes(b"of a step that was never released")
    (folder / ".making.abc").write_bytes(b"half")
    for file in project.curator.folder.glob("*.persons.parquet"):
        file.rename(file.with_suffix(".away"))
    with pytest.raises(LedgerFault, match="not complete on disk"):
        stream.next()
    assert stream_counts.states(folder) == kept
    assert not (folder / ".making.abc").exists()
    for file in project.curator.folder.glob("*.away"):
        file.rename(file.with_suffix(".parquet"))
    assert stream.next().step == 2  # nothing was drawn, so the stream goes on


def test_two_at_once(project, tmp_path):
    """One wins and the other is refused, or comes after: no step is taken twice, nobody counted twice."""
    stream = started(project, horizon=40)
    taken, refused = [], []

    def walk():
        own = project_streams.stream(discreet.open(tmp_path), "visits", "daily")[0]
        for _ in range(8):
            try:
                taken.append(own.next().step)
            except UsageError as problem:
                refused.append(str(problem))

    threads = [threading.Thread(target=walk) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, len(taken) + 1))
    assert len(taken) + len(refused) == 32
    assert all("another process" in problem for problem in refused)
    assert sum(state(project, stream).exact_steps) == sum(min(2, count) for count in MANY.values())


def test_while_another_takes_a_step(project):
    stream = started(project)
    folder = project.curator.folder / stream_counts.FOLDER / stream.id
    with stream_counts.lock_stream(folder, wait=False), pytest.raises(UsageError, match="another process"):
        stream.next()
    assert stream.steps == 0


def test_nothing_exact_is_shown(project):
    stream = started(project)
    stream.next()
    folder = project.curator.folder / stream_counts.FOLDER / stream.id
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    shown = f"{stream!r} {stream.to_data()} {stream.rows}"
    assert "exact" not in shown
    body = next(entry.data() for entry in project.ledger.entries() if entry.kind == "row")
    assert sorted(body) == ["id", "kept", "number", "sha256"]


def test_an_empty_table_looks_the_same_before_the_noise(tmp_path):
    """Refusals, costs and plans are functions of public facts."""
    full, empty = make(tmp_path / "full", MANY), make(tmp_path / "empty", {})
    write(empty.folder, {})
    plans = [project_streams.plan_stream(each, "visits", "d", epsilon=1, horizon=9) for each in (full, empty)]
    assert plans[0].expected_rmse == plans[1].expected_rmse
    streams = [started(each) for each in (full, empty)]
    data = [{**each.to_data(), "release": ""} for each in streams]
    assert data[0] == data[1]
    for each in streams:
        each.next()
    assert streams[0].rows[0].total.plus_minus == streams[1].rows[0].total.plus_minus
