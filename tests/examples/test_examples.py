"""Every example runs as a reader would run it, leaves nothing behind, and what it teaches holds.

Bounds on noisy numbers are so wide that a right build leaves them less than once in a million runs; by how far is said
beside each. The people are seeded, and what is exactly true of them is what the example prints, or follows from how it
makes them.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
#: The suite's limit is for tests; a whole program on a busy machine may take longer.
NAMES = [
    "audit",
    "census_block",
    "clinic",
    "differencing",
    "emoji_sketch",
    "intervals",
    "publish_nation",
    "salaries",
    "synthetic_partner",
    "two_coins",
]

#: It shows what other tests hold; the shortest examples run in the fast tier too.
DEMO = pytest.mark.deep


def ran(name, place):
    """What an example prints, run from a folder of its own with a home and a temporary folder that must stay empty."""
    rooms = {"HOME": place / "home", "TMPDIR": place / "tmp", "XDG_STATE_HOME": place / "home" / "state"}
    (place / "home").mkdir()
    (place / "tmp").mkdir()
    told = {key: value for key, value in os.environ.items() if key != "DISCREET_STATE"}
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")],
        cwd=place,
        env={**told, **{key: str(path) for key, path in rooms.items()}, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert sorted(each.name for each in place.rglob("*")) == ["home", "tmp"], "it left something behind"
    return done.stdout


def numbers(text):
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text)]


def test_there_are_ten_and_the_list_names_them_all():
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == NAMES
    listed = re.findall(r"\]\((\w+)\.py\)", (FOLDER / "README.md").read_text())
    assert sorted(listed) == NAMES
    for target in re.findall(r"\]\(([^)#]+)", (FOLDER / "README.md").read_text()):
        assert (FOLDER / target).exists(), target


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_short_and_says_what_it_shows(name):
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    said = ast.get_docstring(ast.parse(text))
    assert said and len(said.split()) > 20
    assert "_private" not in text and not re.search(r"from discreet\.\S+ import _|discreet\._", text), (
        "public names only"
    )


def test_clinic(tmp_path):
    said = ran("clinic", tmp_path)
    assert "price: 0.5\n" in said
    lines = re.findall(r"^(\w+) +(-?\d+) in \((-?\d+), (-?\d+)\), exactly (\d+)$", said, re.MULTILINE)
    assert [line[0] for line in lines] == ["allergy", "flu", "mumps"]
    for _, noisy, low, high, exact in lines:
        assert int(high) - int(low) == 12 and int(low) <= int(noisy) <= int(high)
        assert abs(int(noisy) - int(exact)) < 60  # scale 2: thirty times that
    assert "repeat: stored True and the same True" in said
    for sex in "FM":
        assert f"after asking about {sex}: <Budget of patients: epsilon 0.7 of 1 spent, 0.3 remaining>" in said
    assert "refused: this request costs epsilon 0.5, but 'patients' has 0.3 remaining of 1" in said


@DEMO
def test_salaries(tmp_path):
    said = ran("salaries", tmp_path)
    for team, mean in (("care", 3138), ("office", 3661), ("research", 4707)):
        found = re.search(rf"^{team} +([\d.,]+) .+?  +([\d,]+) ± [\d,]+$", said, re.MULTILINE)
        assert abs(float(found[1].replace(",", "")) - mean) < 250  # ± 20 at 95%
        assert abs(float(found[2].replace(",", "")) - 8000 / 3) < 600  # ± 22 at 95%, and a third by chance
    year, people = re.search(r"a_year +people\n(\S+) .+?  +(\S+) ±", said).groups()
    assert abs(float(year.replace(",", "")) - 12 * 3835) < 3000 and abs(float(people.replace(",", "")) - 8000) < 100
    tenth, middle, ninetieth = (
        float(each.replace(",", ""))
        for each in re.search(r"ninetieth\n([\d.,]+) .+?  +([\d.,]+) .+?  +([\d.,]+) ", said).groups()
    )
    assert 1500 < tenth < 3000 < middle < 4300 < ninetieth < 8000
    assert "<Budget of payments: epsilon 3 of 4 spent, 1 remaining>" in said


@DEMO
def test_differencing(tmp_path):
    said = ran("differencing", tmp_path)
    assert "exact answers: the person in room 12 is" in said
    assert abs(int(re.search(r"the difference is (-?\d+)", said)[1])) < 100  # two scales of 2
    assert "a third question: refused" in said
    exact, noisy, ours, bound = (numbers(line)[-1] for line in re.sub(r"of 1,000.*", "", said).splitlines()[-4:])
    assert exact == 100.0 and bound == 88.1
    assert noisy > 75 and ours < 80  # 1,000 targets: a standard deviation is 1.6 at most


def test_two_coins(tmp_path):
    said = ran("two_coins", tmp_path)
    assert "epsilon of each answer: 1.0986" in said
    estimated, exact, by_hand = (
        float(re.search(rf"{word}:\s+(-?[\d.]+)\b", said)[1]) for word in ("estimated", "exactly", "by hand")
    )
    assert abs(estimated - exact) < 0.1  # eleven standard deviations
    assert abs(estimated - by_hand) < 0.001
    assert abs(float(re.search(r"([\d.]+)% of all answers", said)[1]) - 25) < 3.5  # eight


@pytest.mark.deep
def test_emoji_sketch(tmp_path):
    said = ran("emoji_sketch", tmp_path)
    emoji, words = said.split("words that nobody listed:\n")
    rows = re.findall(r"^(\S+) +(-?[\d.]+)%.* exactly ([\d.]+)%$", emoji, re.MULTILINE)
    assert [row[0] for row in rows] == ["😂", "❤", "🎉", "🙂", "🤖", "🦄"]
    found = re.findall(r"^(\w+) +(-?[\d.]+)% +exactly ([\d.]+)%$", words, re.MULTILINE)
    assert {"yolo", "selfie", "brexit"} <= {row[0] for row in found}  # each twenty deviations above the noise
    for _, noisy, exact in rows + found:
        # Standard deviations, over salts as well, are half a percent; eight shared places in 64 would be 6 (once in 1e9).
        assert abs(float(noisy) - float(exact)) < 6


@pytest.mark.deep
def test_intervals(tmp_path):
    said = ran("intervals", tmp_path)
    rows = re.findall(r"^ *\d+ to +\d+: +(-?[\d.]+) \(.*exactly (\d+)$", said, re.MULTILINE)
    assert len(rows) == 6
    for noisy, exact in rows:
        assert abs(float(noisy) - int(exact)) < 500  # about 13 is expected
    quantiles = re.findall(r"^quantile \S+ (\d+) \((\d+), (\d+)\), exactly (\d+)$", said, re.MULTILINE)
    assert len(quantiles) == 3
    for value, low, high, exact in quantiles:
        assert int(low) <= int(value) <= int(high) and abs(int(value) - int(exact)) <= 5  # 800 rows and more
    assert "and it cost nothing: True" in said
    assert "<Budget of patients: epsilon 0.5 of 1 spent, 0.5 remaining>" in said


@DEMO
def test_census_block(tmp_path):
    said = ran("census_block", tmp_path)
    assert "colleagues: 1 way it can be\n  a nurse with 30\n  a nurse with 40\n  a doctor with 80\n" in said
    assert "exact tables: 1 way" in said and "without one of the tables: 22 ways" in said
    noisy, bare = re.search(r"named ([\d.]+)% .* epsilon 1, ([\d.]+)% without", said).groups()
    assert float(noisy) <= 2 and float(bare) > 90  # of 1,000, with chances of 0.3% at most, and of 98%
    assert "the most that epsilon 1 allows: 0.29%" in said


@DEMO
def test_publish_nation(tmp_path):
    said = ran("publish_nation", tmp_path)
    sums = re.findall(r"they add up to (\d+) and (\d+)", said)
    assert len(sums) == 4 and len({number for pair in sums for number in pair}) == 1
    assert abs(int(sums[0][0]) - 30_000) < 600  # a standard error is about 11
    count, exact = re.search(r"state N: (\d+),.* exactly (\d+)", said).groups()
    assert abs(int(count) - int(exact)) < 600
    assert "block_totals.csv" in said and "card.html" in said and "again is free: True" in said


@pytest.mark.noisy
@DEMO
def test_synthetic_partner(tmp_path):
    said = ran("synthetic_partner", tmp_path)
    # Whichever pairs the fit selects, by plan or by age: students leave four times as often.
    assert 0.25 < float(re.search(r"students who left: ([\d.]+)", said)[1]) < 0.55
    assert 0.03 < float(re.search(r"others who left: ([\d.]+)", said)[1]) < 0.2
    assert float(re.search(r"younger than ([\d.]+)", said)[1]) < 40
    assert re.search(r"mst model of customers: about \S+ rows, epsilon 1", said)


@DEMO
def test_audit(tmp_path):
    said = ran("audit", tmp_path)
    assert re.search(r"honest .*: stands", said)  # caught by mistake once in ten million runs
    assert re.search(r"careless .*: caught", said) and re.search(r"forgetful .*: caught", said)
    assert "all measured and none caught: True" in said and "sql count: rows: stands" in said
