"""The exact neighbour test as a tool: on an owner's declaration and questions, with no row of anybody."""

import json
import os
from dataclasses import replace
from random import Random

import pytest

import discreet
from discreet.accounting.sensitivity import Sensitivity
from discreet.cli.main import call
from discreet.errors import Refused, UsageError
from discreet.lab import neighbours
from discreet.lab.neighbours.generated_world import MOST_ROWS, WorldMaker
from discreet.lab.neighbours.neighbour_law import norms
from discreet.plan import price as pricing
from discreet.plan import query_sensitivity
from discreet.plan.cell_statistics import Sum
from discreet.sql.sql_writer import SqlWriter
from engines.postgres.server import postgres_address

__all__ = ["postgres_address"]

TOML = """
[project]
budget = { epsilon = 2, delta = 1e-6 }

[populations.people]
budget = { epsilon = 2, delta = 1e-6 }

[tables.visits]
source = "nowhere.csv"
person = "patient"
rows_per_person = 3
population = "people"

[tables.visits.columns]
cost = { type = "integer", low = 0, high = 500 }
ward = { type = "category", values = ["a", "b"] }
day = { type = "date", low = 2020-01-01, high = 2020-12-31, format = "DD.MM.YYYY" }
note = { type = "text" }

[tables.items]
source = "nowhere too.csv"
person = { through = "visits", on = "visit" }
rows_per_person = 4
population = "people"

[tables.items.columns]
price = { type = "decimal", step = 0.5, low = -2, high = 8 }

[tables.houses]
source = "no houses.csv"

[tables.houses.columns]
rooms = { type = "integer", low = 1, high = 9 }

[tables.wards]
source = "wards.csv"
public = true

[tables.wards.columns]
ward = { type = "text" }
floor = { type = "integer" }

[tables.calls]
source = "calls.csv"
ends = ["from", "to"]
"""


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)


COUNT = "SELECT ward, count(*), count(DISTINCT patient) FROM visits GROUP BY ward"
MEDIAN = "SELECT median(cost) FROM visits"
SUM = "SELECT sum(cost) FROM visits WHERE ward = 'a' AND cost > 120"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "discreet.toml").write_text(TOML)
    (tmp_path / "wards.csv").write_text("ward,floor\na,1\na,2\nb,3\n")
    return discreet.init(tmp_path)


def files(project):
    return sorted(path.name for path in project.folder.rglob("*") if not path.name.startswith("ledger.db"))


def test_claims_hold_and_are_attained(project):
    """Joins, found groups, dates, quantiles, tables through others: sources are not even there."""
    before = files(project)
    report = neighbours.audit(
        project,
        table="visits",
        questions=[COUNT, SUM, "SELECT floor, count(*) FROM visits JOIN wards USING (ward) GROUP BY floor"],
        tries=15,
    )
    assert report.holds and report.unit == "all rows of one patient" and report.engine == "duckdb"
    for question in report.questions:
        assert (question.pairs, question.changed_pairs) == (15, 4)
        assert all(vector.is_attained for vector in question.vectors.values()), question
    rows, persons = report.questions[0].vectors.values()
    assert (rows.l1, rows.l1_claimed, persons.l1, persons.l1_claimed) == (3, 3, 3, 3)
    assert report.questions[1].vectors[0, 0].l1_claimed == 1500
    assert report.questions[2].vectors[0, 0].l1_claimed == 6  # ward a is on two floors
    assert not project.ledger.refresh().charges and not project.ledger.refresh().versions
    assert files(project) == before


def test_what_else_questions_do(project):
    report = neighbours.audit(
        project,
        table="visits",
        questions="""SELECT note, count(*) FROM visits GROUP BY note;
            SELECT median(cost) FROM visits; SELECT avg(cost) FROM visits WHERE day >= '2020-06-01';
            SELECT avg(n) FROM (SELECT patient, count(*) AS n FROM visits GROUP BY patient) q""",
        tries=3,
    )
    assert report.holds and [len(each.vectors) > 0 for each in report.questions] == [True] * 4


def test_tables_through_others_and_rows(project):
    reached = neighbours.audit(project, table="items", questions="SELECT sum(price) FROM items", tries=2)
    assert reached.holds and reached.unit == "all rows of one person of visits"
    rows = neighbours.audit(
        project, table="HOUSES", questions="SELECT rooms, count(*) FROM houses GROUP BY rooms", tries=4
    )
    assert rows.holds and rows.unit == "one row" and rows.questions[0].vectors[0, 0].is_attained


