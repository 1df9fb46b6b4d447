"""Plain SQL on made-up rows: it reaches nothing else, and ends."""

import time

import pyarrow as pa
import pytest

from discreet.rehearse import plain_sql
from discreet.rehearse.plain_sql import plain_rows

ROWS = {"t": pa.table({"a": [1, 2, None], "b": ["x", "y", "y"]})}


def test_groups_whatever_is_picked():
    text = "SELECT b, count(*) AS n FROM t GROUP BY b HAVING count(*) > 5 ORDER BY n LIMIT 1"
    assert sorted(plain_rows(text, ROWS)) == [("x", 1), ("y", 2)]


def test_names_that_would_end_a_quote():
    rows = {'t"; DROP': pa.table({'a"b': [1]})}
    assert plain_rows('SELECT sum("a""b") FROM "t""; DROP"', rows) == [(1,)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM read_csv('/etc/passwd')",
        "SELECT count(*) FROM '/etc/passwd'",
        "SELECT getenv('HOME')",
        "SELECT count(*) FROM rows",  # a Python variable, in the very function that runs it, is no table
        "SELECT count(*) FROM duckdb_settings() WHERE name = 'x' AND 1 = (SELECT count(*) FROM glob('/*'))",
    ],
)
def test_nothing_else_is_reached(text):
    """Our reader refuses all of these before; were one to pass, this would not answer either."""
    assert plain_rows(text, ROWS) is None


def test_it_ends(monkeypatch):
    monkeypatch.setattr(plain_sql, "DEADLINE_S", 0.3)
    rows = {"t": pa.table({"a": list(range(1500))})}
    text = "SELECT sum(x.a * y.a + z.a % 7) FROM t x, t y, t z"
    began = time.process_time()
    assert plain_rows(text, rows) is None  # 3.4 billion rows: it would take half a minute
    assert time.process_time() - began < 10  # of the processor: a busy machine may take longer by the clock
