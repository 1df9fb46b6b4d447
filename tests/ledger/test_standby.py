"""A commit that no standby confirmed is a fault, whatever the role's messages are set to."""

import os
import threading
import time

import psycopg
import pytest

from discreet.errors import LedgerFault
from discreet.ledger.ledger_location import DatabaseAddress
from ledger.ledgers import ask, laplace, make


@pytest.mark.skipif("DISCREET_TEST_POSTGRES" in os.environ, reason="changes the server's settings")
@pytest.mark.parametrize("level", ["notice", "error"])
def test_a_wait_for_a_standby_that_was_given_up_is_heard(address: DatabaseAddress, postgres: str, level: str):
    """`ALTER ROLE … SET client_min_messages = error` is a common setting, and keeps the server's warning back."""
    with psycopg.connect(postgres, autocommit=True) as admin:
        url = address.url.replace("options=", f"options=-cclient_min_messages%3D{level}%20")
        with make(DatabaseAddress(url=url)) as ledger:
            admin.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
            admin.execute("SELECT pg_reload_conf()")
            time.sleep(0.5)
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
                waiting = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
                for _ in range(100):
                    if admin.execute(waiting).fetchall():
                        break
                    time.sleep(0.1)
                thread.join(20)
            finally:
                admin.execute("ALTER SYSTEM RESET synchronous_standby_names")
                admin.execute("SELECT pg_reload_conf()")
                thread.join(20)
            assert len(told) == 1 and isinstance(told[0], LedgerFault), told
