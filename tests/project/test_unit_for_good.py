"""The two audits' attacks on the unit, by the whole path: a table whose person becomes another one after an answer."""

import json
import shutil
from dataclasses import replace

import pytest

import discreet
from discreet.bundle import bundle_files as bundles
from discreet.bundle.verification import verify
from discreet.cli.main import call
from discreet.errors import UsageError
from discreet.ledger import repair
from discreet.project import budget
from discreet.schema.privacy_unit import PrivacyUnit
from tables.stream.visits import as_an_older_program

TOML = """
[populations.people]
budget = {{ epsilon = 2, delta = 1e-6 }}
[tables.visits]
source = "visits.csv"
population = "people"
person = {person}
rows_per_person = {rows}
columns.ward = {{ type = "category", values = ["a", "b"] }}
"""
SECOND = """
[tables.again]
source = "{source}"
population = "people"
person = {person}
rows_per_person = {rows}
columns.ward = {{ type = "category", values = ["a", "b"] }}
"""
COUNT = "SELECT count(*) AS n FROM visits"


@pytest.fixture
def declare(tmp_path):
    """Four patients of twenty visits each; the file names a person as it is told to."""
    discreet.init(tmp_path)
    base = (tmp_path / "discreet.toml").read_text()
    lines = [f"v{number},p{number % 4},{'ab'[number % 2]}" for number in range(80)]
    (tmp_path / "visits.csv").write_text("\n".join(["visit_id,patient_id,ward", *lines]) + "\n")

    def declared(person='"visit_id"', rows=1, more=""):
        (tmp_path / "discreet.toml").write_text(base + TOML.format(person=person, rows=rows) + more)
        return discreet.open(tmp_path)

    return declared


def test_a_person_is_not_made_of_units_that_were_protected_apart(declare):
    """1.5 of 2 by visits, then 0.5 by patients: a patient of twenty visits would have lost 30.5."""
    declare().sql(COUNT).ask(epsilon=1.5)
    project = declare('"patient_id"', 20)
    with pytest.raises(UsageError, match=r"'visits' identifies people by visit_id \(text\)\. Answers about") as caught:
        project.refresh("visits")
    assert "declare `person` as before" in caught.value.hint
    (told,) = project.warnings("visits")  # the file is not what is in force, and cannot be
    assert "declares another `person` for 'visits' than the ledger protects" in told and "applies it" not in told
    project = declare('"visit_id"', 20)  # more rows are no other unit
    assert "`discreet refresh visits` applies it" in project.warnings("visits")[0]
    project.refresh("visits")
    assert project.sql(COUNT).ask(epsilon=0.25).cost.epsilon == 0.25


def test_before_an_answer_it_is_an_edit_and_a_refresh(declare):
    declare().refresh("visits")
    project = declare('"patient_id"', 20)
    assert "`discreet refresh visits` applies it" in project.warnings("visits")[0]
    project.refresh("visits")
    assert project.sql(COUNT).ask(epsilon=1).cost.epsilon == 1
    assert project.ledger.refresh().protected_units["people"].namings["visits"][0]["person"] == ["patient_id"]


def test_without_its_source_a_note_is_still_a_note(declare, tmp_path):
    """Whether a refresh would be refused is not known then, and no question fails by it."""
    declare().sql(COUNT).ask(epsilon=1)
    (tmp_path / "visits.csv").unlink()
    assert "has changed since version 1" in declare('"patient_id"', 20).warnings("visits")[0]


@pytest.mark.parametrize("source", ["visits.csv", "copy.csv"])
def test_nor_by_a_second_name_of_the_same_source(declare, tmp_path, source):
    (tmp_path / "copy.csv").write_bytes((tmp_path / "visits.csv").read_bytes())
    second = SECOND.format(source=source, person='"patient_id"', rows=20)
    declare().sql(COUNT).ask(epsilon=1.5)
    project = declare(more=second)
    with pytest.raises(
        UsageError, match="'again' and 'visits' have the same source but identify its people differently"
    ):
        project.sql(COUNT.replace("visits", "again")).ask(epsilon=0.5)
    declare(more=second.replace("patient_id", "visit_id")).sql(COUNT.replace("visits", "again")).ask(epsilon=0.5)


def test_nor_by_a_second_name_of_a_source_that_was_left(declare, tmp_path):
    """The first table goes on from another file; what was asked of the old one counts."""
    declare().sql(COUNT).ask(epsilon=1.5)
    (tmp_path / "new.csv").write_text("visit_id,patient_id,ward\nv1,p1,a\n")
    second = SECOND.format(source="visits.csv", person='"patient_id"', rows=20)
    declare(more=second)
    toml = tmp_path / "discreet.toml"
    toml.write_text(toml.read_text().replace('source = "visits.csv"', 'source = "new.csv"', 1))
    project = discreet.open(tmp_path)
    project.refresh("visits")
    with pytest.raises(UsageError, match="'again' and 'visits' have the same source"):
        project.refresh("again")


