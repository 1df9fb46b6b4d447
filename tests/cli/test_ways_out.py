"""What is said when somebody is stuck: the unit that is for good, a population that was edited, a typo, a stop."""

import shutil

import pytest

import discreet
from clinic import make, run, say
from discreet.errors import UsageError
from discreet.project.project import Project
from discreet.project.remote import _LOCAL_ONLY, Remote, connect

PEOPLE = "patient_id,sex\n" + "".join(f"{row % 4},{'FM'[row % 2]}\n" for row in range(8))
COUNT = "select count(*) from patients"


@pytest.fixture
def rows(tmp_path, capsys):
    """A table that was declared without its person, and made."""
    (tmp_path / "patients.csv").write_text(PEOPLE)
    assert say(capsys, tmp_path, "init")[0] == 0
    assert say(capsys, tmp_path, "add", str(tmp_path / "patients.csv"), "--epsilon", "1")[0] == 0
    return tmp_path


def with_person(folder):
    toml = folder / "discreet.toml"
    text = toml.read_text().replace('[tables.patients.columns.patient_id]\ntype = "integer"\n', "")
    toml.write_text(text.replace('source = "patients.csv"', 'source = "patients.csv"\nperson = "patient_id"'))


def take_away(folder):
    """As the hint says."""
    shutil.rmtree(folder / ".discreet" / "tables")
    for path in (folder / ".discreet").glob("ledger.db*"):
        path.unlink()


def test_the_first_version_says_that_the_unit_is_for_good(rows, capsys):
    _, _, err = say(capsys, rows, "refresh", "patients")
    assert "is protected, not each person, but 'patient_id' looks like it identifies people" in err
    assert 'person = "patient_id"' in err
    assert say(capsys, rows, "refresh", "patients")[2] == ""


def test_a_table_whose_person_is_named_is_not_warned_of(rows, capsys):
    with_person(rows)
    assert say(capsys, rows, "refresh", "patients")[::2] == (0, "")


def test_the_way_out_that_is_told_is_one(rows, capsys):
    """While nothing was charged, the person is corrected by an edit and a refresh."""
    _, _, err = say(capsys, rows, "refresh", "patients")
    assert "then run discreet refresh patients" in err
    with_person(rows)
    code, data, err = run(capsys, rows, "refresh", "patients")
    assert code == 0, data
    assert (data["persons"], err) == (4, "")
    assert run(capsys, rows, "query", COUNT, "--epsilon", "0.1")[1]["rows"]
    assert discreet.open(rows).ledger.refresh().units == {"patients": "person"}
    take_away(rows)
    assert run(capsys, rows, "init")[0] == 5  # for now something was charged


def test_after_a_charge_no_way_out_is_told(rows, capsys):
    assert run(capsys, rows, "query", COUNT, "--epsilon", "0.1")[0] == 0
    with_person(rows)
    code, data, _ = run(capsys, rows, "refresh", "patients")
    assert code == 2 and "ledger.db" not in data["hint"]


def test_budget_and_query_agree_about_an_edited_population(tmp_path, capsys):
    """The ledger holds: what is said to be left is what is."""
    make(tmp_path, budget="{ epsilon = 1.5 }")
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.5")[0] == 0
    toml = tmp_path / "discreet.toml"
    text = toml.read_text().replace("budget = { epsilon = 1.5 }", 'population = "people"')
    toml.write_text(text + "\n[populations.people]\nbudget = { epsilon = 3 }\n")
    code, data, err = run(capsys, tmp_path, "budget")
    told = data["tables"]["patients"]
    assert (told["population"], told["limit"]["epsilon"], told["remaining"]["epsilon"]) == ("patients", 1.5, 1.0)
    assert "the ledger has 'patients' in population 'patients'" in err and "correct the file" in err
    code, data, _ = run(capsys, tmp_path, "query", "select avg(age) from patients", "--epsilon", "2")
    assert code == 4 and data["remaining"]["epsilon"] == told["remaining"]["epsilon"]
    code, data, _ = run(capsys, tmp_path, "refresh", "patients")
    assert code == 2 and "has this source as 'patients' in population 'patients'" in data["reason"]


def test_a_histogram_marks_what_its_legend_names(tmp_path, capsys):
    make(tmp_path)
    _, out, _ = say(capsys, tmp_path, "histogram", "patients", "age", "--epsilon", "0.001")  # 60 are shown, most so
    assert "~ below the noise: treat as unknown." in out and " ~" in out.split("± 95%")[0]


