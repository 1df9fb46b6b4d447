"""One table, two budgets: sources whose rows are the same people's and which the trace does not know again."""

import pytest

import discreet
from discreet.errors import UsageError
from engines.postgres.server import execute, new_name, postgres_address

__all__ = ["postgres_address"]


def test_add_knows_a_table_by_another_address_of_the_same_server(tmp_path, postgres_address):
    name = new_name("people")
    execute(postgres_address, f"CREATE TABLE public.{name} (pid text, age int)")
    project = discreet.init(tmp_path / "project")
    project.add(f"public.{name}", epsilon=1, engine=postgres_address)
    other = postgres_address + ("&" if "?" in postgres_address else "?") + "connect_timeout=9"
    with pytest.raises(UsageError, match="already declared"):
        discreet.open(project.folder).add(f"public.{name}", name="again", epsilon=1, engine=other)


def test_a_private_table_is_not_added_as_public_by_another_address(tmp_path, postgres_address):
    """A public table is read as it is, and no later step asks again whose it is."""
    name = new_name("people")
    execute(postgres_address, f"CREATE TABLE public.{name} AS SELECT 'secret' AS note, 1 AS age")
    project = discreet.init(tmp_path / "project")
    project.add(f"public.{name}", epsilon=1, engine=postgres_address)
    discreet.open(project.folder).refresh(name)
    other = postgres_address + ("&" if "?" in postgres_address else "?") + "connect_timeout=9"
    with pytest.raises(UsageError, match="already declared"):
        discreet.open(project.folder).add(f"public.{name}", name="again", public=True, engine=other)
