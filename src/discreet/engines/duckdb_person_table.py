"""Makes the declared table of persons with many rows, in DuckDB.

    part by part of the persons, where they are many:
    group the source by person -> rank the rows of those who need it -> write the others' as they come

Guarantee: a person's rows in the declared table depend on that person's rows of the source, the declaration
    and the keys alone; each person has at most `rows_per_person` of them, equal in every constant column.
Because: a row's codes come from the row (`declare`), its persons from `through`. A person whose rows are
    within the limit and agree in the constants keeps them all. Anyone else's are ranked by a digest of
    their own content and occurrence under the person's own secret (`keyed`), within the person: the
    first are kept, and all take the first one's constants. No order of rows, no other person's row and no
    chance enters. The number of a person is a name: equal for equal keys and for them alone.
    In which part a person is depends on their key, and all of their rows are in it; how many parts there are depends on
    others, and changes nothing but numbers and the order of rows.

`memory_person_table` says the same slowly, and ranks everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
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
from discreet.engines.stop_signal import check_stop, until_stopped
from discreet.engines.table_file import arrow_schema, new_pair, persons_schema
from discreet.schema.column import TextColumn

#: So many persons are grouped at once, and so many values of rows are ranked: either takes some 900 MB at most.
PERSONS_AT_ONCE, VALUES_AT_ONCE = 1 << 23, 1 << 26
#: Each part reads the source again: no more than these, whatever is in it. What memory does not hold then lies on disk.
MOST_PARTS = 16


def declare_persons(
    cursor: duckdb.DuckDBPyConnection, ownership: Ownership, sources: tuple[FileSource, ...], *, target: Path
) -> DeclarationOutcome:
    """Make the declared table of the first source of `sources` at `target`, and its side file."""
    with ExitStack() as stack:
        stack.enter_context(translate_read_errors(sources[0]))
        stream, beside = stack.enter_context(new_pair(target))
        for source in sources:
            stack.enter_context(source.ensure_unchanged())
        owned = _DuckDBPersonTable(
            cursor=cursor,
            ownership=ownership,
            owned_rows=prepare_owned_rows(cursor, ownership, sources),
        )
        forgotten = [list(ownership.forgotten)]
        cursor.execute("CREATE TEMP TABLE forgotten AS SELECT unnest($1::BLOB[]) AS tag", forgotten)
        # Text is slow to read: it is read for all persons at once.
        most = MOST_PARTS if sources[0].kind == "parquet" else 1
        return retry_single_threaded(sources[0], lambda rows: owned.write(rows, stream, beside, most=most))


@dataclass(frozen=True, slots=True, kw_only=True)
class _DuckDBPersonTable:
    """Whose the source's rows are, where the declared columns stand, and the steps for each part of the persons."""

    cursor: duckdb.DuckDBPyConnection
    ownership: Ownership
    owned_rows: OwnedRows

    @property
    def reach(self) -> PersonPath:
        return self.owned_rows.reach

    def write(self, rows: str, stream: BinaryIO, beside: BinaryIO, *, most: int) -> DeclarationOutcome:
        """The declared table and its side file, part by part; `most`: no more parts than these, of either kind."""
        schema = self.ownership.schema
        parts = self._count_parts(rows, most)
        tally, totals, written = DeclarationTally(schema), _Totals(), 0

        def stored(persons: pq.ParquetWriter) -> Iterator[Any]:
            nonlocal written
            for part in range(parts):
                check_stop()
                within = self._within_sql(part, parts)
                self._group(rows, within, first_number=totals.numbers)
                totals.add(*self._count(), self._first())
                self._write_persons(persons)
                for batch in chain(self._kept(rows, within, most), self._others(rows, within, tally)):
                    written += batch.num_rows
                    yield batch

        with side_file_writer(beside) as persons:
            write_parquet(stored(persons), arrow_schema(schema), stream)
        if written != totals.exact_kept:
            raise ValueError("the number of rows written does not match the rows of the persons: this is a defect")
        return tally.making(
            exact_rows=written,
            exact_truncated=totals.exact_rows - written,
            exact_without_person=tally.exact_rows - totals.exact_rows,
            exact_persons=totals.exact_persons,
            exact_dominant=find_dominant_person(totals.first, persons=totals.exact_persons, rows=totals.exact_rows),
        )

    def _count_parts(self, rows: str, most: int) -> int:
        """Into how many parts the persons are cut, by about how many they are."""
        if most == 1:
            return 1
        joins, key = " ".join(self.reach.joins), ", ".join(part.sql for part in self.reach.key)
        about = f"SELECT approx_count_distinct(hash({key})) FROM {rows} AS s {joins}"
        return _parts(self.cursor.execute(about).fetchall()[0][0], PERSONS_AT_ONCE, most)

    def _within_sql(self, part: int, parts: int) -> str:
        """Whether a row is in a part. Those of one person are in one; those of nobody are in some part, too.

        Not by the last digits of the hash, by which a part's persons would crowd in DuckDB's own tables.
        """
        if parts == 1:
            return "true"
        return f"(hash({', '.join(part.sql for part in self.reach.key)}) >> 30) % {parts} = {part}"

    def _group(self, rows: str, within: str, *, first_number: int) -> None:
        """Everybody in a part: rows, number; whether forgotten; whether `apart`, to be ranked."""
        limit, constants = self.ownership.unit.rows, self.ownership.constants
        listed = ", ".join(self.reach.names)
        tag = tag_sql(part.text for part in self.reach.key_of("grouped"))
        forgotten, pads = f"{tag} IN (FROM forgotten)", hmac_pads(self.ownership.tag_key)
        if not self.ownership.forgotten:  # nobody has to have a tag yet
            forgotten, pads = "false", {}
        apart = " OR ".join([f"count(*) > {limit}", *(disagree_sql(f"stored_{place}") for place in constants)])
        where = f"{self.reach.has_person_sql()} AND {within}"
        coded = self.owned_rows.sql(rows, beside=self.reach.key_columns(), where=where, places=constants)
        self.cursor.execute(
            f"""CREATE OR REPLACE TEMP TABLE persons AS
            SELECT *, CAST({first_number} + row_number() OVER () - 1 AS INTEGER) AS number, {forgotten} AS forgotten
            FROM (SELECT {listed}, count(*) AS rows, {apart} AS apart FROM ({coded}) GROUP BY {listed}) AS grouped""",
            pads,
        )

    def _count(self) -> tuple[int, int, int, int]:
        """The persons of a part, those who are not forgotten, and their rows: that are kept, and all."""
        there, limit = "FILTER (NOT forgotten)", self.ownership.unit.rows
        counts = f"count(*), count(*) {there}, sum(least(rows, {limit})) {there}, sum(rows) {there}"
        [totals] = self.cursor.execute(f"SELECT {counts} FROM persons").fetchall()
        numbers, exact_persons, exact_kept, exact_rows = (int(total or 0) for total in totals)
        return numbers, exact_persons, exact_kept, exact_rows

    def _first(self) -> tuple[list[str], int] | None:
        """Who has the most rows in a part, and how many."""
        texts = ", ".join(part.text for part in self.reach.key_of("persons"))
        order = ", ".join(map(str, range(2, 2 + len(self.reach.key))))
        sql = f"SELECT rows, {texts} FROM persons WHERE NOT forgotten ORDER BY rows DESC, {order} LIMIT 1"
        top_rows = self.cursor.execute(sql).fetchall()
        return (list(top_rows[0][1:]), int(top_rows[0][0])) if top_rows else None

    def _write_persons(self, persons: pq.ParquetWriter) -> None:
        """A part of the side file."""
        tag = tag_sql(part.text for part in self.reach.key_of("persons"))
        sql = f"SELECT number, {tag} AS tag, rows FROM persons WHERE NOT forgotten"
        write_persons(persons, self.cursor.sql(sql, params=hmac_pads(self.ownership.tag_key)))

    def _kept(self, rows: str, within: str, most: int) -> Iterator[Any]:
        """The rows that are kept of those in a part who have too many, or who disagree with themselves."""
        ranked = "FROM persons WHERE apart AND NOT forgotten"
        [(exact_rows,)] = self.cursor.execute(f"SELECT coalesce(sum(rows), 0) {ranked}").fetchall()
        turns = _parts(int(exact_rows) * (len(self.ownership.schema.columns) + 4), VALUES_AT_ONCE, most)
        listed, secret = ", ".join(self.reach.names), secret_sql(part.text for part in self.reach.key_of("persons"))
        beside = {"person": "apart.number", "secret": "apart.secret"}
        coded = self.owned_rows.sql(rows, join="JOIN apart", beside=beside, where=within)
        for turn in range(turns):
            check_stop()
            self.cursor.execute(
                f"""CREATE OR REPLACE TEMP TABLE apart AS
                SELECT {listed}, number, {secret} AS secret {ranked} AND number % {turns} = {turn}""",
                hmac_pads(self.ownership.key),
            )
            create_candidates(self.cursor, self.ownership, coded)
            create_kept(self.cursor, self.ownership)
            for batch in until_stopped(self.cursor.sql("FROM kept").to_arrow_reader(ROWS_AT_ONCE)):
                yield stored_columns(batch, self.ownership.schema)
            for table in ("candidates", "repeated", "apart"):  # before there is a table to join all rows with
                self.cursor.execute(f"DELETE FROM {table}")

    def _others(self, rows: str, within: str, tally: DeclarationTally) -> Iterator[Any]:
        """Everybody else's rows in a part, as they come. All rows are counted here, those of nobody as well."""
        beside = {"person": "persons.number", "apart": "persons.apart"}
        where = f"persons.forgotten IS NOT TRUE AND {within}"
        others = self.owned_rows.sql(rows, join="LEFT JOIN persons", beside=beside, where=where, with_counts=True)
        for batch in until_stopped(self.cursor.sql(others).to_arrow_reader(ROWS_AT_ONCE)):
            tally.count(batch)
            # NULL, where nobody owns the row, is neither.
            yield stored_columns(batch.filter(pc.invert(batch.column("apart"))), self.ownership.schema)