@pytest.mark.parametrize("engine", ["memory", "postgres"])
def test_on_other_engines(project, engine, request):
    address = request.getfixturevalue("postgres_address") if engine == "postgres" else engine
    before = places(address) if engine == "postgres" else set()
    report = neighbours.audit(project, table="visits", questions=[COUNT, SUM], tries=4, engine=address)
    assert report.holds and report.engine in ("memory", "postgresql")
    assert engine == "memory" or places(address) == before, "nothing is left on the server"


@pytest.mark.deep
@pytest.mark.xdist_group("spark")
@pytest.mark.timeout(1800)
def test_on_spark(project, monkeypatch):
    """A Spark of this machine counts in generated tables, leaves nothing in the folder, and sees a claim that is too small."""
    before = files(project)
    report = neighbours.audit(project, table="visits", questions=[COUNT, SUM, MEDIAN], tries=3, engine="spark://local")
    assert report.holds and report.engine == "spark"
    assert [(each.pairs, each.changed_pairs) for each in report.questions] == [(3, 1)] * 3
    assert all(each.vectors for each in report.questions) and files(project) == before
    monkeypatch.setattr(pricing, "sensitivity", lambda *parts, **more: ONE)
    assert not neighbours.audit(project, table="visits", questions=[COUNT], tries=1, engine="spark://local").holds


def places(address):
    """The schemas that tests of neighbours make on a server, and all tables of it."""
    import psycopg

    with psycopg.connect(address) as connection:
        schemas = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'discreet_%'").fetchall()
        return {*schemas, *connection.execute("SELECT schemaname, tablename FROM pg_tables").fetchall()}


ONE = Sensitivity(l0=1, l1=1, l2_squared=1, linf=1, because=())


def test_a_planted_sensitivity_is_caught_with_two_little_tables(project, monkeypatch, capsys):
    """A person's rows taken for one."""
    monkeypatch.setattr(pricing, "sensitivity", lambda *parts, **more: ONE)
    report = neighbours.audit(project, table="visits", questions=[COUNT], tries=1)
    assert not report.holds
    violation = report.questions[0].violation
    assert "above 1" in violation.reason
    (table,) = violation.tables
    assert len(table.rows_with) <= 5 and len(table.rows_with) >= len(table.rows_without) + 2, "it was made smaller"
    (project.folder / "q.sql").write_text(COUNT)
    words = ["audit", "neighbours", "--table", "visits", "--questions", str(project.folder / "q.sql")]
    assert call([*words, "--project", str(project.folder)]) == 1
    shown = capsys.readouterr().out
    assert "DOES NOT HOLD" in shown and "visits with person" in shown and "visits without:" in shown
    assert "1 of 1 queries move further than claimed" in shown
    assert call([*words, "--project", str(project.folder), "--engine", "memory", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["holds"] is False and data["questions"][0]["violation"]["tables"]["visits"]["with"]


def test_other_planted_bugs_are_caught(project, monkeypatch):
    """A sum whose upper end is lost; a filter that is not written, where the reference writes it."""

    def breaks(questions):
        return not neighbours.audit(project, table="visits", questions=questions, tries=2).holds

    assert not breaks([SUM])
    with monkeypatch.context() as patch:
        patch.setattr(query_sensitivity, "term_of", lambda statistic: max(1, statistic.of.high - statistic.of.low - 1))
        assert breaks([SUM])
    known = SqlWriter.count

    def off_centre(self, cells, region):
        moved = (replace(each, centre=1) if isinstance(each, Sum) else each for each in cells.statistics)
        return known(self, replace(cells, statistics=tuple(moved)), region)

    with monkeypatch.context() as patch:
        patch.setattr(SqlWriter, "count", off_centre)
        assert breaks([SUM])


def test_a_number_that_is_largest_between_the_bounds_is_found(project, monkeypatch):
    """least(x, 500 - x) is 0 at both ends, and 250 in the middle."""
    between = "SELECT sum(least(cost, 500 - cost)) FROM visits"
    monkeypatch.setattr(query_sensitivity, "term_of", lambda statistic: 200)
    assert not neighbours.audit(project, table="visits", questions=[between], engine="memory").holds


def test_the_verb(project, capsys):
    (project.folder / "q.sql").write_text(f"{COUNT};\n{SUM};")
    words = ["audit", "neighbours", "--table", "visits", "--questions", str(project.folder / "q.sql"), "--tries", "2"]
    assert call([*words, "--project", str(project.folder)]) == 0
    shown = capsys.readouterr().out
    assert "holds: 2 pairs" in shown and "no private data was read, and nothing was charged" in shown
    assert call([*words, "--project", str(project.folder), "--json", "--engine", "memory"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["engine"] == "memory" and data["tries"] == 2 and data["questions"][1]["question"] == SUM


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"table": "visitors"}, "visitors"),
        ({"table": "wards"}, "public"),
        ({"table": "houses"}, "question 1 is about 'visits', not about 'houses'"),
        ({"questions": " ; "}, "there is no question"),
        ({"tries": 0}, "1 to 100,000"),
        ({"engine": "oracle"}, "there is no engine 'oracle'"),
        ({"engine": "spark://far:7077"}, "cannot read"),
        ({"engine": "postgresql://ann:secret@db/x"}, "password"),
    ],
)
def test_bad_input_is_a_sentence(project, how, sentence):
    with pytest.raises(discreet.errors.DiscreetError, match=sentence):
        neighbours.audit(project, **{"table": "visits", "questions": COUNT, **how})


