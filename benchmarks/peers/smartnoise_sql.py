"""SmartNoise SQL on DuckDB: the six queries as text, epsilon 1 for the whole query.

Runs in SmartNoise's own environment. It has no DuckDB reader, so a cursor here stands in for SQLite's. It spends its
epsilon once for each column that it makes up (an average costs three), so each gets its share of 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from sql_queries import QUERIES, TABLE
from sql_worker import Ask, Order, serve

DELTA = 1e-8
COLUMNS: dict[str, Any] = {
    "age": {"type": "int", "lower": 0, "upper": 99},
    "sex": {"type": "string"},
    "region": {"type": "string"},
    "disease": {"type": "string"},
    "salary": {"type": "float", "lower": 0, "upper": 500_000},
    "day": {"type": "int", "lower": 0, "upper": 364},
}


class Cursor:
    """DuckDB's cursor as SmartNoise expects one."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, sql: str) -> None:
        # DuckDB refuses to order a window by a volatile expression, so the random number becomes a column.
        if "RANDOM ( )" in sql:
            sql = sql.replace("ORDER BY RANDOM ( )", "ORDER BY chance")
            sql = sql.replace(
                "FROM ( SELECT user_id AS user_id", "FROM ( SELECT random() AS chance, user_id AS user_id"
            )
        self.connection.execute(sql)
        self.description = self.connection.description

    def __iter__(self) -> Any:
        return iter(self.connection.fetchall())


class Connection:
    """DuckDB's connection as SmartNoise expects one."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def cursor(self) -> Cursor:
        return Cursor(self.connection)

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


def prepare(order: Order, query: str, place: str) -> Ask:
    import duckdb
    from snsql import Privacy, from_connection

    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE VIEW {TABLE} AS SELECT * FROM '{place}'")
    sql = QUERIES[query].replace(f"FROM {TABLE}", f"FROM main.{TABLE}")

    def reader(epsilon: float) -> Any:
        return from_connection(
            Connection(connection),
            privacy=Privacy(epsilon=epsilon, delta=DELTA),
            engine="sqlite",
            metadata={"": {"main": {TABLE: _declared(order)}}},
        )

    private = reader(1 / float(reader(1.0).get_privacy_cost(sql)[0]))
    return lambda: private.execute(sql)[1:]


def _declared(order: Order) -> dict[str, Any]:
    if order.unit == "row":
        return COLUMNS | {"user_id": {"type": "int"}, "row_privacy": True}
    return COLUMNS | {"user_id": {"type": "int", "private_id": True}, "max_ids": order.rows_per_person}


if __name__ == "__main__":
    serve(prepare)
