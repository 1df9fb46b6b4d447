"""Recall: stored answers read back at any time, by the schemas of their own version, free."""

import json

import pytest

import clinic
import discreet
from discreet.errors import UsageError
from discreet.project.recall import KINDS

BY_SEX = "SELECT sex, count(*) AS n, sum(age) AS years FROM patients GROUP BY sex"
LARGE = "{ epsilon = 100, delta = 1e-6 }"


@pytest.fixture
def project(tmp_path):
    return clinic.make(tmp_path / "clinic", budget=LARGE)


def same(one, other):
    return (one.id, one.columns, one.rows, one.intervals, one.event) == (
        other.id,
        other.columns,
        other.rows,
        other.intervals,
        other.event,
    )


def test_an_answer_is_read_back_as_it_was_given_and_costs_what_it_cost(project):
    given = project.sql(BY_SEX).ask(epsilon="0.5", analyst="ann")
    entries = project.ledger.state.seq
    found = project.release(given.id)
    assert same(found, given)
    assert (found.cost, found.cached, found.warnings) == (given.cost, False, given.warnings)
    assert project.ledger.refresh().seq == entries
    told = project.recall(given.id)
    assert (told.kind, told.texts, told.charge.analyst, told.cost) == ("question", (BY_SEX,), "ann", given.cost)


def test_at_another_confidence_its_intervals_are_wider(project):
    given = project.sql("SELECT count(*) AS n FROM patients").ask(epsilon=1)
    wider = project.release(given.id, confidence="0.999")
    assert wider.rows == given.rows and wider.plus_minus() > given.plus_minus()
    for confidence in ("0", "1", "nan", "x"):
        with pytest.raises(UsageError):
            project.release(given.id, confidence=confidence)


def test_each_statement_of_a_batch(project):
    texts = [
        "SELECT sex, count(*) AS n FROM patients GROUP BY sex",
        "SELECT avg(age) AS a, sex FROM patients GROUP BY 2",
    ]
    given = project.batch(";".join(texts), epsilon=1)
    assert given[0].id == given[1].id
    for place, release in enumerate(given, start=1):
        assert same(project.release(release.id, statement=place), release)
    told = project.recall(given[0].id)
    assert told.kind == "batch" and [text.split()[1] for text in told.texts] == ["sex,", "avg(age)"]
    for statement in (0, 3):
        with pytest.raises(UsageError, match="answers 2 statements"):
            project.release(given[0].id, statement=statement)


@pytest.mark.parametrize("refined", [False, True])
def test_measured_again_is_read_with_what_came_before(project, refined, monkeypatch):
    if not refined:
        monkeypatch.setattr("discreet.answers.more_precise.refined_quote", lambda *_, **__: None)
    first = project.sql(BY_SEX).ask(epsilon="0.1")
    second = project.again(first.id, epsilon="0.1")
    third = project.again(second.id, epsilon="0.1")
    assert same(project.release(third.id), third) and same(project.release(second.id), second)
    assert project.release(third.id).plus_minus() < project.release(first.id).plus_minus()
    assert project.recall(third.id).kind == "again"
    assert project.recall(third.id).also == (() if refined else (second.id, first.id))


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT median(age) AS m, sex FROM patients GROUP BY sex",
        "SELECT note, count(*) AS n FROM patients GROUP BY note",
        "SELECT disease, sex, count(*) AS n, grouping(sex) AS g FROM patients GROUP BY ROLLUP (disease, sex)",
        "SELECT disease, count(*) AS n FROM patients GROUP BY disease HAVING count(*) > 0 ORDER BY n DESC LIMIT 2",
        "SELECT floor(age / 10) AS decade, avg(age) AS a FROM patients WHERE smoker GROUP BY 1 ORDER BY 1",
    ],
)
def test_every_kind_of_question(project, text):
    given = project.sql(text).ask(epsilon=1)
    assert same(project.release(given.id), given)


def test_an_old_version_is_read_by_its_own_schema(project):
    given = project.sql("SELECT disease, count(*) AS n FROM patients GROUP BY disease").ask(epsilon=1)
    file = project.folder / "discreet.toml"
    file.write_text(file.read_text().replace('["allergy", "flu", "measles", "mumps"]', '["mumps", "plague", "flu"]'))
    changed = discreet.open(project.folder)
    changed.refresh("patients")
    assert [
        row[0] for row in changed.sql("SELECT disease, count(*) AS n FROM patients GROUP BY disease").ask(epsilon=1)
    ] != [row[0] for row in given]
    found = changed.release(given.id)
    assert same(found, given) and found.version == 1


def test_where_the_table_is_declared_no_more(project):
    given = project.sql(BY_SEX).ask(epsilon=1)
    file = project.folder / "discreet.toml"
    file.write_text(file.read_text().partition("[tables.patients]")[0])
    assert same(discreet.open(project.folder).release(given.id), given)


