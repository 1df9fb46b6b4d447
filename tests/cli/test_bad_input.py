"""Bad input: one clear sentence, the right exit code, no traceback, nothing charged, nothing lost."""

import gc
import subprocess
import sys
import time

import pytest

import discreet
from clinic import COLUMNS, make, rows_of_ledger, run, say
from discreet.cli.main import call
from tiers import DEEP

COUNT = "select count(*) from patients"


def told(capsys, words, code):
    """Run outside a project helper: check code and that stderr is a sentence and no traceback."""
    capsys.readouterr()
    assert call(words) == code
    seen = capsys.readouterr()
    assert seen.err.strip() and "Traceback" not in seen.err
    return seen.err


def test_no_project(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "discreet init" in told(capsys, ["query", COUNT, "--epsilon", "1"], 2)
    assert "no folder" in told(capsys, ["budget", "--project", str(tmp_path / "nowhere")], 2)


@pytest.mark.thin(9)
@pytest.mark.parametrize(
    "target", ["patients.csv", "discreet.toml", ".discreet/ledger.db", ".discreet/new.csv", ".", "no/where.csv"]
)
@pytest.mark.parametrize(
    "verb",
    [
        ["query", COUNT, "--epsilon", "0.1", "--csv"],
        ["query", COUNT, "--epsilon", "0.1", "--parquet"],
        ["ledger", "export"],
    ],
)
def test_no_output_destroys_the_project(tmp_path, capsys, monkeypatch, verb, target):
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("*.*") if path.is_file()}
    told(capsys, [*verb, target], 2)
    assert before == {path: path.read_bytes() for path in tmp_path.glob("*.*") if path.is_file()}
    assert run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["spent"]["epsilon"] == 0


def test_a_file_without_a_header_writes_nobody_into_the_declaration(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "rows.csv").write_text("27,F,flu,615.65\n31,M,flu,12.5\n")
    before = (tmp_path / "discreet.toml").read_text()
    assert "header" in told(
        capsys, ["add", str(tmp_path / "rows.csv"), "--epsilon", "1", "--project", str(tmp_path)], 2
    )
    assert (tmp_path / "discreet.toml").read_text() == before


def test_a_delta_needs_an_epsilon(tmp_path, capsys):
    assert "--delta needs --epsilon" in told(capsys, ["init", "--delta", "1e-6", "--project", str(tmp_path)], 2)


def test_a_missing_version_is_noticed_before_the_charge(tmp_path, capsys):
    make(tmp_path)
    run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")
    for path in (tmp_path / ".discreet" / "tables").iterdir():
        path.unlink()
    code, data, _ = run(capsys, tmp_path, "query", f"{COUNT} where smoker", "--epsilon", "0.1")
    assert code == 5 and "refresh" in data["hint"]
    assert run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["spent"]["epsilon"] == 0.1


def test_init_completes_a_declaration_written_by_hand(tmp_path, capsys):
    make(tmp_path)
    for path in (tmp_path / ".discreet").iterdir():
        path.unlink()
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 5
    assert run(capsys, tmp_path, "init")[0] == 0
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0
    assert (tmp_path / ".discreet" / ".gitignore").read_text() == "*\n"


def test_init_twice(tmp_path, capsys):
    assert call(["init", "--project", str(tmp_path)]) == 0
    assert "already" in told(capsys, ["init", "--project", str(tmp_path)], 2)


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e999", "abc", "", "1e-30", "1e7"])
def test_strange_budgets(tmp_path, capsys, epsilon):
    assert "epsilon" in told(capsys, ["init", f"--epsilon={epsilon}", "--project", str(tmp_path)], 2)
    assert not (tmp_path / "discreet.toml").exists()


@pytest.mark.thin(6)
@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "abc", "", "1e-30", "2000", "True"])
@pytest.mark.parametrize("verb", ["query", "explain"])
def test_strange_prices(tmp_path, capsys, verb, epsilon):
    make(tmp_path)
    before = rows_of_ledger(tmp_path)
    code, data, _ = run(capsys, tmp_path, verb, COUNT, f"--epsilon={epsilon}")
    assert code == 2 and "epsilon" in data["reason"]
    assert rows_of_ledger(tmp_path) == before


