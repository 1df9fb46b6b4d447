"""The dialect of an engine, by its address."""

from __future__ import annotations

from discreet.schema.address import scheme
from discreet.sql.dialect import Dialect, DuckDB
from discreet.sql.postgres import PostgreSQL
from discreet.sql.spark import Spark


def dialect_at(address: str) -> Dialect:
    """What is written for the engine at an address of discreet.toml.

    >>> dialect_at("postgresql://db/clinic").name
    'postgresql'
    """
    match scheme(address):
        case "postgresql" | "postgres":
            return PostgreSQL()
        case "spark" | "sc":
            return Spark()
        case _:
            return DuckDB()
