"""The tiers: what the fast one leaves out, the deep one runs, and a test that is named runs in both."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tiers
from tiers import spread

ROOT = Path(__file__).parents[1]
CASES = """
import pytest
from tiers import size

@pytest.mark.thin(3)
@pytest.mark.parametrize("x", range(10))
def test_cases(x):
    pass

@pytest.mark.deep
def test_long():
    pass

def test_sized():
    assert size("fast", "deep") == "fast"
"""


@pytest.mark.parametrize(
    ("count", "kept", "places"),
    [(10, 3, {0, 4, 9}), (2, 3, {0, 1}), (5, 1, {0}), (4, 2, {0, 3}), (1000, 1000, set(range(1000)))],
)
def test_places_are_spread(count, kept, places):
    assert spread(count, kept) == places


@pytest.mark.parametrize(
    ("words", "deep", "passed"),
    [
        (["test_it.py"], False, "4 passed, 8 deselected"),
        pytest.param(["test_it.py"], True, "1 failed, 11 passed", marks=pytest.mark.deep),
        (["test_it.py::test_long", "test_it.py::test_cases[5]"], False, "2 passed"),
    ],
)
def test_what_runs_in_each_tier(tmp_path, words, deep, passed):
    (tmp_path / "test_it.py").write_text(CASES)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "DISCREET_DEEP": "1" if deep else ""}
    options = [
        "-c",
        ROOT / "pyproject.toml",
        "-p",
        "conftest",
        "--rootdir",
        tmp_path,
        "-n0",
        "-o",
        "addopts=-p no:schemathesis",
    ]
    words = [sys.executable, "-m", "pytest", *map(str, options), *(str(tmp_path / word) for word in words)]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert passed in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(("share", "cases"), [(0.05, 1), (0.3, 3), (1, 10), (7, 10)])
def test_a_share_of_the_fuzzers_runs_each_of_them(monkeypatch, share, cases):
    monkeypatch.setattr(tiers, "FUZZ", share)
    named = ("test_one", *(f"test_many[{number}]" for number in range(10)))
    kept = [item.nodeid for item in tiers.some_fuzzers([SimpleNamespace(nodeid=name) for name in named])]
    assert kept[0] == "test_one" and len(kept) == 1 + cases and len(set(kept)) == len(kept)
    assert tiers.fuzzed(1000) == 1000 * share
