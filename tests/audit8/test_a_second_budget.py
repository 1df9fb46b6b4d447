"""One table, two budgets: sources whose rows are the same people's and which the trace does not know again."""

import pytest

import discreet
from discreet.errors import UsageError
from engines.postgres.server import NOWHERE, execute, new_name, postgres_address, postgres_engine

__all__ = ["postgres_address", "postgres_engine"]


def known(engine, source):
    return set(engine.trace(f"public.{source}", folder=NOWHERE).same)


@pytest.fixture
def heirs(postgres_address):
    parent, child, view = new_name("parent"), new_name("child"), new_name("view")
    execute(
        postgres_address,
        f"CREATE TABLE public.{parent} (pid text, age int)",
        f"CREATE TABLE public.{child} () INHERITS (public.{parent})",
        f"CREATE VIEW public.{view} AS SELECT * FROM public.{parent}",
        f"INSERT INTO public.{child} SELECT 'p' || g, g % 90 FROM generate_series(1, 100) AS g",
    )
    yield parent, child, view
    execute(postgres_address, f"DROP TABLE public.{parent} CASCADE")


def test_a_parent_and_its_heir_are_known_as_one(postgres_engine, heirs):
    parent, child, _ = heirs
    assert known(postgres_engine, parent) & known(postgres_engine, child)


def test_a_view_of_a_table_with_heirs_is_that_table(postgres_engine, heirs):
    parent, _, view = heirs
    assert known(postgres_engine, parent) & known(postgres_engine, view)


def test_a_parent_and_its_heir_have_one_budget(tmp_path, postgres_address, heirs):
    """The whole way: 100 people, all of them in the child, asked twice at the full limit."""
    project = discreet.init(tmp_path / "project")
    answered = 0
    for source in heirs:
        try:
            project.add(f"public.{source}", epsilon=1, engine=postgres_address)
            project = discreet.open(project.folder)
            project.sql(f"SELECT count(*) FROM {source}").ask(epsilon=1)
            answered += 1
        except UsageError:
            continue
    assert answered == 1


def test_add_knows_a_table_by_another_address_of_the_same_server(tmp_path, postgres_address):
    name = new_name("people")
    execute(postgres_address, f"CREATE TABLE public.{name} (pid text, age int)")
    project = discreet.init(tmp_path / "project")
    project.add(f"public.{name}", epsilon=1, engine=postgres_address)
    other = postgres_address + ("&" if "?" in postgres_address else "?") + "connect_timeout=9"
    with pytest.raises(UsageError, match="declared already"):
        discreet.open(project.folder).add(f"public.{name}", name="again", epsilon=1, engine=other)


def test_a_private_table_is_not_added_as_public_by_another_address(tmp_path, postgres_address):
    """A public table is read as it is, and no later step asks again whose it is."""
    name = new_name("people")
    execute(postgres_address, f"CREATE TABLE public.{name} AS SELECT 'secret' AS note, 1 AS age")
    project = discreet.init(tmp_path / "project")
    project.add(f"public.{name}", epsilon=1, engine=postgres_address)
    discreet.open(project.folder).refresh(name)
    other = postgres_address + ("&" if "?" in postgres_address else "?") + "connect_timeout=9"
    with pytest.raises(UsageError, match="declared already"):
        discreet.open(project.folder).add(f"public.{name}", name="again", public=True, engine=other)


def test_a_view_of_a_function_is_the_table_that_it_reads(postgres_engine, postgres_address):
    """Or such a view is refused: nothing says which rows a function reads."""
    name = new_name("people")
    execute(
        postgres_address,
        f"CREATE TABLE public.{name} (pid text, age int)",
        f"CREATE FUNCTION public.{name}_all() RETURNS TABLE (pid text, age int) LANGUAGE sql STABLE"
        f" AS 'SELECT * FROM public.{name}'",
        f"CREATE VIEW public.{name}_view AS SELECT * FROM public.{name}_all()",
    )
    assert known(postgres_engine, name) & known(postgres_engine, f"{name}_view")


def test_a_view_of_a_declared_table_is_a_table_of_our_own(tmp_path, postgres_address):
    name = new_name("people")
    execute(postgres_address, f"CREATE TABLE public.{name} AS SELECT g % 90 AS age FROM generate_series(1, 100) AS g")
    project = discreet.init(tmp_path / "project")
    project.add(f"public.{name}", epsilon=1, engine=postgres_address)
    project = discreet.open(project.folder)
    project.refresh(name)
    made = project.ledger.state.versions[name][1].file
    execute(postgres_address, f'CREATE VIEW public.{name}_v AS SELECT * FROM discreet."{made}"')
    with pytest.raises(UsageError):
        project.add(f"public.{name}_v", epsilon=1, engine=postgres_address)
