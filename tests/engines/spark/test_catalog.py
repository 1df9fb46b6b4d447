"""Tables of Spark's catalog as sources; and a shuffle that does not fit into memory."""

import pyarrow as pa
import pytest

from discreet.engines.engine import TableLocations
from discreet.engines.engine_registry import EngineRegistry
from discreet.engines.fingerprint import is_same_source
from discreet.errors import SchemaError, UsageError
from discreet.plan.cell_statistics import RowCount
from discreet.plan.relation import Scan
from discreet.schema.column import CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.asking import asked, counted, typed
from engines.persons_tables import KEY, TAG_KEY
from engines.spark.server import load, side, spark_tests, stored

pytestmark = spark_tests

COLUMNS = (
    NumberColumn(name="id", type="integer"),
    MomentColumn(name="day", type="date"),
    MomentColumn(name="at", type="timestamp"),
)


@pytest.fixture
def catalog(spark_engine, tmp_path):
    session = spark_engine.session()
    session.sql(
        "CREATE TABLE kept_rows (id INT, Name STRING, day DATE, at TIMESTAMP_NTZ, c CHAR(3), f STRING COLLATE UTF8_LCASE)"
        f" USING parquet LOCATION '{tmp_path}/kept'"
    )
    session.sql("INSERT INTO kept_rows VALUES (1, 'a', DATE'1970-01-02', TIMESTAMP_NTZ'1970-01-01 00:00:01', 'x', 'A')")
    session.sql("CREATE TEMPORARY VIEW seen_rows AS SELECT * FROM kept_rows")
    yield "kept_rows"
    session.sql("DROP VIEW seen_rows")
    session.sql("DROP TABLE kept_rows")


def table(source, columns, unit=None):
    schema = Schema(table="people", columns=columns, unit=unit or PrivacyUnit())
    return Table(schema=schema, source=source, population="people", budget=None)


def test_a_table_of_the_catalog(spark_engine, catalog, tmp_path):
    proposed = typed(id="integer", Name="text", day="date", at="timestamp", c="text", f="text")
    assert spark_engine.columns(catalog, folder=tmp_path) == proposed
    assert is_same_source(spark_engine.trace(catalog, folder=tmp_path), spark_engine.trace("kept", folder=tmp_path))
    assert is_same_source(
        spark_engine.trace(catalog, folder=tmp_path), EngineRegistry().trace("kept/*.parquet", folder=tmp_path)
    )
    assert list(spark_engine.rows(catalog, ["name", "id"], folder=tmp_path)) == [["a", 1]]
    place = spark_engine.place("t.lake", folder=tmp_path)
    told = spark_engine.declare(table(catalog, COLUMNS), folder=tmp_path, target=place)
    assert told.exact_rows == 1
    assert stored(place) == [{"id": 1, "day": 1, "at": 1_000_000}]
    before = spark_engine.trace(catalog, folder=tmp_path)
    spark_engine.session().sql("INSERT INTO kept_rows (id) VALUES (2)")
    after = spark_engine.trace(catalog, folder=tmp_path)
    assert set(before.same) < set(after.same)


def test_a_collation_changes_no_value(spark_engine, catalog, tmp_path):
    """Where the owner's Spark takes a and A for one, a row would meet two entries of a list."""
    place = spark_engine.place("t.lake", folder=tmp_path)
    both = CategoryColumn(name="f", values=("a", "A"))
    assert spark_engine.declare(table(catalog, (both,)), folder=tmp_path, target=place).exact_rows == 1
    assert stored(place) == [{"f": 1}]


@pytest.mark.parametrize("provider", ["csv", "json", "orc", "text"])
def test_tables_that_are_not_parquet_are_refused(spark_engine, tmp_path, provider):
    """A quote that one person leaves open in a CSV takes the rows of others away. No column's name hides the kind."""
    session = spark_engine.session()
    session.sql(f"CREATE TABLE other_rows (Provider STRING COMMENT 'parquet') USING {provider} LOCATION '{tmp_path}/o'")
    try:
        with pytest.raises(UsageError, match=f"is stored as {provider};"):
            spark_engine.header("other_rows", folder=tmp_path)
    finally:
        session.sql("DROP TABLE other_rows")


def test_a_table_of_a_database_is_refused(spark_engine, tmp_path):
    """It has no files: nothing would say that it is declared already, nor that it changed."""
    session = spark_engine.session()
    options = {"url": "jdbc:derby:memory:far;create=true", "dbtable": "PEOPLE"}
    options["driver"] = "org.apache.derby.iapi.jdbc.AutoloadedDriver"
    session._jvm.java.lang.System.setProperty("derby.stream.error.file", str(tmp_path / "derby.log"))
    session.sql("SELECT 1 AS AGE").write.format("jdbc").options(**options).mode("overwrite").save()
    listed = ", ".join(f"{name} '{value}'" for name, value in options.items())
    session.sql(f"CREATE TABLE far_rows USING jdbc OPTIONS ({listed})")
    try:
        with pytest.raises(UsageError, match="is stored as jdbc;"):
            spark_engine.trace("far_rows", folder=tmp_path)
    finally:
        session.sql("DROP TABLE far_rows")


def test_a_table_over_the_files_of_another_is_refused(spark_engine, catalog, tmp_path):
    """As Parquet it would read what the log has removed."""
    (tmp_path / "kept" / "_delta_log").mkdir()
    with pytest.raises(UsageError, match="whose log says which of them are current"):
        spark_engine.header(catalog, folder=tmp_path)


def test_what_of_a_catalog_is_refused(spark_engine, catalog, tmp_path):
    place = spark_engine.place("t.lake", folder=tmp_path)
    with pytest.raises(SchemaError, match=r"declared text, but it is char\(3\)"):
        spark_engine.declare(table(catalog, (TextColumn(name="c"),)), folder=tmp_path, target=place)
    person = table(catalog, COLUMNS[:1], PrivacyUnit(person=("f",), rows=1))
    with pytest.raises(SchemaError, match="does not identify people exactly"):
        spark_engine.declare(person, folder=tmp_path, target=place, key=KEY, tag_key=TAG_KEY)
    with pytest.raises(UsageError, match="is a view"):
        spark_engine.header("seen_rows", folder=tmp_path)
    with pytest.raises(UsageError, match="no file and no table"):
        spark_engine.header("no_such_rows", folder=tmp_path)


def test_a_shuffle_that_spills(spark_engine, tmp_path):
    """Windows over all rows, a thousand of which may be in memory at once."""
    session, many = spark_engine.session(), 60_000
    rows = pa.table({"id": [number % 20_000 for number in range(many)], "age": [number % 97 for number in range(many)]})
    unit = PrivacyUnit(person=("id",), rows=2)
    place = spark_engine.place("t.lake", folder=tmp_path)
    settings = {
        "spark.sql.windowExec.buffer.spill.threshold": "1000",
        "spark.sql.sortMergeJoinExec.buffer.spill.threshold": "1000",
    }
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        given = table(load(rows, tmp_path), (NumberColumn(name="age", type="integer", low=0, high=96),), unit)
        told = spark_engine.declare(given, folder=tmp_path, target=place, key=KEY, tag_key=TAG_KEY)
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
    assert (told.exact_rows, told.exact_truncated, told.exact_persons) == (40_000, 20_000, 20_000)
    assert {row["rows"] for row in side(place)} == {3}
    [[found]] = counted(spark_engine, asked(statistics=(RowCount(),)), place)
    assert found == 40_000
    spark_engine.ready(TableLocations(files={Scan(table="people", version=1): place}))
