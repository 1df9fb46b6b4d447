"""Whether a cluster has anybody who counts: executors are processes of other machines, which come late and get lost.

Guarantee: where no executor answers, nothing is charged, and nothing waits without end.
Because: before a session is used, and before a question is charged, or a table is made, where the driver has no
    executor, or where the question before failed, a job that reads nothing runs there; it is cancelled when its time
    is over.
"""

from __future__ import annotations

import os
import secrets
import threading
from contextlib import suppress

from discreet.engines.spark.session import SparkSession, interrupt, tag_jobs
from discreet.engines.spark.spark_connect import is_remote
from discreet.errors import UsageError

#: How long a cluster may take to start its first executor for us.
PATIENCE_S = 60.0


def has_executors(session: SparkSession) -> bool:
    """Whether the driver has executors beside itself. Of a driver on a server nobody can tell: TRUE."""
    return is_remote(session) or session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() > 1


def check_executors(session: SparkSession) -> None:
    """Refuse a Spark in which no executor runs a job that reads nothing, in time."""
    mark, ended = f"discreet-{os.getpid()}-{secrets.token_hex(4)}", threading.Event()

    def watch() -> None:
        if ended.wait(PATIENCE_S):
            return
        while not ended.wait(0.2):
            with suppress(Exception):  # it may have ended, or died, this very moment
                interrupt(session, mark)

    with tag_jobs(session, mark):
        threading.Thread(target=watch, daemon=True).start()
        try:
            session.range(0, 1, 1, 1).collect()
        except Exception:  # Spark's own: cancelled, or its master has let go of us
            raise UsageError(
                "no executor of this Spark answers",
                hint="check that its workers run, and have a free core and enough memory for spark.executor.memory",
            ) from None
        finally:
            ended.set()
