"""Drafts: what could be declared, changed before it is; who may be the person; and corrections before the first answer."""

import pytest

import discreet
from discreet.errors import DiscreetError, SchemaError, UsageError

ROWS = "Patient ID,age,sex,ward code,n_visits\n" + "".join(
    f"{n // 3},{n % 90},{n % 2 + 1},w{n % 20},{n}\n" for n in range(90)
)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "visits.csv").write_text(ROWS)
    return discreet.init(tmp_path, epsilon=1000)


def test_a_draft_is_what_add_would_write(project, tmp_path):
    before = (tmp_path / "discreet.toml").read_text()
    draft = project.draft(tmp_path / "visits.csv", person="Patient ID", rows_per_person=3)
    assert (tmp_path / "discreet.toml").read_text() == before
    project.add(tmp_path / "visits.csv", person="Patient ID", rows_per_person=3)
    assert (tmp_path / "discreet.toml").read_text().rstrip().endswith(draft.toml().rstrip())
    assert draft.columns.keys() - draft.declared_columns.keys() == {"Patient ID"}


def test_a_draft_is_changed_and_written(project, tmp_path):
    draft = project.draft(tmp_path / "visits.csv", person="age")
    draft = draft.replace(
        name="v",
        settings={"person": "Patient ID", "rows_per_person": 3},
        columns={"sex": {"type": "category", "values": ["1", "2"]}, "n_visits": None},
    )
    assert list(draft.declared_columns) == ["age", "sex", "ward code"]
    table = project.add_draft(draft)
    assert table.name == "v" and [each.name for each in table.schema.columns] == ["age", "sex", "ward code"]
    with pytest.raises(UsageError, match="no column 'agee'"):
        draft.replace(columns={"agee": None})
    assert draft.replace(settings={"person": None, "rows_per_person": None}).identity_columns == ()


@pytest.mark.parametrize(
    ("settings", "columns", "name"),
    [
        ({"person": "nobody"}, {}, None),
        ({"person": {"through": "orders", "on": "id"}}, {}, None),
        ({"rows_per_person": 3}, {}, None),
        ({"population": "none"}, {}, None),
        ({"colour": "red"}, {}, None),
        ({}, {"age": {"type": "integer", "low": 9, "high": 1}}, None),
        ({}, {"age": {"type": "category", "values": ["1"], "labels": {"2": "x"}}}, None),
        ({}, {}, "bad\nname"),
    ],
)
def test_a_draft_that_does_not_hold_together_is_not_written(project, tmp_path, settings, columns, name):
    draft = project.draft(tmp_path / "visits.csv").replace(settings=settings, columns=columns, name=name)
    before = (tmp_path / "discreet.toml").read_text()
    with pytest.raises(DiscreetError):
        project.add_draft(draft)
    assert (tmp_path / "discreet.toml").read_text() == before
    assert project.file.tables == {}


def test_all_drafts_or_none(project, tmp_path):
    (tmp_path / "b.csv").write_text("x\n1\n")
    one, two = project.draft(tmp_path / "visits.csv"), project.draft(tmp_path / "b.csv", name="Visits")
    with pytest.raises(UsageError, match="already declared"):
        project.add_drafts([one, two])
    assert project.file.tables == {} and "visits" not in (tmp_path / "discreet.toml").read_text()
    assert [each.name for each in project.add_drafts([one, two.replace(name="b")])] == ["visits", "b"]


def test_who_may_be_the_person(project, tmp_path):
    draft = project.draft(tmp_path / "visits.csv")
    offered = {each.column: each for each in draft.person_candidates}
    assert list(offered) == ["Patient ID", "ward code"] and offered["Patient ID"].is_likely
    assert offered["Patient ID"].is_from_data and "repeat in the rows looked at" in offered["Patient ID"].why
    assert offered["ward code"].is_from_data and any("repeat" in each for each in draft.read_from_data)
    blind = project.draft(tmp_path / "visits.csv", look=False)
    assert not any(each.is_from_data for each in blind.person_candidates)
    assert not any("repeat" in each for each in blind.read_from_data)


