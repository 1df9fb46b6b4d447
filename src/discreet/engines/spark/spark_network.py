"""What Spark sends of networks: ends of a source when a version is made, columns of edges, traits of persons."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import islice
from typing import Any

from discreet.engines.network.arrow_ends import end_batch
from discreet.engines.network.exact_graph import ExactTraits
from discreet.engines.spark.declared_table import translate_spark_errors
from discreet.engines.spark.lake import LakeTable
from discreet.engines.spark.session import SparkSession
from discreet.engines.spark.spark_person_path import source_key
from discreet.engines.spark.spark_source import SparkSource
from discreet.engines.table_file import PERSON
from discreet.schema.schema import Table
from discreet.sql.spark_dialect import SparkDialect

#: Rows come from a partition at a time, and so many go on together.
_ROWS_AT_ONCE = 50_000


def end_rows(session: SparkSession, source: SparkSource, table: Table) -> Generator[Any]:
    """The ends of each row of a source as the texts of persons. Refused at the end if a file changed meanwhile."""
    ends = tuple(table.schema.unit.ends)
    first, second = (part.text for part in source_key(source, ends, table))
    places = sorted({source.place(name) for name in ends})
    with translate_spark_errors(source):
        rows = source.frame(session, places).alias("s").selectExpr(f"{first} AS first", f"{second} AS second")
        arriving = iter(rows.toLocalIterator())
        while batch := list(islice(arriving, _ROWS_AT_ONCE)):
            yield end_batch(batch)
    source.check_unchanged()


def edge_columns(session: SparkSession, table: LakeTable, names: Sequence[str]) -> list[Any]:
    """The codes of some columns of a declared table, as Arrow has them, in no order."""
    import pyarrow as pa

    distinct = dict.fromkeys(names)
    rows = table.rows(session, table.whole_manifest())
    arrow_table = rows.select(*map(SparkDialect().identifier, distinct)).toArrow().rename_columns(list(distinct))
    columns = (arrow_table.column(name) for name in names)
    return [column if pa.types.is_string(column.type) else column.cast(pa.int64()) for column in columns]


def read_traits(session: SparkSession, table: LakeTable, column: str) -> ExactTraits:
    """The tags of those who have a value, and its code."""
    import pyarrow as pa

    manifest = table.whole_manifest()
    code, whose = (SparkDialect().identifier(name) for name in (column, PERSON))
    rows = table.rows(session, manifest).selectExpr(f"{whose} AS number", f"{code} AS code").where("code IS NOT NULL")
    persons = table.persons(session, manifest).select("number", "tag")
    coded = rows.join(persons, on="number").select("tag", "code").toArrow()
    tags, codes = coded.column("tag").cast(pa.binary()), coded.column("code").cast(pa.int64())
    return ExactTraits(tags.combine_chunks(), codes.to_numpy())
