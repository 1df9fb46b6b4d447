"""Versions that lie elsewhere by now: moved by hand, on an engine that discreet.toml has left, on another machine."""

import pyarrow.parquet as pq
import pytest

import discreet
from discreet.errors import UsageError


def made(folder, versions=1):
    (folder / "visits.csv").write_text("pid,age\n" + "".join(f"p{i},{i}\n" for i in range(20)))
    project = discreet.init(folder / "project")
    project.add(folder / "visits.csv", name="visits", person="pid", rows_per_person=1, epsilon=1)
    project = discreet.open(project.folder)
    for _ in range(versions):
        project.refresh("visits", force=True)
    return project


def test_forget_tells_which_versions_are_not_there(tmp_path):
    project = made(tmp_path, versions=2)
    first = project.ledger.state.versions["visits"][1].file
    project.curator.engine.drop(project.curator.folder / first)
    done = project.forget("visits", ["p7"])
    assert (done.exact_versions, done.missing) == (1, ("version 1 of visits",))
    assert project.forget("visits", ["p8"]).exact_versions == 1


def test_a_version_on_an_engine_that_nobody_names_any_more_is_no_version_without_people(tmp_path):
    project = made(tmp_path)
    held = project.ledger.state.versions["visits"][1]
    held.schema["engine"] = "postgresql"  # as if it had been made there, and discreet.toml now said duckdb
    with pytest.raises(UsageError, match=r"version 1 of 'visits' is on engine postgresql"):
        project.forget("visits", ["p7"])
    assert not project.ledger.state.forgotten


def moved(project, engine):
    """The project, with its table on another engine by now."""
    told = (project.folder / "discreet.toml").read_text()
    assert told.count("[tables.visits]\n") == 1
    changed = told.replace("[tables.visits]\n", f'[tables.visits]\nengine = "{engine}"\n')
    (project.folder / "discreet.toml").write_text(changed)
    return discreet.open(project.folder)


def test_files_are_erased_from_after_a_move_to_a_lake(tmp_path):
    """No Spark is started: nothing lies there."""
    project = made(tmp_path)
    file = project.curator.folder / project.ledger.state.versions["visits"][1].file
    assert 7 in pq.read_table(file).column("age").to_pylist()
    done = moved(project, "spark://local").forget("visits", ["p7"])
    assert (done.exact_versions, done.missing) == (1, ())
    assert 7 not in pq.read_table(file).column("age").to_pylist()


def test_versions_in_a_part_of_the_lake_that_nobody_names_any_more_are_told(tmp_path):
    project = moved(made(tmp_path), f"spark://local?declared={tmp_path}/new")
    project.ledger.state.versions["visits"][1].schema["engine"] = "spark"  # as if it had been made in the old part
    done = project.forget("visits", ["p7"])
    assert (done.exact_versions, done.missing) == (0, ("version 1 of visits",))