def test_a_table_that_names_people_otherwise_is_noted(declare, tmp_path, capsys):
    """Nobody can know whether a changed copy is about the same people: the owner is asked."""
    lines = (tmp_path / "visits.csv").read_text().splitlines()
    (tmp_path / "other.csv").write_text("\n".join(lines[:-1]) + "\n")
    declare().refresh("visits")
    declare(more=SECOND.format(source="other.csv", person='"patient_id"', rows=20))
    assert call(["refresh", "again", "--project", str(tmp_path)]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "'again' identifies people by patient_id (text), and 'visits' by visit_id (text)" in told
    assert "only if these are the same people" in told


THROUGH = """
[tables.items]
source = "items.csv"
population = "people"
person = { through = "visits", on = "visit_id" }
rows_per_person = 20
columns.kind = { type = "category", values = ["x", "y"] }
"""


@pytest.mark.parametrize("population", ["people", "others"])
def test_nor_by_a_source_on_the_way_to_a_person(declare, tmp_path, population):
    """Persons of items are reached through visits, which has no version: its file is known all the same."""
    (tmp_path / "items.csv").write_text("visit_id,kind\n" + "".join(f"v{n},x\n" for n in range(80)))
    project = declare('"patient_id"', 20, more=THROUGH)
    project.sql("SELECT count(*) FROM items").ask(epsilon=1)
    second = SECOND.format(source="visits.csv", person='"visit_id"', rows=1).replace('"people"', f'"{population}"')
    second += "[populations.others]\nbudget = { epsilon = 2 }\n"
    project = declare('"patient_id"', 20, more=THROUGH + second)
    match = "have the same source" if population == "people" else "the ledger has this source as 'items'"
    with pytest.raises(UsageError, match=match):
        project.refresh("again")


def test_nor_by_a_table_that_a_restored_ledger_does_not_know(declare, tmp_path):
    copy = tmp_path / "copy"
    project = declare()
    project.ledger.close()
    shutil.copytree(tmp_path / ".discreet", copy)
    declare().sql(COUNT).ask(epsilon=1.5)
    for file in (tmp_path / ".discreet").glob("ledger.db*"):
        file.unlink()
    for file in copy.glob("ledger.db*"):
        shutil.copy(file, tmp_path / ".discreet" / file.name)
    repair.acknowledge(tmp_path / ".discreet" / "ledger.db")
    second = SECOND.format(source="visits.csv", person='"patient_id"', rows=20)
    project = declare(more=second)
    with pytest.raises(UsageError, match="does not contain the source of 'visits'") as caught:
        project.refresh("again")
    assert "discreet refresh visits first" in caught.value.hint
    project.refresh("visits")
    with pytest.raises(UsageError, match="have the same source"):
        project.refresh("again")


@pytest.mark.deep
def test_nor_by_correcting_one_of_two_names(declare):
    """The other must be made anew, by the same person, before anybody asks it."""
    second = SECOND.format(source="visits.csv", person='"visit_id"', rows=1)
    third = second.replace("tables.again", "tables.third")
    project = declare(more=second + third)
    for name in ("visits", "again", "third"):
        project.refresh(name)
    project = declare('"patient_id"', 20, more=second)
    project.refresh("visits")
    with pytest.raises(UsageError, match="version 1 of 'again' identifies people by visit_id"):
        project.sql(COUNT.replace("visits", "again")).ask(epsilon=1)
    with pytest.raises(UsageError, match="have the same source"):
        project.refresh("again")
    project = declare('"patient_id"', 20, more=second.replace('"visit_id"', '"patient_id"'))
    project.refresh("again")  # the third is stale, and does not stand in the way
    project.sql(COUNT.replace("visits", "again")).ask(epsilon=1)


def test_a_grant_corrects_nothing(declare):
    project = declare()
    project.refresh("visits")
    edited = replace(project.table("visits"), schema=replace(project.table("visits").schema, unit=PrivacyUnit()))
    budget.grant(edited, project.ledger, epsilon=3)
    state = project.ledger.refresh()
    assert state.units == {"people": "person"} and not state.protected_units["people"].corrected


def test_parquet_that_was_text_stays_text(declare, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    def written(ids):
        pq.write_table(pa.table({"visit_id": ids, "ward": ["a", "b"] * 4}), tmp_path / "visits.parquet")

    project = declare()
    toml = tmp_path / "discreet.toml"
    toml.write_text(toml.read_text().replace("visits.csv", "visits.parquet"))
    written([f"{number:03}" for number in range(8)])
    project = discreet.open(tmp_path)
    project.sql(COUNT).ask(epsilon=1)
    written(list(range(8)))
    with pytest.raises(UsageError, match=r"visit_id \(text\)\. Answers about"):
        project.refresh("visits")
    written(pa.array([f"{number:03}" for number in range(8)], pa.large_string()))
    project.refresh("visits")


def test_cards_and_bundles_say_who_is_protected(declare, tmp_path):
    project = declare('"patient_id"', 20)
    release = project.sql(COUNT).ask(epsilon=1).id
    bundles.write(bundles.make_bundle(project, release), tmp_path / "out")
    told = json.loads((tmp_path / "out" / "plan.json").read_text())
    naming = {"table": "visits", "person": ["patient_id"], "through": None, "on": [], "kinds": ["text"]}
    assert told["schemas"]["visits"]["persons"] == [naming] and told["unit_changes"] == []
    assert json.loads((tmp_path / "out" / "proof.json").read_text())["unit"]["persons"] == [naming]
    assert "People are identified in 'visits' by patient_id (text)." in (tmp_path / "out" / "card.yaml").read_text()
    assert all(check.holds for check in verify(tmp_path / "out").checks)


def test_a_card_promises_no_limit_where_an_older_program_let_the_unit_change(declare, tmp_path, monkeypatch):
    declare().sql(COUNT).ask(epsilon=1)
    project = declare('"patient_id"', 20)
    with monkeypatch.context() as patch:
        as_an_older_program(patch)
        project.refresh("visits")
    release = project.sql(COUNT).ask(epsilon=0.5).id
    bundles.write(bundles.make_bundle(project, release), tmp_path / "out")
    card = (tmp_path / "out" / "card.yaml").read_text()
    assert "No single limit holds for all releases about these people" in card
    assert "All releases ever made" not in card
    (note,) = project.budget("visits").notes
    assert note.startswith(
        "no single limit holds, because `person` changed after answers were released: "
        "'visits' identified people by visit_id (text), and with version 2"
    )
