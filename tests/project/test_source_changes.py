"""A version is made when something changed; a stored answer says to its owner that its source has."""

import os

import pytest

import discreet
from clinic import COLUMNS, ROWS, make, run, say, write_rows
from console.house import world
from discreet.engines import fingerprint
from discreet.project.source_changes import SourceChanges
from discreet.project.version_records import VersionRecords

COUNT = "select count(*) from patients"
PERSONS = COLUMNS.partition("[tables.patients.columns.note]")[0]
PATH = """
[populations.people]
budget = { epsilon = 5 }
[tables.orders]
source = "orders.csv"
population = "people"
person = "who"
rows_per_person = 2
columns = { number = { type = "integer" } }
[tables.lines]
source = "lines.csv"
population = "people"
person = { through = "orders", on = "number" }
rows_per_person = 3
columns = { price = { type = "integer" } }
"""


def versions(project, table="patients"):
    return sorted(project.ledger.refresh().versions.get(table, {}))


def test_nothing_changed_so_no_version_is_made(tmp_path, capsys):
    project = make(tmp_path)
    assert run(capsys, tmp_path, "refresh", "patients")[1]["made"] is True
    code, data, err = run(capsys, tmp_path, "refresh", "patients")
    assert (code, data, err) == (0, {"table": "patients", "version": 1, "made": False, "corrected": []}, "")
    code, out, _ = say(capsys, tmp_path, "refresh", "PATIENTS")
    assert code == 0 and out.startswith("'patients' is unchanged: no new version was made; the newest is version 1\n")
    assert "discreet refresh patients --force makes a new version anyway" in out
    assert project.refresh("patients") == (1, None)
    assert versions(project) == [1]
    assert run(capsys, tmp_path, "refresh", "patients", "--force")[1]["version"] == 2
    assert project.refresh("patients", force=True)[0] == 3


def append(folder):
    write_rows(folder / "patients.csv", [*ROWS, ROWS[0]])


def touch(folder):
    os.utime(folder / "patients.csv", ns=(0, 0))


def declare(folder):
    file = folder / "discreet.toml"
    file.write_text(file.read_text().replace("high = 99", "high = 98"))


def lose(folder):
    for file in (folder / ".discreet" / "tables").glob("patients*"):
        file.unlink()


def replace(folder):
    """Another value of the same length."""
    file = folder / "patients.csv"
    file.write_text(file.read_text().replace("\n3", "\n4", 1))
    touch(folder)


@pytest.mark.parametrize("change", [append, replace, declare, lose])
def test_whatever_changed_makes_one(tmp_path, change):
    make(tmp_path).refresh("patients")
    change(tmp_path)
    number, making = discreet.open(tmp_path).refresh("patients")
    assert number == 2 and making is not None
    assert discreet.open(tmp_path).refresh("patients") == (2, None)


def test_a_source_with_another_time_and_the_same_content_is_unchanged(tmp_path, capsys):
    """Touched or copied: it was charged again for the same rows, and said to have changed."""
    make(tmp_path).refresh("patients")
    query = ("query", COUNT, "--epsilon", "0.1")
    run(capsys, tmp_path, *query)
    touch(tmp_path)
    assert run(capsys, tmp_path, "refresh", "patients", "--check")[1]["changed"] is False
    _, data, err = run(capsys, tmp_path, *query)
    assert (data["cached"], data["source_changed"], err) == (True, False, "")
    assert run(capsys, tmp_path, "refresh", "patients")[1]["made"] is False
    replace(tmp_path)
    assert run(capsys, tmp_path, "refresh", "patients", "--check")[1]["changed"] is True
    assert run(capsys, tmp_path, *query)[1]["source_changed"] is True


def test_two_versions_cannot_be_compared_by_what_they_keep_of_the_content(tmp_path):
    project = make(tmp_path)
    project.refresh("patients")
    project.refresh("patients", force=True)
    one, two = (record.source["content"][0] for record in project.ledger.refresh().versions["patients"].values())
    for key in ("salt", "sizes", "digests"):
        assert one[key] != two[key]


def test_a_version_of_before_keeps_no_content_and_goes_by_time(tmp_path, monkeypatch):
    monkeypatch.setattr(VersionRecords, "contents", lambda self, steps: {})
    make(tmp_path).refresh("patients")
    touch(tmp_path)
    assert discreet.open(tmp_path).source_changed("patients")
    assert discreet.open(tmp_path).refresh("patients")[0] == 2


def test_a_check_of_a_source_that_cannot_be_read_says_so(tmp_path, capsys):
    make(tmp_path).refresh("patients")
    (tmp_path / "patients.csv").unlink()
    code, data, _ = run(capsys, tmp_path, "refresh", "patients", "--check")
    assert code == 2 and "there is no file patients.csv" in data["reason"]


def test_a_source_that_is_gone_is_an_error_as_before(tmp_path, capsys):
    make(tmp_path).refresh("patients")
    (tmp_path / "patients.csv").unlink()
    code, data, _ = run(capsys, tmp_path, "refresh", "patients")
    assert code == 2 and "patients.csv" in data["reason"]


def test_a_table_on_the_way_to_the_person_that_changed_makes_one(tmp_path):
    (tmp_path / "discreet.toml").write_text(PATH)
    (tmp_path / "orders.csv").write_text("who,number\na,1\nb,2\n")
    (tmp_path / "lines.csv").write_text("number,price\n1,3\n2,4\n")
    project = discreet.init(tmp_path)
    project.refresh("lines")
    assert project.refresh("lines") == (1, None)
    os.utime(tmp_path / "orders.csv", ns=(0, 0))
    assert project.refresh("lines") == (1, None)
    (tmp_path / "orders.csv").write_text("who,number\na,1\nb,2\nc,3\n")
    assert project.refresh("lines")[0] == 2


