"""Spark Connect: the driver is a server's, and so are its log, its disks and the settings that it was started with.

A client can set what SQL means there (`session`), and cannot reach its Java. What else must hold is looked at before
anything is charged: that the server reads questions as deep as ours may be, and sees the folder of declared tables that
this machine sees (`seen`). What cannot be looked at, its owner is told in docs/engines/spark.md.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from typing import Any

from discreet.errors import UsageError

#: How a server that does not answer is tried again: for some 8 s in all. pyspark's own patience is ten minutes.
_AGAIN = {"max_retries": 5, "max_backoff": 4000, "jitter": 100, "max_server_retry_delay": 4000}

#: How long a server that we can reach may take for a setting, or for a constant.
PATIENCE_S = 30.0

#: As many brackets as a question of ours may have: without a deep stack the server ends at some 300.
_DEEP = 600

_CONNECT = "pyspark.sql.connect"

#: A setting that every server has. (Its version is asked for once, and remembered by the client.)
_ANY = "spark.sql.session.timeZone"


def is_remote(session: Any) -> bool:
    """Whether the driver is a server's, through Spark Connect."""
    return type(session).__module__.startswith(_CONNECT)


def open_connect_session(engine: str) -> Any:
    """A session of our own on a server.

    Not by pyspark's builder, which would mark the whole process as Connect's: no other Spark could be started in it.
    """
    retries = f"{_CONNECT}.client.retries"
    warnings.filterwarnings("ignore", module=re.escape(retries))  # it says there what is our sentence's to say
    session = import_module(f"{_CONNECT}.session").SparkSession(connection=engine)
    policy = import_module(retries).DefaultPolicy(**_AGAIN)
    session.client.set_retry_policies([policy])
    try:
        _run_within_patience(lambda: session.conf.get(_ANY))
    except TimeoutError:
        cut_connection(session)
        raise UsageError(
            "the server at this address is not Spark Connect", hint="check that it runs, and that its address is right"
        ) from None
    except BaseException:
        cut_connection(session)
        raise
    return session


def is_answering(session: Any) -> bool:
    """Whether the server knows this very session and answers in time.

    A server that was started anew, or has let go of a session that was idle for an hour, does not know it.
    """
    with suppress(Exception):
        return not session.is_stopped and bool(_run_within_patience(lambda: session.conf.get(_ANY)))
    return False


def check_deep(session: Any) -> None:
    """Refuse a server that cannot read the deepest questions: they would be charged, and fail. Looks at constants."""
    deep = "(1 + " * _DEEP + "1" + ")" * _DEEP
    try:
        _run_within_patience(lambda: session.sql(f"SELECT {deep}").collect())
    except Exception:
        raise UsageError(
            "this Spark does not behave as required: it cannot read queries with many parentheses",
            hint="start the server with --driver-java-options -Xss16m",
        ) from None


def cut_connection(session: Any) -> None:
    """Let go of a server that does not keep its deadline. Whatever this process asked it for ends as a failure."""
    with suppress(Exception):
        session.client.close()


def release(session: Any) -> None:
    """End a session, where its server still answers. One that does not is not tried again."""
    with suppress(Exception):
        session.client.set_retry_policies([])
        _run_within_patience(session.stop)


def _run_within_patience(act: Callable[[], Any]) -> Any:
    """What an act brings, or raises, within PATIENCE_S; else TimeoutError. gRPC alone may wait forever."""
    outcome: Future[Any] = Future()

    def acting() -> None:
        try:
            outcome.set_result(act())
        except Exception as problem:
            outcome.set_exception(problem)

    threading.Thread(target=acting, daemon=True, name=f"discreet-connect-{os.getpid()}").start()
    return outcome.result(PATIENCE_S)
