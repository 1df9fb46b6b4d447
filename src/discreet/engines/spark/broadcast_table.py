"""Small tables of this process as data frames: lists of categories, keys, public tables. They go to the rows."""

from __future__ import annotations

from typing import Any

from discreet.engines.spark.session import SparkSession

#: The types that such tables have, by Arrow's names.
_TYPES = {"int64": "long", "string": "string", "binary": "binary"}


def broadcast_frame(session: SparkSession, table: Any) -> Any:
    """An Arrow table as a data frame that each task gets a copy of. (Spark Connect makes none of an empty one.)"""
    if table.num_rows:
        return session.createDataFrame(table).hint("broadcast")
    from pyspark.sql.types import StructType

    fields = [
        {"name": field.name, "type": _TYPES[str(field.type)], "nullable": True, "metadata": {}}
        for field in table.schema
    ]
    return session.createDataFrame([], StructType.fromJson({"type": "struct", "fields": fields})).hint("broadcast")
