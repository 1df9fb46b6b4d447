"""`discreet budget`: its verbs, what may be left out, and tables that have the name of a verb."""

import json

import pytest

import discreet
from clinic import make, run, say
from discreet.cli.main import call

SAME_NAMES = "".join(
    f'\n[tables.{name}]\nsource = "{name}.csv"\nbudget = {{ epsilon = {limit} }}\n'
    for name, limit in (("grant", 2.0), ("show", 3.0))
)


@pytest.fixture
def clinic(tmp_path):
    """Beside patients, a table called grant and one called show."""
    make(tmp_path)
    for name in ("grant", "show"):
        (tmp_path / f"{name}.csv").write_text(f"{name}_id\n1\n")
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text() + SAME_NAMES)
    return tmp_path


def limits(data):
    return {name: table["limit"]["epsilon"] for name, table in data["tables"].items()}


ALL = {"patients": 1.0, "grant": 2.0, "show": 3.0}


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("budget", ALL),
        ("budget show", ALL),
        ("budget patients", {"patients": 1.0}),
        ("budget show patients", {"patients": 1.0}),
        ("budget show grant", {"grant": 2.0}),
        ("budget -- grant", {"grant": 2.0}),
        ("budget show show", {"show": 3.0}),
        ("budget -- show", {"show": 3.0}),
    ],
)
def test_what_is_shown(capsys, clinic, words, shown):
    first, *rest = words.split()
    capsys.readouterr()
    assert call([first, "--json", "--project", str(clinic), *rest]) == 0
    assert limits(json.loads(capsys.readouterr().out)) == shown


@pytest.mark.parametrize("table", ["patients", "grant", "show"])
def test_every_table_can_be_granted(capsys, clinic, table):
    code, data, _ = run(capsys, clinic, "budget", "grant", table, "--epsilon", "5")
    assert code == 0 and limits(data) == {table: 5.0}
    assert limits(run(capsys, clinic, "budget")[1]) == ALL | {table: 5.0}


def test_flags_may_stand_before_the_verb(capsys, clinic):
    code, data, _ = run(capsys, clinic, "budget", "--epsilon", "5", "grant", "patients")
    assert code == 0 and limits(data) == {"patients": 5.0}
    code, data, _ = run(capsys, clinic, "budget", "--project", str(clinic), "show", "grant")
    assert code == 0 and limits(data) == {"grant": 2.0}


@pytest.mark.parametrize(
    "words",
    [
        ("budget", "grant"),  # of a table called grant nothing is shown, and nothing is raised
        ("budget", "grant", "patients"),
        ("budget", "grant", "--epsilon", "5"),
        ("budget", "grant", "patients", "show", "--epsilon", "5"),
        ("budget", "patients", "--epsilon", "5"),
        ("budget", "patients", "grant"),
        ("budget", "show", "patients", "grant"),
    ],
)
def test_half_a_command_raises_nothing(capsys, clinic, words):
    before = len(list(discreet.open(clinic).ledger.entries()))
    code, _, err = say(capsys, clinic, *words)
    assert code == 2 and "try: discreet budget" in err
    assert len(list(discreet.open(clinic).ledger.entries())) == before


def test_a_table_that_is_not_there_is_named(capsys, clinic):
    code, data, _ = run(capsys, clinic, "budget", "nobody")
    assert code == 2 and "'nobody'" in data["reason"]