@pytest.mark.thin(11)
@pytest.mark.parametrize(
    "words",
    [
        ["query", COUNT],
        ["query", COUNT, "--epsilon", "0.1", "--within", "3"],
        ["query", COUNT, "--within", "0"],
        ["query", COUNT, "--within=-5"],
        ["query", COUNT, "--epsilon", "0.1", "--confidence", "1"],
        ["query", COUNT, "--epsilon", "0.1", "--confidence", "95"],
        ["query", COUNT, "--epsilon", "0.1", "--wrong-flag"],
        ["query", COUNT, "--epsilon", "0.1", "--csv", "/nowhere/at/all.csv"],
        ["query", COUNT, "--epsilon", "0.1", "--analyst", ""],
        ["query"],
        ["explain", COUNT],
        ["budget", "nothing"],
        ["budget", "grant"],
        ["budget", "grant", "patients"],
        ["budget", "grant", "patients", "--epsilon", "0.5"],
        ["budget", "patients", "--epsilon", "4"],
        ["refresh", "nothing"],
        ["refresh"],
        ["add", "missing.csv"],
        ["ledger", "nothing"],
        ["nothing"],
    ],
    ids=" ".join,
)
def test_wrong_usage(tmp_path, capsys, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path)
    before = (tmp_path / "discreet.toml").read_text()
    told(capsys, words, 2)
    capsys.readouterr()
    assert (tmp_path / "discreet.toml").read_text() == before
    code, data, _ = run(capsys, tmp_path, "budget")
    assert code == 0 and data["tables"]["patients"]["spent"]["epsilon"] == 0


@pytest.mark.thin(8)
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[tables.patients]", "[tables.patients", "TOML"),
        ('type = "integer"', 'type = "intger"', "intger"),
        ("low = 0", 'low = "zero"', "low"),
        ("low = 0", "low = 200", "low is above high"),
        ("low = 0", "lowest = 0", "did you mean 'low'"),
        ("high = 99", "high = 1e99", "narrower bounds"),
        ("epsilon = 1.0", "epsilon = 0", "epsilon"),
        ("epsilon = 1.0", "epsilon = nan", ""),
        ("epsilon = 1.0", "epsilon = -1.0", "epsilon"),
        ("epsilon = 1.0", "epsilon = true", "epsilon"),
        ("epsilon = 1.0", "epsilon = 1.0, delta = 1.5", "delta"),
        ("epsilon = 1.0", "epsilonn = 1.0", "epsilonn"),
        ("budget = { epsilon = 1.0 }", "", "no budget"),
        ("budget = { epsilon = 1.0 }", 'budget = { epsilon = 1.0 }\naccounting = "zcdp"', "delta"),
        ("budget = { epsilon = 1.0 }", 'budget = { epsilon = 1.0 }\naccounting = "magic"', "accounting"),
        ("budget = { epsilon = 1.0 }", 'population = "nobody"', "nobody"),
        ('source = "patients.csv"', 'source = "nowhere.csv"', "nowhere.csv"),
        ('source = "patients.csv"', "source = 3", "source"),
        ('values = ["F", "M"]', 'values = ["F", "F"]', "twice"),
        ('values = ["F", "M"]', "values = []", "at least one"),
        ('values = ["F", "M"]', 'values = "F"', "list"),
        ("closed = true", 'closed = "yes"', "true or false"),
        ("high = 99", "high = 99\nbins = 0", "bins"),
        ("high = 99", "high = 99\nbins = 1000", "bins"),
        ("high = 99", "high = 99\nedges = [0, 50]", "edges"),
        ("high = 99", "high = 99\nedges = [0, 50, 50, 99]", "rise"),
        ("columns.age]", "columns.aged]", "aged"),
        ('ledger = "sqlite:///.discreet/ledger.db"', 'ledger = "mysql://x"', "ledger"),
        ('ledger = "sqlite:///.discreet/ledger.db"', 'ledger = "sqlite:///elsewhere.db"', "ledger"),
    ],
)
def test_a_wrong_declaration(tmp_path, capsys, old, new, words):
    make(tmp_path)
    path = tmp_path / "discreet.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    code, out, err = say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")
    assert code in (2, 5) and out == ""
    assert "Traceback" not in err and words in err and len(err) < 600
    path.write_text(text)
    code, data, _ = run(capsys, tmp_path, "budget")
    assert code == 0 and data["tables"]["patients"]["spent"]["epsilon"] == 0
    if DEEP or new == "low = 200":  # whatever was wrong, a question is answered once it is right
        code, data, _ = run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")
        assert code == 0 and data["remaining"]["epsilon"] == 0.9


def test_malformed_sources_quote_no_cell(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "patients.csv").write_text("age,sex,disease,smoker,note\n1,F,flu,true,canary-cell,too,many\n")
    code, _, err = say(capsys, tmp_path, "refresh", "patients")
    assert code == 2 and "canary" not in err and "line" in err
    (tmp_path / "patients.csv").write_bytes(b"\xff\xfe\x00 not text")
    assert say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 2
    (tmp_path / "patients.csv").write_text("")
    assert say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 2


