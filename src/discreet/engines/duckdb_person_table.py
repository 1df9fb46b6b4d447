"""Makes the declared table of persons with many rows, in DuckDB.

    group the source by person -> rank the rows of those who need it -> write the others' as they come

Guarantee: a person's rows in the declared table depend on that person's rows of the source, the declaration
    and the keys alone; each person has at most `rows_per_person` of them, equal in every constant column.
Because: a row's codes come from the row (`declare`), its persons from `through`. A person whose rows are
    within the limit and agree in the constants keeps them all. Anyone else's are ranked by a digest of
    their own content and occurrence under the person's own secret (`keyed`), within the person: the
    first are kept, and all take the first one's constants. No order of rows, no other person's row and no
    chance enters. The number of a person is a name: equal for equal keys and for them alone.

`memory_person_table` says the same slowly, and ranks everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet.engines.dominant_person import find_dominant_person
from discreet.engines.duckdb_declared_table import (
    DeclarationTally,
    retry_single_threaded,
    stored_columns,
    translate_read_errors,
)
from discreet.engines.duckdb_person_path import OwnedRows, PersonPath, prepare_owned_rows
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.file_source import FileSource
from discreet.engines.keyed_hashes import digest_sql, hmac_pads, secret_sql, tag_sql
from discreet.engines.ownership import Ownership
from discreet.engines.parquet_writer import ROWS_AT_ONCE, write_parquet
from discreet.engines.stop_signal import until_stopped
from discreet.engines.table_file import arrow_schema, new_pair, persons_schema
from discreet.schema.column import TextColumn


def declare_persons(
    cursor: duckdb.DuckDBPyConnection, ownership: Ownership, chain: tuple[FileSource, ...], *, target: Path
) -> DeclarationOutcome:
    """Make the declared table of the first source of `chain` at `target`, and its side file."""
    with ExitStack() as stack:
        stack.enter_context(translate_read_errors(chain[0]))
        stream, beside = stack.enter_context(new_pair(target))
        for source in chain:
            stack.enter_context(source.ensure_unchanged())
        owned = _DuckDBPersonTable(
            cursor=cursor,
            ownership=ownership,
            source=chain[0],
            owned_rows=prepare_owned_rows(cursor, ownership, chain),
        )
        owned.group()
        owned.rank()
        owned.write_persons(beside)
        return owned.write(stream)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DuckDBPersonTable:
    """The source's rows and their persons: where the declared columns stand, who is reached, and the steps in order."""

    cursor: duckdb.DuckDBPyConnection
    ownership: Ownership
    source: FileSource
    owned_rows: OwnedRows

    @property
    def reach(self) -> PersonPath:
        return self.owned_rows.reach

    def group(self) -> None:
        """Everybody who has a row: number, tag, rows; whether forgotten; whether `apart`, to be ranked."""
        self.cursor.execute(
            "CREATE TEMP TABLE forgotten AS SELECT unnest($1::BLOB[]) AS tag", [list(self.ownership.forgotten)]
        )
        limit, constants = self.ownership.unit.rows, self.ownership.constants
        listed = ", ".join(self.reach.names)
        tag = tag_sql(part.text for part in self.reach.key_of("grouped"))
        apart = " OR ".join([f"count(*) > {limit}", *(disagree_sql(f"stored_{place}") for place in constants)])

        def make(rows: str) -> None:
            coded = self.owned_rows.sql(
                rows, beside=self.reach.key_columns(), where=self.reach.has_person_sql(), places=constants
            )
            self.cursor.execute(
                f"""CREATE TEMP TABLE persons AS
                SELECT *, tag IN (FROM forgotten) AS forgotten FROM (
                  SELECT *, row_number() OVER () - 1 AS number, {tag} AS tag FROM (
                    SELECT {listed}, count(*) AS rows, {apart} AS apart FROM ({coded}) GROUP BY {listed}
                  ) AS grouped
                )""",
                hmac_pads(self.ownership.tag_key),
            )

        retry_single_threaded(self.source, make)

    def rank(self) -> None:
        """The rows that are kept of those who have too many, or who disagree with themselves."""
        secret = secret_sql(part.text for part in self.reach.key_of("persons"))
        self.cursor.execute(
            f"CREATE TEMP TABLE apart AS SELECT *, {secret} AS secret FROM persons WHERE apart AND NOT forgotten",
            hmac_pads(self.ownership.key),
        )

        def make(rows: str) -> None:
            beside = {"person": "CAST(apart.number AS INTEGER)", "secret": "apart.secret"}
            create_candidates(self.cursor, self.ownership, self.owned_rows.sql(rows, join="JOIN apart", beside=beside))

        retry_single_threaded(self.source, make)
        create_kept(self.cursor, self.ownership)

    def write_persons(self, stream: BinaryIO) -> None:
        """The side file."""
        sql = "SELECT CAST(number AS INTEGER) AS number, tag, rows FROM persons WHERE NOT forgotten"
        write_side_file(self.cursor, sql, stream)

    def write(self, stream: BinaryIO) -> DeclarationOutcome:
        """The declared table: everybody else's rows as they come, then the ranked ones."""
        limit = self.ownership.unit.rows
        counts = f"count(*), coalesce(sum(least(rows, {limit})), 0), coalesce(sum(rows), 0)"
        [totals] = self.cursor.execute(f"SELECT {counts} FROM persons WHERE NOT forgotten").fetchall()
        exact_persons, exact_rows, exact_all = map(int, totals)
        tally, written = retry_single_threaded(self.source, lambda rows: self._write(rows, stream))
        if written != exact_rows:
            raise ValueError("the number of rows written does not match the rows of the persons: this is a defect")
        return tally.making(
            exact_rows=exact_rows,
            exact_truncated=exact_all - exact_rows,
            exact_without_person=tally.exact_rows - exact_all,
            exact_persons=exact_persons,
            exact_dominant=find_dominant_person(self._first(), persons=exact_persons, rows=exact_all),
        )

    def _first(self) -> tuple[list[str], int] | None:
        """Who has the most rows, and how many."""
        texts = ", ".join(part.text for part in self.reach.key_of("persons"))
        order = ", ".join(map(str, range(2, 2 + len(self.reach.key))))
        sql = f"SELECT rows, {texts} FROM persons WHERE NOT forgotten ORDER BY rows DESC, {order} LIMIT 1"
        top_row = self.cursor.execute(sql).fetchone()
        return None if top_row is None else (list(top_row[1:]), int(top_row[0]))

    def _write(self, rows: str, stream: BinaryIO) -> tuple[DeclarationTally, int]:
        schema = self.ownership.schema
        beside = {"person": "CAST(persons.number AS INTEGER)", "apart": "persons.apart"}
        where = "persons.forgotten IS NOT TRUE"
        others = self.owned_rows.sql(rows, join="LEFT JOIN persons", beside=beside, where=where, with_counts=True)
        tally, written = DeclarationTally(schema), 0

        def stored() -> Iterator[Any]:
            nonlocal written
            for batch in self._kept(others, tally):
                written += batch.num_rows
                yield batch

        write_parquet(stored(), arrow_schema(schema), stream)
        return tally, written

    def _kept(self, others: str, tally: DeclarationTally) -> Iterator[Any]:
        """The stored rows, batch by batch."""
        for batch in until_stopped(self.cursor.sql(others).to_arrow_reader(ROWS_AT_ONCE)):
            tally.count(batch)
            # NULL, where nobody owns the row, is neither.
            yield stored_columns(batch.filter(pc.invert(batch.column("apart"))), self.ownership.schema)
        for batch in until_stopped(self.cursor.sql("FROM kept").to_arrow_reader(ROWS_AT_ONCE)):
            yield stored_columns(batch, self.ownership.schema)


