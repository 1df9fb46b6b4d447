"""Ledgers in files and in PostgreSQL. The server comes from a wheel, once a process, or from $DISCREET_TEST_POSTGRES."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from discreet.ledger.ledger_location import DatabaseAddress
from ledger.ledgers import Copies
from surveys.collector.database import server

#: Tests of what a ledger does, whatever it lies in, run on both. The rest are about SQLite's file.
BOTH = {"test_ledger", "test_steps", "test_rows", "test_invariants"}
FILES = {
    "test_a_connection_from_before_a_fork_is_refused",
    "test_no_ledger_and_a_second_ledger",
    "test_files_belong_to_their_owner",
    "test_a_stored_step_cannot_be_changed",
    "test_a_stored_row_cannot_be_changed",
    "test_after_an_adoption_streams_are_closed",
}


def pytest_generate_tests(metafunc):
    if "path" in metafunc.fixturenames and metafunc.module.__name__.rpartition(".")[2] in BOTH:
        both = metafunc.function.__name__ not in FILES
        metafunc.parametrize("path", ["sqlite", "postgres"] if both else ["sqlite"], indirect=True)


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL server."""
    with server() as address:
        yield address


@pytest.fixture
def address(postgres: str, state_folder: Path):
    """The same, in a schema of the test's own."""
    import psycopg

    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        yield DatabaseAddress(url=f"{postgres}{'&' if '?' in postgres else '?'}options=-csearch_path%3D{name}")
        connection.execute("SET statement_timeout = '20s'")
        connection.execute(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def path(request: pytest.FixtureRequest, tmp_path: Path, state_folder: Path):
    """Where a ledger may be made."""
    if getattr(request, "param", "sqlite") == "postgres":
        return request.getfixturevalue("address")
    return tmp_path / "project" / ".discreet" / "ledger.db"


@pytest.fixture
def copies(path: Path, state_folder: Path, tmp_path: Path):
    return Copies(path, state_folder, tmp_path / "copies")
