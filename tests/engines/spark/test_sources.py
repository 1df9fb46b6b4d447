"""What a source on Spark may be, what is read of it and what is refused. Most of it starts no Java."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet
from discreet.engines.engine_registry import EngineRegistry
from discreet.engines.fingerprint import is_same_source
from discreet.engines.spark.spark_engine import SparkEngine
from discreet.engines.spark.spark_source import find
from discreet.errors import SchemaError, UsageError
from discreet.project.declaration import _is_file, _is_path, _trace_declared
from discreet.schema.address import check_address
from discreet.schema.source_layout import SourceLayout
from engines.asking import typed

ROWS = pa.table({"id": pa.array([1, 2], pa.int8()), "Name": ["a", "b"], "t": pa.array([1, 2], pa.timestamp("ns"))})


def never():
    raise AssertionError("Spark is not needed for it")


@pytest.fixture
def engine():
    """One that is never started."""
    found = SparkEngine("spark://local")
    found.session = never
    return found


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lake" / "year=2020").mkdir(parents=True)
    (tmp_path / "lake" / "_temporary").mkdir()
    pq.write_table(ROWS, tmp_path / "lake" / "one.parquet")
    pq.write_table(ROWS, tmp_path / "lake" / "year=2020" / "two.parquet")
    pq.write_table(ROWS, tmp_path / "lake" / "_temporary" / "no.parquet")
    pq.write_table(ROWS, tmp_path / "lake" / ".no.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "files"), [("lake", 2), ("lake/one.parquet", 1), ("lake/*.parquet", 1), ("lake/**/t*.parquet", 1)]
)
def test_files_a_glob_a_folder(engine, folder, source, files):
    assert engine.header(source, folder=folder).names == ("id", "Name", "t")
    assert engine.columns(source, folder=folder) == typed(id="integer", Name="text", t="timestamp")
    trace = engine.trace(source, folder=folder)
    assert len(trace.same) == len(trace.files) == files


def test_public_rows_come_without_spark(engine, folder):
    found = list(engine.rows("lake", ["name", "ID"], folder=folder))
    assert found == [["a", 1], ["b", 2]] * 2


def test_csv_is_refused(engine, folder):
    (folder / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="not a Parquet file") as caught:
        engine.header("rows.csv", folder=folder)
    assert "Spark cannot read CSV files" in str(caught.value) and "the duckdb engine for CSV" in caught.value.hint


@pytest.mark.parametrize("setting", [{"encoding": "cp1252"}, {"delimiter": ";"}, {"skip_rows": 1}, {"sheet": "x"}])
def test_settings_of_files_are_refused_by_name(engine, folder, setting):
    layout = SourceLayout(**setting)
    for ask in (engine.header, engine.columns, lambda *words, **more: engine.rows(*words, ["id"], **more)):
        with pytest.raises(SchemaError, match=f"has the setting `{next(iter(setting))}`, which Spark does not have"):
            ask("people.parquet", folder=folder, layout=layout)


@pytest.mark.parametrize("source", ["none.parquet", "none/*.parquet", "../x/y", "no such"])
def test_a_file_that_is_not_there(engine, folder, source):
    with pytest.raises(UsageError, match="there is no file"):
        engine.header(source, folder=folder)


def test_files_that_differ(engine, folder):
    """Spark alone would make NULL of the column that one of them lacks."""
    pq.write_table(ROWS.drop_columns(["Name"]), folder / "lake" / "zero.parquet")
    with pytest.raises(SchemaError, match="do not have the same columns and types"):
        engine.header("lake", folder=folder)


def test_an_empty_folder(engine, folder):
    (folder / "empty").mkdir()
    with pytest.raises(UsageError, match="contains no Parquet file"):
        engine.header("empty", folder=folder)


def test_a_change_is_seen(engine, folder):
    source = find("lake", folder=folder, session=never)
    source.check_unchanged()
    os.utime(folder / "lake" / "one.parquet", ns=(1, 1))
    with pytest.raises(UsageError, match="changed while it was read"):
        source.check_unchanged()


def test_where_declared_tables_lie(folder):
    assert SparkEngine("spark://local").place("t.lake", folder=folder).folder == str(folder / "t.lake")
    lake = SparkEngine("spark://host:7077?declared=s3a://bucket/private/")
    assert lake.place("t.lake", folder=folder).folder == "s3a://bucket/private/t.lake"


@pytest.mark.parametrize("declared", ["private", "./private", "../private", "s3a:private", ""])
def test_a_relative_folder_of_declared_tables_is_refused(declared):
    with pytest.raises(SchemaError, match="not an absolute path"):
        check_address(f"spark://local?declared={declared}", where="[tables.t]")


def test_files_that_differ_in_int96(engine, folder):
    """Arrow calls both a timestamp of nanoseconds; Spark would read one of them as another number."""
    pq.write_table(ROWS, folder / "lake" / "zero.parquet", use_deprecated_int96_timestamps=True)
    with pytest.raises(SchemaError, match="do not have the same columns and types"):
        engine.header("lake", folder=folder)


@pytest.mark.parametrize("log", [".hoodie/x", "_hudi/x", "metadata/v1.metadata.json", "metadata/version-hint.text"])
@pytest.mark.parametrize("source", ["lake", "lake/one.parquet", "lake/year=2020", "lake/**/t*.parquet", "linked"])
def test_files_that_a_log_rules_over(engine, folder, log, source):
    (folder / "linked").symlink_to(folder / "lake" / "year=2020")
    (folder / "lake" / log).parent.mkdir()
    (folder / "lake" / log).touch()
    with pytest.raises(UsageError, match="whose log says which of them are current"):
        engine.header(source, folder=folder)


def test_a_folder_that_is_only_called_metadata(engine, folder):
    (folder / "metadata").mkdir()
    (folder / "metadata" / "about.json").touch()
    assert engine.header("lake", folder=folder)


@pytest.mark.parametrize("source", ["people.parquet", "./people.parquet"])
def test_add_calls_a_file_by_its_name(tmp_path, monkeypatch, source):
    """Not `parquet`, by what stands behind the dot. No Spark is started for it."""
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "state"))
    project = discreet.init(tmp_path / "project")
    pq.write_table(ROWS, project.folder / "people.parquet")
    monkeypatch.chdir(project.folder)
    project.add(source, epsilon=1, engine="spark://local")
    assert list(discreet.open(project.folder).file.tables) == ["people"]


def test_a_file_in_a_lake_is_called_by_its_name():
    assert _is_file("s3a://bucket/people.parquet", "sc://lake") and not _is_path("s3a://bucket/x", "sc://lake")
    assert not _is_file("clinic.people", "sc://lake") and not _is_file("a.parquet", "postgres://db/clinic")


@pytest.mark.parametrize("address", ["spark://local", "spark://local?declared=/lake", "sc://lake", "spark"])
@pytest.mark.parametrize("source", ["lake", "lake/*.parquet"])
def test_files_are_known_at_any_address(folder, address, source):
    """As discreet.toml and as the ledger say it, where DuckDB is asked. No Spark is started to see them."""
    known = _trace_declared({"source": source, "engine": address}, folder, EngineRegistry(), beside="duckdb")
    assert is_same_source(known, EngineRegistry().trace("lake/one.parquet", folder=folder))
