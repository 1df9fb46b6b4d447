"""Whether a Spark elsewhere sees the folder of declared tables that this machine sees.

Guarantee: no table is made of rows that were written where this machine does not find them again.
Because: before a table is made or erased from, words that nobody knows are laid beside it and read back by Spark, one
    by each task that it runs at once, so that each executor has to find one. What is laid there has the name of what a
    killed making leaves, so that it is swept away like that. An executor that comes later may see another disk: what
    was written is therefore counted where this machine and Spark see it (`person_table`, `lake_erasure`).
"""

from __future__ import annotations

import secrets

from discreet.engines.spark.lake_store import LakeStore, escape_glob
from discreet.engines.spark.session import SparkSession
from discreet.engines.spark.spark_connect import is_remote
from discreet.errors import UsageError

#: So many words are laid where a server does not say how many tasks it runs at once, and at most so many.
_SERVER_TASKS, _MOST_TASKS = 16, 64


def check_folder_shared(session: SparkSession, store: LakeStore, above: str) -> None:
    """Refuse a folder of declared tables that Spark does not see, or sees another one by its path."""
    table, words = (
        f"{above}/seen-{secrets.token_hex(8)}.lake",
        [secrets.token_bytes(16) for _ in range(_tasks(session))],
    )
    place = f"{table}/work-{secrets.token_hex(8)}"
    try:
        store.make(place)
        for number, word in enumerate(words):
            store.write(f"{place}/seen-{number}", word)
        # A task that fails runs again, elsewhere; one that misses its file and says nothing is noticed here.
        reader = session.read.format("binaryFile").option("ignoreMissingFiles", "true")
        read_back = reader.load(escape_glob(place)).select("content").toArrow().column("content").to_pylist()
    except OSError:
        raise
    except Exception:  # Spark's own: there is no such file, or it may not be read
        read_back = []
    finally:
        store.drop(table)
    if sorted(read_back) != sorted(words):
        raise folder_not_shared()


def _tasks(session: SparkSession) -> int:
    """How many tasks run at once. Spark gives files of a few bytes to as many, and free executors each get one."""
    return _SERVER_TASKS if is_remote(session) else min(_MOST_TASKS, session.sparkContext.defaultParallelism)


def folder_not_shared() -> UsageError:
    """What the owner is told."""
    return UsageError(
        "this Spark does not see the folder of declared tables, or is not allowed to read it",
        hint="set ?declared= to a folder that this machine and all executors see by one path, as one user",
    )