def test_add_proposes_types_and_nothing_from_the_data(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "more.csv").write_text("who,when,how much,flag\nann,2020-01-01,3.5,true\nbob,2021-01-01,4.25,false\n")
    code, data, _ = run(capsys, tmp_path, "add", str(tmp_path / "more.csv"), "--epsilon", "2", "--delta", "1e-6")
    assert code == 0
    assert data["columns"] == {"who": "text", "when": "date", "how much": "decimal", "flag": "boolean"}
    written = (tmp_path / "discreet.toml").read_text()
    assert "ann" not in written and "2020" not in written and "4.25" not in written
    assert "budget = {epsilon = 2, delta = 1e-06}" in written
    assert COLUMNS.strip() in written  # what stood there stands there still
    assert run(capsys, tmp_path, "query", "select flag, count(*) from more group by flag", "--epsilon", "1")[0] == 0


@pytest.mark.deep
def test_add_refuses_a_source_that_is_declared_already(tmp_path, capsys, monkeypatch):
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy.csv").write_bytes((tmp_path / "patients.csv").read_bytes())
    (tmp_path / "link.csv").symlink_to(tmp_path / "patients.csv")
    for name in ("patients.csv", "./patients.csv", "copy.csv", "link.csv"):
        assert "already declared" in told(capsys, ["add", name, "--name", "again", "--epsilon", "9"], 2)
    assert "already" in told(capsys, ["add", "copy.csv", "--name", "PATIENTS"], 2)
    before = (tmp_path / "discreet.toml").read_text()
    words = ["add", "copy.csv", "--name", "again", "--population", "patients"]
    assert "[populations.patients]" in told(capsys, words, 2)
    assert "[populations.patients]" in told(capsys, words[:-2], 2)
    assert (tmp_path / "discreet.toml").read_text() == before
    shared = before.replace("budget = { epsilon = 1.0 }", 'population = "patients"')
    (tmp_path / "discreet.toml").write_text(shared + "\n[populations.patients]\nbudget = { epsilon = 1.0 }\n")
    assert call(words) == 0
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.7")[0] == 0
    assert run(capsys, tmp_path, "query", "select count(*) from again", "--epsilon", "0.7")[0] == 4


def test_a_table_cannot_be_renamed_into_a_new_budget(tmp_path, capsys):
    make(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "1")[0] == 0
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace("tables.patients", "tables.people"))
    question = "select count(*) from people"
    code, data, _ = run(capsys, tmp_path, "query", question, "--epsilon", "1")
    assert code == 2 and "has this source as 'patients'" in data["reason"]
    (tmp_path / "patients.csv").rename(tmp_path / "moved.csv")
    path.write_text(path.read_text().replace("patients.csv", "moved.csv"))
    assert run(capsys, tmp_path, "query", question, "--epsilon", "1")[0] == 2
    path.write_text(
        path.read_text().replace("budget = { epsilon = 1.0 }", 'population = "patients"')
        + "\n[populations.patients]\nbudget = { epsilon = 1.0 }\n"
    )
    assert run(capsys, tmp_path, "query", question, "--epsilon", "0.1")[0] == 4


