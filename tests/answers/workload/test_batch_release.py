"""Batches that are measured as one workload: one charge, answers that agree, intervals, repeats, weights and prices."""

import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.accounting.events import ReservationEvent
from discreet.answers.workload import batch_quote
from discreet.answers.workload.statement_notes import statement_title, statement_weights
from discreet.bundle import bundle_files
from discreet.bundle.verification import verify
from discreet.errors import UsageError
from discreet.sql.query_text import split_statements
from verify.world import CHECKER

FILE = """
[tables.people]
source = "people.csv"
budget = { epsilon = 100000, delta = 1e-6 }
[tables.people.columns]
age = { type = "integer", low = 0, high = 19 }
sex = { type = "category", values = ["F", "M"] }
income = { type = "integer", low = 0, high = 100 }
[tables.pets]
source = "pets.csv"
budget = { epsilon = 100000, delta = 1e-6 }
[tables.pets.columns]
age = { type = "integer", low = 0, high = 19 }
"""
ROWS = [(number % 20, "FM"[number % 3 == 0], number % 101) for number in range(400)]
PREFIXES = "; ".join(f"select count(*) n from people where age < {age}" for age in range(2, 20))
MIXED = """
-- By sex
select sex, count(*) n from people group by sex;
select count(*) n from people where age < 9;
-- weight: 3
select count(*) n from people where age < 15;
select sum(income) s from people where age < 9;
select sum(income) s from people;
select avg(age) a from people where sex = 'F'
"""


@pytest.fixture(scope="module", autouse=True)
def _quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_quote, "_SECONDS", 0.05)
        yield


@pytest.fixture
def people(tmp_path):
    lines = [f"{age},{sex},{income}" for age, sex, income in ROWS]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,income", *lines]))
    (tmp_path / "pets.csv").write_text("age\n3\n7\n")
    project = discreet.init(tmp_path)
    (tmp_path / "discreet.toml").write_text("[project]\n" + FILE)
    return project.reread()


def counted(where=lambda age, sex: True):
    return sum(where(age, sex) for age, sex, _ in ROWS)


def charges(project):
    return list(project.ledger.refresh().charges)


def test_a_batch_is_one_charge_and_one_release(people):
    releases = people.batch(PREFIXES, epsilon=1)
    assert len({release.id for release in releases}) == len(charges(people)) == 1
    assert sum(release.cost.budget for release in releases) == people.budget("people").spent.epsilon == 1
    assert isinstance(releases[0].event, ReservationEvent)


def test_answers_are_right_and_agree_with_each_other(people):
    releases = people.batch(MIXED, epsilon=8)
    assert len({release.id for release in releases}) == 1
    women = [age for age, sex, _ in ROWS if sex == "F"]
    exact = [
        counted(lambda age, sex: sex == "F"),
        counted(lambda age, sex: age < 9),
        counted(lambda age, sex: age < 15),
        sum(income for age, _, income in ROWS if age < 9),
        sum(income for *_, income in ROWS),
        np.mean(women),
    ]
    for release, number in zip(releases, exact, strict=True):
        low, high = release.interval("0.9999999")[0][-1]
        assert low <= number <= high and high - low < number


def test_sums_of_parts_are_the_whole_whatever_the_noise(people):
    text = "select sex, count(*) n from people group by sex; select count(*) n from people; " + PREFIXES
    by_sex, whole, *_ = people.batch(text, epsilon="0.5")
    parts = sum(sum(ends) for row in by_sex.interval("0.9") for ends in row[1:])
    assert parts == pytest.approx(sum(whole.interval("0.9")[0][0]), rel=1e-6)


def test_intervals_hold_the_exact_numbers_as_often_as_they_say(people, monkeypatch):
    """Two hundred draws of eighteen numbers by the planned strategy, under the very law that is charged."""
    seen = []
    real = batch_quote.plan_batch
    monkeypatch.setattr("discreet.answers.batch.plan_batch", lambda *a, **k: seen.append(real(*a, **k)) or seen[-1])
    people.batch(PREFIXES, epsilon=1)
    (grid,) = seen[0].grids
    widths = grid.half_widths(Fraction(9, 10))
    scale, rows = float(grid.law.scale), grid.planned.strategy.rows
    noise = np.random.default_rng(24).laplace(scale=scale, size=(4000, rows))
    errors = np.stack([grid.planned.answers.answers(each) for each in noise[:400]])
    inside = (np.abs(errors) <= widths).mean(axis=0)
    assert inside.min() > 0.83 and 0.88 < inside.mean() < 0.94
    assert errors.var(axis=0).mean() == pytest.approx((grid.planned.variances * 2 * scale**2).mean(), rel=0.15)