def _parts(exact_size: int, at_once: int, most: int) -> int:
    """Into how many parts something is cut."""
    return max(1, min(-(-exact_size // at_once), most))


@dataclass(slots=True)
class _Totals:
    """What is counted of the persons, part by part. `numbers`: how many numbers are given away."""

    numbers: int = 0
    exact_persons: int = 0
    exact_kept: int = 0
    exact_rows: int = 0
    first: tuple[list[str], int] | None = None

    def add(
        self, numbers: int, exact_persons: int, exact_kept: int, exact_rows: int, first: tuple[list[str], int] | None
    ) -> None:
        self.numbers += numbers
        self.exact_persons += exact_persons
        self.exact_kept += exact_kept
        self.exact_rows += exact_rows
        # The most rows, and of several the key that comes first, bytewise.
        self.first = min(
            (each for each in (self.first, first) if each is not None),
            key=lambda each: (-each[1], [part.encode() for part in each[0]]),
            default=None,
        )


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
        f"""CREATE OR REPLACE TEMP TABLE candidates AS
        SELECT {", ".join(["first_value(person) OVER ranked AS person", *stored, *firsts])},
          row_number() OVER ranked - rank() OVER ranked + 1 AS occurrence
        FROM (SELECT {", ".join(["person", *stored])}, {digest} AS digest FROM ({coded}))
        WINDOW ranked AS (PARTITION BY person ORDER BY digest)
        QUALIFY dense_rank() OVER ranked <= {ownership.unit.rows} OR row_number() OVER ranked > rank() OVER ranked"""
    )


def create_kept(cursor: duckdb.DuckDBPyConnection, ownership: Ownership) -> None:
    """The view `kept`, from `candidates`: persons who have equal rows are ranked again, by the digests of all rows."""
    stored, texts, constants = _stored(ownership)
    kept = [f"first_{name} AS {name}" if name in constants else name for name in stored]
    again = [f"first_value({name}) OVER ranked AS {name}" if name in constants else name for name in stored]
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE repeated AS SELECT DISTINCT person FROM candidates WHERE occurrence > 1"
    )
    cursor.execute(
        f"""CREATE OR REPLACE TEMP VIEW kept AS
        SELECT {", ".join(["person", *kept])} FROM candidates ANTI JOIN repeated USING (person)
        UNION ALL
        SELECT first_value(person) OVER ranked AS person, {", ".join(again)} FROM (
          SELECT {", ".join(["person", *stored])}, {digest_sql("secret", texts, "occurrence")} AS digest
          FROM candidates SEMI JOIN repeated USING (person) JOIN apart ON person = apart.number
        )
        WINDOW ranked AS (PARTITION BY person ORDER BY digest)
        QUALIFY row_number() OVER ranked <= {ownership.unit.rows}"""
    )


def _stored(ownership: Ownership) -> tuple[list[str], dict[str, bool], list[str]]:
    """The names of stored values, which of them are texts, and those that are constant."""
    texts = {f"stored_{place}": isinstance(column, TextColumn) for place, column in enumerate(ownership.schema.columns)}
    return list(texts), texts, [f"stored_{place}" for place in ownership.constants]


@contextmanager
def side_file_writer(stream: BinaryIO) -> Iterator[pq.ParquetWriter]:
    """What writes the side file into the file that `stream` has open, anew from its start."""
    stream.seek(0)
    stream.truncate()
    with pq.ParquetWriter(stream, persons_schema(), use_dictionary=["rows"]) as writer:
        yield writer


def write_persons(writer: pq.ParquetWriter, persons: duckdb.DuckDBPyRelation) -> None:
    """Write the number, the tag and the rows of each person."""
    for batch in until_stopped(persons.to_arrow_reader(ROWS_AT_ONCE)):
        writer.write_batch(batch.cast(persons_schema()))


def disagree_sql(value: str) -> str:
    """Whether a person's rows differ in a column; one NULL among values differs."""
    return f"min({value}) IS DISTINCT FROM max({value}) OR count({value}) NOT IN (0, count(*))"
