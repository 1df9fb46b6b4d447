"""Ranges and histograms of some rows, by groups, in bins: what is counted, charged, stored and read again."""

from __future__ import annotations

import json
from datetime import date, timedelta

import numpy as np
import pytest

from clinic import run, say
from discreet.bundle import bundle_files
from discreet.bundle.verification import verify
from discreet.errors import Refused, UsageError
from discreet.kernel.curator import Curator
from discreet.kernel.program import step_digest
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.tables.ranges import ranges_release
from discreet.tables.ranges.ruler_cut import bin_edges, width_of
from synth.worlds import open_project

COLUMNS = {
    "age": 'type = "integer"\nlow = 3\nhigh = 48',
    "sex": 'type = "category"\nvalues = ["F", "M"]\nclosed = true',
    "ward": 'type = "category"\nvalues = ["x", "y"]',
    "day": 'type = "date"\nlow = "2020-01-15"\nhigh = "2020-12-20"',
    "note": 'type = "text"',
}
RECORDS = [
    (
        None if n % 11 == 0 else 3 + n * 7 % 46,
        "FM"[n % 2],
        ["x", "y", None][n % 3],
        date(2020, 1, 15) + timedelta(days=n * 5 % 300),
        "n",
    )
    for n in range(600)
]
LINES = [",".join("" if value is None else str(value) for value in record) for record in RECORDS]


@pytest.fixture
def people(tmp_path):
    return open_project(tmp_path, COLUMNS, LINES)


@pytest.fixture
def quiet(monkeypatch):
    known = Curator.add_noise

    def add(self, law, exact_values, moves):
        return np.asarray(exact_values), known(self, law, exact_values, moves)[1]

    monkeypatch.setattr(Curator, "add_noise", add)


def counted(sex=None, ward=None, low=0, high=99):
    return sum(
        age is not None and low <= age <= high and (sex is None or own == sex) and (ward is None or where == ward)
        for age, own, where, _, _ in RECORDS
    )


def test_groups_and_conditions_count_what_they_say(people, quiet):
    made = people.ranges("people", "age", epsilon=1, by="sex", where="ward = 'x'")
    assert made.by == ("sex",) and made.labels == (("F",), ("M",)) and made.where == "ward = 'x'"
    for sex in "FM":
        assert made.group(sex).between(10, 30).value == pytest.approx(counted(sex, "x", 10, 30), abs=1e-6)
    two = people.ranges("people", "age", epsilon=1, by=["ward", "sex"], width=10)
    assert len(two.groups) == 6 and two.ruler.edges == (0, 10, 20, 30, 40, 50)
    assert two.group("y", "M").between(10, 29).value == pytest.approx(counted("M", "y", 10, 29), abs=1e-6)
    missing = sum(age is not None and ward is None and sex == "F" for age, sex, ward, _, _ in RECORDS)
    assert two.group(None, "F").between().value == pytest.approx(missing, abs=1e-6)
    with pytest.raises(UsageError, match="no group"):
        two.group("z", "F")


def test_a_condition_that_is_left_out_is_caught(people, quiet, monkeypatch):
    """Planted: the program reads the whole table, whatever the condition says."""
    known = ranges_release.Program
    monkeypatch.setattr(ranges_release, "Program", lambda *args, plan=None: known(*args))
    made = people.ranges("people", "age", epsilon=1, by="sex", where="ward = 'x'")
    assert made.group("F").between(10, 30).value != pytest.approx(counted("F", "x", 10, 30), abs=1)


def test_all_groups_cost_what_one_costs_with_its_noise(people):
    alone = people.plan_ranges("people", "age", epsilon=1)
    apart = people.plan_ranges("people", "age", epsilon=1, by=["sex", "ward"], where="age > 5")
    assert (alone.law, alone.expected_rmse, alone.event) == (apart.law, apart.expected_rmse, apart.event)
    assert apart.to_data()["groups"] == 6 and alone.to_data()["groups"] == 1
    made = people.ranges("people", "age", epsilon=1, by=["sex", "ward"])
    assert made.cost.epsilon == 1 and people.budget("people").spent.epsilon == 1


