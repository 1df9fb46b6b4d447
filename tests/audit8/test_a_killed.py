"""A making that is killed between its COMMIT and the ledger's row leaves a table that nobody names."""

import os
import subprocess
import sys

import psycopg

import discreet
from discreet.engines.keyed import person_tag
from engines.postgres.server import execute, new_name, postgres_address

__all__ = ["postgres_address"]

KILLED = """
import os, sys, discreet
from discreet.ledger.ledger import Ledger
Ledger.add_version = lambda *given, **how: os._exit(9)
discreet.open(sys.argv[1]).refresh("visits")
"""


def holding(address, tag):
    """The tables of tags that hold somebody, whatever the ledger says."""
    with psycopg.connect(address, autocommit=True) as connection:
        listed = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'discreet'::regnamespace AND relname LIKE 'visits-%-tags'"
        ).fetchall()
        return [
            name
            for (name,) in listed
            if connection.execute(f'SELECT 1 FROM discreet."{name}" WHERE tag = %s', [tag]).fetchone()
        ]


def test_who_is_forgotten_is_in_no_table_that_was_left(tmp_path, postgres_address):
    name = new_name("people")
    execute(
        postgres_address,
        f"CREATE TABLE public.{name} AS SELECT 'p' || g AS pid, g AS age FROM generate_series(0, 19) AS g",
    )
    project = discreet.init(tmp_path / "project")
    project.add(f"public.{name}", name="visits", person="pid", rows_per_person=1, epsilon=1, engine=postgres_address)
    project = discreet.open(project.folder)
    project.refresh("visits")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(project.folder)], env=os.environ, check=False)
    assert killed.returncode == 9
    project = discreet.open(project.folder)
    project.refresh("visits")
    assert project.forget("visits", ["p7"]).exact_versions == 2
    assert holding(postgres_address, person_tag(("p7",), project.curator.keys.tags)) == []
