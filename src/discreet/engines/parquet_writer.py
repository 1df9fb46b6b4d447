"""Writes a declared table's file, through DuckDB: what it has written it reads fastest.

(On 10 million rows a count by a column of few values took 0.6 of the time that the same file from Arrow's
writer took.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa

from discreet.sql.dialect import text_literal

#: Rows in one group of the file: large enough to scan fast, small enough to share among threads.
ROWS_AT_ONCE = 122_880


def write_parquet(batches: Iterable[Any], schema: Any, stream: BinaryIO) -> None:
    """Write batches of rows into the file that `stream` has open, anew from its start.

    The file stays the one that `stream` made, for its owner only. What a batch's making raises is raised here.
    """
    raised: list[BaseException] = []

    def made() -> Iterator[Any]:
        try:
            yield from batches
        except BaseException as problem:
            raised.append(problem)
            raise

    reader = pa.RecordBatchReader.from_batches(schema, made())
    config: dict[str, Any] = {"threads": 1, "memory_limit": "512MB", "temp_directory": ""}
    with duckdb.connect(":memory:", config=config) as connection:
        connection.register("made", reader)
        try:
            connection.execute(
                f"COPY made TO {text_literal(str(stream.name))} "
                f"(FORMAT parquet, USE_TMP_FILE false, ROW_GROUP_SIZE {ROWS_AT_ONCE})"
            )
        except duckdb.Error:
            if raised:
                raise raised[0] from None
            raise
