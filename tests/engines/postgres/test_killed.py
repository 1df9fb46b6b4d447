"""A making that is killed between its COMMIT and the ledger's row leaves tables that no ledger names: see `leftovers`."""

import pytest

import discreet
from discreet.engines.keyed_hashes import person_tag
from discreet.kernel.erasure import person_keys
from engines.postgres.server import execute, new_name
from killed import aged, kill_making


def made(folder, address):
    """A project with one version of `visits`, which lies on the server."""
    people = f"public.{new_name('people')}"
    execute(address, f"CREATE TABLE {people} AS SELECT 'p' || g AS pid, g AS age FROM generate_series(0, 19) AS g")
    project = discreet.init(folder)
    project.add(people, name="visits", person="pid", rows_per_person=1, epsilon=1, engine=address)
    project = discreet.open(project.folder)
    project.refresh("visits")
    return project


def lying(address, project):
    """The tables on the server that hold this project's ledger in their names, without side tables."""
    return {name.removesuffix("-tags") for name in _relations(address) if f"-{project.ledger.id}-" in name}


def _relations(address):
    return {name for (name,) in execute(address, "SELECT relname FROM pg_class WHERE relnamespace = 'discreet'::regnamespace AND relkind = 'r'")}  # fmt: skip


def named(project):
    return {version.file for version in project.ledger.refresh().versions["visits"].values()}


def holding(address, project, who):
    """How many of the tables hold somebody."""
    tag = person_tag((who,), person_keys(project.ledger, project.curator.folder).tags)
    sql = "SELECT count(*) FROM discreet.\"{}-tags\" WHERE tag = decode('{}', 'hex')"
    return sum(execute(address, sql.format(name, tag.hex()))[0][0] for name in lying(address, project))


def grow_old(address, name, *, days):
    for ending in ("", "-tags"):
        execute(address, f'ALTER TABLE discreet."{name}{ending}" RENAME TO "{aged(name, days=days)}{ending}"')


@pytest.fixture
def killed(tmp_path, postgres_address):
    project = made(tmp_path / "project", postgres_address)
    kill_making(project.folder)
    return discreet.open(project.folder)


def test_forgetting_reaches_it_and_a_week_later_it_goes(killed, tmp_path, postgres_address):
    (left,) = lying(postgres_address, killed) - named(killed)
    assert holding(postgres_address, killed, "p7") == 2
    erased = killed.forget("visits", ["p7"])
    assert (erased.exact_versions, erased.missing, erased.orphaned) == (1, (), ())
    assert holding(postgres_address, killed, "p7") == 0
    assert holding(postgres_address, killed, "p8") == 2, "it may be a making that runs"
    grow_old(postgres_address, left, days=8)
    other = made(tmp_path / "other", postgres_address)
    other.refresh("visits")
    assert lying(postgres_address, killed) - named(killed), "another project's is not theirs to take"
    killed.refresh("visits")
    assert lying(postgres_address, killed) == named(killed)
    assert lying(postgres_address, other) == named(other)


def test_half_of_one_is_told(killed, postgres_address):
    (left,) = lying(postgres_address, killed) - named(killed)
    execute(postgres_address, f'DROP TABLE discreet."{left}-tags"')
    erased = killed.forget("visits", ["p7"])
    assert (erased.exact_versions, erased.missing, erased.orphaned) == (1, (), (left,))
