"""What the owner is told, and nobody else: a column that fits nowhere, two budgets of one people, somebody not there."""

import io
import json

import pytest
from rich.console import Console

from clinic import say
from discreet.cli import standard_streams, terminal


@pytest.fixture
def project(tmp_path, capsys):
    rows = "".join(f"p{row},{20 + row},{'FM'[row % 2]}\n" for row in range(6))
    (tmp_path / "visits.csv").write_text("pid,age,sex\n" + rows)
    (tmp_path / "bills.csv").write_text("PID,age\n" + "".join(f"p{row},{row}\n" for row in range(6)))
    assert say(capsys, tmp_path, "init", "--epsilon", "3")[0] == 0
    assert say(capsys, tmp_path, "add", str(tmp_path / "visits.csv"), "--person", "pid")[0] == 0
    return tmp_path


def test_a_column_of_which_nothing_fits_is_called_out(project, capsys):
    toml = project / "discreet.toml"
    text = toml.read_text()
    toml.write_text(text.replace("[tables.visits.columns.sex]\ntype = \"text\"", "[tables.visits.columns.sex]\ntype = \"category\"\nvalues = [\"female\", \"male\"]"))  # fmt: skip
    assert text != toml.read_text()
    code, out, _ = say(capsys, project, "refresh", "visits")
    assert code == 0
    assert "sex: none of 6 values fits, so all are NULL: check how the column is declared" in out
    assert "age" not in out
    told = json.loads(say(capsys, project, "refresh", "visits", "--json", "--force")[1])
    assert (told["empty"], told["nulled"]["sex"]) == (["sex"], 6)
    (project / "visits.csv").write_text("pid,age,sex\np0,1,male\np1,2,M\n")
    told = json.loads(say(capsys, project, "refresh", "visits", "--json")[1])
    assert (told["empty"], told["nulled"]["sex"]) == ([], 1)


@pytest.mark.deep
def test_rounding_coarse_steps_and_an_improbable_person_are_told(tmp_path, capsys):
    rows = "".join(f"p{row},{row % 7}.{row % 4}\n" for row in range(40)) + "unknown,0.25\n" * 1500 + "NA,1\n" * 30
    (tmp_path / "visits.csv").write_text("pid,cost\n" + rows)
    (tmp_path / "discreet.toml").write_text(
        "[tables.visits]\nsource = 'visits.csv'\nperson = 'pid'\nbudget = { epsilon = 3 }\n"
        "[tables.visits.columns.cost]\ntype = 'decimal'\nlow = 0\nhigh = 10\nstep = 0.5\n"
    )
    assert say(capsys, tmp_path, "init")[0] == 0
    code, out, _ = say(capsys, tmp_path, "refresh", "visits")
    assert code == 0
    assert "  30 rows without a person were left out" in out
    assert "  cost: 1,530 values were rounded to steps of 0.5, by up to 0.25" in out
    assert "  warning: cost: steps of 0.5 are coarse for 0 to 10, and averages can be off by half a step." in out
    assert "  warning: one person, 'unknown', has 1,500 rows, over 100 times as many as others have on average." in out
    told = json.loads(say(capsys, tmp_path, "refresh", "visits", "--json", "--force")[1])
    assert told["rounded"] == {"cost": {"values": 1530, "most": 0.25}}
    assert told["dominant"] == {"person": ["unknown"], "rows": 1500}
    (tmp_path / "visits.csv").write_text("pid,cost\na,0.5\nb,3\n")
    code, out, _ = say(capsys, tmp_path, "refresh", "visits")
    assert "warning" not in out and "rounded" not in out, "a coarse grid on which all values lie"


def test_missing_marks_do_not_make_a_column_of_numbers_text(tmp_path, capsys):
    (tmp_path / "visits.csv").write_text("age,day,sex,paid\n12,NA,F,1.5\nNA,2026-01-02,n/a,-\n,?,M,NULL\n")
    assert say(capsys, tmp_path, "init", "--epsilon", "3")[0] == 0
    told = json.loads(say(capsys, tmp_path, "add", str(tmp_path / "visits.csv"), "--json")[1])
    assert told["columns"] == {"age": "integer", "day": "date", "sex": "text", "paid": "decimal"}


@pytest.mark.deep
def test_an_empty_source_empties_no_column(project, capsys):
    (project / "visits.csv").write_text("pid,age,sex\n")
    assert json.loads(say(capsys, project, "refresh", "visits", "--json")[1])["empty"] == []


def test_the_same_people_under_two_budgets_are_noted(project, capsys):
    told = json.loads(say(capsys, project, "add", str(project / "bills.csv"), "--person", "PID", "--json")[1])
    (note,) = told["warnings"]
    assert note.startswith("'bills' and 'visits' both identify people by PID but have separate budgets")
    assert 'move the budget to [populations.visits] in discreet.toml, and set population = "visits"' in note
    (project / "other.csv").write_text("who,age\na,1\n")
    assert json.loads(say(capsys, project, "add", str(project / "other.csv"), "--person", "who", "--json")[1])["warnings"] == []  # fmt: skip


@pytest.mark.deep
def test_the_same_people_under_one_budget_are_not(project, capsys):
    toml = project / "discreet.toml"
    toml.write_text(toml.read_text().replace("[tables.visits]\n", "[tables.visits]\npopulation = \"people\"\n") + "[populations.people]\nbudget = { epsilon = 3 }\n")  # fmt: skip
    words = ("add", str(project / "bills.csv"), "--person", "PID", "--population", "people", "--json")
    assert json.loads(say(capsys, project, *words)[1])["warnings"] == []


def test_who_is_nowhere_leaves_a_tombstone_as_everybody_does(project, capsys):
    """Else the ledger would say, by who has one, who was there."""
    assert say(capsys, project, "refresh", "visits")[0] == 0
    code, out, _ = say(capsys, project, "forget", "visits", "nobody", "--yes")
    assert code == 0 and "this person was not found" in out and "later versions leave it out in any case" in out
    assert "this person was not found" not in say(capsys, project, "forget", "visits", "p1", "--yes")[1]
    entries = json.loads(say(capsys, project, "ledger", "show", "--json")[1])["entries"]
    assert [entry["kind"] for entry in entries].count("forget") == 4  # for each one before and one after


def test_that_spark_starts_is_said_while_it_does(monkeypatch):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(standard_streams, "progress_console", lambda: console)
    with terminal.progress("making visits", engines=["duckdb", "postgresql://db/clinic"]):
        pass
    assert "making visits" in screen.getvalue() and "Spark" not in screen.getvalue()
    with terminal.progress("making visits", engines=["duckdb", "sc://lake"]):
        pass
    assert "making visits; starting Spark first" in screen.getvalue()
