"""A store of each kind. PostgreSQL comes from a wheel, once a process, or from $DISCREET_TEST_POSTGRES."""

import secrets
from pathlib import Path

import pytest

from discreet.surveys.collector.store_location import open_survey_store
from surveys.collector.database import server


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL server."""
    with server() as address:
        yield address


@pytest.fixture
def schema(postgres):
    """The same, in a schema of the test's own."""
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        yield f"{postgres}{'&' if '?' in postgres else '?'}options=-csearch_path%3D{name}"
        connection.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """What `--store` would say."""
    if request.param == "sqlite":
        return str(tmp_path / "surveys.sqlite")
    return request.getfixturevalue("schema")


@pytest.fixture
def store(place):
    made = open_survey_store(place, Path("."), make=True)
    yield made
    made.close()


@pytest.fixture
def file_store(tmp_path):
    made = open_survey_store(None, tmp_path, make=True)
    yield made
    made.close()