@pytest.mark.thin(10)
@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "Nr",
        "no.",
        "patient",
        "PatientID",
        "user-id",
        "customer_no",
        "person",
        "client",
        "Subject",
        "member id",
        "name",
        "Kunden Nummer",
        "uuid",
        "e-mail",
        "ssn",
        "pid",
        "MRN",
        "respondent",
        "household_key",
    ],
)
def test_names_that_say_so(project, tmp_path, name):
    (tmp_path / "t.csv").write_text(f"{name},age\n1,2\n")
    assert [each.column for each in project.draft(tmp_path / "t.csv").person_candidates] == [name]


@pytest.mark.parametrize(
    "name", ["age", "zip_code", "n_patients", "number_of_rooms", "price", "country code", "diagnosis"]
)
def test_names_that_do_not(project, tmp_path, name):
    (tmp_path / "t.csv").write_text(f"{name},x\n1,2\n")
    assert project.draft(tmp_path / "t.csv").person_candidates == ()


def test_a_column_that_only_repeats_is_offered_as_read_from_the_data(project, tmp_path):
    (tmp_path / "t.csv").write_text("street,age\n" + "".join(f"s{n % 20},{n}\n" for n in range(60)))
    (candidate,) = project.draft(tmp_path / "t.csv").person_candidates
    assert candidate.column == "street" and candidate.is_from_data and not candidate.is_likely


def test_the_person_of_another_table_is_offered_first(project, tmp_path):
    project.add(tmp_path / "visits.csv", person="ward code")
    (tmp_path / "t.csv").write_text("id,Ward Code\n1,2\n")
    first = project.draft(tmp_path / "t.csv").person_candidates[0]
    assert first.column == "Ward Code" and first.is_likely and "person column of 'visits'" in first.why


@pytest.mark.parametrize("declared", [True, False])
def test_a_public_table_is_joined_with_its_columns_declared_or_read_from_the_file(project, tmp_path, declared):
    (tmp_path / "wards.csv").write_text("ward,floor\n" + "".join(f"w{n},f{n % 2}\n" for n in range(20)))
    draft = project.draft(tmp_path / "wards.csv", public=True)
    project.add_draft(draft if declared else draft.replace(columns=dict.fromkeys(draft.columns)))
    assert bool(project.table("wards").schema.columns) == declared
    words = [f"w{n}" for n in range(20)]
    visits = project.draft(tmp_path / "visits.csv", person="Patient ID", rows_per_person=3)
    project.add_draft(visits.replace(columns={"ward code": {"type": "category", "values": words}}))
    sql = 'select floor, count(*) n from visits join wards on visits."ward code" = wards.ward group by floor'
    assert sorted(project.sql(sql).ask(epsilon=900).rows) == [("f0", 45), ("f1", 45)]


def test_bounds_words_and_labels_are_corrected_until_something_was_charged(project, tmp_path):
    wrong = {"type": "category", "values": ["m", "f"], "labels": {"m": "man"}}
    draft = project.draft(tmp_path / "visits.csv", person="Patient ID", rows_per_person=1)
    bounds = {"type": "integer", "low": 0, "high": 9}
    project.add_draft(draft.replace(columns={"sex": wrong, "age": bounds}))
    outcome = project.refresh("visits")[1]
    assert outcome.exact_nulled["sex"] == 90 and outcome.exact_clamped["age"] > 0
    text = (tmp_path / "discreet.toml").read_text()
    for old, new in (
        ('values = ["m", "f"]', "values = [1, 2]"),
        ('labels = {m = "man"}', 'labels = { 1 = "man", 2 = "woman" }'),
        ("high = 9", "high = 99"),
        ("rows_per_person = 1", "rows_per_person = 3"),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "discreet.toml").write_text(text)
    corrected = discreet.open(tmp_path)
    number, outcome = corrected.refresh("visits")
    assert number == 2 and outcome.exact_nulled["sex"] == outcome.exact_clamped["age"] == outcome.exact_truncated == 0
    release = corrected.sql("select sex, count(*) n from visits group by sex").ask(epsilon=900)
    assert [release.cell_text(row, 0) for row in range(2)] == ["man", "woman"]
    assert [row[:2] for row in release.rows[:2]] == [("1", 45), ("2", 45)]
    (tmp_path / "discreet.toml").write_text(text.replace('"woman"', '"lady"'))
    again = discreet.open(tmp_path)
    assert again.refresh("visits")[0] == 3  # a label is declared like a word: answers of version 2 keep theirs
    assert again.release(release.id).cell_text(1, 0) == "woman"