def test_a_condition_is_charged_to_those_whom_it_is_about(people):
    people.ranges("people", "age", epsilon=1, where="sex = 'F'")
    people.ranges("people", "age", epsilon=1, where="sex = 'M'")
    assert people.budget("people").spent.epsilon == 1
    people.ranges("people", "age", epsilon=1, where="sex = 'M' and ward = 'x'")
    assert people.budget("people").spent.epsilon == 2


def test_a_release_is_read_again_for_the_same_rows_groups_and_bins_only(people):
    made = people.ranges("people", "age", epsilon=1, where="sex = 'F'", by="ward", bins=5)
    spent = people.budget("people").spent
    assert made.ruler.edges == (0, 10, 20, 30, 40, 50)
    for spelling in ("sex='F'", "not sex = 'M'", "sex in ('F')  -- women"):
        again = people.ranges("people", "age", where=spelling, by=["ward"], width=10)
        assert again.release == made.release and again.cached and again.ruler.cut == "10"
        assert [group.noisy.tolist() for group in again.groups] == [group.noisy.tolist() for group in made.groups]
    same = people.ranges("people", "age", epsilon=1, where="sex = 'F'", by="ward", width=10)
    assert same.release == made.release and people.budget("people").spent == spent
    for other in ({"where": "sex = 'M'", "by": "ward", "bins": 5}, {"where": "sex = 'F'", "bins": 5},
                  {"where": "sex = 'F'", "by": "ward"}, {"by": "ward", "bins": 5}, {}):  # fmt: skip
        with pytest.raises(UsageError, match="no stored release"):
            people.ranges("people", "age", **other)


def test_what_was_charged_is_gone_on_with(people, monkeypatch):
    """Killed after the charge and before the draw: the same command finishes it, free; and nothing is told before."""

    def killed(self, *args, **more):
        raise KeyboardInterrupt

    wish = {"epsilon": 1, "where": "sex = 'F'", "by": "ward", "width": 10}
    with monkeypatch.context() as planted:
        planted.setattr(ranges_release.Program, "linear", killed)
        with pytest.raises(KeyboardInterrupt):
            people.ranges("people", "age", **wish)
    question = people.sql("select count(*) from people where sex = 'F' and ward = 'x' and age between 10 and 19")
    assert people.budget("people").spent.epsilon == 1
    assert question.explain(epsilon=1)["cost"]["epsilon"] == 1
    made = people.ranges("people", "age", **wish)
    assert people.budget("people").spent.epsilon == 1 and made.group("x").between(10, 19).value is not None
    assert question.explain(epsilon=1)["cost"]["epsilon"] == 0


def test_queries_read_ranges_of_groups(people, quiet):
    made = people.ranges("people", "age", epsilon=1, where="ward = 'x'", by="sex", width=10)
    free = {
        "select count(*) from people where ward = 'x' and sex = 'F' and age between 10 and 29": counted(
            "F", "x", 10, 29
        ),
        "select count(*) from people where age < 20 and sex = 'M' and ward = 'x'": counted("M", "x", 0, 19),
        "select count(*) from people where age is not null and ward = 'x'": counted(None, "x"),
    }
    for text, exact in free.items():
        release = people.sql(text).ask(epsilon=1)
        assert release.sources == (made.release,) and release.rows[0][0] == pytest.approx(exact, abs=1e-6)
    for text in (
        "select count(*) from people where sex = 'F' and age between 10 and 29",
        "select count(*) from people where ward = 'y' and sex = 'F' and age between 10 and 29",
        "select count(*) from people where ward = 'x' and age between 10 and 24",
        "select count(*) from people where ward = 'x'",
    ):
        assert people.sql(text).explain(epsilon=1)["cost"]["epsilon"] == 1


