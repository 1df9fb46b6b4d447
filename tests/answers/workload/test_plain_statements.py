"""Counts beside averages over the same rows: a workload measures the counts, and the averages by themselves."""

import random

import numpy as np
import pytest

import discreet
from answers.shop import write
from discreet.answers import batch as batch_module
from discreet.answers.query_quote import laws_of
from discreet.answers.repeats import merged_inquiry
from discreet.answers.workload import batch_measurement, batch_quote
from discreet.answers.workload.drawn_batch import DrawnBatch
from discreet.answers.workload.plain_statements import plain_apart
from discreet.bundle import bundle_files
from discreet.bundle.verification import verify
from discreet.kernel.curator import Curator
from discreet.kernel.project_session import open_session
from discreet.project.question import wish_of
from discreet.sql.query_parser import parse_batch

DECLARED = """
[tables.t]
source = "t.csv"
budget = { epsilon = 90000, delta = 1e-6 }
[tables.t.columns]
age = { type = "integer", low = 0, high = 99 }
sex = { type = "category", values = ["F", "M"], closed = true }
x = { type = "integer", low = -5, high = 9 }
"""
FILTERS = ", ".join(f"count(*) FILTER (WHERE age < {age}) AS n{age}" for age in range(10, 90, 10))
TEXTS = [
    f"SELECT {FILTERS} FROM t",
    "SELECT avg(x) AS a FROM t",
    "SELECT count(*) AS n FROM t",
    "SELECT sex, count(*) AS n FROM t GROUP BY sex",
    "SELECT sex, avg(x) AS a, count(*) AS k FROM t GROUP BY sex ORDER BY avg(x)",
    "SELECT median(x) AS m FROM t",
    "SELECT sex, sum(x) AS s FROM t GROUP BY sex HAVING count(*) > 3",
]
TEXT = ";".join(TEXTS)


@pytest.fixture(scope="module")
def rows():
    draw = random.Random(1)
    return [(draw.randint(0, 99), draw.choice("FM"), draw.randint(-5, 9)) for _ in range(400)]


@pytest.fixture
def table(tmp_path, rows, monkeypatch):
    monkeypatch.setattr(batch_quote, "_SECONDS", 0.1)
    write(tmp_path / "t.csv", ["age", "sex", "x"], rows)
    (tmp_path / "discreet.toml").write_text(DECLARED)
    return discreet.init(tmp_path)


@pytest.fixture
def quiet(monkeypatch):
    """Noise that is always 0."""
    real = Curator.add_noise

    def add(self, law, exact_values, moves):
        return np.asarray(exact_values), real(self, law, exact_values, moves)[1]

    monkeypatch.setattr(Curator, "add_noise", add)


def read_again(project, releases):
    """What each statement says where it is asked by itself, and where the release is read."""
    alone = [project.sql(text).ask(epsilon=1) for text in TEXTS]
    stored = [project.release(releases[0].id, statement=number + 1) for number in range(len(TEXTS))]
    return alone, stored


def test_counts_stay_in_the_workload(table, monkeypatch):
    together = table.explain_batch(TEXT, epsilon=1)
    assert [each["measured"] for each in together["statements"]] == [
        *("together", "by itself", "together", "together", "by itself", "by itself", "by itself")
    ]
    assert together["error_apart"] > 2
    monkeypatch.setattr(batch_module, "plain_apart", lambda queries: None)
    before = table.explain_batch(TEXT, epsilon=1)
    assert {each["measured"] for each in before["statements"]} == {"by itself"}
    for own, other in zip(together["statements"], before["statements"], strict=True):
        assert own["apart"] == other["plus_minus"] or own["measured"] == "by itself"
        if own["measured"] == "together":
            assert own["plus_minus"] < other["plus_minus"] / 2


