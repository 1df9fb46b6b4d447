"""A project whose tables lie in PostgreSQL, from `add` to `forget`: exit codes, charges, and what is said."""

import psycopg
import pytest

import discreet
from clinic import say
from discreet.engines import duckdb
from discreet.engines.postgres import cell_queries
from engines.postgres.server import execute, load, new_name

MARK = "stripe918273645"


@pytest.fixture
def schema(postgres_address):
    """Visits and cities of a clinic, in a schema of the test's own."""
    name = new_name("clinic")
    execute(
        postgres_address,
        f"CREATE SCHEMA {name}",
        f"CREATE TABLE {name}.visits AS SELECT 'p' || g % 40 AS pid, g % 90 AS age, (ARRAY['flu', 'mumps'])[1 + g % 2] AS sort,"
        f" '{MARK}' AS note, g % 3 AS city FROM generate_series(1, 200) AS g",
        f"CREATE TABLE {name}.cities AS SELECT g AS city, 'town ' || g AS name FROM generate_series(0, 2) AS g",
    )
    yield name
    execute(postgres_address, f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def project(tmp_path, postgres_address, schema):
    """Declared by `add`, with the bounds that an owner writes."""
    project = discreet.init(tmp_path / "project", epsilon=1000)
    project.add(f"{schema}.visits", person="pid", rows_per_person=2, epsilon=100, delta="1e-6", engine=postgres_address)
    project.add(f"{schema}.cities", public=True, engine=postgres_address)
    file = project.folder / "discreet.toml"
    text = file.read_text()
    for column, more in (("age", "low = 0\nhigh = 99\n"), ("city", "low = 0\nhigh = 5\n")):
        told = f'[tables.visits.columns.{column}]\ntype = "integer"\n'
        assert told in text
        text = text.replace(told, told + more)
    told = '[tables.visits.columns.sort]\ntype = "text"\n'
    text = text.replace(told, told.replace("text", "category") + 'values = ["flu", "mumps"]\n')
    file.write_text(text)
    return discreet.open(project.folder)


def spent(project):
    return discreet.open(project.folder).budget("visits").spent.epsilon


def asked(capsys, project, sql):
    return say(capsys, project.folder, "query", sql, "--epsilon", "1")


def test_from_add_to_forget(project, postgres_address, schema, monkeypatch):
    monkeypatch.setattr(duckdb, "_connect", lambda *given, **how: pytest.fail("nothing is counted here"))
    _, making = project.refresh("visits")
    assert (making.exact_rows, making.exact_persons, making.exact_truncated) == (80, 40, 120)
    told = project.sql("SELECT sort, count(*) FROM visits GROUP BY sort").ask(epsilon=50)
    assert {sort: round(many, -1) for sort, many in told if sort} == {"flu": 40, "mumps": 40}
    told = project.sql("SELECT name, count(*) FROM visits JOIN cities ON visits.city = cities.city GROUP BY name").ask(
        epsilon=20
    )
    assert [name for name, _ in told] == ["town 0", "town 1", "town 2"]
    assert project.forget("visits", ["p7"]).exact_versions == 1
    _, making = project.refresh("visits")
    assert making.exact_persons == 39
    execute(postgres_address, f"INSERT INTO {schema}.visits SELECT 'p1', 1, 'flu', '', 1 FROM generate_series(1, 5000)")
    assert project.source_changed("visits")
    assert project.verify()


def outcome(found):
    code, out, err = found
    assert MARK not in out + err and "SQLSTATE" not in err and "psycopg" not in err
    return code, err


def test_what_goes_wrong_has_its_exit_code_and_costs_what_it_should(
    project, postgres_address, schema, monkeypatch, capsys
):
    project.refresh("visits")
    assert outcome(asked(capsys, project, "SELECT count(*) FROM visits"))[0] == 0
    before = spent(project)
    with monkeypatch.context() as patch:  # after the charge: one constant sentence, and the charge is kept
        patch.setattr(
            cell_queries, "count", lambda *given, **how: (_ for _ in ()).throw(psycopg.errors.DataError(MARK))
        )
        code, err = outcome(asked(capsys, project, "SELECT count(*) FROM visits WHERE age > 50"))
    assert (code, "the charged query could not be completed" in err) == (6, True)
    assert spent(project) > before
    before = spent(project)
    execute(postgres_address, f"ALTER TABLE {schema}.visits DROP COLUMN note")
    code, err = outcome(say(capsys, project.folder, "refresh", "visits"))
    assert (code, "has no column 'note'" in err) == (2, True)
    assert outcome(asked(capsys, project, "SELECT count(*) FROM visits WHERE age > 51"))[0] == 0, (
        "the version is still there"
    )
    before = spent(project)
    execute(postgres_address, f"DROP TABLE {schema}.visits")
    code, err = outcome(say(capsys, project.folder, "refresh", "visits"))
    assert (code, "there is no table" in err) == (2, True)
    file = project.folder / "discreet.toml"
    text = file.read_text()
    file.write_text(text.replace(postgres_address, "postgresql://nobody@127.0.0.1:1/db"))
    code, err = outcome(asked(capsys, project, "SELECT count(*) FROM visits WHERE age > 52"))
    assert (code, "cannot be reached" in err) == (2, True)
    file.write_text(text)
    execute(postgres_address, "DROP SCHEMA discreet CASCADE")
    code, err = outcome(asked(capsys, project, "SELECT count(*) FROM visits WHERE age > 53"))
    assert (code, "is no longer in the database" in err) == (5, True)
    assert spent(project) == before, "none of these was charged"


def test_nobody_is_said_to_be_forgotten_where_tags_are_gone(project, postgres_address, capsys):
    """Without the table of tags nobody can be found: that is a fault, not nobody."""
    project.refresh("visits")
    made = project.ledger.state.versions["visits"][1].file
    execute(postgres_address, f'DROP TABLE discreet."{made}-tags"')
    code, err = outcome(say(capsys, project.folder, "forget", "visits", "p7", "--yes"))
    assert (code, "nobody can be erased from" in err) == (5, True)
    execute(postgres_address, f'DROP TABLE discreet."{made}"')
    code, err = outcome(say(capsys, project.folder, "refresh", "visits"))
    assert code == 0
    newest = project.ledger.refresh().versions["visits"][2].file
    ((persons,),) = execute(postgres_address, f'SELECT count(*) FROM discreet."{newest}-tags"')
    assert persons == 39, "the tombstone was written"


def test_names_as_long_as_the_server_has_them(tmp_path, postgres_address):
    """A join calls them by longer ones, of which the server would cut off all that tells two apart."""
    first, second = "é" * 31 + "x", "é" * 31 + "y"
    cities = load(
        postgres_address, [{"city": place, first: f"x{place}", second: f"y{place % 2}"} for place in range(3)]
    )
    visits = load(postgres_address, [{"city": place % 3} for place in range(60)])
    project = discreet.init(tmp_path / "project")
    project.add(visits, name="visits", epsilon=1000, engine=postgres_address)
    project.add(cities, name="cities", public=True, engine=postgres_address)
    file = project.folder / "discreet.toml"
    told = '[tables.visits.columns.city]\ntype = "integer"\n'
    file.write_text(file.read_text().replace(told, told + "low = 0\nhigh = 5\n"))
    project = discreet.open(project.folder)
    text = 'SELECT "{0}", count(*) FROM visits JOIN cities ON visits.city = cities.city GROUP BY "{0}"'
    assert list(project.sql(text.format(first)).ask(epsilon=100)) == [("x0", 20), ("x1", 20), ("x2", 20)]
    assert list(project.sql(text.format(second)).ask(epsilon=100)) == [("y0", 40), ("y1", 20)]