def test_a_changed_public_table_is_said(project):
    file = project.folder / "discreet.toml"
    (project.folder / "wards.csv").write_text("disease,ward\nflu,A\nmumps,B\n")
    public = '\n[tables.wards]\nsource = "wards.csv"\npublic = true\n'
    public += '[tables.wards.columns.disease]\ntype = "text"\n[tables.wards.columns.ward]\ntype = "text"\n'
    file.write_text(file.read_text() + public)
    opened = discreet.open(project.folder)
    text = "SELECT ward, count(*) AS n FROM patients JOIN wards ON patients.disease = wards.disease GROUP BY ward"
    given = opened.sql(text).ask(epsilon=1)
    assert same(opened.release(given.id), given)
    (project.folder / "wards.csv").write_text("disease,ward\nflu,A\nmumps,A\nmeasles,B\n")
    with pytest.raises(UsageError, match="can no longer be read"):
        discreet.open(project.folder).release(given.id)
    (project.folder / "wards.csv").unlink()
    with pytest.raises(UsageError, match="can no longer be read"):
        discreet.open(project.folder).release(given.id)


def two_tables(tmp_path):
    """People and their visits, of one population."""
    discreet.init(tmp_path)
    (tmp_path / "people.csv").write_text("id,sex\n" + "".join(f"{place},{'FM'[place % 2]}\n" for place in range(100)))
    (tmp_path / "visits.csv").write_text("id,cost\n" + "".join(f"{place},{place % 9}\n" for place in range(100)))
    declared = """
[populations.them]
budget = { epsilon = 50 }
[tables.people]
source = "people.csv"
population = "them"
person = "id"
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
[tables.visits]
source = "visits.csv"
population = "them"
person = "id"
rows_per_person = 2
[tables.visits.columns.cost]
type = "integer"
low = 0
high = 9
"""
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text() + declared)
    return discreet.open(tmp_path)


def test_a_stream_is_told(tmp_path):
    project = two_tables(tmp_path)
    project.stream("people", "daily", epsilon=1, horizon=8)
    told = project.recall(next(iter(project.ledger.refresh().charges)))
    assert (told.kind, told.about["name"], told.about["count"]) == ("stream", "daily", 8)
    with pytest.raises(UsageError, match="step by step"):
        project.release(told.id)


@pytest.mark.deep
def test_what_was_joined_is_read_as_it_was(tmp_path):
    """The digest of the question picks the versions of the joined tables, whatever was refreshed since."""
    project, file = two_tables(tmp_path), tmp_path / "discreet.toml"
    text = "SELECT sex, sum(cost) AS c FROM visits JOIN people ON visits.id = people.id GROUP BY sex"
    given = project.sql(text).ask(epsilon=1)
    file.write_text(file.read_text().replace('["F", "M"]', '["M", "F", "X"]'))
    changed = discreet.open(tmp_path)
    changed.refresh("people")
    newer = changed.sql(text).ask(epsilon=1)
    assert len(newer) > len(given)
    assert same(changed.release(given.id), given) and same(changed.release(newer.id), newer)


def test_other_kinds_are_told_and_not_read(project):
    model = project.synthesize("patients", epsilon=1, model="independent", columns=["sex", "disease"])
    project.ranges("patients", "age", epsilon=1)
    project.marginals("patients", ["sex", "disease"], epsilon=1)
    kinds = {}
    for id_, charge in project.ledger.refresh().charges.items():
        told = project.recall(id_)
        kinds[told.kind] = told
        assert told.words == KINDS[told.kind] and told.cost.rho is not None and told.cost.rho > 0
        assert told.charge == charge
        json.dumps(told.about)
        if not told.is_readable:
            with pytest.raises(UsageError, match="not the answer to an SQL query"):
                project.release(id_)
    assert {"model", "ranges", "marginals"} <= set(kinds)
    assert kinds["ranges"].about["column"] == "age"
    assert kinds["model"].id == model.card.release


def test_bounds_and_what_was_never_answered(project, monkeypatch):
    file = project.folder / "discreet.toml"
    file.write_text(file.read_text().replace("low = 0\nhigh = 99\n", ""))
    opened = discreet.open(project.folder)
    opened.bounds("patients", ["age"], epsilon=1)
    assert opened.recall(next(iter(opened.ledger.refresh().charges))).kind == "bounds"
    monkeypatch.setattr(type(opened.curator), "draw", lambda *ignored: 1 / 0)
    with pytest.raises(discreet.errors.QueryFailed):
        opened.sql("SELECT count(*) FROM patients").ask(epsilon=1)
    lost = list(opened.ledger.refresh().charges)[-1]
    told = opened.recall(lost)
    assert (told.kind, told.event, told.cost.epsilon) == ("unfinished", None, 1)


def test_there_is_no_such_release(project):
    for id_ in ("r-nothing", "", "../x", "d-nothing"):
        with pytest.raises(UsageError, match="there is no release"):
            project.release(id_)
    with pytest.raises(UsageError, match="'d-0123456789ab' is a derived answer"):
        project.release("d-0123456789ab")


def test_nothing_of_the_data_is_opened(project):
    given = project.sql(BY_SEX).ask(epsilon=1)
    (project.folder / "patients.csv").unlink()
    for file in (project.folder / ".discreet" / "tables").iterdir():
        file.unlink()
    assert same(discreet.open(project.folder).release(given.id), given)
