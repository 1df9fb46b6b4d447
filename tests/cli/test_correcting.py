"""Slips before the first answer: a limit, a unit, a population, a table too many; and `ledger adopt`, which asks."""

import json

import pytest

import discreet
from clinic import make, run, say
from discreet.errors import UsageError
from discreet.schema.toml_edit import text_without_table

COUNT = "SELECT count(*) FROM patients"
TOML = """\
# the clinic
[project]
ledger = "sqlite:///.discreet/ledger.db"   # here

# patients, by the register
[tables.patients]
source = "patients.csv"
budget = { epsilon = 1.0 }
note_free = 0

[tables.patients.columns.age] # years
type = "integer"
low = 0

# visits, by the wards

[tables."visits"]
source = "visits.csv"
budget = { epsilon = 2 }
"""


def edit(folder, old, new):
    path = folder / "discreet.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_a_limit_is_lowered_by_an_edit_and_a_refresh_until_something_was_released(tmp_path, capsys):
    make(tmp_path, budget="{ epsilon = 10 }")
    run(capsys, tmp_path, "refresh", "patients")
    edit(tmp_path, "{ epsilon = 10 }", '{ epsilon = 1, delta = 1e-6 }\naccounting = "zcdp"')
    _, out, _ = say(capsys, tmp_path, "refresh", "patients")
    new = "epsilon 1, delta 1e-06, accounting zcdp"
    assert (
        f"the limit of 'patients' is now {new} (before: epsilon 10); this was possible because nothing was released yet"
        in out
    )
    assert run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["limit"] == {"epsilon": 1.0, "delta": 1e-06}
    assert run(capsys, tmp_path, "refresh", "patients")[1]["corrected"] == []
    edit(tmp_path, '\naccounting = "zcdp"', "")
    (note,) = run(capsys, tmp_path, "refresh", "patients")[1]["corrected"]
    assert note.startswith("the limit of 'patients' is now epsilon 1, delta 1e-06 (before: ")
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")[0] == 0
    edit(tmp_path, "epsilon = 1,", "epsilon = 0.6,")
    code, data, _ = run(capsys, tmp_path, "refresh", "patients")
    assert code == 0 and data["corrected"] == []
    assert run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["limit"]["epsilon"] == 1


def test_a_table_changes_its_population_until_something_was_released(tmp_path, capsys):
    project = make(tmp_path)
    project.refresh("patients")
    others = '[populations.people]\nbudget = { epsilon = 4 }\n\n[tables.patients]\npopulation = "people"'
    edit(tmp_path, "[tables.patients]", others)
    edit(tmp_path, "budget = { epsilon = 1.0 }\n", "")
    assert "or run discreet refresh patients to apply it: nothing was released" in say(capsys, tmp_path, "budget")[2]
    (note,) = run(capsys, tmp_path, "refresh", "patients")[1]["corrected"]
    assert note == "the table now belongs to population 'people' (before: 'patients') and uses its budget"
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "2")[0] == 0
    edit(tmp_path, others, "[tables.patients]\nbudget = { epsilon = 1.0 }")
    with pytest.raises(UsageError, match="the ledger has this source as 'patients' in population 'people'"):
        discreet.open(tmp_path).refresh("patients")


def test_a_table_that_nobody_asked_about_is_removed(tmp_path, capsys):
    project = make(tmp_path)
    project.refresh("patients")
    project.refresh("patients", force=True)
    stored = list((tmp_path / ".discreet" / "tables").glob("patients-*"))
    assert len(stored) == 2
    source, before = (tmp_path / "patients.csv").read_bytes(), (tmp_path / "discreet.toml").read_text()
    code, told, _ = run(capsys, tmp_path, "remove", "patients")
    assert code == 2 and "Nothing was changed" in told["reason"]
    assert told["hint"] == "discreet remove patients --yes"
    assert (tmp_path / "discreet.toml").read_text() == before and all(file.exists() for file in stored)
    code, told, _ = run(capsys, tmp_path, "remove", "PATIENTS", "--yes")
    assert (code, told) == (0, {"table": "patients", "versions": 2, "left": []})
    assert not any(file.exists() for file in stored) and (tmp_path / "patients.csv").read_bytes() == source
    assert run(capsys, tmp_path, "tables")[1]["tables"] == []
    assert run(capsys, tmp_path, "remove", "patients", "--yes")[0] == 2  # there is none
    assert run(capsys, tmp_path, "add", str(tmp_path / "patients.csv"), "--name", "again", "--epsilon", "2")[0] == 0
    assert run(capsys, tmp_path, "query", "SELECT count(*) FROM again", "--epsilon", "2")[0] == 0
    assert run(capsys, tmp_path, "ledger", "verify")[1]["sound"]


