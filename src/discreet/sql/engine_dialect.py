"""The dialect of an engine, by its address."""

from __future__ import annotations

from discreet.schema.address import scheme
from discreet.sql.dialect import Dialect, DuckDBDialect
from discreet.sql.postgres_dialect import PostgreSQLDialect
from discreet.sql.spark_dialect import SparkDialect


def dialect_at(address: str) -> Dialect:
    """What is written for the engine at an address of discreet.toml.

    >>> dialect_at("postgresql://db/clinic").name
    'postgresql'
    """
    match scheme(address):
        case "postgresql" | "postgres":
            return PostgreSQLDialect()
        case "spark" | "sc":
            return SparkDialect()
        case _:
            return DuckDBDialect()
