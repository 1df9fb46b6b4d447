"""Two machines, each with a project folder and a state folder of its own, that share a ledger and a database."""

import shutil

import pytest

import discreet
from discreet.engines.keyed_hashes import person_tag
from discreet.kernel.erasure import person_keys
from engines.postgres.server import execute, new_name, postgres_address

__all__ = ["postgres_address"]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    def sit(name):
        monkeypatch.setenv("DISCREET_STATE", str(tmp_path / f"state-{name}"))

    return sit


def joined(tmp_path, machine, address):
    """Machine one has a version of a file; then the ledger goes to PostgreSQL and machine two joins."""
    from discreet.project.folder import move_ledger

    machine("one")
    schema = new_name("ledger")
    execute(address, f"CREATE SCHEMA {schema}")
    (tmp_path / "visits.csv").write_text("pid,age\n" + "".join(f"p{i},{i}\n" for i in range(20)))
    project = discreet.init(tmp_path / "one")
    project.add(tmp_path / "visits.csv", name="visits", person="pid", rows_per_person=1, epsilon=3)
    project = discreet.open(project.folder)
    project.refresh("visits")
    move_ledger(project.folder, f"{address}&options=-csearch_path%3D{schema}")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    machine("two")
    discreet.open(tmp_path / "two").adopt(tmp_path / "state-one")
    return tmp_path / "one", tmp_path / "two"


def test_who_is_forgotten_on_one_machine_is_forgotten_on_the_other(tmp_path, machine, postgres_address):
    """Or the other says that somebody is to be forgotten there before it answers from that copy."""
    import pyarrow.parquet as pq

    one, two = joined(tmp_path, machine, postgres_address)
    project = discreet.open(two)
    assert project.forget("visits", ["p7"]).exact_versions == 1
    tag = person_tag(("p7",), person_keys(project.ledger, project.curator.folder).tags)
    machine("one")
    try:
        discreet.open(one).sql("SELECT count(*) FROM visits").ask(epsilon=1)
    except discreet.errors.DiscreetError:
        return
    left = [
        file.name
        for file in one.rglob("*.parquet")
        if any(tag in column.to_pylist() for column in pq.read_table(file).columns)
    ]
    assert left == []
