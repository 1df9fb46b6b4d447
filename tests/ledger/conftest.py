"""Ledgers in files and in PostgreSQL. The server comes from a wheel, once a process, or from $DISCREET_TEST_POSTGRES.

In the deep tier what is PostgreSQL's runs on each of `postgres_versions.VERSIONS`, too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from discreet.ledger.ledger_location import DatabaseAddress
from ledger.ledgers import Copies
from postgres_versions import VERSIONS, version_server
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
#: Tests of what is PostgreSQL's own.
SERVERS = {"test_postgres"}
OLDER = [pytest.param(f"postgres{version}", marks=pytest.mark.versions) for version in VERSIONS]


def pytest_generate_tests(metafunc):
    module = metafunc.module.__name__.rpartition(".")[2]
    if "path" in metafunc.fixturenames and module in BOTH:
        both = metafunc.function.__name__ not in FILES
        metafunc.parametrize("path", ["sqlite", "postgres", *OLDER] if both else ["sqlite"], indirect=True)
    if "postgres" in metafunc.fixturenames and module in SERVERS:
        metafunc.parametrize("postgres", ["postgres", *OLDER], indirect=True, scope="session")


@pytest.fixture(scope="session")
def started() -> Iterator[Callable[[str], str]]:
    """A function that gives the address of a server: the tests' own, or one of a version, such as `postgres15`."""
    with ExitStack() as stack:
        addresses: dict[str, str] = {}

        def start(name: str) -> str:
            if name not in addresses:
                version = name.removeprefix("postgres")
                addresses[name] = stack.enter_context(version_server(int(version)) if version else server())
            return addresses[name]

        yield start


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest, started: Callable[[str], str]) -> str:
    """The address of a PostgreSQL server."""
    return started(getattr(request, "param", "postgres"))


@pytest.fixture
def address(postgres: str, state_folder: Path) -> Iterator[DatabaseAddress]:
    """The same, in a schema of the test's own."""
    with _schema(postgres) as address:
        yield address


@contextmanager
def _schema(postgres: str) -> Iterator[DatabaseAddress]:
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
    name = getattr(request, "param", "sqlite")
    if name == "sqlite":
        yield tmp_path / "project" / ".discreet" / "ledger.db"
        return
    with _schema(request.getfixturevalue("started")(name)) as address:
        yield address


@pytest.fixture
def copies(path: Path, state_folder: Path, tmp_path: Path):
    return Copies(path, state_folder, tmp_path / "copies")
