"""The raw query: DuckDB as it comes, one thread, on the source file."""

from __future__ import annotations

import duckdb
from sql_queries import QUERIES, TABLE
from sql_worker import Ask, Order, serve


def prepare(order: Order, query: str, place: str) -> Ask:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE VIEW {TABLE} AS SELECT * FROM '{place}'")
    return lambda: connection.execute(QUERIES[query]).fetchall()


if __name__ == "__main__":
    serve(prepare)
