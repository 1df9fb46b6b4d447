"""Makes the declared table of a network whose persons are protected with all their edges, in DuckDB.

    number the persons -> put equal edges together -> write them in the order of their places

Guarantee: the table holds each edge between two different persons once, all edges of everybody, in an order in which
    the place of an edge depends on its two persons, the declaration and the keys alone.
Because: who a person is comes from one value, byte for byte (`through`); edges from a person to themselves, and those
    with nobody at an end, are left out one by one; equal ones are one. The order is that of a keyed hash of an edge's
    ends (`keyed`), and nothing is cut off: a limit on a person's edges is laid on when a question counts
    (`projection`), over what is there then. So after somebody is erased it is what it would be had they never been.

`plain` says the same slowly.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.duckdb_declared_table import retry_single_threaded, translate_read_errors
from discreet.engines.duckdb_person_path import KeyPart, source_key
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.file_source import FileSource
from discreet.engines.keyed_hashes import edge_place_sql, edges_secret, hmac_pads, tag_sql
from discreet.engines.missing_values import declared_marks
from discreet.engines.network.network_size import check_size
from discreet.engines.ownership import Ownership
from discreet.engines.parquet_writer import ROWS_AT_ONCE, write_parquet
from discreet.engines.stop_signal import check_stop, until_stopped
from discreet.engines.table_file import FROM, TO, arrow_schema, new_pair, persons_schema
from discreet.errors import UsageError
from discreet.sql.dialect import identifier


def declare_network(
    cursor: duckdb.DuckDBPyConnection, ownership: Ownership, source: FileSource, *, target: Path
) -> DeclarationOutcome:
    """Make the declared table of a source of edges at `target`, and its side file."""
    with ExitStack() as stack:
        stack.enter_context(translate_read_errors(source))
        pair = stack.enter_context(new_pair(target))
        stack.enter_context(source.ensure_unchanged())
        network = _NetworkTable(cursor=cursor, ownership=ownership)
        network.read(source)
        return network.make(*pair)


def keep_network(
    cursor: duckdb.DuckDBPyConnection, ownership: Ownership, rows: Iterable[Any], *, target: Path
) -> DeclarationOutcome:
    """Make the same of rows that another engine sends, in Arrow batches of both ends as texts, NULL for nobody.

    No more than a batch is held in memory: what that cannot hold, DuckDB writes into a folder of the owner's.
    """
    with new_pair(target) as pair:
        network = _NetworkTable(cursor=cursor, ownership=ownership)
        try:
            network.receive(rows)
            return network.make(*pair)
        except (duckdb.Error, pa.ArrowException, OSError):
            check_stop()
            raise UsageError(
                f"the network of {ownership.table.source} could not be written",
                hint="check that there is enough disk space and memory beside discreet.toml",
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _NetworkTable:
    """The rows of a source and the steps in order."""

    cursor: duckdb.DuckDBPyConnection
    ownership: Ownership

    def make(self, stream: BinaryIO, beside: BinaryIO) -> DeclarationOutcome:
        """Both files, once the ends of all rows are there."""
        self.cursor.execute(
            "CREATE TEMP TABLE forgotten AS SELECT unnest($1::BLOB[]) AS tag", [list(self.ownership.forgotten)]
        )
        self.number()
        check_stop()
        self.join()
        making = self.making()
        check_size(making.exact_rows, table=self.ownership.table.name)
        self.write_persons(beside)
        self.write(stream)
        return making

    def read(self, source: FileSource) -> None:
        """The ends of all rows, NULL for nobody."""
        first, second = self._ends(source)

        def make(rows: str) -> None:
            self.cursor.execute(
                f"CREATE OR REPLACE TEMP TABLE source_edges AS SELECT {first} AS first, {second} AS second FROM "
                f"{rows} AS s"
            )

        retry_single_threaded(source, make)

    def receive(self, rows: Iterable[Any]) -> None:
        """The same of rows that arrive."""
        self.cursor.execute("CREATE TEMP TABLE source_edges (first VARCHAR, second VARCHAR)")
        for batch in until_stopped(rows):
            self.cursor.register("arrived", pa.Table.from_batches([batch]))
            self.cursor.execute("INSERT INTO source_edges SELECT * FROM arrived")
            self.cursor.unregister("arrived")

    def number(self) -> None:
        """Everybody at an end of a row that has two: number, tag, whether forgotten."""
        self.cursor.execute(
            f"""CREATE TEMP TABLE persons AS
            SELECT *, tag IN (FROM forgotten) AS forgotten FROM (
              SELECT key, row_number() OVER () - 1 AS number, {tag_sql(["CAST(key AS VARCHAR)"])} AS tag FROM (
                SELECT DISTINCT key FROM (
                  SELECT first AS key FROM source_edges WHERE first IS NOT NULL AND second IS NOT NULL UNION ALL
                  SELECT second AS key FROM source_edges WHERE first IS NOT NULL AND second IS NOT NULL
                )
              )
            )""",
            hmac_pads(self.ownership.tag_key),
        )

    def join(self) -> None:
        """The rows between persons who are there, as numbers; and the different edges, with how they are listed."""
        self.cursor.execute(
            """CREATE TEMP TABLE listed AS
            SELECT one.number AS one, other.number AS other FROM source_edges
            JOIN persons AS one ON first = one.key JOIN persons AS other ON second = other.key
            WHERE NOT one.forgotten AND NOT other.forgotten"""
        )
        ends = "one, other" if self.directed else "least(one, other) AS one, greatest(one, other) AS other"
        self.cursor.execute(
            f"""CREATE TEMP TABLE edges AS
            SELECT one, other, count(*) AS times, count(*) FILTER (forward) AS forward FROM (
              SELECT {ends}, one < other AS forward FROM listed WHERE one <> other
            ) GROUP BY one, other"""
        )

    def making(self) -> DeclarationOutcome:
        """What the owner is told."""
        exact_nulls = self._count_rows("SELECT count(*) FROM source_edges WHERE first IS NULL OR second IS NULL")
        exact_loops = self._count_rows("SELECT count(*) FROM listed WHERE one = other")
        exact_edges = self._count_rows("SELECT count(*) FROM edges")
        return DeclarationOutcome(
            exact_rows=exact_edges,
            exact_nulled={},
            exact_clamped={},
            exact_without_person=exact_nulls,
            exact_persons=self._count_rows(
                "SELECT count(DISTINCT number) FROM (SELECT one AS number FROM edges UNION ALL SELECT other FROM edges)"
            ),
            exact_loops=exact_loops,
            exact_doubles=self._count_rows("SELECT coalesce(sum(times), 0) FROM edges") - exact_edges,
            exact_one_way=None
            if self.directed
            else self._count_rows("SELECT count(*) FROM edges WHERE forward IN (0, times)"),
        )

    def write_persons(self, stream: BinaryIO) -> None:
        """The side file: everybody who has an edge, and how many."""
        sql = """SELECT CAST(number AS INTEGER) AS number, tag, "rows" FROM (
              SELECT number, count(*) AS "rows" FROM (
                SELECT one AS number FROM edges UNION ALL SELECT other FROM edges
              ) GROUP BY number
            ) JOIN persons USING (number)"""
        with pq.ParquetWriter(stream, persons_schema(), use_dictionary=["rows"]) as writer:
            for batch in until_stopped(self.cursor.sql(sql).to_arrow_reader(ROWS_AT_ONCE)):
                writer.write_batch(batch.cast(persons_schema()))

    def write(self, stream: BinaryIO) -> None:
        """The declared table: the edges, each in its place."""
        places = ", ".join(edge_place_sql("first.tag", "second.tag", directed=self.directed))
        edges = self.cursor.sql(
            f"""SELECT CAST(one AS INTEGER) AS {identifier(FROM)}, CAST(other AS INTEGER) AS {identifier(TO)} FROM edges
            JOIN persons AS first ON one = first.number JOIN persons AS second ON other = second.number
            ORDER BY {places}""",
            params={"secret": edges_secret(self.ownership.key)},
        )
        schema: Any = arrow_schema(self.ownership.schema)
        batches = until_stopped(edges.to_arrow_reader(ROWS_AT_ONCE))
        write_parquet((batch.cast(schema) for batch in batches), schema, stream)

    @property
    def directed(self) -> bool:
        return self.ownership.schema.directed

    def _ends(self, source: FileSource) -> tuple[str, str]:
        """The two ends as expressions that are equal for the same person and for them alone: else by their texts."""
        first, second = source_key(
            self.cursor,
            source,
            tuple(self.ownership.unit.ends),
            marks=declared_marks(self.ownership.table.null),
        )
        return (first.sql, second.sql) if _has_same_type(first, second) else (first.text, second.text)

    def _count_rows(self, sql: str) -> int:
        [(total,)] = self.cursor.execute(sql).fetchall()
        return int(total)


def _has_same_type(first: KeyPart, second: KeyPart) -> bool:
    """Whether two values are equal where their texts are: what one type holds."""
    return first.type == second.type