def test_quantiles_by_group(people, quiet):
    made = people.ranges("people", "age", epsilon=5, by="sex", strategy="identity")
    for sex in "FM":
        values = sorted(age for age, own, _, _, _ in RECORDS if own == sex and age is not None)
        assert made.group(sex).quantile("0.5").value == values[(len(values) + 1) // 2 - 1]
    data = made.to_data(quantiles=["0.5", "0.9"])
    assert [row[:2] for row in data["quantiles"]] == [["F", 0.5], ["F", 0.9], ["M", 0.5], ["M", 0.9]]
    assert data["by"] == ["sex"] and len(data["rows"][0]) == 5


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "cut",
    [{"by": "sex"}, {"where": "ward = 'x'"}, {"width": 10}, {"by": ["sex", "ward"], "where": "age > 9", "bins": 9}],
)
def test_a_bundle_holds(people, tmp_path, cut):
    made = people.ranges("people", "age", epsilon=1, **cut)
    files = bundle_files.make_bundle(people, made.release)
    bundle_files.write(files, tmp_path / "out")
    report = verify(tmp_path / "out", key=None)
    assert all(check.holds is not False for check in report.checks), report
    assert next(check for check in report.checks if check.name == "noise").holds
    if "by" in cut:
        assert any(text.startswith(b"sex,") for name, text in files.items() if name.endswith(".csv"))


def test_the_condition_of_a_bundle_cannot_be_taken_away(people, tmp_path):
    """A payload without its condition does not follow from the step that was charged."""
    made = people.ranges("people", "age", epsilon=1, where="ward = 'x'")
    ledger = people.ledger
    stored = json.loads(ledger.answer(made.release))
    assert stored["where"] == "ward = 'x'" and len(stored["meaning"]) == 64
    step = ledger.reservation(made.release).steps[0]
    ruler = ranges_release.ruler_of(people.version("people").schema.column("age"))
    strategy = ranges_release.strategy_data.strategy_from_data(stored["strategy"])
    of = {"linear": [strategy.to_data()], "axes": [ruler.axis().to_data()]}
    assert step.of == step_digest(of | {"rows": stored["meaning"]}) != step_digest(of)


@pytest.mark.thin(6)
@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"by": "nothing"}, "no column 'nothing'"),
        ({"by": "note"}, "not declared"),
        ({"by": ["sex", "SEX"]}, "named twice"),
        ({"by": "age"}, "named twice"),
        ({"bins": 3, "width": 10}, "not both"),
        ({"width": "0.5"}, "multiple of the column's step"),
        ({"width": "week"}, "plain finite number"),
        ({"bins": "2.5"}, "must be whole"),
        ({"where": " "}, "must be text"),
        ({"where": "age > 3 group by sex"}, "group|parse|read|GROUP|syntax"),
        ({"where": "age in (select age from people)"}, "quer|SELECT|supported"),
        ({"by": "sex", "strategy": "adaptive"}, "without groups"),
    ],
)
def test_refusals_before_anything_is_paid(people, wish, words):
    with pytest.raises((UsageError, Refused), match=words):
        people.ranges("people", "age", epsilon=1, **wish)
    assert people.budget("people").spent.epsilon == 0


def test_histograms_count_what_they_say(people, quiet):
    rows = people.histogram("people", "age", where="ward = 'x'", by="sex", width=10).ask(epsilon=1).rows
    found = {(sex, low): count for sex, low, count in rows if low is not None}
    assert found == {(sex, low): counted(sex, "x", low, low + 9) for sex in "FM" for low in range(0, 50, 10)}
    monthly = people.histogram("people", "day", width="month").ask(epsilon=1).rows
    exact = [sum(day.month == month for _, _, _, day, _ in RECORDS) for month in range(1, 13)]
    assert [count for label, count in monthly if label is not None] == exact
    binned = width_of(NumberColumn(name="a", type="integer", low=0, high=9, edges=(0, 5, 10)), width=1)
    assert binned == 1
    assert "date_trunc('quarter'" in people.histogram("people", "day", bins=4).query.text
    assert people.histogram("people", "age", bins=99).query.text == people.histogram("people", "age").query.text
    several = people.histogram("people", "sex", "ward", where="age > 20").ask(epsilon=1)
    assert len(several.rows) == 6
    with pytest.raises(UsageError, match="named twice"):
        people.histogram("people", "sex", by="sex")


