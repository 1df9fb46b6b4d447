"""`discreet attack census`, end to end."""

import os
import signal
import subprocess
import sys
import time

import pytest

from clinic import run, say
from lab.test_census_file import HEAD, text, written

VERB = ("attack", "census")

#: Forty people and hardly a word about them: a search without an end.
ENDLESS = """
people = 40
[columns.age]
low = 0
high = 125
[[statistics]]
name = "all"
median = 30
sum = 1500
"""


def test_the_block_of_seven_without_arguments(tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, *VERB)
    assert code == 0
    assert told["attack"] == "census" and told["success"] == 1.0 and told["n"] == 7 and told["bound"] is None
    assert told["details"]["solutions"] == 1 and told["details"]["complete"]
    assert {"age": 84, "sex": "male", "race": "black", "marital": "married"} in told["details"]["certain"]["records"]
    code, shown, _ = say(capsys, tmp_path, *VERB)
    assert code == 0 and "have 1 solution" in shown and "84 male black married" in shown


@pytest.mark.deep
def test_without_some_statistics(tmp_path, capsys):
    _, told, _ = run(capsys, tmp_path, *VERB, "--without", "3B, 4A")
    assert told["details"]["solutions"] == 76 and told["details"]["complete"]
    _, told, _ = run(capsys, tmp_path, *VERB, "--without", "3B,4A", "--most", "5")
    assert told["details"]["solutions"] == 5 and told["details"]["stopped_by"] == "most"
    _, shown, _ = say(capsys, tmp_path, *VERB, "--without", "3B,4A", "--most", "5")
    assert "have at least 5 solutions" in shown


def test_a_file_and_a_picture(tmp_path, capsys):
    picture = tmp_path / "census.svg"
    code, told, _ = run(capsys, tmp_path, *VERB, str(written(tmp_path, text())), "--plot", str(picture))
    assert code == 0 and told["details"]["solutions"] == 1
    assert picture.read_text().startswith("<svg")


@pytest.mark.deep
def test_noise(tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, *VERB, "--epsilon", "1", "--most", "20")
    assert code == 0
    assert told["bound"] is not None and told["success"] < 0.05
    assert told["details"]["without_noise"]["newcomers_named"] > 0.9


def test_wrong_usage(tmp_path, capsys):
    conflicting = text(
        [("a", "", "count = 3"), ("b", 'sex = "male"', "count = 2"), ("c", 'sex = "female"', "count = 2")]
    )
    for words, said in (
        (("--without", "9Z"), "no statistic '9Z'"),
        (("--epsilon", "0"), "epsilon must be above 0"),
        (("--epsilon", "much"), "epsilon must be a plain"),
        (("--seconds", "0"), "--seconds must be above 0"),
        (("--seconds", "nan"), "--seconds must be above 0"),
        (("--most", "0"), "--most"),
        (("--plot", "picture.png"), "not an .svg"),
        ((str(tmp_path / "none.toml"),), "there is no file"),
        ((str(written(tmp_path, conflicting)),), "cannot be true together"),
    ):
        code, told, _ = run(capsys, tmp_path, *VERB, *words)
        assert code == 2 and not told["accepted"] and said in told["reason"]
    assert all(f"{name}: count" in told["reason"] for name in "abc")


@pytest.mark.deep
def test_out_of_time_is_told(tmp_path, capsys):
    words = (str(written(tmp_path, ENDLESS)), "--most", "1000000", "--seconds", "0.3")
    code, told, _ = run(capsys, tmp_path, *VERB, *words)
    assert code == 0
    assert told["details"]["stopped_by"] == "seconds" and not told["details"]["complete"]


@pytest.mark.deep
def test_ctrl_c_ends_a_search_at_once(tmp_path):
    block = written(tmp_path, ENDLESS)
    words = ["attack", "census", str(block), "--most", "100000000", "--seconds", "600"]
    script = (
        "import sys, discreet.cli, discreet.lab.attacks.census.world_search as solve\n"
        "inner = solve.run_solver\n"
        "def searched(*given, **named):\n"
        "    print('searching', flush=True)\n"
        "    return inner(*given, **named)\n"
        "solve.run_solver = searched\n"
        "discreet.cli.run()\n"
    )
    search = subprocess.Popen(
        [sys.executable, "-c", script, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, text=True
    )
    try:
        assert search.stdout.readline() == "searching\n"
        time.sleep(0.5)
        os.kill(search.pid, signal.SIGINT)
        _, told = search.communicate(timeout=30)
    finally:
        search.kill()
    assert search.returncode == 130 and told.startswith("stopped")


def test_head_is_a_file_of_its_own(tmp_path, capsys):
    """A file without statistics leaves every block that the columns allow: told as at least so many."""
    code, told, _ = run(capsys, tmp_path, *VERB, str(written(tmp_path, HEAD)), "--most", "3")
    assert code == 0 and told["details"]["solutions"] == 3 and told["details"]["stopped_by"] == "most"
