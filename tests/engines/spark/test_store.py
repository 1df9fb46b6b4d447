"""The two stores behave alike: files of this machine by Python, and the same through the driver's Java."""

import pytest

from discreet.engines.spark.lake import Manifest, Part, Table
from discreet.engines.spark.store import Disk, Hadoop, is_local, plain, store_of
from discreet.errors import LedgerFault, UsageError
from engines.spark.server import spark_tests


def check_store(store, root):
    """What `Store` promises."""
    folder = f"{root}/a/b"
    assert (store.files(folder), store.folders(folder), store.read(f"{folder}/x"), store.entry(f"{folder}/x")) == ([], [], None, None)  # fmt: skip
    store.make(folder)
    for content in (b"one", b"\0\xff", b"three"):
        store.write(f"{folder}/x", content)
        assert store.read(f"{folder}/x") == content
    store.make(f"{folder}/c")
    store.write(f"{folder}/c/y", b"12")
    store.settle(folder)
    assert [(plain(entry.path), entry.size) for entry in store.files(folder)] == [
        (plain(f"{folder}/c/y"), 2),
        (plain(f"{folder}/x"), 5),
    ]
    assert store.folders(folder) == ["c"]
    assert store.entry(f"{folder}/x").size == 5
    store.drop(f"{folder}/c")
    store.drop(f"{folder}/c")
    assert store.folders(folder) == []
    check_lake(Table(store=store, folder=folder))


def check_lake(table):
    """A manifest names the parts; what it does not name goes."""
    table.store.make(f"{table.folder}/rows-1")
    table.store.write(f"{table.folder}/rows-1/part.parquet", b"123")
    table.store.make(f"{table.folder}/rows-2")
    manifest = Manifest(columns=(("é", "integer"),), rows=Part(folder="rows-1", files=(("part.parquet", 3),)))
    with pytest.raises(LedgerFault):
        table.whole()
    table.become(manifest)
    assert table.whole() == table.manifest() == manifest
    table.sweep()
    assert table.store.folders(table.folder) == ["rows-1"]
    table.store.write(f"{table.folder}/rows-1/part.parquet", b"1234")
    with pytest.raises(LedgerFault):
        table.whole()


def test_the_disk(tmp_path):
    check_store(Disk(), str(tmp_path / "with a space"))


def test_what_is_of_this_machine():
    assert is_local("/a/b") and is_local("file:///a") and not is_local("s3a://bucket/a")
    assert plain("file:///a%20b") == "/a b" and plain("/a%20b") == "/a%20b"


class Connect:
    """A session of Spark Connect, by its module's name."""


Connect.__module__ = "pyspark.sql.connect.session"


def test_connect_reaches_no_files_elsewhere():
    with pytest.raises(UsageError, match="Spark Connect lets no client"):
        store_of(Connect(), "s3a://bucket/a")


@spark_tests[0]
@spark_tests[1]
def test_through_java(spark_engine, tmp_path):
    check_store(Hadoop(session=spark_engine.session()), f"file://{tmp_path}")