def test_refusals(project, capsys, tmp_path):
    with pytest.raises(Refused):
        neighbours.audit(project, table="visits", questions="SELECT note FROM visits")
    with pytest.raises(discreet.errors.DiscreetError, match=r"ends|network"):
        neighbours.audit(project, table="calls", questions="SELECT count(*) FROM calls")
    words = ["audit", "neighbours", "--table", "visits", "--project", str(project.folder), "--questions"]
    assert call([*words, str(tmp_path / "none.sql")]) == 2 and "cannot read" in capsys.readouterr().err
    (tmp_path / "odd.sql").write_bytes(b"\xff\xfe")
    assert call([*words, str(tmp_path / "odd.sql")]) == 2 and "UTF-8" in capsys.readouterr().err


def test_a_refused_question_is_reported_and_the_others_are_tried(project, capsys, tmp_path):
    texts = ["SELECT note FROM visits", COUNT, "SELECT count(*) FROM houses", "SELECT nothing FROM visits", SUM]
    (tmp_path / "q.sql").write_text(";\n".join(texts))
    words = ["audit", "neighbours", "--table", "visits", "--project", str(project.folder), "--tries", "1"]
    assert call([*words, "--questions", str(tmp_path / "q.sql")]) == 3
    shown = " ".join(capsys.readouterr().out.split())
    assert "1. SELECT note FROM visits REFUSED, not tried:" in shown and "3 queries were refused." in shown
    assert f"2. {COUNT} holds" in shown and f"5. {SUM} holds" in shown and "about 'houses'" in shown
    assert call([*words, "--questions", str(tmp_path / "q.sql"), "--json"]) == 3
    data = json.loads(capsys.readouterr().out)
    assert [each["number"] for each in data["refused"]] == [1, 3, 4] and data["holds"]
    assert [each["question"] for each in data["questions"]] == [COUNT, SUM]


def test_a_claim_that_fails_beside_a_refusal_is_exit_code_1(project, capsys, tmp_path, monkeypatch):
    (tmp_path / "q.sql").write_text(f"SELECT note FROM visits; {SUM}")
    monkeypatch.setattr(neighbours.NeighbourReport, "holds", False)
    words = ["audit", "neighbours", "--table", "visits", "--project", str(project.folder), "--tries", "1"]
    assert call([*words, "--questions", str(tmp_path / "q.sql")]) == 1


def test_the_same_try_makes_the_same_tables(project):
    tables = {"visits": project.file.tables["visits"], "items": project.file.tables["items"]}
    one, two, other = (WorldMaker(tables=tables, random=Random(seed)).make() for seed in ("1", "1", "2"))
    assert repr(one) == repr(two) != repr(other)
    gone = [row for row in one.sources["visits"].rows if str(row[0]) == one.person[0]]
    assert len(gone) >= 3 and len(one.without["visits"]) == len(one.sources["visits"].rows) - len(gone)


def test_a_world_can_be_made_for_every_try(project):
    """Where all ids that were drawn were the same number, the second person was called b: a ValueError in some worlds."""
    tables = {"visits": project.file.tables["visits"], "items": project.file.tables["items"]}
    worlds = [WorldMaker(tables=tables, random=Random(f"neighbours {number}")).make() for number in range(400)]
    assert all(world.person and world.sources["visits"].rows for world in worlds)


def test_many_rows_a_person_are_noted(project):
    text = TOML.replace("rows_per_person = 3", f"rows_per_person = {MOST_ROWS + 1}")
    (project.folder / "discreet.toml").write_text(text)
    report = neighbours.audit(
        discreet.open(project.folder), table="visits", questions="SELECT count(*) FROM visits", tries=1
    )
    assert report.notes and "cannot be seen" in report.notes[0]


def test_norms_and_errors_are_what_they_say():
    assert norms([1, 2], [1, 2]) == {"l0": 0, "l1": 0, "l2_squared": 0, "linf": 0}
    assert issubclass(UsageError, discreet.errors.DiscreetError)
