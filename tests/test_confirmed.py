"""A noisy test fails when it fails three times; one that is not noisy fails at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: `draws` counts how often it was made: each attempt at a noisy test makes it anew.
CASES = """
import pytest

made = []

@pytest.fixture(scope="module")
def draws():
    made.append(1)
    return len(made)

@pytest.mark.noisy
def test_unlucky(draws, tmp_path):
    assert draws > 2

@pytest.mark.noisy
def test_wrong():
    made.append("wrong")
    assert made.count("wrong") > 3

@pytest.mark.noisy
def test_broken():
    made.append("broken")
    if made.count("broken") == 1:
        raise KeyError("not by noise")

def test_plain():
    made.append("plain")
    assert made.count("plain") > 1
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_is_tried_again(tmp_path, workers):
    (tmp_path / "test_it.py").write_text(CASES)
    words = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "-p", "conftest", "--rootdir", tmp_path]
    run = subprocess.run(
        [*words, f"-n{workers}", "-o", "addopts=-p no:schemathesis", "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
    )
    assert "3 failed, 1 passed" in run.stdout, run.stdout
    assert "test_it.py::test_unlucky passed at attempt 3 of 3" in run.stdout
    for name in ("test_wrong", "test_broken", "test_plain"):
        assert f"FAILED test_it.py::{name}" in run.stdout
