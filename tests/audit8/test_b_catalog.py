"""Tables of the catalog that are not made of Parquet files: no snapshot, no trace, and rows that change other rows."""

import pytest

from discreet.engines.spark.engine import SparkEngine
from discreet.errors import DiscreetError
from discreet.schema.column import Number
from discreet.schema.schema import Schema, Table
from discreet.schema.unit import PrivacyUnit
from engines.spark.server import spark_engine, spark_tests, stored

__all__ = ["spark_engine"]
pytestmark = spark_tests


@pytest.fixture
def far(spark_engine):
    """A table that lies in a database which Spark reads."""
    session = spark_engine.session()
    url = "jdbc:derby:memory:audit;create=true"
    options = {"url": url, "dbtable": "PEOPLE", "driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}
    session.sql("SELECT CAST(id AS INT) AS AGE FROM range(5)").write.format("jdbc").options(**options).mode(
        "overwrite"
    ).save()
    listed = ", ".join(f"{name} '{value}'" for name, value in options.items())
    session.sql(f"CREATE TABLE audit_far USING jdbc OPTIONS ({listed})")
    yield "audit_far"
    session.sql("DROP TABLE audit_far")


def test_a_table_without_files_is_known_again_or_refused(spark_engine, far, tmp_path):
    try:
        trace = spark_engine.trace(far, folder=tmp_path)
    except DiscreetError:
        return
    assert trace.same, "nothing says that this source is declared already, nor that it changed"


def test_a_row_of_a_csv_table_does_not_change_other_rows(spark_engine, tmp_path):
    """docs/engines/spark.md: CSV is not read. A quote that one person leaves open takes the rows of others away."""
    session = spark_engine.session()
    found = []
    for turn, note in enumerate(("fine", '"open')):
        folder = tmp_path / f"csv{turn}"
        folder.mkdir()
        (folder / "rows.csv").write_text("note,age\n" + f"{note},1\n" + "".join(f"x,{n}\n" for n in range(2, 10)))
        session.sql(
            f"CREATE TABLE audit_csv{turn} (note STRING, age INT) USING csv OPTIONS (header true, multiLine true)"
            f" LOCATION '{folder}'"
        )
        try:
            found.append(_made(spark_engine, f"audit_csv{turn}", tmp_path))
        except DiscreetError:
            found.append(None)
        finally:
            session.sql(f"DROP TABLE audit_csv{turn}")
    assert found[0] is None or len(found[0]) == len(found[1]), "one person's cell decided over others' rows"


def _made(engine: SparkEngine, source, folder):
    schema = Schema(table="people", columns=(Number(name="age", type="integer", low=0, high=99),), unit=PrivacyUnit())
    place = engine.place(f"{source}.lake", folder=folder)
    engine.declare(Table(schema=schema, source=source, population="people", budget=None), folder=folder, target=place)
    return stored(place)
