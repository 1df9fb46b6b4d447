"""What a killed making left is reached by `forget`, and goes; what runs, and what is another project's, stays."""

import os
import re
import shutil
import time

import pyarrow.parquet as pq
import pytest

import discreet
from discreet.engines.keyed_hashes import person_tag
from discreet.errors import UsageError
from discreet.kernel.erasure import person_keys
from discreet.kernel.version import check_in_time, is_named_after, is_orphaned, new_version_name
from discreet.project import orphaned_tables
from killed import aged, kill_making

LEDGER = "abcdefghijklmnop"


def made(folder, rows=20):
    """A project with one version of `visits`."""
    folder.mkdir()
    (folder / "visits.csv").write_text("pid,age\n" + "".join(f"p{row},{row}\n" for row in range(rows)))
    project = discreet.init(folder)
    project.add(folder / "visits.csv", name="visits", person="pid", rows_per_person=1, epsilon=3)
    project = discreet.open(folder)
    project.refresh("visits")
    return project


def tables(project):
    return {file.name for file in (project.folder / ".discreet/tables").glob("*.parquet")}


def left(project):
    """The files that no version names."""
    named = {version.file for version in project.ledger.refresh().versions["visits"].values()}
    return tables(project) - named - {name.replace(".parquet", ".persons.parquet") for name in named}


def holding(project, who):
    """The side files that hold somebody."""
    tag, folder = (
        person_tag((who,), person_keys(project.ledger, project.curator.folder).tags),
        project.folder / ".discreet/tables",
    )
    return {f.name for f in folder.glob("*.persons.parquet") if tag in pq.read_table(f)["tag"].to_pylist()}


def leave(project):
    """What `kill_making` leaves, without a process: the files of a version under a name that no version has."""
    folder = project.folder / ".discreet/tables"
    for name in tables(project):
        shutil.copy(folder / name, folder / re.sub(r"(?<=[0-9a-f]{8})[0-9a-f]{16}(?=\.)", f"{7:016x}", name))


def grow_old(project, names, *, days):
    for name in names:
        path = project.folder / ".discreet/tables" / name
        path.rename(path.with_name(aged(name, days=days)))


def test_a_name_says_whose_it_is_and_when_it_began():
    name = new_version_name("visits of 2026, in all the wards", ledger=LEDGER, ending=".parquet")
    assert name.startswith("visits_of_2026__-abcdefghijklmnop-")
    assert len((name.removesuffix(".parquet") + "-tags").encode()) <= 63
    assert name != new_version_name("visits of 2026, in all the wards", ledger=LEDGER, ending=".parquet")
    assert is_named_after(name, "visits of 2026, in all the wards") and not is_named_after(
        name, "visits of 2026, in all the beds"
    )
    assert not is_named_after("visits-8d2c0011223344ff.parquet", "visits")


@pytest.mark.parametrize(("days", "nobodys", "late"), [(0, False, False), (5.9, False, False), (6.5, False, True), (7.1, True, True)])  # fmt: skip
def test_a_making_ends_before_it_is_nobodys(days, nobodys, late):
    name = aged(new_version_name("visits", ledger=LEDGER, ending=""), days=days)
    assert is_orphaned(name) is nobodys
    if late:
        with pytest.raises(UsageError, match="more than 6 days"):
            check_in_time(name)
    else:
        check_in_time(name)


def test_who_is_forgotten_is_forgotten_in_what_a_killed_making_left(tmp_path):
    project = made(tmp_path / "one")
    kill_making(project.folder)
    project = discreet.open(project.folder)
    assert len(left(project)) == 2, "a table, and its persons"
    assert len(holding(project, "p7")) == 2
    erased = project.forget("visits", ["p7"])
    assert (erased.exact_versions, erased.missing, erased.orphaned) == (1, (), ())
    assert holding(project, "p7") == set()
    assert len(holding(project, "p8")) == 2, "it may be a making that runs, so it stays"