@pytest.mark.parametrize(
    "labels",
    ['{ 3 = "x" }', '{ 1 = "" }', "{ 1 = 2 }", '["a"]', '{ 1 = "x", 2 = "x" }', '{ 1 = "2" }', '{ 1 = "a\\nb" }'],
)
def test_wrong_labels_are_refused(project, tmp_path, labels):
    text = (tmp_path / "discreet.toml").read_text()
    text += f'[tables.v]\nsource = "visits.csv"\n[tables.v.columns.sex]\ntype = "category"\nvalues = [1, 2]\nlabels = {labels}\n'
    (tmp_path / "discreet.toml").write_text(text)
    with pytest.raises(SchemaError, match=r"label|called"):
        discreet.open(tmp_path)


def test_a_new_population_is_declared_with_its_first_table(project, tmp_path, capsys):
    """And the next table shares its budget: no line of TOML is written by hand."""
    (tmp_path / "more.csv").write_text("Patient ID,height\n1,2\n")
    draft = project.draft(tmp_path / "visits.csv", person="Patient ID", population="people", epsilon=2, delta="1e-6")
    assert draft.toml().startswith("[populations.people]\nbudget = {epsilon = 2, delta = 1e-06}\n\n[tables.visits]\n")
    assert draft.public_facts == (
        "population 'people' is new: all answers about its people together may spend epsilon 2, delta 1e-06",
    )
    project.add_draft(draft)
    project.add(tmp_path / "more.csv", person="Patient ID", population="people")
    assert {table.population for table in project.file.tables.values()} == {"people"}
    assert {table.budget for table in project.file.tables.values()} == {project.table("visits").budget}
    assert project.table("more").budget.epsilon == 2
    for name in project.file.tables:
        project.refresh(name)
    assert project.budget("more").limit == project.budget("visits").limit
    text = (tmp_path / "discreet.toml").read_text()
    with pytest.raises(UsageError, match="there is already a population 'people', which has its own budget"):
        project.add_draft(draft.replace(name="again"))
    assert (tmp_path / "discreet.toml").read_text() == text


def test_a_population_is_never_made_by_a_slip(project, tmp_path):
    """Not without a budget, not beside one of the same name, and not over the budget that a table has of its own."""
    (tmp_path / "more.csv").write_text("Patient ID,height\n1,2\n")
    (tmp_path / "third.csv").write_text("Patient ID,weight\n1,2\n")
    with pytest.raises(UsageError, match="there is no population 'people'") as caught:
        project.add(tmp_path / "visits.csv", population="people")
    assert str(caught.value.hint) == "--epsilon 1 makes it, with this budget"
    project.add(tmp_path / "visits.csv", population="people", epsilon=2)
    hints = {"poeple": "did you mean 'people'? --epsilon 1 makes a new one", "xyz": "one of: people; --epsilon 1"}
    for name, hint in hints.items():
        with pytest.raises(UsageError, match="there is no population") as caught:
            project.add(tmp_path / "more.csv", population=name)
        assert str(caught.value.hint).startswith(hint)
    for name in ("people", "PEOPLE"):
        with pytest.raises(UsageError, match="there is already a population 'people'"):
            project.add(tmp_path / "more.csv", population=name, epsilon=3)
    project.add(tmp_path / "more.csv")
    with pytest.raises(UsageError, match="there is no population 'more'") as caught:
        project.add(tmp_path / "third.csv", population="more")
    assert str(caught.value.hint).startswith("to share the budget of table 'more', move the budget to")
    with pytest.raises(UsageError, match="'more' has a budget of its own under the name 'more'"):
        project.add(tmp_path / "third.csv", population="more", epsilon=3)
    with pytest.raises(UsageError, match="already declared as 'visits'"):
        project.add(tmp_path / "visits.csv", name="v", population="other", epsilon=3)
    with pytest.raises(UsageError, match="printable"):
        project.add(tmp_path / "third.csv", population="a\nb", epsilon=3)
    assert project.file.populations == {"people"}


def test_tables_that_are_declared_together_declare_it_once(project, tmp_path):
    (tmp_path / "more.csv").write_text("Patient ID,height\n1,2\n")
    drafts = [project.draft(tmp_path / name, population="people", epsilon=2) for name in ("visits.csv", "more.csv")]
    project.add_drafts(drafts)
    assert [table.population for table in project.file.tables.values()] == ["people", "people"]
