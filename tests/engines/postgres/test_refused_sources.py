"""Sources that compute their rows while they are read: refused by the catalog alone, whatever a row holds.

An expression that fails on one row would tell of it, a view that mixes rows lets one person move everybody's, and
nobody can say which tables a function reads.
"""

from dataclasses import replace

import pytest

import discreet
from discreet.errors import DiscreetError, SchemaError, UsageError
from discreet.schema.column import NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import KEY, TAG_KEY
from engines.postgres.server import NOWHERE, execute, new_name

AGE = NumberColumn(name="age", type="integer", low=0, high=9)
OWNED = Schema(table="people", columns=(AGE,), unit=PrivacyUnit(person=("pid",), rows=1))

VIEWS = {
    "plain": "SELECT * FROM {0}",
    "failing": "SELECT pid, 10 / age AS age FROM {0}",
    "window": "SELECT pid, CASE WHEN count(*) OVER () > 20 THEN 9 ELSE 0 END AS age FROM {0}",
    "subquery": "SELECT pid, CASE WHEN (SELECT count(*) FROM {0}) > 20 THEN 9 ELSE 0 END AS age FROM {0}",
    "aggregate": "SELECT 'p' || g AS pid, age FROM generate_series(1, 20) AS g,"
    " (SELECT CASE WHEN count(*) > 20 THEN 9 ELSE 0 END AS age FROM {0}) AS all_of_them",
    "limit": "SELECT * FROM (SELECT pid, age FROM {0} ORDER BY pid LIMIT 20) AS first_ones",
    "function": "SELECT * FROM {0}_all()",
}


@pytest.fixture
def people(postgres_address):
    name = f"public.{new_name('people')}"
    execute(
        postgres_address,
        f"CREATE TABLE {name} AS SELECT 'p' || g AS pid, g % 10 AS age FROM generate_series(0, 19) AS g",
        f"CREATE FUNCTION {name}_all() RETURNS TABLE (pid text, age int) LANGUAGE sql STABLE AS 'SELECT * FROM {name}'",
    )
    yield name
    execute(postgres_address, f"DROP TABLE {name} CASCADE", f"DROP FUNCTION {name}_all CASCADE")


@pytest.mark.parametrize("form", VIEWS)
def test_a_view_is_no_source(postgres_engine, postgres_address, people, form):
    execute(postgres_address, f"CREATE VIEW {people}_v AS {VIEWS[form].format(people)}")
    table = Table(schema=OWNED, source=f"{people}_v", population="people", budget=None)
    place = postgres_engine.place(new_name("made"), folder=NOWHERE)
    acts = {
        "header": lambda: postgres_engine.header(table.source, folder=NOWHERE),
        "trace": lambda: postgres_engine.trace(table.source, folder=NOWHERE),
        "rows": lambda: list(postgres_engine.rows(table.source, ["age"], folder=NOWHERE)),
        "declare": lambda: postgres_engine.declare(table, folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY),
    }
    for act in acts.values():
        with pytest.raises(UsageError, match=f"{people}_v is a view") as told:
            act()
        assert "CREATE MATERIALIZED VIEW" in told.value.hint
    execute(postgres_address, f"UPDATE {people} SET age = age + 1")
    execute(postgres_address, f"CREATE MATERIALIZED VIEW {people}_m AS SELECT * FROM {people}_v")
    stored = replace(table, source=f"{people}_m")
    made = postgres_engine.declare(stored, folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY)
    assert made.exact_persons == 20


def test_nor_is_one_on_the_way_to_persons(postgres_engine, postgres_address, people):
    execute(postgres_address, f"CREATE VIEW {people}_v AS SELECT * FROM {people}")
    way = Table(schema=OWNED, source=f"{people}_v", population="people", budget=None)
    unit = PrivacyUnit(through="people", on=("age",), rows=1)
    table = Table(schema=replace(OWNED, table="visits", unit=unit), source=people, population="people", budget=None)
    place = postgres_engine.place(new_name("made"), folder=NOWHERE)
    with pytest.raises(UsageError, match="is a view"):
        postgres_engine.declare(table, folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY, path=(way,))


def test_nor_is_what_reads_a_declared_table(tmp_path, postgres_address, people):
    project = discreet.init(tmp_path / "project")
    project.add(people, name="people", epsilon=1, engine=postgres_address)
    project = discreet.open(project.folder)
    project.refresh("people")
    made = project.ledger.state.versions["people"][1].file
    execute(
        postgres_address,
        f'CREATE VIEW {people}_v AS SELECT * FROM discreet."{made}"',
        f"CREATE MATERIALIZED VIEW {people}_m AS SELECT * FROM {people}_v",
    )
    try:
        for source, match in ((f"{people}_v", "is a view"), (f"{people}_m", "one of Discreet's own tables")):
            with pytest.raises(UsageError, match=match):
                project.add(source, name="again", epsilon=1, engine=postgres_address)
    finally:
        execute(postgres_address, f"DROP VIEW {people}_v CASCADE")


@pytest.fixture
def computed(postgres_address):
    name = new_name("computed")
    if execute(postgres_address, "SELECT current_setting('server_version_num')::int")[0][0] < 180000:
        pytest.skip("this server has no virtual columns")
    execute(
        postgres_address,
        f"CREATE TABLE public.{name} (pid text, a int, age int GENERATED ALWAYS AS (10 / a) VIRTUAL,"
        f" kept int GENERATED ALWAYS AS (a + 1) STORED, who text GENERATED ALWAYS AS (pid) VIRTUAL)",
        f"INSERT INTO public.{name} (pid, a) VALUES ('p', 1), ('q', 2)",
    )
    yield f"public.{name}"
    execute(postgres_address, f"DROP TABLE public.{name}")


def test_a_virtual_column_is_refused_where_it_is_declared(postgres_engine, computed):
    def declare(column, person):
        schema = replace(OWNED, columns=(replace(AGE, name=column),), unit=PrivacyUnit(person=(person,), rows=1))
        table = Table(schema=schema, source=computed, population="people", budget=None)
        place = postgres_engine.place(new_name("made"), folder=NOWHERE)
        return postgres_engine.declare(table, folder=NOWHERE, target=place, key=KEY, tag_key=TAG_KEY)

    for column, person in (("age", "pid"), ("a", "who")):
        with pytest.raises(SchemaError, match="is a virtual generated column"):
            declare(column, person)
    assert declare("kept", "pid").exact_persons == 2


def test_one_row_changes_neither_a_first_question_nor_its_charge(tmp_path, postgres_address, computed):
    """Refusals before data is touched are free, and the same on a copy with another row."""

    def outcome(folder):
        project = discreet.init(tmp_path / folder)
        project.add(computed, name="people", epsilon=3, engine=postgres_address)
        project = discreet.open(project.folder)
        with pytest.raises(DiscreetError) as told:
            project.sql("SELECT count(*) FROM people").ask(epsilon=1)
        return str(told.value), bool(project.ledger.state.versions)

    without = outcome("without")
    execute(postgres_address, f"INSERT INTO {computed} (pid, a) VALUES ('r', 0)")
    assert outcome("with") == without
