"""The load of benchmarks/bench_console.py, for a few seconds: no 5xx, no overspending, and a charge for each paid answer."""

import importlib.util
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[3] / "benchmarks" / "bench_console.py"


@pytest.fixture(scope="module")
def bench():
    spec = importlib.util.spec_from_file_location("bench_console", FILE)
    module = sys.modules["bench_console"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.deep  # a load; in the fast tier what it checks can fail, and test_crash asks as many programs do
def test_a_few_seconds_of_it(bench, tmp_path):
    seen, told = bench.run(seconds=5, analysts=50, epsilon=0.3, folder=tmp_path)
    bench.check(seen, told)
    statuses = {status for _, status in seen.statuses}
    assert {200, 402} <= statuses, "the budget ends while they ask"
    assert told["ended"] in (0, -15) and told["spent"] > 0.2


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
