"""What PostgreSQL sends of networks: the ends of a source's edges when a version is made, and traits of persons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.engines.missing_values import declared_marks
from discreet.engines.network.arrow_ends import end_batch
from discreet.engines.network.exact_graph import ExactTraits
from discreet.engines.postgres.postgres_person_path import key_of
from discreet.engines.postgres.postgres_source import PostgresSource, qualified_name, stream_rows
from discreet.engines.postgres.schema_tables import side_table
from discreet.engines.postgres.session import PostgresSession
from discreet.engines.table_file import PERSON
from discreet.engines.table_location import PostgresTable
from discreet.schema.schema import Table
from discreet.sql.dialect import identifier


def end_rows(session: PostgresSession, source: PostgresSource, table: Table) -> Iterator[Any]:
    """The ends of each row of a source as the texts of persons, within a transaction that has begun."""
    first, second = key_of(source, table.schema.unit.ends, marks=declared_marks(table.null))
    for rows in stream_rows(session, f"SELECT {first}, {second} FROM {source.sql} AS s"):
        yield end_batch(rows)


def read_traits(session: PostgresSession, table: PostgresTable, column: str, *, deadline_s: float) -> ExactTraits:
    """The tags of those who have a value, and its code."""
    names = [qualified_name(each) for each in (table, side_table(table))]
    code = f"own.{identifier(column)}"
    met = f"person.number = own.{identifier(PERSON)}"
    sql = f"SELECT tag, {code} FROM {names[0]} AS own JOIN {names[1]} AS person ON {met} WHERE {code} IS NOT NULL"
    tags, codes = [pa.array([], pa.binary())], [np.zeros(0, dtype=np.int64)]
    with session.transaction(read_only=True, deadline_s=deadline_s, locks=sorted(names)):
        for rows in stream_rows(session, sql):
            tags.append(pa.array([tag for tag, _ in rows], pa.binary()))
            codes.append(np.array([code for _, code in rows], dtype=np.int64))
    return ExactTraits(pa.concat_arrays(tags), np.concatenate(codes))
