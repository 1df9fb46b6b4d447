"""`discreet describe` as an owner uses it: what it says, writes, charges and refuses."""

from __future__ import annotations

import json
import re

import pytest

import discreet
from clinic import run
from discreet.cli.main import call
from discreet.project.project import Project

COLUMNS = "age,word,flag,<b>x</b>"


@pytest.fixture
def folder(tmp_path):
    rows = [f"{n % 90},{['red', 'blue'][n % 2]},{int(n % 12 == 0)},{n % 7}" for n in range(800)]
    (tmp_path / "t.csv").write_text("\n".join([COLUMNS, *rows]) + "\n")
    Project.make(tmp_path / "p", epsilon=200, delta="1e-5").add(tmp_path / "t.csv", name="t")
    return tmp_path / "p"


def say(capsys, folder, *words):
    code = call([*words, "--project", str(folder)])
    out, err = capsys.readouterr()
    return code, out, err


def test_words_json_page_and_declarations(folder, tmp_path, capsys):
    before = (folder / "discreet.toml").read_text()
    code, out, _ = say(capsys, folder, "describe", "t", "--epsilon", "50", "--plan")
    assert code == 0 and "this plan charged nothing" in out and "fewer than about" in out
    assert not Project(folder).ledger.refresh().charges
    page = tmp_path / "page.html"
    code, out, _ = say(capsys, folder, "describe", "t", "--epsilon", "50", "-o", str(page))
    assert code == 0 and "not declared yet: " in out and "cost epsilon" in out and re.search("red (49|5)", out)
    assert (folder / "discreet.toml").read_text() == before
    html = page.read_text()
    assert (
        "default-src 'none'" in html
        and "<script" not in html
        and "://" not in html.replace("http://www.w3.org/2000/svg", "")
    )
    assert "<b>x</b>" not in html and "&lt;b&gt;x" in html
    code, out, err = say(capsys, folder, "describe", "t", "--epsilon", "50", "-o", str(page))
    assert code == 2 and "--overwrite" in err
    code, out, _ = say(capsys, folder, "describe", "t", "--epsilon", "50", "--write")
    assert code == 0 and "stored release: free" in out and "run discreet refresh t" in out
    assert "measured" in (folder / "discreet.toml").read_text()
    code, out, _ = say(capsys, folder, "describe", "t", "--epsilon", "50", "--json")
    data = json.loads(out)
    assert code == 0 and data["cached"] and data["declared"] == [] and data["cost"]["epsilon"] == 0
    assert {each["column"] for each in data["columns"]} == set(COLUMNS.split(","))
    assert len(Project(folder).ledger.refresh().charges) == 1
    code, out, _ = say(capsys, folder, "releases")
    assert code == 0 and "a description of the columns" in out


def test_it_says_what_is_missing(folder, capsys):
    code, _, err = say(capsys, folder, "describe", "t")
    assert code == 2 and "--epsilon" in err
    code, _, err = say(capsys, folder, "describe", "t", "--epsilon", "1", "--analyst", "ana", "--write")
    assert code == 2 and "only the owner" in err
    code, _, err = say(capsys, folder, "describe", "nobody", "--epsilon", "1")
    assert code == 2
    code, _, err = say(capsys, folder, "describe", "t", "--epsilon", "500")
    assert code == 4 and "--epsilon" in err
    assert not Project(folder).ledger.refresh().charges


def test_a_bundle_of_it_is_written_and_its_noise_is_derived_again(folder, tmp_path, capsys):
    """Choices of bounds, too: all follows from the declaration and from what was drawn before."""
    made = Project(folder).describe("t", epsilon=20)
    code, _, _ = say(capsys, folder, "release", "write", made.release, "-o", str(tmp_path / "bundle"))
    assert code == 0
    assert call(["release", "verify", str(tmp_path / "bundle")]) == 0
    out = capsys.readouterr().out
    assert "every step was derived again" in out and "not checked" not in out


def test_bought_bounds_leave_years_of_two_digits_in_their_century(tmp_path, capsys):
    days = [f"{1 + n % 12}/{1 + n % 28}/{(n % 60 + 45) % 100:02}" for n in range(3000)]
    (tmp_path / "people.csv").write_text("born\n" + "\n".join(days) + "\n")
    discreet.init(tmp_path, epsilon=400)
    code, _, err = say(capsys, tmp_path, "add", str(tmp_path / "people.csv"), "--yes")
    assert code == 0 and re.search(r"born: years have two digits, and are read as \d+ to \d+, because high is", err)
    text = (tmp_path / "discreet.toml").read_text()  # as older versions declared it
    (tmp_path / "discreet.toml").write_text(re.sub(r"high = .*\n", "", text))
    code, planned, _ = run(capsys, tmp_path, "describe", "people", "--epsilon", "20", "--plan")
    assert code == 0 and any("years have two digits" in note for note in planned["notes"])
    code, made, err = run(capsys, tmp_path, "describe", "people", "--epsilon", "20", "--write")
    assert code == 0 and made["declared"] == ["born"], err
    assert discreet.open(tmp_path).table("people").schema.column("born").format.last_year <= 2068
    code, _, _ = run(capsys, tmp_path, "refresh", "people")
    sql = "SELECT count(*) AS n FROM people WHERE born >= DATE '1990-01-01' AND born < DATE '2000-01-01'"
    code, answer, err = run(capsys, tmp_path, "query", sql, "--epsilon", "100")
    assert code == 0 and answer["rows"][0][0] == sum(int(day[-2:]) >= 90 for day in days), err


def test_codes_show_by_their_labels_and_json_keeps_the_codes(tmp_path, capsys):
    (tmp_path / "people.csv").write_text("sex\n" + "1\n2\n2\n" * 200)
    discreet.init(tmp_path, epsilon=400)
    options = ("--column", "sex: 1=male, 2=female", "--yes")
    assert say(capsys, tmp_path, "add", str(tmp_path / "people.csv"), *options)[0] == 0
    page = tmp_path / "page.html"
    code, out, _ = say(capsys, tmp_path, "describe", "people", "--epsilon", "50", "-o", str(page))
    assert code == 0 and re.search(r"sex: female 6\d\.\d%, male 3\d\.\d%", out)
    assert ">female<" in page.read_text()
    code, data, _ = run(capsys, tmp_path, "describe", "people", "--epsilon", "50")
    assert [cell["label"] for cell in data["columns"][0]["cells"]] == ["1", "2"]
