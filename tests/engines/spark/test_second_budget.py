"""One source, two budgets, by another address or another name of the same files."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.engines.engine_registry import EngineRegistry
from discreet.engines.spark.spark_engine import SparkEngine
from discreet.errors import UsageError
from engines.spark.server import spark_tests

pytestmark = spark_tests

DECLARED = """
[tables.{name}]
source = '{source}'
engine = "{engine}"
budget = {{ epsilon = 1 }}
[tables.{name}.columns]
age = {{ type = "integer", low = 0, high = 99 }}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, spark_engine):
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
    at, known = EngineRegistry.at, {}

    def chosen(self, address):
        if not address.startswith("spark:"):
            return at(self, address)
        if address not in known:
            known[address] = SparkEngine(address, deadline_s=120.0, threads=2, memory_mb=1024)
            known[address]._session = spark_engine.session()
        return known[address]

    monkeypatch.setattr(EngineRegistry, "at", chosen)
    folder = discreet.init(tmp_path / "project").folder
    pq.write_table(pa.table({"age": [1, 2, 3]}), folder / "people.parquet")
    return folder


def answered(folder, *names):
    many = 0
    for name in names:
        try:
            discreet.open(folder).sql(f"SELECT count(*) FROM {name}").ask(epsilon=1)
            many += 1
        except UsageError:
            continue
    return many


def test_one_file_by_two_addresses_of_one_engine(folder, tmp_path):
    """The second address differs in where declared tables lie. The file was touched in between, as files are."""
    with (folder / "discreet.toml").open("a") as stream:
        stream.write(DECLARED.format(name="one", source="people.parquet", engine="spark://local"))
    assert answered(folder, "one") == 1
    os.utime(folder / "people.parquet", (1, 1))
    with (folder / "discreet.toml").open("a") as stream:
        stream.write(
            DECLARED.format(name="two", source="people.parquet", engine=f"spark://local?declared={tmp_path}/x")
        )
    assert answered(folder, "two") == 0, "the same file has a second budget"


def test_add_knows_a_file_by_another_address(folder, tmp_path):
    project = discreet.open(folder)
    project.add(str(folder / "people.parquet"), epsilon=1, engine="spark://local", name="one")
    with pytest.raises(UsageError, match="already declared"):
        discreet.open(folder).add(
            str(folder / "people.parquet"), epsilon=1, engine=f"spark://local?declared={tmp_path}/x", name="two"
        )


@pytest.fixture
def named(spark_engine, folder):
    session = spark_engine.session()
    place = folder / "lake"
    session.sql(f"CREATE TABLE lake_people (age BIGINT) USING parquet LOCATION '{place}'")
    session.sql("INSERT INTO lake_people VALUES (1), (2), (3)")
    yield "lake_people"
    session.sql("DROP TABLE lake_people")


def test_a_table_of_the_catalog_and_its_files_have_one_budget(folder, named):
    with (folder / "discreet.toml").open("a") as stream:
        stream.write(DECLARED.format(name="one", source=named, engine="spark://local"))
        stream.write(DECLARED.format(name="two", source="lake", engine="spark://local"))
        stream.write(DECLARED.format(name="three", source="lake/*.parquet", engine="duckdb"))
    assert answered(folder, "one", "two", "three") == 1