def test_a_repeat_is_free_alone_and_together(people):
    first = people.batch(MIXED, epsilon=2)
    again = people.batch(MIXED, epsilon=2)
    assert [release.rows for release in again] == [release.rows for release in first]
    assert all(release.cached for release in again) and len(charges(people)) == 1
    for text, release in zip(split_statements(MIXED), first, strict=True):
        alone = people.sql(text).ask(epsilon=1)
        assert alone.cached and alone.rows == release.rows, text
        assert people.sql(text).explain(epsilon=1)["stored"]["release"] == release.id
    spelled = people.sql("SELECT count(*) AS other FROM people WHERE NOT age >= 9").ask(epsilon=1)
    assert spelled.cached and spelled.rows == first[1].rows
    assert len(charges(people)) == 1


def test_what_the_cells_determine_is_free(people):
    people.batch(PREFIXES, epsilon=20)
    derived = people.sql("select count(*) n from people where age between 5 and 7 or age = 11").ask(epsilon=1)
    assert derived.derived and derived.id.startswith("d-") and len(charges(people)) == 1
    low, high = derived.interval("0.999999")[0][0]
    assert low <= counted(lambda age, sex: age in (5, 6, 7, 11)) <= high
    assert (
        not people.sql("select count(*) n from people where age = 0").ask(epsilon=20).derived
    )  # no statement cut there


def test_a_statement_that_has_an_answer_is_not_paid_again(people):
    before = people.sql("select count(*) n from people where age < 9").ask(epsilon=1)
    releases = people.batch(PREFIXES, epsilon=1)
    assert releases[7].id == before.id and releases[7].cached
    assert releases[7].rows == before.rows and not releases[6].cached
    assert people.budget("people").spent.epsilon < Fraction(2)


def test_other_terms_are_another_batch(people):
    people.batch(PREFIXES, epsilon=1)
    people.batch(PREFIXES, epsilon=1, weights=[9, *[1] * 17])
    assert len(charges(people)) == 1, "its statements have answers"


def test_a_heavier_statement_has_a_smaller_error(people):
    text = "; ".join(f"select count(*) n from people where age < {age}" for age in (4, 8, 12, 16))
    alike, heavy = (people.explain_batch(text, epsilon=1, weights=weights) for weights in ([1, 1, 1, 1], [1, 1, 1, 50]))
    assert heavy["statements"][3]["plus_minus"] < alike["statements"][3]["plus_minus"]
    said = people.explain_batch(text.replace("; select count(*) n from people where age < 16", ";\n-- weight: 50\nselect count(*) n from people where age < 16"), epsilon=1)  # fmt: skip
    assert [each["plus_minus"] for each in said["statements"]] == [each["plus_minus"] for each in heavy["statements"]]


def test_what_is_explained_is_what_is_answered(people):
    explained = people.explain_batch(MIXED, epsilon=2)
    assert explained["together"] and explained["error_apart"] > 1 and explained["cost"]["epsilon"] == 2
    assert "asked apart" in str(explained) and "1. By sex" in str(explained)
    releases = people.batch(MIXED, epsilon=2)
    for statement, release in zip(explained["statements"][:5], releases, strict=False):
        width = max((high - low) / 2 for row in release.intervals for low, high in [row[-1]])
        assert width == pytest.approx(statement["plus_minus"], rel=1e-6)
        assert statement["plus_minus"] < statement["apart"]
    assert explained["statements"][5]["measured"] == "by itself"
    assert people.budget("people").spent.epsilon == pytest.approx(explained["spent"]["epsilon"])
    after = people.explain_batch(MIXED, epsilon=2)
    assert after["already_charged"] and after["cost"]["epsilon"] == 0


def test_a_batch_that_gains_nothing_is_split(people):
    text = "select count(*) n from people; select avg(age) a from people where sex = 'F'"
    explained = people.explain_batch(text, epsilon=1)
    assert not explained["together"] and "by itself" in explained["strategy"]
    one, two = people.batch(text, epsilon=1)
    assert one.id != two.id and len(charges(people)) == 2