def create_candidates(cursor: duckdb.DuckDBPyConnection, ownership: Ownership, coded: str) -> None:
    """The table `candidates`, of SQL that has all rows of persons who stand in `apart`, with their numbers and secrets.

    Guarantee: it has every row that is kept of them.
    Because: rows stand by the digest that each has as the first of its kind. Such a row among the first
        `rows_per_person` of all has fewer than that before it here, too. Those are there, and every second and further
        of equal rows. Equal rows stand side by side, for a digest names its person and content.
    """
    stored, texts, constants = _stored(ownership)
    digest = digest_sql("secret", texts, "1")
    firsts = [f"first_value({name}) OVER ranked AS first_{name}" for name in constants]
    # The person is the same in all rows that are ranked together. Taken from the first all the same: with
    # row_number alone DuckDB ranks by lists that do not leave memory, and needs ten times as long.
    cursor.execute(
        f"""CREATE TEMP TABLE candidates AS
        SELECT {", ".join(["first_value(person) OVER ranked AS person", *stored, *firsts])},
          row_number() OVER ranked - rank() OVER ranked + 1 AS occurrence
        FROM (SELECT {", ".join(["person", "secret", *stored])}, {digest} AS digest FROM ({coded}))
        WINDOW ranked AS (PARTITION BY person ORDER BY digest)
        QUALIFY dense_rank() OVER ranked <= {ownership.unit.rows} OR row_number() OVER ranked > rank() OVER ranked"""
    )


def create_kept(cursor: duckdb.DuckDBPyConnection, ownership: Ownership) -> None:
    """The view `kept`, from `candidates`: persons who have equal rows are ranked again, by the digests of all rows."""
    stored, texts, constants = _stored(ownership)
    kept = [f"first_{name} AS {name}" if name in constants else name for name in stored]
    again = [f"first_value({name}) OVER ranked AS {name}" if name in constants else name for name in stored]
    cursor.execute("CREATE TEMP TABLE repeated AS SELECT DISTINCT person FROM candidates WHERE occurrence > 1")
    cursor.execute(
        f"""CREATE TEMP VIEW kept AS
        SELECT {", ".join(["person", *kept])} FROM candidates ANTI JOIN repeated USING (person)
        UNION ALL
        SELECT first_value(person) OVER ranked AS person, {", ".join(again)} FROM (
          SELECT {", ".join(["person", "secret", *stored])}, {digest_sql("secret", texts, "occurrence")} AS digest
          FROM candidates SEMI JOIN repeated USING (person) JOIN apart ON person = apart.number
        )
        WINDOW ranked AS (PARTITION BY person ORDER BY digest)
        QUALIFY row_number() OVER ranked <= {ownership.unit.rows}"""
    )


def _stored(ownership: Ownership) -> tuple[list[str], dict[str, bool], list[str]]:
    """The names of stored values, which of them are texts, and those that are constant."""
    texts = {f"stored_{place}": isinstance(column, TextColumn) for place, column in enumerate(ownership.schema.columns)}
    return list(texts), texts, [f"stored_{place}" for place in ownership.constants]


def write_side_file(cursor: duckdb.DuckDBPyConnection, sql: str, stream: BinaryIO) -> None:
    """Write the number, the tag and the rows of each person."""
    with pq.ParquetWriter(stream, persons_schema(), use_dictionary=["rows"]) as writer:
        for batch in until_stopped(cursor.sql(sql).to_arrow_reader(ROWS_AT_ONCE)):
            writer.write_batch(batch.cast(persons_schema()))


def disagree_sql(value: str) -> str:
    """Whether a person's rows differ in a column; one NULL among values differs."""
    return f"min({value}) IS DISTINCT FROM max({value}) OR count({value}) NOT IN (0, count(*))"
