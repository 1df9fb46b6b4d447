"""Deliberately broken makings of tables of persons on Spark: each one must differ from what the reference makes.

That what is not broken does not differ is `test_persons`, on the same persons and more.
"""

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql
import pytest

from discreet.engines.keyed_hashes import person_tag
from discreet.engines.spark import person_table, spark_person_path
from discreet.engines.spark.person_table import _SparkPersonTable
from discreet.errors import UsageError
from discreet.schema.column import BooleanColumn, NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from engines.persons_tables import TAG_KEY
from engines.spark.server import spark_tests
from engines.spark.test_persons import agree, edges, table

pytestmark = spark_tests

AGE = (NumberColumn(name="age", type="integer", low=0, high=120),)
FORGOTTEN = [person_tag([who], TAG_KEY) for who in ("forgotten, and kept", "forgotten, and ranked")]


def check_edges(engine, folder):
    """Persons on each edge, with a limit of two rows: see `test_persons.EDGES`."""
    pq.write_table(edges(), folder / "whole.parquet")
    unit, columns = PrivacyUnit(person=("id",), rows=2), (*AGE, BooleanColumn(name="smoker", constant=True))
    agree(engine, lambda source: table(source, unit, columns=columns), "whole.parquet", folder, forgotten=FORGOTTEN)


def check_way(engine, folder):
    """Somebody who is reached by one visit on two ways has one row."""
    pq.write_table(pa.table({"visit": ["6"], "age": pa.array([1], pa.int16())}), folder / "whole.parquet")
    pq.write_table(pa.table({"visit": ["6", "6"], "person": ["F", "F"]}), folder / "stays.parquet")
    way = (table("stays.parquet", PrivacyUnit(person=("person",), rows=2), "stays", AGE),)
    unit = PrivacyUnit(through="stays", on=("visit",), rows=2)
    agree(engine, lambda source: table(source, unit, columns=AGE), "whole.parquet", folder, path=way)


def replaced(patch, of, name, old, new):
    """A function whose SQL has `new` where it had `old`."""
    right = getattr(of, name)

    def wrong(*given, **how):
        sql = right(*given, **how)
        assert old in sql
        return sql.replace(old, new)

    patch.setattr(of, name, wrong)


def the_forgotten_keep_their_rows(patch):
    replaced(patch, _SparkPersonTable, "_others_sql", "NOT p.apart AND NOT p.forgotten", "NOT p.apart")


def one_row_too_many(patch):
    replaced(patch, _SparkPersonTable, "_group_sql", "count(*) > 2", "count(*) > 3")


def a_null_agrees_with_everything(patch):
    patch.setattr(person_table, "_disagree", lambda value: f"min({value}) IS DISTINCT FROM max({value})")


def damaged_ids_are_somebodys(patch):
    patch.setattr(spark_person_path, "whole_sql", lambda word, of: word)


def ways_are_counted_twice(patch):
    session, right = pyspark.sql.SparkSession, pyspark.sql.SparkSession.sql
    planted = lambda sql: sql.replace("SELECT DISTINCT", "SELECT") if "discreet_way_" in sql else sql  # noqa: E731
    patch.setattr(session, "sql", lambda self, sql, *given, **how: right(self, planted(sql), *given, **how))


EDGES = (the_forgotten_keep_their_rows, one_row_too_many, a_null_agrees_with_everything, damaged_ids_are_somebodys)


@pytest.mark.parametrize("mutant", EDGES, ids=lambda mutant: mutant.__name__)
def test_a_broken_making_of_persons_is_caught(mutant, spark_engine, tmp_path, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, UsageError)) as caught:
        check_edges(spark_engine, tmp_path)
    assert_by_what_it_made(caught.value)


def test_a_broken_way_is_caught(spark_engine, tmp_path, monkeypatch):
    ways_are_counted_twice(monkeypatch)
    with pytest.raises((AssertionError, UsageError)) as caught:
        check_way(spark_engine, tmp_path)
    assert_by_what_it_made(caught.value)


def assert_by_what_it_made(problem):
    """By its rows, or by the making's own count of them; not because the planted SQL is none."""
    if isinstance(problem, UsageError):
        assert isinstance(problem.__context__, ValueError) and "this is a defect" in str(problem.__context__)