def test_a_table_that_was_asked_about_stays_with_all_of_its_file(tmp_path, capsys):
    make(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")[0] == 0
    before = (tmp_path / "discreet.toml").read_text()
    code, told, _ = run(capsys, tmp_path, "remove", "patients", "--yes")
    assert code == 2 and "Answers about population 'patients' were released" in told["reason"]
    assert "discreet retire " in told["hint"]
    assert (tmp_path / "discreet.toml").read_text() == before
    assert list((tmp_path / ".discreet" / "tables").glob("patients-*"))
    edit(tmp_path, "budget = { epsilon = 1.0 }", "public = true")  # nor by this way
    with pytest.raises(UsageError, match="were released"):
        discreet.open(tmp_path).remove("patients")


def test_a_table_that_only_the_ledger_knows_is_removed_too(tmp_path, capsys):
    """Somebody took the declaration away by hand, and declares the source under another name."""
    make(tmp_path).refresh("patients")
    edit(tmp_path, "[tables.patients", "[tables.persons")
    project = discreet.open(tmp_path)
    with pytest.raises(UsageError, match="the ledger has this source as 'patients'") as caught:
        project.refresh("persons")
    assert caught.value.hint.endswith("nothing was released about its people yet, run discreet remove patients first")
    assert run(capsys, tmp_path, "remove", "patients", "--yes")[1] == {"table": "patients", "versions": 1, "left": []}
    assert discreet.open(tmp_path).refresh("persons")[0] == 1


def test_a_table_that_others_need_stays(tmp_path):
    project = make(tmp_path, extra='person = "note"', columns="")
    more = '\n[tables.visits]\nsource = "patients.csv"\nperson = { through = "patients", on = "age" }\n'
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace("budget = { epsilon = 1.0 }", 'population = "p"') + more
                    + 'population = "p"\n[populations.p]\nbudget = { epsilon = 1 }\n[tables.places]\n'
                    'source = "places.csv"\npublic = true\n')  # fmt: skip
    (tmp_path / "places.csv").write_text("house,ward\na,b\n")
    project = discreet.open(tmp_path)
    with pytest.raises(UsageError, match="'visits' identifies its persons through 'patients'") as caught:
        project.remove("patients")
    assert caught.value.hint == "run discreet remove visits first"
    project.remove("visits")
    assert project.remove("patients").versions == 0  # never made: nothing but a declaration
    assert set(project.file.tables) == {"places"}
    project.remove("places")
    assert project.file.tables == {}


def test_a_public_table_stays_once_something_was_released(tmp_path):
    project = make(tmp_path)
    (tmp_path / "places.csv").write_text("house,ward\na,b\n")
    project.add(tmp_path / "places.csv", public=True)
    project.sql(COUNT).ask(epsilon=0.5)
    with pytest.raises(UsageError, match="'places' is public, and answers were released that may have used it"):
        project.remove("places")


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_the_rest_of_the_file_stays_to_the_letter(tmp_path, ending):
    path = tmp_path / "discreet.toml"
    path.write_bytes(TOML.replace("\n", ending).encode())
    first, _, rest = TOML.partition("[tables.patients]")
    rest = rest.partition("# visits")[2]
    assert text_without_table(path, "patients") == f"{first}\n# visits{rest}".replace("\n", ending)
    assert text_without_table(path, "visits") == TOML.partition('[tables."visits"]')[0].replace("\n", ending)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("[tables]\na = { source = 'x' } # one\nb = { source = 'y' }\n", "b = { source = 'y' }"),
        ("tables.a.source = 'x'\ntables.b.source = 'y'\n", "tables.b.source = 'y'"),
        ("[tables.a]\nsource = '''\n[tables.b]\n'''\n[tables.b]\nsource = 'y'\n", "[tables.b]\nsource = 'y'\n"),
        ("[tables.a.columns.x]\ntype = 'text'\n[tables.b]\nsource = 'y'\n[tables.a]\nsource = 'x'\n", "source = 'y'"),
    ],
)
def test_tables_that_are_written_otherwise(tmp_path, text, rest):
    path = tmp_path / "discreet.toml"
    path.write_text(text)
    try:
        edited = text_without_table(path, "a")
    except UsageError as told:
        assert "remove it from discreet.toml by hand" in told.hint
    else:
        assert rest in edited and "'x'" not in edited


def test_adopting_without_a_state_folder_says_what_it_spends_and_asks(tmp_path, capsys, monkeypatch):
    make(tmp_path / "here", budget="{ epsilon = 3, delta = 1e-6 }")
    assert run(capsys, tmp_path / "here", "query", COUNT, "--epsilon", "0.5")[0] == 0
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "new"))
    code, _, err = say(capsys, tmp_path / "here", "budget")
    assert code == 5 and "discreet ledger adopt --state FOLDER" in err
    code, told, _ = run(capsys, tmp_path / "here", "ledger", "adopt")
    assert code == 2 and told["hint"] == "discreet ledger adopt --yes"
    assert "without --state FOLDER" in told["reason"]
    assert "the whole budget of patients (epsilon 3, delta 1e-06) counts as spent" in told["reason"]
    at_a_terminal(monkeypatch)
    asked = []
    monkeypatch.setattr("typer.confirm", lambda words, **_: asked.append(words) or True)
    assert run(capsys, tmp_path / "here", "ledger", "adopt")[1]["lost"] == ["patients"]
    (words,) = asked
    assert words.startswith("Without --state FOLDER") and words.endswith("counts as spent.\nContinue?")


def at_a_terminal(monkeypatch):
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)


def test_who_says_no_spends_nothing(tmp_path, capsys, monkeypatch):
    make(tmp_path / "here").refresh("patients")
    before = json.dumps(run(capsys, tmp_path / "here", "ledger", "show")[1])
    at_a_terminal(monkeypatch)
    monkeypatch.setattr("typer.confirm", lambda words, **_: False)
    assert run(capsys, tmp_path / "here", "remove", "patients")[0] == 2
    assert json.dumps(run(capsys, tmp_path / "here", "ledger", "show")[1]) == before
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "new"))
    assert run(capsys, tmp_path / "here", "ledger", "adopt")[0] == 2
    assert not (tmp_path / "new").exists()