@pytest.mark.parametrize(
    ("sql", "word", "meant"),
    [
        ("selct count(*) from patients", "selct", "SELECT"),
        ("select count(*) form patients", "form", "FROM"),
        ("select count(*) from patients gruop by sex", "gruop", "GROUP"),
    ],
)
def test_a_misspelled_keyword_is_pointed_at(tmp_path, capsys, sql, word, meant):
    make(tmp_path)
    code, data, _ = run(capsys, tmp_path, "explain", sql, "--epsilon", "0.1")
    assert (code, data["column"], data["hint"]) == (3, sql.index(word) + 1, f"did you mean {meant}?")


def test_a_key_that_must_be_found_is_pointed_at(tmp_path, capsys):
    make(tmp_path)
    sql = "select sex, note, count(*) from patients group by sex, note"
    code, data, _ = run(capsys, tmp_path, "explain", sql, "--epsilon", "0.1")
    assert (code, data["column"]) == (3, sql.rindex("note") + 1) and "needs a delta" in data["reason"]


def test_a_number_that_was_declared_text(tmp_path, capsys):
    make(tmp_path)
    _, data, _ = run(capsys, tmp_path, "explain", f"{COUNT} where note > 50", "--epsilon", "0.1")
    assert 'if note is not text, its owner can declare it: type = "integer"' in data["hint"]


def test_a_stored_answer_says_what_it_was_bought_for(tmp_path, capsys):
    project = make(tmp_path)
    project.sql(COUNT).ask(epsilon="0.05")
    repeated = project.sql(COUNT).ask(epsilon=50)
    assert repeated.cached and "(it cost epsilon 0.05)" in str(repeated)
    assert "stored answer: free (it cost epsilon 0.05)" in say(capsys, tmp_path, "query", COUNT, "--epsilon", "9")[1]


def test_python_is_told_in_python_and_the_command_line_as_it_is(tmp_path, capsys):
    project = make(tmp_path)
    with pytest.raises(UsageError) as caught:
        project.sql(COUNT).ask()
    assert "try: epsilon=0.1, or within=50" in str(caught.value) and "--" not in str(caught.value)
    assert "try: --epsilon 0.1, or --within 50" in caught.value.command_line_text()
    assert "--epsilon 0.1, or --within 50" in say(capsys, tmp_path, "query", COUNT)[2]
    with pytest.raises(UsageError) as caught:
        discreet.open(tmp_path).sql("select count(*) from patients -- epsilon 1 --epsilon 2").explain(within=-1)
    assert str(caught.value) == "within must be above 0, got -1"


def test_what_a_project_on_a_server_cannot_do_is_said():
    remote = connect("http://127.0.0.1:1", "dsc_token")
    with pytest.raises(AttributeError, match="'synthesize' is not available for a project on a server"):
        remote.synthesize("patients", epsilon=1)
    with pytest.raises(AttributeError, match="has no 'nonsense'"):
        remote.nonsense()
    assert not hasattr(remote, "histogram") and hasattr(remote, "sql")
    assert set(dir(Project)) >= _LOCAL_ONLY and not _LOCAL_ONLY & set(dir(Remote))


def test_a_ledger_that_is_gone_names_the_restore_which_tells_what_counts_as_spent(tmp_path, capsys):
    project = tmp_path / "clinic"
    make(project)
    assert run(capsys, project, "query", COUNT, "--epsilon", "0.1")[0] == 0
    assert run(capsys, project, "ledger", "backup", "--to", str(tmp_path / "copy.db"))[0] == 0
    assert run(capsys, project, "query", "select avg(age) from patients", "--epsilon", "0.3")[0] == 0
    for path in (project / ".discreet").glob("ledger.db*"):
        path.unlink()
    code, data, _ = run(capsys, project, "budget")
    assert code == 5 and "discreet ledger restore FILE" in data["hint"]
    code, out, _ = say(capsys, project, "ledger", "restore", str(tmp_path / "copy.db"))
    assert code == 0 and "charged the lost spending to patients: epsilon 0.4 now counts as spent of epsilon 1" in out


def test_an_estimate_says_how_much_of_it_others_are_shown(tmp_path, capsys):
    """The page of results moves in steps of the minimum; the owner's estimate counts every report."""
    made = run(capsys, tmp_path, "survey", "new", "Tea?", "--choices", "yes,no", "--epsilon", "1", "--minimum", "3")[1]
    for device in range(4):
        words = ("survey", "answer", made["survey"], "yes", "--device", str(tmp_path / str(device)))
        assert run(capsys, tmp_path, *words)[0] == 0
        if device == 2:
            assert "results page" not in say(capsys, tmp_path, "survey", "estimate", made["survey"])[1]
    assert run(capsys, tmp_path, "survey", "estimate", made["survey"])[1]["n"] == 4
    told = say(capsys, tmp_path, "survey", "estimate", made["survey"])[1]
    assert "shows the first 3, in steps of 3" in told