def test_ranges_of_bins_answer_histograms(people, quiet):
    people.ranges("people", "age", epsilon=1, width=10, by="sex")
    question = people.histogram("people", "age", width=10, by="sex", where="age is not null")
    assert question.explain(epsilon=1)["cost"]["epsilon"] == 0


def test_bins():
    age = NumberColumn(name="age", type="integer", low=3, high=48)
    assert bin_edges(age, width_of(age, bins=5)) == (0, 10, 20, 30, 40, 50)
    assert bin_edges(age, width_of(age, bins=4)) == (0, 20, 40, 60)
    old = NumberColumn(name="age", type="integer", low=0, high=110)
    assert bin_edges(old, width_of(old, bins=5)) == (0, 25, 50, 75, 100, 125)  # three of 50 would be far from five
    assert width_of(age) is None and width_of(age, bins=1000) == 1
    day = MomentColumn(name="day", type="date", low=18_276, high=18_616)  # 2020-01-15 to 2020-12-20
    days = [date(1970, 1, 1) + timedelta(days=edge) for edge in bin_edges(day, "month")]
    assert days == [date(2020, month, 1) for month in range(1, 13)] + [date(2021, 1, 1)]
    weeks = [date(1970, 1, 1) + timedelta(days=edge) for edge in bin_edges(day, "week")]
    assert {each.weekday() for each in weeks} == {0} and weeks[0] == date(2020, 1, 13)
    moment = MomentColumn(name="at", type="timestamp", low=18_276 * 86_400_000_000, high=18_616 * 86_400_000_000)
    assert bin_edges(moment, "year") == tuple(edge * 86_400_000_000 for edge in bin_edges(day, "year"))


def test_on_the_command_line(people, capsys):
    words = ["ranges", "people", "age", "--epsilon", "1", "--by", "sex", "--where", "ward = 'x'", "--width", "10"]
    code, data, _ = run(capsys, people.folder, *words, "--quantile", "0.5")
    assert code == 0 and data["by"] == ["sex"] and data["where"] == "ward = 'x'" and len(data["rows"]) == 10
    code, text, _ = say(capsys, people.folder, *words[:3], *words[5:], "--between", "10..29")
    assert code == 0 and "Of the rows where ward = 'x'." in text and "keep the other flags" in text
    code, data, _ = run(
        capsys, people.folder, "histogram", "people", "age", "--bins", "5", "--by", "sex", "--epsilon", "1"
    )
    assert code == 0 and [row[:2] for row in data["rows"]][:2] == [["F", 0], ["F", 10]]
    code, _, error = say(capsys, people.folder, "histogram", "people", "sex", "--bins", "5", "--epsilon", "1")
    assert code == 2 and "bins of 'sex'" in error


@pytest.mark.parametrize("where", ["sex = 'F') or (sex = 'M'", "sex = 'F'))", "(sex = 'F'", ") or (sex = 'F'"])
def test_a_condition_does_not_escape_its_brackets(people, where):
    """Else `where` and what is written after it would be read together."""
    for ask in (people.histogram, lambda *names, **more: people.plan_ranges(*names, epsilon=1, **more)):
        with pytest.raises(UsageError, match="brackets of a condition must match"):
            ask("people", "age", where=where)
    within = "(\"sex\" = 'F' or (sex = 'M')) /* :( */ -- )"
    assert people.histogram("people", "age", where=within).query is not None
