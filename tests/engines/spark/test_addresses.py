"""Secrets in an engine's address that are let through, a hint that leads nowhere, and addresses in the ledger."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.errors import SchemaError
from discreet.schema.address import check_address


@pytest.mark.parametrize(
    "address",
    [
        "sc://host;token=s3cret",
        "sc://host/;authorization=Bearer s3cret",
        "sc://host/;x-api-key=s3cret",
        "spark://local?declared=s3a://KEY:s3cret@bucket/private",
        "spark://local?declared=s3a%3A%2F%2FKEY%3As3cret%40bucket",
    ],
)
def test_a_secret_in_an_address_is_refused(address):
    with pytest.raises(SchemaError):
        check_address(address, where="[tables.t]")


def test_the_hint_names_a_variable_that_spark_reads():
    from pathlib import Path

    import pyspark

    with pytest.raises(SchemaError) as caught:
        check_address("sc://host/;token=s3cret", where="[tables.t]")
    [name] = [word for word in caught.value.hint.split() if word.startswith("SPARK_")]
    client = Path(pyspark.__file__).parent / "sql" / "connect" / "client" / "core.py"
    assert name in client.read_text()


def test_no_address_gets_into_the_ledger(tmp_path, monkeypatch):
    """place.py and decision 17: the address stays in discreet.toml. (No Spark is started: the engine is DuckDB's.)"""
    from discreet.engines.duckdb import DuckDBEngine
    from discreet.engines.engine_registry import EngineRegistry

    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(EngineRegistry, "at", lambda self, address: self)
    assert issubclass(EngineRegistry, DuckDBEngine)
    project = discreet.init(tmp_path / "project")
    pq.write_table(pa.table({"age": [1, 2]}), project.folder / "people.parquet")
    with (project.folder / "discreet.toml").open("a") as stream:
        stream.write(
            '[tables.people]\nsource = "people.parquet"\nengine = "sc://secret-host.example/;user_id=ann"\n'
            'budget = { epsilon = 1 }\n[tables.people.columns]\nage = { type = "integer", low = 0, high = 9 }\n'
        )
    project = discreet.open(project.folder)
    project.refresh("people")
    [held] = project.ledger.refresh().versions["people"].values()
    assert "secret-host" not in repr(held)


def test_add_calls_a_file_by_its_name(tmp_path, monkeypatch):
    """Not `parquet`, by what stands behind the dot. No Spark is started for it."""
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
    project = discreet.init(tmp_path / "project")
    pq.write_table(pa.table({"age": [1, 2]}), project.folder / "people.parquet")
    monkeypatch.chdir(project.folder)
    project.add("people.parquet", epsilon=1, engine="spark://local")
    assert list(discreet.open(project.folder).file.tables) == ["people"]