def test_what_is_measured_by_itself_is_no_less_exact_than_in_a_split_batch(table):
    queries = parse_batch(TEXT, table.versions.catalog())
    apart, session = plain_apart(queries), open_session(table, "t", table.asker(None))
    quoted = batch_quote.plan_batch(apart, wish_of(1, None, "0.95", None), lambda _: session, split=queries)
    assert quoted.is_better and sum(each.share for each in quoted.alone) < 1
    for each in quoted.alone:
        whole, split = quoted.batch.whole(quoted.batch.groups[each.group]), quoted.apart[each.group]
        errors = [0.0, 0.0]
        for index, need in whole.needs.items():
            there = split.inquiry.statistics.index(whole.inquiry.statistics[index])
            for place, law in enumerate((laws_of(each.price)[index][0], laws_of(split)[there][0])):
                errors[place] += float(need * law.variance())
        assert errors[0] <= 1.02 * errors[1]


def test_statements_say_what_they_say_alone(table, rows, quiet, tmp_path):
    releases = table.batch(TEXT, epsilon=60)
    assert {each.id for each in releases} <= set(table.ledger.refresh().reservations)
    assert releases[0].rows[0] == pytest.approx([sum(row[0] < age for row in rows) for age in range(10, 90, 10)])
    mean = {sex: np.mean([row[2] for row in rows if row[1] == sex]) for sex in "FM"}
    assert {row[0]: row[1] for row in releases[4].rows} == pytest.approx(mean, abs=0.01)
    for again in read_again(table, releases):
        assert [each.rows for each in again] == [each.rows for each in releases]
    repeated = table.batch(TEXT, epsilon=60)
    assert [each.rows for each in repeated] == [each.rows for each in releases]
    assert all(each.cached and each.cost.epsilon in (0, None) for each in repeated)
    bundle_files.write(bundle_files.make_bundle(table, releases[0].id), tmp_path / "out")
    assert verify(tmp_path / "out").sound


def test_a_reading_that_forgets_what_others_name_is_caught(table, monkeypatch):
    """Planted: of a group that also counts rows for its median only the group's own statements are looked at."""
    releases = table.batch(TEXT, epsilon=20)

    def forgetful(self, group, reads):
        return merged_inquiry([reads(self.stored.texts[number]).inquiry for number in group.statements])

    monkeypatch.setattr(DrawnBatch, "_lone_inquiry", forgetful)
    alone, _ = read_again(table, releases)
    assert [each.rows for each in alone] != [each.rows for each in releases]


def test_a_batch_that_was_stored_before_is_read_as_it_was_measured(table, monkeypatch, tmp_path):
    texts = ";".join([*TEXTS, *(f"SELECT count(*) AS n FROM t WHERE age < {age}" for age in (5, 15, 25, 35))])
    with monkeypatch.context() as before:
        before.setattr(batch_module, "plain_apart", lambda queries: None)
        releases = table.batch(texts, epsilon=20)
    assert {each.id for each in releases} <= set(table.ledger.refresh().reservations)
    stored = [table.release(releases[0].id, statement=number + 1) for number in range(len(releases))]
    assert [each.rows for each in stored] == [each.rows for each in releases]
    assert [each.rows for each in table.batch(texts, epsilon=20)] == [each.rows for each in releases]
    bundle_files.write(bundle_files.make_bundle(table, releases[0].id), tmp_path / "out")
    assert verify(tmp_path / "out").sound


@pytest.mark.parametrize("name", ["draw_batch", "StoredBatch"])
def test_a_batch_whose_process_died_goes_on(table, monkeypatch, name):
    """After its plan was stored, and before."""

    class Died(BaseException):
        pass

    def die(*_, **__):
        raise Died

    with monkeypatch.context() as killed:
        if name == "StoredBatch":
            killed.setattr(batch_measurement.StoredBatch, "of", die)
        else:
            killed.setattr(batch_measurement, name, die)
        with pytest.raises(Died):
            table.batch(TEXT, epsilon=5)
    (begun,) = table.ledger.refresh().reservations
    assert {each.id for each in table.batch(TEXT, epsilon=5)} == {begun}
    assert table.budget("t").spent.epsilon == 5
