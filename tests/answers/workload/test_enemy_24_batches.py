"""Batches against an enemy: statements that share rows, quantiles among them, numbers that are 0 by their conditions."""

import random

import pytest

import discreet
from answers.shop import write

DECLARED = """
[tables.t]
source = "t.csv"
budget = { epsilon = 9000, delta = 1e-6 }
[tables.t.columns]
age = { type = "integer", low = 0, high = 99 }
sex = { type = "category", values = ["F", "M"] }
x = { type = "integer", low = -5, high = 9 }
"""
PREFIXES = [f"SELECT count(*) FROM t WHERE age < {age}" for age in (5, 6, 10, 20, 50)]


@pytest.fixture(scope="module")
def rows():
    draw = random.Random(1)
    return [(draw.randint(0, 99), draw.choice("FM"), draw.randint(-5, 9)) for _ in range(400)]


@pytest.fixture
def table(tmp_path, rows):
    write(tmp_path / "t.csv", ["age", "sex", "x"], rows)
    (tmp_path / "discreet.toml").write_text(DECLARED)
    return discreet.init(tmp_path)


def is_one(project, releases):
    """Were they planned as one workload?"""
    return {release.id for release in releases} <= set(project.ledger.refresh().reservations)


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "others",
    [
        ["SELECT count(*) FROM t", "SELECT sum(x) FROM t"],
        ["SELECT sum(x) AS s FROM t WHERE age < 50", "SELECT count(*) AS n, sum(x) AS s FROM t"],
        ["SELECT count(*) AS n, median(x) AS m FROM t"],
        ["SELECT median(age) AS m, avg(x) AS a FROM t", "SELECT count(*) AS n FROM t"],
    ],
    ids=["other statistics of the same rows", "some of them", "a quantile and a count", "a quantile and an average"],
)
def test_statements_over_the_same_rows_are_all_read(table, rows, others):
    """Two of these ended in a KeyError once the whole batch was charged."""
    asked = [*others, *PREFIXES]
    releases = table.batch(";".join(asked), epsilon=400)
    assert is_one(table, releases)
    assert releases[-1].rows[0][0] == pytest.approx(sum(age < 50 for age, _, _ in rows), abs=2)
    for text, release in zip(asked, releases, strict=True):  # and read again
        again = table.sql(text).ask(epsilon=1)
        assert again.cached and again.rows == release.rows


def test_a_batch_about_nobody_is_answered(table):
    never = [
        "SELECT count(*) FILTER (WHERE age < 10 AND age > 50) FROM t",
        "SELECT count(*) FILTER (WHERE age > 9 AND age < 3) FROM t",
    ]
    assert [release.rows[0][0] for release in table.batch(";".join(never), epsilon=100)] == [0, 0]


def test_a_sum_that_is_0_by_its_condition_tells_nothing_of_others(table, rows):
    """Its grid held one number, the total over the region of the batch, which was then taken for the total of all."""
    never = "SELECT sum(x) FILTER (WHERE age < 10 AND age > 50) AS s FROM t WHERE age < 50"
    releases = table.batch(";".join([never, *PREFIXES]), epsilon=100)
    assert releases[0].rows[0][0] == pytest.approx(0, abs=9)
    asked = table.sql("SELECT sum(x) FROM t").ask(epsilon=100)
    assert asked.rows[0][0] == pytest.approx(sum(x for _, _, x in rows), abs=5)


def test_the_best_numbers_of_almost_exact_tables(table, rows):
    """With noise far below one row the law of what is left was refused."""
    first, *_ = table.batch(
        ";".join(["SELECT sex, count(*) FROM t WHERE age < 50 GROUP BY ROLLUP (sex)", *PREFIXES]), epsilon=400
    )
    young = [sex for age, sex, _ in rows if age < 50]
    assert [row[-1] for row in first.best()] == [young.count("F"), young.count("M"), 0, len(young)]
