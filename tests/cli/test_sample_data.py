"""`discreet sample-data` and `discreet demo --keep`: files for who has only the package."""

import json
import shlex

import pytest

import discreet
from clinic import run, say
from discreet.cli.main import call
from discreet.lab.samples.sample_data import SAMPLES

#: A question that each table answers once it is declared as it was told, and nothing more.
QUESTIONS = {
    "clinic": "SELECT count(*) FROM patients",
    "visits": "SELECT count(*) FROM visits",
    "offenders": "SELECT count(*) FROM offenders",
    "census": "SELECT count(*) FROM residents",
}


def test_without_a_name_they_are_listed(tmp_path, capsys):
    code, out, _ = say(capsys, tmp_path, "sample-data")
    assert code == 0 and out.splitlines()[-1] == "next: discreet sample-data NAME -o FOLDER"
    for line, sample in zip(out.splitlines(), SAMPLES.values(), strict=False):
        assert line == f"{sample.name}: {sample.about}"
    _, data, _ = run(capsys, tmp_path, "sample-data")
    assert [each["sample"] for each in data["samples"]] == list(SAMPLES)
    assert not list(tmp_path.iterdir())


def test_a_wrong_name_gives_the_list(tmp_path, capsys):
    code, _, err = say(capsys, tmp_path, "sample-data", "hospital", "-o", str(tmp_path))
    assert code == 2 and "there is no sample 'hospital'" in err
    assert "one of: clinic, visits, offenders, census, network" in err


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", SAMPLES)
def test_what_it_prints_next_can_be_typed_and_every_table_answers(tmp_path, capsys, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert call(["sample-data", name, "--rows", "300"]) == 0
    out = capsys.readouterr().out
    commands = [line.strip() for line in out.partition("next, here:\n")[2].splitlines()]
    assert len(commands) == 1 + len(SAMPLES[name].tables)
    for command in commands:
        assert call(shlex.split(command)[1:]) == 0, (command, capsys.readouterr().err)
    project = discreet.open(tmp_path)
    for table in project.file.tables.values():
        if not table.public:
            assert project.refresh(table.name)[1].exact_rows > 50, table.name
    if name in QUESTIONS:
        (row,) = project.sql(QUESTIONS[name]).ask(epsilon=1).rows
        assert row[0] == pytest.approx(300, abs=100 + 300)


def test_json_says_what_was_written_and_nothing_is_overwritten(tmp_path, capsys):
    wish = ("sample-data", "network", "--rows", "20", "-o", str(tmp_path / "here"))
    code, data, _ = run(capsys, tmp_path, *wish)
    assert code == 0 and data["folder"] == str(tmp_path / "here")
    assert [(table["file"], table["codebook"], table["rows"]) for table in data["tables"]] == [
        ("friends.csv", "codebook-friends.csv", 20),
        ("members.csv", "codebook-members.csv", 17),
    ]
    before = {file: file.read_bytes() for file in (tmp_path / "here").iterdir()}
    code, data, _ = run(capsys, tmp_path, *wish)
    assert code == 2 and "friends.csv is there already" in data["reason"]
    assert {file: file.read_bytes() for file in (tmp_path / "here").iterdir()} == before


@pytest.fixture
def short_tour(monkeypatch):
    """Three steps of it."""
    from discreet.cli import demo

    monkeypatch.setattr(demo, "STEPS", [demo.STEPS[1], demo.STEPS[5], demo.STEPS[-1]])


def test_a_tour_that_is_kept_can_be_gone_on_with(tmp_path, capsys, short_tour):
    kept = tmp_path / "new" / "clinic"
    assert call(["demo", "--keep", str(kept), "--json"]) == 0
    data = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert data["kept"] == str(kept) and [step["exit_code"] for step in data["steps"]] == [0, 3, 0]
    assert sorted(file.name for file in kept.iterdir()) == [
        ".discreet",
        "codebook-patients.csv",
        "discreet.toml",
        "patients.csv",
    ]
    project = discreet.open(kept)
    assert project.file.practice and project.budget("patients").spent.epsilon == pytest.approx(0.5)
    code, data, _ = run(capsys, kept, "query", "SELECT count(*) FROM patients", "--epsilon", "0.5")
    assert code == 0 and data["rows"][0][0] == pytest.approx(10_000, abs=60)
    assert say(capsys, kept, "init", "--practice", "--again")[0] == 0


def test_a_tour_is_kept_in_an_empty_folder_alone(tmp_path, capsys, short_tour):
    (tmp_path / "mine.txt").write_text("mine")
    code, _, err = say(capsys, tmp_path, "demo", "--keep", str(tmp_path))
    assert code == 2 and "is not empty" in err and [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
    code, _, err = say(capsys, tmp_path, "demo", "--keep", str(tmp_path / "mine.txt"))
    assert code == 2 and "cannot be kept in" in err
    (tmp_path / "empty").mkdir()
    code, out, _ = say(capsys, tmp_path, "demo", "--keep", str(tmp_path / "empty"))
    assert code == 0 and "discreet init --practice --again in it gives the budget back" in out


def test_a_tour_that_is_not_kept_leaves_nothing(tmp_path, capsys, monkeypatch, short_tour):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert call(["demo"]) == 0
    assert not list(tmp_path.iterdir())
