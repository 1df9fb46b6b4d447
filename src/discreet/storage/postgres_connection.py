"""Connections to PostgreSQL: TLS to another machine, a server that falls silent is noticed, durable commits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, UsageError
from discreet.storage.postgres_errors import PostgresUse, in_the_clear, unreachable

if TYPE_CHECKING:
    from psycopg import Connection

#: How long a server may be silent, where its address says nothing else.
SILENCE: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 60_000,
}

#: Raised to on; where it waits for more, that stays. The `true` of a transaction, or the `false` of a connection,
#: comes last.
_SYNCHRONOUS = """set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, {local})"""
#: Warnings are asked for, since one is all that tells of a standby that did not confirm.
_WARNINGS = "set_config('client_min_messages', 'warning', {local})"

#: Whether each of the requirements below is met.
READ_BACK = """SELECT current_setting('synchronous_commit') IN ('on', 'remote_apply'), current_setting('fsync') = 'on',
    current_setting('full_page_writes') = 'on', NOT pg_is_in_recovery(),
    current_setting('transaction_read_only') = 'off', current_setting('server_encoding') = 'UTF8',
    current_setting('session_replication_role') = 'origin', current_setting('client_min_messages') = 'warning'"""
REQUIREMENTS = (
    ("synchronous_commit is off", "so {loss}"),
    ("fsync is off", "so {loss}"),
    ("full_page_writes is off", "so {loss}"),
    ("it is a standby", "which cannot be written"),
    ("its transactions are read-only", "so nothing can be written"),
    ("its encoding is not UTF8", "so what is written could not be read back"),
    ("it skips triggers", "so the rules of the tables would not hold"),
    ("it suppresses its warnings", "so {loss}"),
)


def connect(address: str, use: PostgresUse, *, prepare_threshold: int | None = None) -> Connection[tuple[Any, ...]]:
    """A connection; transactions are spelt out.

    prepare_threshold: none is prepared by default, since a pooler's next server process would not know the statement.
    """
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise UsageError(f"{use.what} needs psycopg", hint='pip install "discreet[postgres]"') from None
    problem: DiscreetError
    try:
        given = conninfo_to_dict(address)
        defaults = {**SILENCE, "application_name": use.application, **tls_settings(given)}
        settings: dict[str, Any] = {**defaults, **given, "client_encoding": "UTF8"}
        _refuse_downgrade(str(settings.get("sslmode") or os.environ.get("PGSSLMODE", "")), _is_elsewhere(given), use)
        connection = psycopg.connect(autocommit=True, prepare_threshold=prepare_threshold, **settings)
        if not connection.pgconn.ssl_in_use and is_remote(connection.info.hostaddr):
            modes = [option.val for option in connection.pgconn.info if option.keyword == b"sslmode"]
            try:
                _refuse_downgrade((modes[0] or b"").decode(), True, use)  # as a service file says it
            except DiscreetError:
                connection.close()
                raise
        return connection
    except psycopg.ProgrammingError:
        problem = UsageError(
            "this is not the address of a PostgreSQL database", hint="postgresql://user@host:5432/database"
        )
    except psycopg.Error as fault:
        problem = unreachable(fault, use)
    raise problem  # out here, so that the driver's words are no context of it


def tls_settings(given: Mapping[str, Any]) -> dict[str, str]:
    """TLS, unless the server is on this machine or somebody says otherwise: rows and passwords cross the network.

    The address says so by sslmode or by a service, the environment by PGSSLMODE or PGSERVICE.
    """
    if "sslmode" in given or "service" in given or "PGSSLMODE" in os.environ or "PGSERVICE" in os.environ:
        return {}
    return {"sslmode": "require"} if _is_elsewhere(given) else {}


def _is_elsewhere(given: Mapping[str, Any]) -> bool:
    """Whether an address, or the environment, may mean another machine."""
    hosts = str(given.get("host") or os.environ.get("PGHOST") or "").split(",")
    addresses = str(given.get("hostaddr") or os.environ.get("PGHOSTADDR") or "").split(",")
    return any(map(is_remote, (*hosts, *addresses)))


def _refuse_downgrade(mode: str, elsewhere: bool, use: PostgresUse) -> None:
    """Refuse a mode that takes TLS where it is offered: whoever answers in the server's place does not offer it."""
    if elsewhere and mode in ("allow", "prefer"):
        raise in_the_clear(mode, use)


def is_remote(host: str) -> bool:
    """Whether a name or an address is another machine's. A socket in the file system is ours.

    >>> [is_remote(each) for each in ("10.0.0.7", "db.example", "127.0.0.1", "::1", "localhost", "", "/run", "@name")]
    [True, True, False, False, False, False, False, False]
    """
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return False
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return True


def durable_settings(*, local: bool, more: Mapping[str, str] | None = None) -> str:
    """The statement that makes what durability needs: for one transaction (`local`), or for the connection."""
    scope = "true" if local else "false"
    others = [f"set_config('{name}', '{value}', {scope})" for name, value in (more or {}).items()]
    return "SELECT " + ", ".join([_SYNCHRONOUS.format(local=scope), _WARNINGS.format(local=scope), *others])


def refuse_unmet(row: Sequence[bool] | None, use: PostgresUse) -> None:
    """Refuse a server by the row that READ_BACK gave."""
    for (what, why), met in zip(REQUIREMENTS, row or (), strict=True):
        if not met:
            raise use.fault(f"{{server}} cannot be used: {what}, {why.format(loss=use.loss)}")
