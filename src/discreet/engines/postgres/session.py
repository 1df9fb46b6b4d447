"""Sessions with a PostgreSQL server: how they are opened, what they are set to, and how they are kept.

Settings are made inside each transaction (SET LOCAL), so that they hold behind a pooler too, which gives every
transaction another server process; and they are read back once for each connection.

A transaction's first statements take no snapshot: BEGIN, SET LOCAL, LOCK TABLE. The snapshot is taken after the locks
are held. (Taken before, it would show a table as empty that another session has just truncated.)
"""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from discreet.engines import deadline, stop_signal
from discreet.engines.postgres.server_errors import ENGINE_SERVER, quietly, translate_errors
from discreet.errors import UsageError
from discreet.sql.dialect import quoted
from discreet.sql.postgres_dialect import SESSION
from discreet.storage.postgres_connection import connect

if TYPE_CHECKING:
    from psycopg import Connection

    Connected = Connection[tuple[Any, ...]]

#: The oldest server whose every form was tried: see docs/engines/postgres-matrix.md.
OLDEST = 15

#: How long the first look at a server may take.
CONNECT_S = 10
#: How long a lock is waited for. Only a making and a dropping wait for anybody.
LOCK_S = 10
#: A client that falls silent inside a transaction holds back the server's cleaning.
IDLE_S = 60
#: After the server's own deadline, how long until the connection is cut from here.
GRACE_S = 15
#: How long a server may take to hear that a question is stopped.
CANCEL_S = 5
MEMORY_MB = 64
#: What a question may put on the server's disk while it is counted, where the role may set it.
SPILL_GB = 50
#: Connections kept while nobody uses them.
_MOST_KEPT = 8

#: Of other sessions' settings we need these: meanings. (Messages are never shown, whatever their language.)
_SETTINGS = {name: value for name, value in SESSION.items() if name != "client_encoding"}
#: Set where the role may. Parameters, among them the keys of persons, then stay out of the server's log.
_WISHES = {
    "log_parameter_max_length": "0",
    "auto_explain.log_parameter_max_length": "0",
    "temp_file_limit": f"{SPILL_GB}GB",
}
_LIMITS = ("temp_file_limit",)

#: Connections of a parent process. To close one would end the parent's session, so they are kept for ever.
_ABANDONED: list[Any] = []


