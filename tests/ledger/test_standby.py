"""A commit that no standby confirmed is a fault, whatever the role's messages are set to."""

import os
import threading
import time

import psycopg
import pytest

from discreet.errors import LedgerFault
from discreet.ledger.ledger_location import DatabaseAddress
from ledger.ledgers import ask, laplace, make

WAITING = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
CANCEL_WAITING = f"SELECT pg_cancel_backend(pid) {WAITING}"


def wait_until_commits_wait(admin: psycopg.Connection, postgres: str) -> None:
    """The server takes its new settings in a time of its own: until then a commit does not wait for a standby."""
    enough = threading.Event()

    def commit() -> None:
        with psycopg.connect(postgres, autocommit=True) as probe:
            while not enough.is_set():
                probe.execute("SELECT pg_logical_emit_message(true, 'probe', '')")

    thread = threading.Thread(target=commit)
    thread.start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not admin.execute(f"SELECT pid {WAITING}").fetchall():
        time.sleep(0.01)
    enough.set()
    while thread.is_alive():  # its last commit waits
        admin.execute(CANCEL_WAITING)
        thread.join(0.05)


@pytest.mark.skipif("DISCREET_TEST_POSTGRES" in os.environ, reason="changes the server's settings")
@pytest.mark.parametrize("level", ["notice", "error"])
def test_a_wait_for_a_standby_that_was_given_up_is_heard(address: DatabaseAddress, postgres: str, level: str):
    """`ALTER ROLE … SET client_min_messages = error` is a common setting, and keeps the server's warning back."""
    with psycopg.connect(postgres, autocommit=True) as admin:
        url = address.url.replace("options=", f"options=-cclient_min_messages%3D{level}%20")
        with make(DatabaseAddress(url=url)) as ledger:
            admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            admin.execute("SELECT pg_reload_conf()")
            wait_until_commits_wait(admin, postgres)
            told: list[BaseException | str] = []

            def charge() -> None:
                try:
                    ask(ledger, laplace("0.5"))
                    told.append("charged, as if it were durable")
                except LedgerFault as fault:
                    told.append(fault)

            try:
                thread = threading.Thread(target=charge)
                thread.start()
                for _ in range(100):
                    if admin.execute(CANCEL_WAITING).fetchall():
                        break
                    time.sleep(0.1)
                thread.join(20)
            finally:
                admin.execute("ALTER SYSTEM RESET synchronous_standby_names")
                admin.execute("SELECT pg_reload_conf()")
                thread.join(20)
            assert len(told) == 1 and isinstance(told[0], LedgerFault), told