def test_several_tables_are_split(people):
    one, two = people.batch("select count(*) n from people; select count(*) n from pets", epsilon=1)
    assert one.id != two.id


def test_people_who_are_not_asked_about_are_not_charged(people):
    people.batch("; ".join(f"select count(*) n from people where age < {age}" for age in (3, 5, 7, 9)), epsilon=1)
    other = people.sql("select count(*) n from people where age > 12").ask(epsilon=1)
    assert other.cost.budget == 0 and people.budget("people").spent.epsilon == 1


def test_one_statement_of_many_numbers_is_a_workload_too(people):
    filters = ", ".join(f"count(*) filter (where age < {age}) as n{age}" for age in range(2, 20))
    text = f"select {filters} from people"
    explained = people.sql(text).explain(epsilon=1)
    release = people.sql(text).ask(epsilon=1)
    assert isinstance(release.event, ReservationEvent) and release.cost.budget == 1
    assert "share noise" in explained["steps"][0]
    widths = [each["plus_minus"] for each in explained["noise"]]
    assert [(high - low) / 2 for low, high in release.intervals[0]] == pytest.approx(widths, rel=1e-6)
    assert people.sql(text).ask(epsilon=1).cached
    fresh = people.sql(text).ask(epsilon=1, fresh=True)
    assert fresh.id != release.id and not fresh.cached and len(charges(people)) == 2
    with pytest.raises(UsageError, match="only the answer to a single statement"):
        people.again(release.id, epsilon=1)


def test_a_plain_statement_stays_as_it_is(people):
    for text in ("select sex, count(*) n from people group by sex", "select count(*) n, avg(age) a from people"):
        assert not isinstance(people.sql(text).ask(epsilon=1).event, ReservationEvent)


@pytest.fixture
def people_in_rho(people):
    """Their owner adds up rho."""
    file = people.folder / "discreet.toml"
    budget = 'budget = { epsilon = 100, delta = 1e-6 }\naccounting = "zcdp"'
    file.write_text(file.read_text().replace("budget = { epsilon = 100000, delta = 1e-6 }", budget, 1))
    return people.reread()


def test_gaussian_noise_where_the_owner_counts_in_rho(people_in_rho):
    releases = people_in_rho.batch(PREFIXES, epsilon=1)
    assert releases[0].event == ReservationEvent(epsilon=None, rho=Fraction(1, 2), delta=Fraction(0))


@pytest.mark.parametrize("epsilon", ["0.1", "0.25", "0.3", "1"])
def test_other_people_who_cost_nothing_more_leave_no_share(people_in_rho, epsilon):
    """Split, each of the two costs all of epsilon; as one workload the median takes it, but for what is rounded off."""
    texts = [
        "select median(age) m, count(*) n from people where sex = 'F'",
        "select count(*) n from people where sex = 'M'",
    ]
    releases = people_in_rho.batch(";\n".join(texts), epsilon=epsilon)
    assert [len(each.rows) for each in releases] == [1, 1]
    assert people_in_rho.budget("people").spent.epsilon > 0


def test_a_batch_is_read_back_and_bundled(people, tmp_path):
    releases = people.batch(MIXED, epsilon=2)
    id_ = releases[0].id
    assert people.recall(id_).kind == "batch" and len(people.recall(id_).texts) == 6
    for number, release in enumerate(releases, start=1):
        assert people.release(id_, statement=number).rows == release.rows
    files = bundle_files.make_bundle(people, id_)
    out = tmp_path / "out"
    out.mkdir()
    for name, content in files.items():
        (out / name).write_bytes(content)
    report = verify(out, project=people)
    assert report.sound and all(check.holds for check in report.checks), report
    tables = json.loads(files["data.json"])["tables"]
    assert [table["rows"] for table in tables[:6]] == [[list(row) for row in release.rows] for release in releases]
    checked = subprocess.run([sys.executable, CHECKER, out], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout  # all of it is proved
    assert "each step measured what was charged, with noise for" in checked.stdout


def test_titles_and_weights():
    texts = split_statements(MIXED)
    assert [statement_title(text)[:12] for text in texts[:3]] == ["By sex", "select count", "select count"]
    assert statement_weights(texts) == (1, 1, 3, 1, 1, 1)
    assert statement_weights(texts, "2,2,2,2,2,2") is None
    for wrong in ("1,2", "1,1,1,1,1,x", "1,1,1,1,1,0"):
        with pytest.raises(UsageError):
            statement_weights(texts, wrong)
