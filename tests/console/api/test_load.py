"""The parts of benchmarks/bench_console.py, small: what each of them asserts holds, and can fail."""

import importlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        yield importlib.import_module("bench_console")


@pytest.mark.deep  # a load; in the fast tier what it checks can fail, and test_crash asks as many programs do
def test_a_few_seconds_of_it(bench, tmp_path):
    seen, facts = bench.run(seconds=5, analysts=50, epsilon=0.3, folder=tmp_path)
    bench.check(seen, facts)
    statuses = {status for _, status in seen.statuses}
    assert {200, 402} <= statuses, "the budget ends while they ask"
    assert facts["ended"] in (0, 15) and facts["spent"] > 0.2


@pytest.mark.deep  # a server, every page of it and a few seconds of load
def test_every_page_of_a_short_history(bench, tmp_path, monkeypatch):
    pages_module = importlib.import_module("console_pages")
    monkeypatch.setattr(pages_module, "VISITS", 1)
    monkeypatch.setattr(pages_module, "FRESH_VISITS", 1)
    long = bench.make_long(tmp_path, releases=20)
    pages = bench.addresses(long.history)
    with bench.ConsoleServer(long.folder, grid_ms=1) as server:
        costs = bench.page_costs(server, long.sessions, pages)
        assert len(costs) == len(pages) and max(cost.worst_ms for cost in costs) > 0
        load = bench.run_load(server, long.sessions, pages, seconds=3)
        bench.check_load(load)
        assert load.statuses[200] == 60, "twenty a second"
        assert [number for number, mib in bench.memory_over(server, long.sessions, pages, [50, 120]) if mib > 1] == [
            50,
            120,
        ]


@pytest.mark.deep  # test_crash kills in the fast tier
def test_a_few_kills(bench, tmp_path):
    bench.make_project(tmp_path / "killed", epsilon=100)
    sessions = bench.make_sessions(tmp_path / "killed", analysts=4)
    bench.check_kills(bench.run_kills(tmp_path / "killed", sessions, kills=6))


def test_what_it_checks_can_fail(bench):
    good = {"charges": 2, "answers": 2, "keys": 2, "spent": 1, "limit": 1, "stored": {"a", "b"}, "sound": True}
    seen = bench.Seen()
    for release in ("a", "b"):
        seen.note("query", 200, 0.1, {"release": release, "cached": False, "derived": False})
    bench.check(seen, good)
    for bad in ({"charges": 4}, {"answers": 1}, {"spent": 1.01}, {"sound": False}, {"stored": {"a"}}, {"keys": 1}):
        with pytest.raises(AssertionError):
            bench.check(seen, good | bad)
    for what, status, data in (
        ("explain", 500, {}),
        ("query", 0, {}),
        ("query", 409, {}),
        ("query", 200, {"release": "a", "cached": False, "derived": False}),
    ):
        other = bench.Seen()
        for release in ("a", "b"):
            other.note("query", 200, 0.1, {"release": release, "cached": False, "derived": False})
        other.note(what, status, 0.1, data)
        with pytest.raises(AssertionError):
            bench.check(other, good)


def test_what_is_checked_of_kills_can_fail(bench):
    """Keys 1 and 2 were answered; of the lost ones 3 was unfinished, 4 was stored and 5 was not charged."""
    kills = importlib.import_module("console_kills")
    first = kills.LedgerFacts(
        charges={"a", "b", "c", "d"},
        answers={"a", "b", "d"},
        unfinished={"c"},
        keys=4,
        lost=Fraction("0.04"),
        sound=True,
    )
    everything = {"a", "b", "c", "d", "e"}
    last = kills.LedgerFacts(
        charges=everything, answers=everything, unfinished=set(), keys=5, lost=Fraction("0.05"), sound=True
    )
    answered, left = {"1": "a", "2": "b"}, {"3": "c", "4": "d", "5": "e"}
    good = kills.KillRun(kills=9, answered=answered, left=left, repeats=dict(answered), before=first, after=last)
    kills.check_kills(good)
    assert "finish" in kills.kills_text(good)
    for bad in (
        replace(good, before=replace(first, unfinished=set())),
        replace(good, before=replace(first, charges=everything)),
        replace(good, before=replace(first, answers={"a", "d"}, unfinished={"b", "c"})),
        replace(
            good, left={**left, "3": "x"}, after=replace(last, charges=everything | {"x"}, answers=everything | {"x"})
        ),
        replace(good, left={**left, "5": "d"}),
        replace(good, left={**left, "1": "e"}),
        replace(good, after=replace(last, unfinished={"c"})),
        replace(good, after=replace(last, lost=Fraction("0.06"))),
        replace(good, after=replace(last, keys=6)),
        replace(good, after=replace(last, sound=False)),
        replace(good, repeats={"1": "a", "2": "z"}),
        replace(good, odd=[("6", 409)]),
    ):
        with pytest.raises(AssertionError):
            kills.check_kills(bad)


def test_what_is_checked_of_the_load_can_fail(bench):
    load = importlib.import_module("console_load").Load(seconds=1)
    for number in range(1_000):
        load.note("page", 200, 1.4 if number < 9 else 0.2)
    bench.check_load(load)
    assert bench.is_within_limits(load)
    for _ in range(20):
        load.note("price", 200, 1.6)
    assert not bench.is_within_limits(load), "p99"
    for status in (500, 0, 404):
        load.note("page", status, 0.1)
        with pytest.raises(AssertionError):
            bench.check_load(load)
        del load.statuses[status]
