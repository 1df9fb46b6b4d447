"""Small tables of this process as data frames: lists of categories, keys, public tables. They go to the rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.engines.spark.session import SparkSession
from discreet.sql.spark_dialect import SparkDialect

#: The types that such tables have, by Arrow's names.
_TYPES = {"int64": "BIGINT", "string": "STRING", "binary": "BINARY"}


def broadcast_frame(session: SparkSession, table: Any) -> Any:
    """An Arrow table as a data frame that each task gets a copy of. (Spark Connect makes none of an empty one.)"""
    if table.num_rows:
        return session.createDataFrame(table).hint("broadcast")
    return empty_frame(session, {field.name: _TYPES[str(field.type)] for field in table.schema}).hint("broadcast")


def empty_frame(session: SparkSession, types: Mapping[str, str]) -> Any:
    """A data frame without rows. Of an empty list pyspark makes one that each executor needs a Python for."""
    listed = (f"CAST(NULL AS {type_}) AS {SparkDialect().identifier(name)}" for name, type_ in types.items())
    return session.range(0).selectExpr(*listed)
