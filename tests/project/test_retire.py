"""A retired table is out of use; what was released stays readable, and what was spent stays spent."""

from __future__ import annotations

import pytest

import discreet
from discreet.errors import BudgetExceeded, UsageError

COUNT = "SELECT count(*) AS n FROM people"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "people.csv").write_text("id,age\n" + "".join(f"{n},{n % 90}\n" for n in range(200)))
    made = discreet.init(tmp_path, epsilon=3)
    made.add(tmp_path / "people.csv")
    return made


def rows(project):
    """The files that hold rows of declared tables."""
    return sorted(project.folder.rglob("*.parquet"))


def test_releases_and_charges_stay_and_rows_go(project):
    asked = project.sql(COUNT).ask(epsilon=2)
    assert rows(project)
    report = project.retire("People")
    assert (report.table, report.versions, report.missing) == ("people", 1, ())
    assert not rows(project) and "people" not in project.tables
    assert project.release(asked.id).rows == asked.rows
    assert project.ledger.verify() and (project.folder / "people.csv").exists()
    with pytest.raises(discreet.DiscreetError, match="people"):
        project.sql(COUNT).ask(epsilon=1)


def test_declared_again_it_has_what_is_left(project):
    """Under its own name, with a larger budget in the file; another name is refused."""
    asked = project.sql(COUNT).ask(epsilon=2)
    project.retire("people")
    project.add(project.folder / "people.csv", epsilon=50)
    project.refresh("people", force=True)
    with pytest.raises(BudgetExceeded):
        project.sql("SELECT count(*) FROM people WHERE age < 50").ask(epsilon=2)
    assert project.release(asked.id).rows == asked.rows


def test_another_name_gives_no_second_budget(project):
    project.sql(COUNT).ask(epsilon=2)
    project.retire("people")
    project.add(project.folder / "people.csv", name="others")
    with pytest.raises(UsageError, match="the ledger has this source as 'people'"):
        project.refresh("others")


def test_before_the_first_answer_a_table_is_removed(project):
    with pytest.raises(UsageError, match="need not be retired"):
        project.retire("people")
    project.refresh("people")
    with pytest.raises(UsageError, match="need not be retired"):
        project.retire("people")
    assert rows(project)


def test_a_table_that_others_need_stays(project):
    (project.folder / "visits.csv").write_text("who,cost\n1,5\n2,6\n")
    text = (project.folder / "discreet.toml").read_text()
    text = text.replace('[tables.people.columns.id]\ntype = "integer"\n', "").replace(
        'source = "people.csv"\n', 'source = "people.csv"\nperson = "id"\npopulation = "all"\n'
    )
    text += (
        "[populations.all]\nbudget = { epsilon = 3 }\n"
        '[tables.visits]\nsource = "visits.csv"\npopulation = "all"\nperson = { through = "people", on = "who" }\n'
        '[tables.visits.columns.cost]\ntype = "integer"\nlow = 0\nhigh = 9\n'
    )
    (project.folder / "discreet.toml").write_text(text)
    project = discreet.open(project.folder)
    project.sql(COUNT).ask(epsilon=1)
    with pytest.raises(UsageError, match="through 'people'"):
        project.retire("people")
