"""A join on the person reads both of its sides, whoever meets its conditions: else its running time would tell."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.engines.duckdb import _connect

TOML = """
[populations.people]
budget = { epsilon = 9 }
[tables.visits]
source = "visits.csv"
population = "people"
person = "id"
rows_per_person = 3
columns.cost = { type = "integer", low = 0, high = 9 }
[tables.stays]
source = "stays.csv"
population = "people"
person = "id"
rows_per_person = 3
columns.nights = { type = "integer", low = 0, high = 9 }
"""
JOINED = """SELECT count(*) AS n FROM visits v {word}
JOIN (SELECT id, count(*) AS k FROM stays WHERE nights = 9 GROUP BY id) s ON v.id = s.id"""


@pytest.fixture
def project(tmp_path):
    discreet.init(tmp_path)
    for name, column in (("visits", "cost"), ("stays", "nights")):
        lines = [f"{row % 50},{row % 9}" for row in range(150)]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"id,{column}", *lines]) + "\n")
    toml = tmp_path / "discreet.toml"
    toml.write_text(toml.read_text() + TOML)
    return discreet.open(tmp_path)


def test_the_other_side_is_never_empty(project):
    assert "UNION ALL SELECT -1, NULL" in project.sql(JOINED.format(word="")).explain(epsilon=1).data["engine_sql"]
    assert (
        "UNION ALL" not in project.sql(JOINED.format(word="LEFT")).explain(epsilon=1).data["engine_sql"]
    )  # reads both anyway


def test_nobody_is_joined(project):
    """The row of nobody changes no number: of an inner join with nobody's rows, zero rows are left."""
    assert abs(project.sql(JOINED.format(word="")).ask(epsilon=8).rows[0][0]) < 60


def rows_read(node):
    """The most rows that any part of a profiled question brought out."""
    parts = [node.get("operator", []), node.get("children", [])]
    return max([node.get("intermediate_rows", 0), *(rows_read(part) for each in parts for part in each)])


@pytest.mark.parametrize("secret", [0, 1])
def test_the_engine_reads_the_first_side_whether_somebody_is_on_the_other_or_not(tmp_path, secret):
    rows = 300_000
    pq.write_table(pa.table({"person": list(range(rows)), "x": [1] * rows}), tmp_path / "a.parquet")
    has = [0, secret, *[0] * (rows - 2)]
    pq.write_table(pa.table({"p": list(range(rows)), "secret": has}), tmp_path / "b.parquet")
    connection = _connect((str(tmp_path),), threads=1, memory_mb=500)
    other = f"SELECT p FROM '{tmp_path}/b.parquet' WHERE secret = 1"
    joined = f"SELECT sum(x) FROM '{tmp_path}/a.parquet' JOIN ({{}}) ON person = p"

    def read(right):
        text = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {joined.format(right)}").fetchall()[0][1]
        return rows_read(json.loads(text))

    assert read(f"{other} UNION ALL SELECT -1") == rows
    if not secret:
        assert read(other) < rows  # which is what told of one person
