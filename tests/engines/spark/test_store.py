"""The two stores behave alike: files of this machine by Python, and the same through the driver's Java."""

import os
import stat
import subprocess
import sys
from unittest.mock import MagicMock

import pytest

from discreet.engines.spark import lake
from discreet.engines.spark.folder_lock import LOCK, lock_folder
from discreet.engines.spark.lake import LakeManifest, LakePart, LakeTable
from discreet.engines.spark.lake_store import DiskStore, HadoopStore, escape_glob, is_local, local_path, store_of
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
    store.make_durable(folder)
    assert [(local_path(entry.path), entry.size) for entry in store.files(folder)] == [
        (local_path(f"{folder}/c/y"), 2),
        (local_path(f"{folder}/x"), 5),
    ]
    assert store.folders(folder) == ["c"]
    assert store.entry(f"{folder}/x").size == 5
    store.drop(f"{folder}/c")
    store.drop(f"{folder}/c")
    assert store.folders(folder) == []
    check_lake(LakeTable(store=store, folder=folder))


def check_lake(table):
    """A manifest names the parts; what it does not name goes."""
    table.store.make(f"{table.folder}/rows-1")
    table.store.write(f"{table.folder}/rows-1/part.parquet", b"123")
    table.store.make(f"{table.folder}/rows-2")
    manifest = LakeManifest(columns=(("é", "integer"),), rows=LakePart(folder="rows-1", files=(("part.parquet", 3),)))
    with pytest.raises(LedgerFault):
        table.whole_manifest()
    table.commit(manifest)
    assert table.whole_manifest() == table.manifest() == manifest
    table.drop_orphans()
    assert table.store.folders(table.folder) == ["rows-1"]
    table.store.write(f"{table.folder}/rows-1/part.parquet", b"1234")
    with pytest.raises(LedgerFault):
        table.whole_manifest()
    check_both_parts(table)


def check_both_parts(table):
    """The persons' part is looked at too; and what was made of another manifest is not taken over."""
    table.store.make(f"{table.folder}/persons-1")
    table.store.write(f"{table.folder}/persons-1/part.parquet", b"12")
    before = table.manifest()
    persons = LakePart(folder="persons-1", files=(("part.parquet", 2),))
    both = LakeManifest(columns=before.columns, rows=table.part("rows-1"), persons=persons)
    with pytest.raises(UsageError, match="replaced in the meantime"):
        table.commit(both)
    assert table.manifest() == before
    table.commit(both, after=before)
    assert table.whole_manifest() == both
    for content in (b"1", b"123"):
        table.store.write(f"{table.folder}/persons-1/part.parquet", content)
        with pytest.raises(LedgerFault):
            table.whole_manifest()


def test_the_disk(tmp_path):
    check_store(DiskStore(), str(tmp_path / "with a space"))
    [manifest] = tmp_path.rglob("manifest.json")
    assert stat.S_IMODE(os.stat(manifest).st_mode) == 0o600


MARK = "0123456789abcdef"


def left(folder, *names, manifest=None):
    """A folder as a kill leaves it."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("ann")
    if manifest is not None:
        (folder / "manifest.json").write_bytes(manifest.to_bytes())
    return folder


def test_what_a_kill_leaves_is_swept_by_the_next_making(tmp_path):
    """Where nobody is at work, and nothing that is not ours."""
    empty = LakeManifest(columns=(), rows=LakePart(folder=f"rows-{MARK}", files=()))
    dead = left(tmp_path / "a.lake", f"work-{MARK}/part.parquet", f"rows-{MARK}/_temporary/0/part.parquet", LOCK)
    erased = left(tmp_path / "b.lake", f"rows-{MARK}/x", f"rows-{MARK[::-1]}/x", manifest=empty)
    busy = left(tmp_path / "c.lake", f"work-{MARK}/part.parquet")
    strange = left(tmp_path / "d.lake", f"work-{MARK}/part.parquet", "water/part.parquet")
    broken = left(tmp_path / "e.lake", f"work-{MARK}/part.parquet", "manifest.json")
    other = left(tmp_path / "work", f"work-{MARK}/part.parquet")
    table = LakeTable(store=DiskStore(), folder=str(tmp_path / "new.lake"))
    with lock_folder(str(busy), patience_s=0.0) as free, table.making():
        assert free
        assert not dead.exists()
        assert sorted(os.listdir(erased)) == ["manifest.json", f"rows-{MARK}"]
        assert (busy / f"work-{MARK}").exists()
    for folder in (strange, broken, other):
        assert (folder / f"work-{MARK}" / "part.parquet").exists()
    assert not os.path.exists(table.folder)
    with table.making():
        assert not busy.exists()


def test_one_at_a_time(tmp_path, monkeypatch):
    """Another process is waited for; when it was killed, nobody is."""
    monkeypatch.setattr(lake, "_PATIENCE_S", 0.2)
    table = LakeTable(store=DiskStore(), folder=str(tmp_path / "t.lake"))
    script = f"""
from discreet.engines.spark.folder_lock import lock_folder
with lock_folder({table.folder!r}, patience_s=0.0) as free:
    print(free, flush=True)
    input()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"True\n"
        with pytest.raises(UsageError, match="another process is working"), table.making():
            raise AssertionError
        other.kill()
        other.wait()
    assert os.path.exists(f"{table.folder}/{LOCK}")
    with table.making():
        os.mkdir(f"{table.folder}/work-{MARK}")
    assert not os.path.exists(table.folder)


def test_a_path_is_no_pattern():
    assert escape_glob("/a{b}[c]*?\\d") == "/a\\{b\\}\\[c\\]\\*\\?\\\\d"


def test_what_is_of_this_machine():
    assert is_local("/a/b") and is_local("file:///a") and not is_local("s3a://bucket/a")
    assert local_path("file:///a%20b") == "/a b" and local_path("/a%20b") == "/a%20b"


class Connect:
    """A session of Spark Connect, by its module's name."""


Connect.__module__ = "pyspark.sql.connect.session"


def test_connect_reaches_no_files_elsewhere():
    with pytest.raises(UsageError, match="Spark Connect does not let a client"):
        store_of(Connect(), "s3a://bucket/a")


@spark_tests[0]
@spark_tests[1]
def test_through_java(spark_engine, tmp_path):
    check_store(HadoopStore(session=spark_engine.session()), f"file://{tmp_path}")


@pytest.mark.fast
@pytest.mark.parametrize(("store", "is_renamed"), [("s3a://bucket", False), ("hdfs://host", True)])
def test_a_manifest_is_replaced_at_once(store, is_renamed, monkeypatch):
    """An object by being written; renamed it would be copied, and for a moment there would be none. A file by its name."""
    java = MagicMock()
    monkeypatch.setattr(HadoopStore, "_java", lambda self, path: (java.system, MagicMock(path=path)))
    HadoopStore(session=java).write(f"{store}/t.lake/manifest.json", b"{}")
    [(there, _)] = [call.args for call in java.system.create.call_args_list]
    assert (there.path == f"{store}/t.lake/manifest.json") is not is_renamed
    assert java._jvm.org.apache.hadoop.fs.FileContext.getFileContext.called is is_renamed


@pytest.mark.fast
def test_a_bucket_is_a_folder(monkeypatch):
    java = MagicMock()
    HadoopStore(session=java)._java("s3a://bucket")
    HadoopStore(session=java)._java("s3a://bucket/private")
    assert [call.args for call in java._jvm.org.apache.hadoop.fs.Path.call_args_list] == [
        ("s3a://bucket/",),
        ("s3a://bucket/private",),
    ]
