"""Servers that prove their names, or fail to, to each of those who connect to PostgreSQL.

Most of it needs no PostgreSQL: TLS is agreed before a server hears anything else.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.errors import DiscreetError, UsageError
from discreet.ledger.ledger_location import DatabaseAddress
from discreet.storage import postgres_connection
from ledger.ledgers import ask, laplace, make
from postgres_versions import WITH_TLS, version_server
from storage.authority import HOST, Authority
from storage.test_postgres_connection import SSL_REQUEST, USERS, engine, server_without_tls

#: A server's "this login is refused", with its code.
_REFUSED = b"SFATAL\0C28P01\0Mpassword authentication failed\0\0"

Connecting = Callable[[str], None]


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGSSLMODE", "PGSERVICE", "PGSSLROOTCERT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("trusted"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("other"), "another authority")


@pytest.fixture(scope="module")
def impostor(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Another one that says to be the one that is trusted."""
    return Authority(tmp_path_factory.mktemp("impostor"))


@contextmanager
def server_with_tls(folder: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Its port, and what it hears under TLS; it refuses every login."""
    context, heard = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), []
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection, suppress(OSError):
                    while message := connection.recv(8):
                        connection.sendall(b"S" if message == SSL_REQUEST else b"N")
                        if message == SSL_REQUEST:
                            with context.wrap_socket(connection, server_side=True) as secured:
                                if message := secured.recv(1000):
                                    heard.append(message)
                                    secured.sendall(b"E" + (len(_REFUSED) + 4).to_bytes(4, "big") + _REFUSED)
                            break

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1], heard
        finally:
            listening.shutdown(socket.SHUT_RDWR)
    thread.join(30)
    assert not thread.is_alive()


def full(host: str, port: int | str, root: Path | str, *, more: str = "") -> str:
    return (
        f"postgresql://ann:secret@{host}:{port}/books?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={root}{more}"
    )


@pytest.mark.parametrize(("use", "error"), USERS)
def test_only_the_named_server_hears_anything(
    use: Connecting, error: type[DiscreetError], trusted: Authority, other: Authority, impostor: Authority
) -> None:
    """The right name and authority pass, and the server then hears the login; one that is wrong hears nothing."""
    with server_with_tls(trusted.vouch()) as (port, heard):
        for host, authority, sentence in (
            ("books.example", trusted, "certificate of another host name"),
            (HOST, other, "the trusted authority did not sign"),
            (HOST, impostor, "the trusted authority did not sign"),
        ):
            with pytest.raises(error, match=sentence) as refused:
                use(full(host, port, authority.certificate))
            assert "somebody may stand in between" in refused.value.hint and "secret" not in str(refused.value)
            assert refused.value.__cause__ is None and refused.value.__context__ is None
        assert heard == []
        with pytest.raises(error, match="refused the login"):
            use(full(HOST, port, trusted.certificate))
        assert len(heard) == 1 and b"ann" in heard[0]


def test_a_certificate_that_has_expired(trusted: Authority) -> None:
    with (
        server_with_tls(trusted.vouch(days=-1)) as (port, heard),
        pytest.raises(UsageError, match="has expired"),
    ):
        engine(full(HOST, port, trusted.certificate))
    assert heard == []


def test_the_authority_is_missing_or_mistaken(tmp_path: Path, trusted: Authority) -> None:
    (tmp_path / "bad.crt").write_text("no certificate")
    with server_with_tls(trusted.vouch()) as (port, heard):
        with pytest.raises(UsageError, match=r"authority that vouches .* is missing") as missing:
            engine(full(HOST, port, tmp_path / "none.crt"))
        assert "sslrootcert=system" in missing.value.hint
        with pytest.raises(UsageError, match="cannot be read"):
            engine(full(HOST, port, tmp_path / "bad.crt"))
        with pytest.raises(UsageError, match="did not sign"):
            engine(full(HOST, port, "system"))
        assert heard == []
    with pytest.raises(UsageError, match="verify-full alone"):
        engine(full(HOST, 1, "system").replace("verify-full", "require"))


@pytest.mark.parametrize("mode", ["prefer", "allow"])
@pytest.mark.parametrize(("use", "error"), USERS)
def test_a_mode_that_gives_tls_up_is_refused(
    use: Connecting, error: type[DiscreetError], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said by the address or the environment; for a server on this machine it is nobody's matter."""
    with server_without_tls() as (port, sent):
        address = f"postgresql://ann@{HOST}:{port}/books?hostaddr=127.0.0.1"
        with pytest.raises(error, match=f"sslmode={mode} does not insist on TLS") as refused:
            use(f"{address}&sslmode={mode}")
        assert "sslmode=verify-full" in refused.value.hint
        monkeypatch.setenv("PGSSLMODE", mode)
        with pytest.raises(error, match="does not insist"):
            use(address)
        assert sent == []
        with pytest.raises(error, match=r"cannot be reached|was lost"):
            use(f"postgresql://ann@127.0.0.1:{port}/books")
        assert sent


# -- a real server ----------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=WITH_TLS[:1])
def secured(request: pytest.FixtureRequest, trusted: Authority) -> Iterator[str]:
    """A server that lets nobody in by the network without TLS; its address on this machine's socket."""
    with version_server(request.param, tls=trusted.vouch()) as address:
        yield address


@pytest.mark.deep
def test_a_ledger_and_tables_under_tls(
    secured: str,
    trusted: Authority,
    other: Authority,
    state_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """With the right name and authority both work; without, neither is reached."""
    port = psycopg.conninfo.conninfo_to_dict(secured)["port"]
    right = full(HOST, port, trusted.certificate).replace("ann:secret", "postgres").replace("/books", "/postgres")
    with psycopg.connect(secured, autocommit=True) as raw:
        raw.execute("CREATE TABLE people (age integer)")
    with make(DatabaseAddress(url=right)) as ledger:
        ask(ledger, laplace(1))
        assert not ledger._journal.store.exposed
        assert ledger._journal.store._connection.pgconn.ssl_in_use
    table = PostgresEngine(right)
    assert table.header("people", folder=Path("/")).names == ("age",)
    table.close()
    for use, error in USERS[:2]:
        for wrong, sentence in (
            (right.replace(str(trusted.certificate), str(other.certificate)), "did not sign"),
            (right.replace(HOST, "books.example"), "another host name"),
            (right.replace("verify-full", "disable"), "refuses connections without TLS"),
        ):
            with pytest.raises(error, match=sentence):
                use(wrong)
    # As a service file says it, which only libpq reads.
    (tmp_path / "services").write_text(f"[books]\nhost={HOST}\nhostaddr=127.0.0.1\nport={port}\nsslmode=verify-ca\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    with pytest.raises(UsageError, match="is missing"):
        engine("postgresql://postgres@/postgres?service=books")


@pytest.mark.deep
def test_a_service_that_gives_tls_up(
    secured: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: Authority
) -> None:
    """What libpq agreed on is looked at, too: the machine counts as another one here."""
    given = psycopg.conninfo.conninfo_to_dict(secured)
    monkeypatch.setattr(postgres_connection, "is_remote", lambda host: True)
    lines = ["[books]", f"host={given['host']}", f"port={given['port']}", "user=postgres", "sslmode=prefer"]
    (tmp_path / "services").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    with pytest.raises(UsageError, match="does not insist on TLS"):
        engine("postgresql:///postgres?service=books")
