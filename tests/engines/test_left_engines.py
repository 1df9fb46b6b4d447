"""Versions that lie elsewhere by now: moved by hand, on an engine that discreet.toml has left, on another machine."""

import pytest

import discreet
from discreet.errors import UsageError


def made(folder, versions=1):
    (folder / "visits.csv").write_text("pid,age\n" + "".join(f"p{i},{i}\n" for i in range(20)))
    project = discreet.init(folder / "project")
    project.add(folder / "visits.csv", name="visits", person="pid", rows_per_person=1, epsilon=1)
    project = discreet.open(project.folder)
    for _ in range(versions):
        project.refresh("visits")
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
    with pytest.raises(UsageError, match=r"version 1 of 'visits' lies on postgresql"):
        project.forget("visits", ["p7"])
    assert not project.ledger.state.forgotten