class PostgresSession:
    """A connection, and what was found out about it once."""

    def __init__(self, connection: Connected) -> None:
        self.connection = connection
        self.process = os.getpid()
        self.version = connection.info.server_version // 10_000
        #: The role's own search path: where a source without a schema is looked for.
        self.path: tuple[str, ...] = ()
        self.wishes: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse a server on which our SQL would mean something else."""
        if self.version < OLDEST:
            raise UsageError(
                f"the server runs PostgreSQL {self.version}, but Discreet needs {OLDEST} or newer",
                hint="upgrade it, or export the table to Parquet",
            )
        path, encoding = self._server_facts()
        if encoding != "UTF8":
            raise UsageError(
                f"the encoding of the database is {encoding}, but Discreet needs UTF8", hint="convert the database"
            )
        self.path = path
        self.wishes = tuple(name for name in _WISHES if self._may_set(name))
        with self.transaction(read_only=True, deadline_s=CONNECT_S):
            for name, value in _SETTINGS.items():
                (now,) = self.connection.execute("SELECT current_setting(%s)", [name]).fetchone() or ("",)
                if now.replace('"', "") != value:
                    raise UsageError(f"the server does not allow {name} to be set", hint="ask its administrator why")

    def _server_facts(self) -> tuple[tuple[str, ...], str]:
        """The role's own search path, and the encoding.

        Behind a pooler the server's process may have the path that another client of the pool left there.
        """
        self.connection.execute("BEGIN READ ONLY; SET LOCAL search_path TO DEFAULT")
        try:
            server_facts = self.connection.execute(
                "SELECT pg_catalog.current_schemas(false)::text[], pg_catalog.current_setting('server_encoding')"
            )
            path, encoding = server_facts.fetchone() or ((), "")
        finally:
            quietly(lambda: self.connection.execute("ROLLBACK"))
        return tuple(path), encoding

    def _may_set(self, name: str) -> bool:
        """Whether the role may change a setting. Some exist only with their extension; a limit of others' stays."""
        import psycopg

        (now,) = self.connection.execute("SELECT pg_catalog.current_setting(%s, true)", [name]).fetchone() or (None,)
        if now is None or (name in _LIMITS and now != "-1"):
            return False
        try:
            self.connection.execute(f"BEGIN; SET LOCAL {name} = {quoted(_WISHES[name])}; ROLLBACK")
        except psycopg.errors.InsufficientPrivilege:
            self.connection.execute("ROLLBACK")
            return False
        return True

    @contextmanager
    def transaction(self, *, read_only: bool, deadline_s: float | None, locks: Sequence[str] = ()) -> Iterator[None]:
        """One snapshot, taken when `locks` (quoted names of tables) are held. It is thrown away if it only reads."""
        settings: dict[str, str] = dict(_SETTINGS)
        settings |= {name: _WISHES[name] for name in self.wishes if read_only or name not in _LIMITS}
        settings |= {
            "statement_timeout": f"{0 if deadline_s is None else max(1, round(deadline_s * 1000))}ms",
            "lock_timeout": f"{LOCK_S}s",
            "idle_in_transaction_session_timeout": f"{IDLE_S}s" if read_only else "0",
            "work_mem": f"{MEMORY_MB}MB",
            "client_min_messages": "error",
            "log_parameter_max_length_on_error": "0",
            "cursor_tuple_fraction": "1",  # what is streamed is read to its end
        }
        if not read_only:
            settings["synchronous_commit"] = "on"
        if self.version >= 17:
            settings["transaction_timeout"] = "0"
        begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ {'READ ONLY' if read_only else 'READ WRITE'}"
        lines = [begin, *(f"SET LOCAL {name} = {_value(name, value)}" for name, value in settings.items())]
        lines += [f"LOCK TABLE {name} IN ACCESS SHARE MODE" for name in locks]
        begun = time.monotonic()
        with self._alarm(deadline_s):
            try:
                self.connection.execute("; ".join(lines))
                yield
                self.connection.execute("ROLLBACK" if read_only else "COMMIT")
            except BaseException as problem:
                if deadline_s is not None and _is_cancel(problem) and time.monotonic() - begun >= deadline_s:
                    # The server kept the time; before it was over, somebody there cancelled.
                    deadline.expiry_callback()()
                quietly(lambda: self.connection.execute("ROLLBACK"))
                raise

    @contextmanager
    def _alarm(self, deadline_s: float | None) -> Iterator[None]:
        """Cut the connection where the server does not keep its own deadline."""
        if deadline_s is None:
            yield
            return
        note = deadline.expiry_callback()

        def end() -> None:
            note()
            self._cut()

        timer = threading.Timer(deadline_s + GRACE_S, end)
        timer.daemon = True
        timer.start()
        try:
            with self.interruptible():
                yield
        finally:
            timer.cancel()

    def interruptible(self) -> AbstractContextManager[None]:
        """What the server does inside a transaction is stopped where this thread's stop is pulled; its end is not."""
        return stop_signal.interrupting(self._stop)

    def _stop(self) -> None:
        """Stop what the server does, and cut the connection: a cancel that comes late must find no other question."""
        with suppress(Exception):
            self.connection.cancel_safe(timeout=CANCEL_S)
        self._cut()

    def _cut(self) -> None:
        with suppress(Exception), socket.socket(fileno=os.dup(self.connection.pgconn.socket)) as end:
            end.shutdown(socket.SHUT_RDWR)

    @property
    def is_usable(self) -> bool:
        from psycopg.pq import TransactionStatus as Status

        return not self.connection.closed and self.connection.info.transaction_status is Status.IDLE


class PostgresSessionPool:
    """The sessions with one server: each is used by one thread at a time, and kept for the next."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._kept: deque[PostgresSession] = (
            deque()
        )  # no lock: one that another thread held in a fork would be held for ever
        weakref.finalize(self, _close, self._kept)

    @contextmanager
    def session(self) -> Iterator[PostgresSession]:
        """A session that works: a kept one that has died meanwhile is replaced."""
        session = self._take()
        try:
            yield session
        finally:
            self._give_back(session)

    def _take(self) -> PostgresSession:
        for session in _drain_own(self._kept):
            import psycopg

            try:
                session.connection.execute("")  # one turn to the server and back
                return session
            except psycopg.Error:
                session.connection.close()
        return self._open()

    def _give_back(self, session: PostgresSession) -> None:
        if session.is_usable and len(self._kept) < _MOST_KEPT:
            self._kept.append(session)
        else:
            session.connection.close()

    def _open(self) -> PostgresSession:
        session = PostgresSession(connect(self._address, ENGINE_SERVER))
        try:
            with translate_errors():
                session.check()
        except BaseException:
            session.connection.close()
            raise
        return session

    def close(self) -> None:
        """Close what nobody uses."""
        _close(self._kept)


def _drain_own(kept: deque[PostgresSession]) -> Iterator[PostgresSession]:
    """Take sessions out, the last one first. Those of a parent process are not ours to use or to close."""
    while True:
        try:
            session = kept.pop()
        except IndexError:
            return
        if session.process == os.getpid():
            yield session
        else:
            _ABANDONED.append(session)


def _close(kept: deque[PostgresSession]) -> None:
    for session in _drain_own(kept):
        session.connection.close()


def _is_cancel(problem: BaseException) -> bool:
    """Whether a server ended a statement: its own deadline, or somebody who may."""
    import psycopg

    return isinstance(problem, psycopg.errors.QueryCanceled)


def _value(name: str, value: str) -> str:
    """A setting's value. A path is a list of names."""
    return value if name == "search_path" else quoted(value)