def test_a_unit_that_was_corrected_makes_one(tmp_path):
    """A version of before protects somebody else, and is refused to questions."""
    project = make(tmp_path, columns=PERSONS)
    project.refresh("patients")
    (tmp_path / "discreet.toml").write_text(
        (tmp_path / "discreet.toml").read_text().replace('source = "patients.csv"', 'source = "patients.csv"\nperson = "note"')
    )  # fmt: skip
    assert discreet.open(tmp_path).refresh("patients")[0] == 2


def test_who_is_forgotten_needs_no_version(tmp_path):
    project = make(tmp_path, extra='person = "note"', columns=PERSONS)
    project.refresh("patients")
    project.forget("patients", ["n"])
    assert project.refresh("patients") == (1, None)
    assert project.refresh("patients", force=True)[1].exact_rows == 0


def test_what_cannot_be_known_is_made_as_before(tmp_path, capsys, monkeypatch):
    """As on a server: everything that can be seen is the same, and a version is made all the same."""
    project = make(tmp_path)
    project.refresh("patients")
    monkeypatch.setattr(SourceChanges, "is_up_to_date", lambda self, name: None)
    assert project.refresh("patients")[0] == 2
    monkeypatch.setattr("discreet.schema.address.engine_kind", lambda address: "postgresql")
    code, data, err = run(capsys, tmp_path, "refresh", "patients")
    assert (code, data["made"]) == (0, True)
    assert "rows on postgresql can change without a visible sign, so a new version was made" in err


# -- stored answers -------------------------------------------------------------------------------


def test_a_stored_answer_says_that_its_source_changed(tmp_path, capsys):
    project = make(tmp_path)
    query = ("query", COUNT, "--epsilon", "0.1")
    assert run(capsys, tmp_path, *query)[1]["source_changed"] is None, "it is not stored"
    code, data, err = run(capsys, tmp_path, *query)
    assert (data["cached"], data["source_changed"], err) == (True, False, "")
    append(tmp_path)
    code, data, err = run(capsys, tmp_path, *query)
    assert (code, data["cached"], data["source_changed"]) == (0, True, True)
    assert "the source of 'patients' has changed since this stored answer was measured" in err
    assert "has changed" in say(capsys, tmp_path, *query)[2]
    (tmp_path / "batch.sql").write_text(f"{COUNT};")
    _, data, err = run(capsys, tmp_path, "query", "-f", str(tmp_path / "batch.sql"), "--epsilon", "0.1")
    assert data["answers"][0]["source_changed"] is True and "has changed" in err
    project.refresh("patients")
    assert run(capsys, tmp_path, *query)[1]["cached"] is False


def test_an_analyst_is_told_nothing_of_it(tmp_path, capsys):
    """One bit about one row, for free, as often as one likes: decision 6. The mutant says it to whoever asks."""
    make(tmp_path)
    query = ("query", COUNT, "--epsilon", "0.1", "--analyst", "ann")
    run(capsys, tmp_path, *query)
    before = run(capsys, tmp_path, *query)
    append(tmp_path)
    assert run(capsys, tmp_path, *query) == before
    assert before[1]["source_changed"] is None
    release = discreet.open(tmp_path).sql(COUNT).ask(epsilon="0.1")
    assert release.cached and "source_changed" not in release.to_data() and not release.warnings


def test_what_cannot_be_reached_is_not_known(tmp_path, capsys):
    make(tmp_path)
    query = ("query", COUNT, "--epsilon", "0.1")
    run(capsys, tmp_path, *query)
    (tmp_path / "patients.csv").unlink()
    _, data, err = run(capsys, tmp_path, *query)
    assert (data["cached"], data["source_changed"], err) == (True, None, "")


def test_no_source_is_read_for_it(tmp_path, capsys, monkeypatch):
    make(tmp_path)
    query = ("query", COUNT, "--epsilon", "0.1")
    run(capsys, tmp_path, *query)
    append(tmp_path)

    def read(*arguments, **named):
        raise AssertionError("a source was read")

    monkeypatch.setattr(fingerprint, "_digest", read)
    monkeypatch.setattr("discreet.engines.file_backed_engine.source_rows", read)
    assert run(capsys, tmp_path, *query)[1]["source_changed"] is True


def test_the_console_tells_owners_alone(tmp_path):
    made = world(tmp_path / "clinic")
    try:
        project = made.house.handle.project
        release = project.sql(COUNT).ask(epsilon=1, analyst="ann")
        owner, analyst = made.browser("owner"), made.browser("analyst")
        words = "has changed since this answer was measured"
        assert words not in owner.text(f"/a/{release.id}")
        with (tmp_path / "clinic" / "patients.csv").open("a") as stream:
            stream.write("1000,30,flu,F,w0\n")
        assert words in owner.text(f"/a/{release.id}")
        assert words not in analyst.text(f"/a/{release.id}")
        data = analyst.get(f"/a/{release.id}.json")
        assert data.json()["source_changed"] is False
        project.refresh("patients")
        assert words not in owner.text(f"/a/{release.id}"), "that there is a newer version is said instead"
    finally:
        made.house.close()
