"""One table, two budgets: sources whose rows are the same people's are known again, however they are reached."""

import time

import pytest

import discreet
from discreet.errors import UsageError
from engines.postgres.server import NOWHERE, execute, new_name


@pytest.fixture
def heirs(postgres_address):
    """A parent, its heir, that one's heir, and a materialized view of each of the first two."""
    parent, child, grandchild = new_name("parent"), new_name("child"), new_name("grandchild")
    execute(
        postgres_address,
        f"CREATE TABLE public.{parent} (pid text, age int)",
        f"CREATE TABLE public.{child} () INHERITS (public.{parent})",
        f"CREATE TABLE public.{grandchild} () INHERITS (public.{child})",
        f"INSERT INTO public.{grandchild} SELECT 'p' || g, g % 90 FROM generate_series(1, 100) AS g",
        f"CREATE MATERIALIZED VIEW public.{parent}_m AS SELECT * FROM public.{parent}",
        f"CREATE MATERIALIZED VIEW public.{child}_m AS SELECT * FROM public.{child}",
    )
    yield parent, child, grandchild, f"{parent}_m", f"{child}_m"
    execute(postgres_address, f"DROP TABLE public.{parent} CASCADE")


@pytest.fixture
def known(postgres_engine):
    return lambda source: set(postgres_engine.trace(f"public.{source}", folder=NOWHERE).same)


def test_a_family_is_known_as_one(known, heirs):
    found = {source: known(source) for source in heirs}
    for one in heirs:
        for other in heirs:
            assert found[one] & found[other], (one, other)


def test_an_heir_that_came_later_is_known_by_its_parent(known, heirs, postgres_address):
    """The ledger keeps what was known when a version was made; the parent's next version has the newcomer's rows."""
    parent, *_ = heirs
    before, late = known(parent), new_name("late")
    execute(postgres_address, f"CREATE TABLE public.{late} () INHERITS (public.{parent})")
    assert before & known(late)


def test_an_heir_that_was_let_go_is_known_by_what_was_its_parent(known, heirs, postgres_address):
    parent, child, *_ = heirs
    before = known(parent)
    execute(postgres_address, f"ALTER TABLE public.{child} NO INHERIT public.{parent}")
    try:
        assert before & known(child) and not known(parent) & known(child)
    finally:
        execute(postgres_address, f"ALTER TABLE public.{child} INHERIT public.{parent}")


def test_what_reads_a_parent_and_its_heir_reads_one_table(known, heirs, postgres_address):
    parent, child, *_ = heirs
    twice = new_name("twice")
    execute(
        postgres_address,
        f"CREATE MATERIALIZED VIEW public.{twice} AS SELECT * FROM public.{parent} UNION SELECT * FROM public.{child}",
    )
    assert known(twice) & known(parent) and known(twice) & known(child)


def test_rows_of_parents_are_no_state_of_an_heirs(postgres_engine, heirs, postgres_address):
    parent, child, grandchild, *_ = heirs
    state = lambda: postgres_engine.trace(f"public.{child}", folder=NOWHERE).state  # noqa: E731
    counted = f"SELECT pg_stat_get_tuples_inserted('public.{grandchild}'::regclass)"
    while execute(postgres_address, counted)[0][0] < 100:  # the server counts what was inserted a moment later
        time.sleep(0.05)
    before = state()
    execute(postgres_address, f"INSERT INTO public.{parent} SELECT 'q', 1 FROM generate_series(1, 5000)")
    assert state() == before
    execute(postgres_address, f"INSERT INTO public.{child} SELECT 'q', 1 FROM generate_series(1, 5000)")
    assert state() != before


def test_a_rule_for_writing_makes_no_source_another(known, heirs, postgres_address):
    parent, child, *_ = heirs
    log = new_name("log")
    execute(
        postgres_address,
        f"CREATE TABLE public.{log} (pid text)",
        f"CREATE RULE noted AS ON INSERT TO public.{parent} DO ALSO INSERT INTO public.{log} VALUES (new.pid)",
    )
    assert known(parent) & known(child) and not known(parent) & known(log)


def test_what_is_made_of_several_is_known_by_what_is_made_of_it_alone(known, heirs, postgres_address):
    parent, *_ = heirs
    other, both = new_name("other"), new_name("both")
    execute(
        postgres_address,
        f"CREATE TABLE public.{other} (age int)",
        f"CREATE MATERIALIZED VIEW public.{both} AS SELECT pid FROM public.{parent} JOIN public.{other} USING (age)",
        f"CREATE VIEW public.{both}_v AS SELECT * FROM public.{both}",
        f"CREATE MATERIALIZED VIEW public.{both}_again AS SELECT * FROM public.{both}_v",
    )
    assert known(both) & known(f"{both}_again")
    assert not known(both) & known(parent) and not known(both) & known(other)


def test_a_family_has_one_budget(tmp_path, postgres_address, heirs):
    """The whole way: 100 people, all of them in the last heir, asked at the full limit."""
    project = discreet.init(tmp_path / "project")
    answered = 0
    for source in heirs:
        try:
            project.add(f"public.{source}", epsilon=1, engine=postgres_address)
            project = discreet.open(project.folder)
            project.sql(f"SELECT count(*) FROM {source}").ask(epsilon=1)
            answered += 1
        except UsageError as refused:
            assert "already declared" in refused.reason
    assert answered == 1
