"""Every connection to PostgreSQL: to another machine under TLS, unless somebody says otherwise."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.errors import DiscreetError, LedgerFault, StoreFault, UsageError
from discreet.ledger.ledger import Ledger
from discreet.storage.postgres_connection import is_remote, tls_settings
from discreet.surveys.collector.store_location import open_survey_store


def engine(address: str) -> None:
    PostgresEngine(address).header("people", folder=Path("/"))


def ledger(address: str) -> None:
    Ledger.open(address)


def surveys(address: str) -> None:
    open_survey_store(address, Path("/"))


#: Whoever connects to a server.
USERS = [(engine, UsageError), (ledger, LedgerFault), (surveys, StoreFault)]

#: What libpq sends first to ask for TLS, and to ask for encryption by GSSAPI.
SSL_REQUEST, GSS_REQUEST = bytes.fromhex("0000000804d2162f"), bytes.fromhex("0000000804d21630")


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSSLMODE", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def server_without_tls() -> Iterator[tuple[int, list[bytes]]]:
    """Its port, and what it was sent beside requests for encryption, which it refuses."""
    sent: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    while (message := connection.recv(8)) in (SSL_REQUEST, GSS_REQUEST):
                        connection.sendall(b"N")
                    if message:
                        sent.append(message + connection.recv(1000))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1], sent
        finally:
            listening.shutdown(socket.SHUT_RDWR)
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize(("use", "error"), USERS)
def test_a_server_elsewhere_without_tls_is_refused(use: Callable[[str], None], error: type[DiscreetError]) -> None:
    """It hears neither a name nor a password; only whoever says so speaks in the clear."""
    with server_without_tls() as (port, sent):
        address = f"postgresql://ann:secret@db.example:{port}/books?hostaddr=127.0.0.1"
        with pytest.raises(error, match="does not offer TLS") as refused:
            use(address)
        assert "sslmode=disable" in refused.value.hint and "secret" not in str(refused.value)
        assert refused.value.__cause__ is None and refused.value.__context__ is None
        assert sent == []
        with pytest.raises(error, match=r"cannot be reached|was lost"):
            use(f"{address}&sslmode=disable")
        assert len(sent) >= 1 and b"ann" in sent[0]


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://x@db.example/books",
        "postgresql://x@localhost,db.example/books",
        "postgresql://x@10.0.0.7/books",
        "postgresql://x@localhost/books?hostaddr=10.0.0.7",
        "postgresql:///books?host=/run&hostaddr=10.0.0.7",
        "host=db.example dbname=books",
    ],
)
def test_another_machine_is_reached_by_tls(address: str) -> None:
    assert tls_settings(conninfo_to_dict(address)) == {"sslmode": "require"}


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:///books",
        "postgresql://x@localhost/books",
        "postgresql://x@127.0.0.1,[::1]/books",
        "postgresql:///books?host=/run",
        "postgresql://x@db.example/books?sslmode=disable",
        "postgresql://x@db.example/books?sslmode=verify-full",
        "postgresql:///?service=books",
    ],
)
def test_this_machine_and_whoever_says_otherwise(address: str) -> None:
    assert tls_settings(conninfo_to_dict(address)) == {}


@pytest.mark.parametrize("name", ["PGHOST", "PGHOSTADDR"])
def test_the_environment_names_another_machine(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "10.0.0.7")
    assert tls_settings({"dbname": "books"}) == {"sslmode": "require"}
    for other, value in (("PGSSLMODE", "prefer"), ("PGSERVICE", "books")):
        with monkeypatch.context() as patch:
            patch.setenv(other, value)
            assert tls_settings({"dbname": "books"}) == {}


def test_names_that_only_look_like_this_machine() -> None:
    assert all(map(is_remote, ("localhost.example", "127.0.0.1.example", "128.0.0.1", "0.0.0.0")))
