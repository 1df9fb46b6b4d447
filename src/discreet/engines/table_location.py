"""Where a declared table lies: a file of ours, a table of a server's, a folder of a lake.

The ledger knows a version by its name alone (`visits-8d2c…`); the engine makes a place of it. No host, no user
and no password is part of a place, so none gets into the ledger: the engine's address stays in discreet.toml.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresTable:
    """A table of PostgreSQL, in the schema that is ours."""

    schema: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeFolder:
    """A folder of Parquet files that Spark can reach: a path, or an address such as s3a://bucket/folder."""

    folder: str


TableLocation = Path | PostgresTable | LakeFolder
