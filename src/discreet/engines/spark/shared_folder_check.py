"""Whether a Spark elsewhere sees the folder of declared tables that this machine sees.

Guarantee: no row is written where this machine does not find it again.
Because: before a table is made or erased from, a word that nobody knows is laid beside it and read back by Spark. What
    is laid there has the name of what a killed making leaves, so that it is swept away like that.
"""

from __future__ import annotations

import secrets

from discreet.engines.spark.lake_store import LakeStore, escape_glob
from discreet.engines.spark.session import SparkSession
from discreet.errors import UsageError


def check_folder_shared(session: SparkSession, store: LakeStore, above: str) -> None:
    """Refuse a folder of declared tables that Spark does not see, or sees another one by its path."""
    table, word = f"{above}/seen-{secrets.token_hex(8)}.lake", secrets.token_bytes(16)
    place = f"{table}/work-{secrets.token_hex(8)}"
    try:
        store.make(place)
        store.write(f"{place}/seen", word)
        reader = session.read.format("binaryFile")
        read_back = reader.load(escape_glob(f"{place}/seen")).select("content").toArrow().to_pylist()
    except OSError:
        raise
    except Exception:  # Spark's own: there is no such file, or it may not be read
        read_back = []
    finally:
        store.drop(table)
    if read_back != [{"content": word}]:
        raise folder_not_shared()


def folder_not_shared() -> UsageError:
    """What the owner is told."""
    return UsageError(
        "this Spark does not see the folder of declared tables, or is not allowed to read it",
        hint="set ?declared= to a folder that this machine and Spark both see, by the same path and as the same user",
    )