def test_a_failed_making_opens_no_account(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "patients.csv").rename(tmp_path / "away.csv")
    before = rows_of_ledger(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 2
    assert rows_of_ledger(tmp_path) == before
    assert not list((tmp_path / ".discreet").glob("tables/*"))


def test_add_with_a_person(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "visits.csv").write_text("id,ward\n1,a\n1,b\n2,a\n")
    words = ["add", str(tmp_path / "visits.csv"), "--person", "id", "--rows-per-person", "2", "--epsilon", "1"]
    assert run(capsys, tmp_path, *words)[0] == 0
    assert run(capsys, tmp_path, "query", "select count(*) from visits", "--epsilon", "1")[0] == 0
    assert run(capsys, tmp_path, "query", "select id, count(*) from visits group by id", "--epsilon", "1")[0] == 3
    code, made, _ = run(capsys, tmp_path, "refresh", "visits", "--force")
    assert code == 0 and (made["rows"], made["persons"]) == (3, 2)
    assert told(
        capsys, ["add", str(tmp_path / "visits.csv"), "--name", "v", "--person", "idd", "--project", str(tmp_path)], 2
    )


def test_a_public_table(tmp_path, capsys):
    make(tmp_path)
    (tmp_path / "regions.csv").write_text("region,name\n1,north\n")
    assert run(capsys, tmp_path, "add", str(tmp_path / "regions.csv"), "--public")[0] == 0
    code, data, _ = run(capsys, tmp_path, "query", "select count(*) from regions", "--epsilon", "1")
    assert code == 3 and "public" in data["reason"]
    assert run(capsys, tmp_path, "refresh", "regions")[0] == 2
    assert "regions" not in run(capsys, tmp_path, "budget")[1]["tables"]


def test_a_ledger_that_is_gone_or_broken(tmp_path, capsys):
    make(tmp_path)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0
    assert run(capsys, tmp_path, "ledger", "verify")[1]["sound"] is True
    database = tmp_path / ".discreet" / "ledger.db"
    gc.collect()  # a ledger that is still open somewhere has its last rows beside the file
    kept = database.read_bytes()
    database.write_bytes(b"garbage" * 100)
    assert say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 5
    assert say(capsys, tmp_path, "ledger", "verify")[0] == 5
    database.unlink()
    assert say(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 5
    database.write_bytes(kept)
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0


def test_a_deleted_ledger_is_not_a_new_budget(tmp_path, capsys):
    make(tmp_path)
    for path in [tmp_path / "discreet.toml", *(tmp_path / ".discreet").iterdir()]:
        path.unlink()
    make(tmp_path)  # nothing was spent: no harm
    assert run(capsys, tmp_path, "query", COUNT, "--epsilon", "0.1")[0] == 0
    text = (tmp_path / "discreet.toml").read_text()
    kept = {path: path.read_bytes() for path in (tmp_path / ".discreet").glob("ledger*")}
    for path in [tmp_path / "discreet.toml", *kept]:
        path.unlink()
    assert "is gone" in told(capsys, ["init", "--project", str(tmp_path)], 5)
    (tmp_path / "discreet.toml").write_text(text)
    for path, content in kept.items():
        path.write_bytes(content)
    assert run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["spent"]["epsilon"] == 0.1


def test_help_and_version(capsys):
    assert call(["--help"]) == 0
    assert call(["query", "--help"]) == 0
    assert call(["version"]) == 0
    assert call([]) == 2


@pytest.mark.thin(1)
@pytest.mark.parametrize("where", ["count", "inside"])
def test_stopping_by_the_keyboard(tmp_path, where):
    """Ctrl-C during a question, in our code or in an engine's: exit 130, what was charged, no traceback, no failure."""
    make(tmp_path)
    script = (
        "import os, signal, sys, time; from discreet.engines.duckdb import DuckDBEngine\n"
        "from discreet.engines.engine import EngineFailure\n"
        "def count(*a, **k):\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(300)\n"
        "def inside(*a, **k):\n"
        "    try:\n        count()\n    except KeyboardInterrupt:\n        pass  # as DuckDB does, inside a statement\n"
        "    raise EngineFailure('Query interrupted')\n"
        f"DuckDBEngine.count = {where}\n"
        f"from discreet.cli.main import call; sys.exit(call(['query', {COUNT!r}, '--epsilon', '0.1', '--project', {str(tmp_path)!r}]))"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 130 and time.monotonic() - start < 250
    assert "stays charged: epsilon 0.1 for r-" in done.stderr and "Traceback" not in done.stderr
    assert "; it has no answer, so the same command is charged again" in done.stderr
    entries = [(entry.kind, entry.data()) for entry in discreet.open(tmp_path).ledger.entries()]
    assert all(body["stopped"] for kind, body in entries if kind == "failure")
    assert discreet.open(tmp_path).ledger.state.failures == {}


def test_a_second_ctrl_c_while_things_are_closed_says_nothing():
    """Whoever presses it twice is told once, with no traceback of what was being closed."""
    script = (
        "import atexit, os, signal, sys; import discreet.cli.main as main\n"
        "def call(words):\n    raise KeyboardInterrupt\n"
        "main.call = call; atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "from discreet.cli import run; run()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == "stopped; anything already charged stays charged\n"


@pytest.mark.deep
def test_the_tour(capsys):
    """`discreet demo` in JSON: every step does what the story says."""
    import json

    capsys.readouterr()
    assert call(["demo", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [step["exit_code"] for step in steps] == [0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0]
    first, again = steps[1]["output"], steps[2]["output"]
    assert again["cached"] and again["rows"] == first["rows"]
    women, men = steps[3]["output"], steps[4]["output"]
    assert women["spent"] == men["spent"] and men["cost"]["epsilon"] > 0
    fit, rows, standing = (step["output"] for step in steps[7:10])
    assert standing["tables"]["patients"]["spent"]["epsilon"] == pytest.approx(men["spent"]["epsilon"] + 0.3)
    assert fit["cost"]["epsilon"] == 0.3
    assert len(rows["rows"]) == 5 and {row[rows["columns"].index("disease")] for row in rows["rows"]} == {"mumps"}
    assert steps[10]["output"]["sound"]
