"""`discreet publish` as it is typed: what it says, what it writes, what it refuses, and with which exit code."""

import json

import pytest

from clinic import run, say
from tables.publish.census import EXACT, PLAN, make, people, plan


@pytest.fixture
def folder(tmp_path):
    make(tmp_path)
    plan(tmp_path)
    return tmp_path


def test_tables_are_written_and_told(folder, capsys):
    code, told, _ = run(
        capsys, folder, "publish", str(folder / "plan.toml"), "--epsilon", "1", "--to", str(folder / "out")
    )
    assert code == 0 and not told["cached"] and told["cost"]["epsilon"] == 1.0
    assert told["table"] == "people" and told["release"].startswith("r-")
    assert [level["level"] for level in told["levels"]] == ["nation", "state", "county", "block"]
    assert set(told["files"]) < {file.name for file in (folder / "out").iterdir()}
    assert json.loads((folder / "out" / "card.json").read_text())["release"] == told["release"]
    code, again, _ = run(
        capsys, folder, "publish", str(folder / "plan.toml"), "--epsilon", "1", "--to", str(folder / "more")
    )
    assert code == 0 and again["cached"] and again["cost"]["epsilon"] == 0.0 and again["release"] == told["release"]
    for name in ("block.csv", "nation_totals.parquet"):
        assert (folder / "out" / name).read_bytes() == (folder / "more" / name).read_bytes()


def test_a_price_is_free(folder, capsys):
    code, told, _ = run(capsys, folder, "publish", str(folder / "plan.toml"), "--epsilon", "1", "--plan")
    assert code == 0 and told["fits"] and not told["stored"]
    assert all(level["expected_error"]["cell"] > 0 for level in told["levels"])
    code, text, _ = say(capsys, folder, "publish", str(folder / "plan.toml"), "--epsilon", "100", "--plan")
    assert code == 0 and "would cost epsilon 100" in text and "more than the remaining budget" in text
    assert run(capsys, folder, "budget")[1]["tables"]["people"]["events"] == 0


def test_people_read_what_happened(folder, capsys):
    words = ("publish", str(folder / "plan.toml"), "--epsilon", "1", "--delta", "0", "--to", str(folder / "out"))
    code, text, _ = say(capsys, folder, *words)
    assert code == 0 and "guarantee: epsilon 1 for each row; one row is added or removed" in text
    assert "county" in text and "typical error" in text and "spent of" in text


@pytest.mark.thin(2)
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("person", [False, True])
def test_who_is_protected_has_one_name(tmp_path, capsys, person, exact):
    """A row, or a person: on the terminal, in JSON and on the card."""
    own = 'person = "who"\nrows_per_person = 5\n' if person else ""
    rows = [[*row, number // 2] for number, row in enumerate(people())] if person else None
    make(tmp_path, rows=rows, extra=own + (EXACT if exact else ""), person=person)
    path = plan(tmp_path, ('invariants = ["state"]\n' if exact else "") + PLAN)
    words = ("publish", str(path), "--epsilon", "1", "--delta", "0", "--to", str(tmp_path / "out"))
    code, text, _ = say(capsys, tmp_path, *words)
    name, who = ("person", "person, at most 5 rows") if person else ("row", "row")
    happens = f"one {name} is " + ("changed, and the exact totals stay the same" if exact else "added or removed")
    assert code == 0 and f"guarantee: epsilon {2 if exact else 1} for each {who}; {happens}\n" in text
    card = (tmp_path / "out" / "card.html").read_text()
    assert f"Protected: each {who}. Neighbours: {happens}." in card
    assert json.loads((tmp_path / "out" / "card.json").read_text())["guarantee"]["neighbours"] == happens
    assert "unit" not in text.split() and "one unit" not in card


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("words", "exit_code", "says"),
    [
        ([], 2, "how much to spend"),
        (["--epsilon", "1"], 2, "which folder to write the tables to"),
        (["--epsilon", "0", "--to", "out"], 2, "epsilon must be above 0"),
        (["--epsilon", "1", "--to", "out", "--confidence", "1"], 2, "confidence"),
        (["--epsilon", "1", "--plan", "--force"], 2, "--plan writes no files"),
        (["--epsilon", "1", "--to", "full"], 2, "not empty"),
        (["--epsilon", "1", "--to", "plan.toml"], 2, "not a folder"),
        (["--epsilon", "1", "--to", ".discreet/out"], 2, "belongs to the project"),
        (["--epsilon", "1", "--to", "."], 2, "belongs to the project"),
        (["--epsilon", "20", "--to", "out"], 4, "this request costs"),
    ],
)
def test_what_is_wrong_is_refused_and_free(folder, capsys, monkeypatch, words, exit_code, says):
    (folder / "full").mkdir()
    (folder / "full" / "mine.txt").write_text("mine")
    monkeypatch.chdir(folder)
    code, told, _ = run(capsys, folder, "publish", "plan.toml", *words)
    assert code == exit_code and says in told["reason"]
    assert run(capsys, folder, "budget")[1]["tables"]["people"]["events"] == 0
    assert not (folder / "out").exists()


def test_a_plan_about_a_public_table_or_none_is_refused(folder, capsys):
    for name, says in (("places", "is public"), ("peeple", "no declared table")):
        plan(folder, PLAN.replace('"people"', f'"{name}"'))
        code, told, _ = run(capsys, folder, "publish", str(folder / "plan.toml"), "--epsilon", "1", "--plan")
        assert code == 2 and says in told["reason"]


def test_conflicting_rules_are_named(folder, capsys):
    plan(folder, PLAN + '[[zeros]]\nsex = "F"\n[[zeros]]\nsex = "M"\n')
    code, told, _ = run(capsys, folder, "publish", str(folder / "plan.toml"), "--epsilon", "1", "--plan")
    assert code == 3 and "entry 1 of zeros and entry 2 of zeros" in told["reason"]


TOLD = "exact totals of state: every charge counts double, permanently, and presence is not protected"


def test_exact_totals_are_said_to_cost_before_and_after(tmp_path, capsys):
    make(tmp_path, extra=EXACT)
    words = ("publish", str(plan(tmp_path, 'invariants = ["state"]\n' + PLAN)), "--epsilon", "1")
    code, text, _ = say(capsys, tmp_path, *words, "--plan")
    assert code == 0 and TOLD in text
    code, text, _ = say(capsys, tmp_path, *words, "--to", str(tmp_path / "out"))
    assert code == 0 and TOLD in text


def test_exact_totals_that_are_not_declared_are_refused_with_the_line_to_write(folder, capsys):
    path = plan(folder, 'invariants = ["state"]\n' + PLAN)
    code, told, _ = run(capsys, folder, "publish", str(path), "--epsilon", "1", "--to", str(folder / "out"))
    assert code == 3 and 'invariants = ["block > places.state"] in [tables.people]' in told["hint"]


def test_a_folder_that_cannot_be_made_is_refused_before_charging(folder, capsys):
    """Rights say one thing and the disk another: it is tried."""
    for to in ("/proc/nowhere/out", str(folder / ("x" * 300))):
        code, told, _ = run(capsys, folder, "publish", str(folder / "plan.toml"), "--epsilon", "1", "--to", to)
        assert code == 2 and "cannot be written" in told["reason"]
    assert run(capsys, folder, "budget")[1]["tables"]["people"]["events"] == 0


def test_a_folder_for_a_plan_is_called_one(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    code, told, _ = run(capsys, folder, "publish", ".", "--epsilon", "1", "--plan")
    assert code == 2 and "'.' is a folder" in told["reason"]
