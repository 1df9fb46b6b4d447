"""The engine that a table names in discreet.toml, started when it is first needed.

duckdb                                  files, here; the default
postgresql://user@host:5432/database    where the data of a hospital lies
spark://local, spark://host:7077, sc://host   where that of a company does
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Engine
from discreet.schema.address import DEFAULT, scheme


class EngineRegistry(DuckDBEngine):
    """DuckDB for tables that name no engine; another one behind each other address."""

    def __init__(self, *, deadline_s: float = 60.0) -> None:
        super().__init__(deadline_s=deadline_s)
        self._others: dict[str, Engine] = {}
        self._starting = threading.Lock()

    def at(self, address: str) -> Engine:
        """The engine at an address, the same one each time."""
        if address == DEFAULT:
            return self
        with self._starting:
            if address not in self._others:
                self._others[address] = _STARTS[scheme(address)](address, self._deadline_s)
            return self._others[address]


def _postgres(address: str, deadline_s: float) -> Engine:
    from discreet.engines.postgres.postgres_engine import PostgresEngine

    return PostgresEngine(address, deadline_s=deadline_s)


def _spark(address: str, deadline_s: float) -> Engine:
    from discreet.engines.spark.spark_engine import SparkEngine

    return SparkEngine(address, deadline_s=deadline_s)


_STARTS: Mapping[str, Callable[[str, float], Engine]] = {
    "postgresql": _postgres,
    "postgres": _postgres,
    "spark": _spark,
    "sc": _spark,
}