def test_what_is_over_a_week_old_goes_and_what_may_still_run_stays(tmp_path):
    project = made(tmp_path / "one")
    leave(project)
    young = left(project)
    project.refresh("visits", force=True)
    assert left(project) == young
    grow_old(project, young, days=6.9)
    project.refresh("visits", force=True)
    assert len(left(project)) == 2
    grow_old(project, left(project), days=7.1)
    project.refresh("visits", force=True)
    assert left(project) == set()
    assert len(tables(project)) == 8, "four versions, which the ledger names, however old"
    versions = {version.file for version in project.ledger.state.versions["visits"].values()}
    assert versions < tables(project)


def test_a_side_file_alone_goes_too(tmp_path):
    """Killed between the two renames: the persons, and no table."""
    project = made(tmp_path / "one")
    leave(project)
    grow_old(project, left(project), days=8)
    (table,) = (name for name in left(project) if ".persons." not in name)
    (project.folder / ".discreet/tables" / table).unlink()
    project.forget("visits", ["p3"])
    assert left(project) == set()


def test_another_projects_tables_are_not_ours_to_take(tmp_path):
    one, two = made(tmp_path / "one"), made(tmp_path / "two")
    leave(two)
    grow_old(two, left(two), days=30)
    beside = project_files = one.folder / ".discreet/tables"
    for name in left(two):
        shutil.copy(two.folder / ".discreet/tables" / name, beside / name)
    one.refresh("visits", force=True)
    assert left(two) < {file.name for file in project_files.iterdir()}
    two.refresh("visits", force=True)
    assert left(two) == set()


def test_a_version_entered_while_one_looks_is_known(tmp_path, monkeypatch):
    """Names are listed before the ledger is read: the other way round a version would lose its table."""
    project = made(tmp_path / "one")
    engine, listed = project.curator.engine, type(project.curator.engine).table_names

    def entered(self, ledger, **how):
        found = set(listed(self, ledger, **how))
        with monkeypatch.context() as patch:
            patch.setattr(type(engine), "table_names", listed)
            project.versions._make("visits")
            found |= set(listed(self, ledger, **how))
        return found

    monkeypatch.setattr(type(engine), "table_names", entered)
    monkeypatch.setattr(orphaned_tables, "is_orphaned", lambda name: True)
    project.versions.erasure.drop_orphaned_tables({"duckdb"})
    assert len(project.ledger.refresh().versions["visits"]) == 2
    assert left(project) == set() and len(tables(project)) == 4


def test_a_making_that_took_too_long_enters_nothing_and_leaves_nothing(tmp_path, monkeypatch):
    project = made(tmp_path / "one")
    now = time.time()
    engine = type(project.curator.engine)
    declare = engine.declare

    def slow(self, *given, **how):
        done = declare(self, *given, **how)
        monkeypatch.setattr(time, "time", lambda: now + 8.1 * 86_400)
        return done

    monkeypatch.setattr(engine, "declare", slow)
    with pytest.raises(UsageError, match="so it was stopped"):
        project.refresh("visits", force=True)
    assert len(project.ledger.refresh().versions["visits"]) == 1
    assert left(project) == set()


def test_half_made_files_of_a_week_ago_go_with_the_next_making(tmp_path):
    project = made(tmp_path / "one")
    folder = project.folder / ".discreet/tables"
    (folder / ".making.old").write_bytes(b"rows")
    (folder / ".making.spill").mkdir()
    (folder / ".making.spill/rows").write_bytes(b"rows")
    (folder / ".making.runs").mkdir()
    (folder / ".making.runs/rows").write_bytes(b"rows")
    long_ago = time.time() - 7.5 * 86_400
    for path in (".making.old", ".making.spill/rows", ".making.spill", ".making.runs"):
        os.utime(folder / path, (long_ago, long_ago))
    (folder / ".making.young").write_bytes(b"rows")
    project.refresh("visits", force=True)
    assert {path.name for path in folder.glob(".making.*")} == {".making.young", ".making.runs"}
