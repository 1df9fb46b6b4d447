"""Somebody who is forgotten is in no version, wherever that one was made."""

import discreet
from discreet.engines.keyed_hashes import person_tag
from discreet.kernel.erasure import person_keys
from engines.postgres.server import execute, new_name, postgres_address

__all__ = ["postgres_address"]


def test_versions_of_an_engine_that_was_left_are_erased_too(tmp_path, postgres_address):
    """A table that outgrew one machine: first a file, then the same people in PostgreSQL."""
    import pyarrow.parquet as pq

    name = new_name("visits")
    (tmp_path / "visits.csv").write_text("pid,age\n" + "".join(f"p{i},{i}\n" for i in range(20)))
    project = discreet.init(tmp_path / "project")
    project.add(tmp_path / "visits.csv", name="visits", person="pid", rows_per_person=1, epsilon=1)
    project = discreet.open(project.folder)
    project.refresh("visits")
    execute(
        postgres_address,
        f"CREATE TABLE public.{name} AS SELECT 'p' || g AS pid, g AS age FROM generate_series(0, 19) AS g",
    )
    toml = project.folder / "discreet.toml"
    lines = [
        f'source = "public.{name}"\nengine = "{postgres_address}"' if line.startswith("source") else line
        for line in toml.read_text().splitlines()
    ]
    toml.write_text("\n".join(lines) + "\n")
    project = discreet.open(project.folder)
    project.refresh("visits")
    done = project.forget("visits", ["p7"])
    tag = person_tag(("p7",), person_keys(project.ledger, project.curator.folder).tags)
    left = [
        file.name
        for file in project.folder.rglob("*.parquet")
        if any(tag in column.to_pylist() for column in pq.read_table(file).columns)
    ]
    assert (left, done.exact_versions) == ([], 2)
