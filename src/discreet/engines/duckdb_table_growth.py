"""Makes a declared table from an earlier version and the files that were added since, in DuckDB.

Guarantee: the rows, each under its person's tag, and the persons with their numbers of rows, are those that
    `duckdb_declared_table` and `duckdb_person_table` make of all files; only a person's number may be another.
Because: the earlier version was made of the other files, by the same declaration, keys and program.
    Where each row is a unit, a stored row depends on that row alone: the rows of the others stand in the earlier
    version, and the new ones are converted.
    Of persons, whoever has no row in the added files has the same rows of the source as before, and so the same
    stored rows: they are copied. Of everybody else `gathered` holds all rows, as they were converted: those of the
    added files; and those before, from the earlier version if all of them stand there unchanged, else from the
    source. All stand there if they were at most `rows_per_person`; unchanged, if no column is constant or there was
    one row alone, for then nothing took the place of a value of its own. From there on the steps are those of a full
    making: occurrences are counted over all of a person's rows, wherever they came from.
    The rows of each person are counted against what the earlier version says: where they differ, nothing is made.

Kept rows alone would not do for somebody who had too many: which number an equal row gets depends on how many of its
kind were left out, and the kept ones do not tell. (The first k of all rows are the first k of what was kept and what is
new, but the place of a new row is only known by that number.) So the source is read again for those persons, its other
rows are not converted, and not at all where nobody who comes again had too many.
"""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from dataclasses import replace as with_fields
from pathlib import Path
from typing import BinaryIO

import duckdb

from discreet.engines.declared_table_sql import select_sql
from discreet.engines.dominant_person import find_dominant_person
from discreet.engines.duckdb_declared_table import (
    FORMS,
    DeclarationTally,
    prepare_source,
    retry_single_threaded,
    translate_read_errors,
)
from discreet.engines.duckdb_person_path import OwnedRows, PersonPath, prepare_owned_rows
from discreet.engines.duckdb_person_table import (
    create_candidates,
    create_kept,
    disagree_sql,
    side_file_writer,
    write_persons,
)
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.file_source import FileSource, stamp_of
from discreet.engines.keyed_hashes import hmac_pads, secret_sql, tag_sql
from discreet.engines.ownership import Ownership
from discreet.engines.parquet_writer import ROWS_AT_ONCE
from discreet.engines.stop_signal import check_stop, until_stopped
from discreet.engines.table_file import PERSON, new_file, new_pair, persons_file
from discreet.schema.schema import Schema, Table
from discreet.sql.dialect import identifier, text_literal

#: Who does not have as many rows as the earlier version and the added files say.
COUNTED = "rows IS DISTINCT FROM earlier_rows + added_rows"


class CannotExtend(Exception):
    """The table has to be made from all of its source."""


def split_source(table: Table, source: FileSource, files: Collection[Path]) -> tuple[FileSource, FileSource] | None:
    """The files of a table's source that were added, and the others; None where none was added, or one is gone.

    And where a name stands twice in an old file, in other capitals: which of the two columns it means is decided by
    what all files have, and that may be another one since files were added.
    """
    old = set(files)
    if not old or not old < set(source.files):
        return None
    schema = table.schema
    meant = [name.lower() for name in (*(each.name for each in schema.columns), *schema.unit.person, *schema.unit.on)]
    headers = [[name.lower() for name in part.names] for part in source.parts if part.files[0] in old]
    if any(header.count(name) > 1 for header in headers for name in meant):
        return None

    def part(kept: tuple[Path, ...]) -> FileSource:
        parts = tuple(each for each in source.parts if each.files[0] in kept)
        return with_fields(source, files=kept, parts=parts)

    added = tuple(file for file in source.files if file not in old)
    return part(added), part(tuple(file for file in source.files if file in old))


def extend_rows(
    cursor: duckdb.DuckDBPyConnection, schema: Schema, added: FileSource, *, earlier: Path, target: Path
) -> DeclarationOutcome:
    """Make the declared table at `target`, where each row is a unit."""
    with translate_read_errors(added), new_file(target) as stream, added.ensure_unchanged():
        values, kinds = prepare_source(cursor, schema, added)

        def make(rows: str) -> None:
            cursor.execute(f"CREATE TEMP TABLE added AS {select_sql(schema, values, kinds, source=rows, forms=FORMS)}")

        retry_single_threaded(added, make)
        tally = _tally(cursor, schema)
        names = ", ".join(identifier(column.name) for column in schema.columns)
        new_rows = f"SELECT {', '.join(_renamed(schema))} FROM added"
        written = _copy(cursor, f"SELECT {names} FROM {_table_sql(earlier)} UNION ALL {new_rows}", stream)
        return tally.making(exact_rows=written, exact_added=tally.exact_rows)


def extend_persons(
    cursor: duckdb.DuckDBPyConnection,
    ownership: Ownership,
    chain: tuple[FileSource, ...],
    *,
    older: FileSource,
    earlier: Path,
    target: Path,
) -> DeclarationOutcome:
    """Make the declared table at `target`, and its side file. `chain`: the added files, and the tables on the way."""
    with ExitStack() as stack:
        stack.enter_context(translate_read_errors(chain[0]))
        stream, beside = stack.enter_context(new_pair(target))
        for source in (*chain, older):
            stack.enter_context(source.ensure_unchanged())
        growing = _GrowingPersonTable(
            cursor=cursor,
            ownership=ownership,
            added=chain[0],
            older=older,
            owned_rows=prepare_owned_rows(cursor, ownership, chain),
            earlier=earlier,
        )
        growing.read_earlier_persons()
        growing.group()
        tally = growing.gather()
        check_stop()
        growing.rank()
        growing.count_everybody()
        with side_file_writer(beside) as persons:
            write_persons(persons, cursor.sql("FROM everybody"))
        return growing.write(stream, tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class _GrowingPersonTable:
    """The steps in order. Tables: `earlier`, persons of the earlier version; `persons`, those with added rows."""

    cursor: duckdb.DuckDBPyConnection
    ownership: Ownership
    added: FileSource
    older: FileSource
    owned_rows: OwnedRows
    earlier: Path

    @property
    def reach(self) -> PersonPath:
        return self.owned_rows.reach

    def read_earlier_persons(self) -> None:
        """The persons of the earlier version, without those who were forgotten; and the numbers of these."""
        forgotten = [list(self.ownership.forgotten)]
        self.cursor.execute("CREATE TEMP TABLE forgotten AS SELECT unnest($1::BLOB[]) AS tag", forgotten)
        side = _table_sql(persons_file(self.earlier))
        self.cursor.execute(f"CREATE TEMP VIEW earlier AS FROM {side} ANTI JOIN forgotten USING (tag)")
        self.cursor.execute(f"CREATE TEMP TABLE gone AS SELECT number FROM {side} SEMI JOIN forgotten USING (tag)")

    def group(self) -> None:
        """Everybody with a row in the added files: number, tag, rows before and new; whether forgotten."""
        listed = ", ".join(self.reach.names)
        tag = tag_sql(part.text for part in self.reach.key_of("grouped"))
        # Above every number of before, also of those who were forgotten since.
        last = f"(SELECT coalesce(max(number), -1) FROM {_table_sql(persons_file(self.earlier))})"

        def make(rows: str) -> None:
            coded = self.owned_rows.sql(
                rows, beside=self.reach.key_columns(), where=self.reach.has_person_sql(), places=()
            )
            self.cursor.execute(
                f"""CREATE TEMP TABLE persons AS
                SELECT {listed}, tag, added_rows, coalesce(earlier.rows, 0) AS earlier_rows,
                  CAST(coalesce(earlier.number, {last} + row_number() OVER (PARTITION BY earlier.number IS NULL))
                    AS INTEGER) AS number,
                  tag IN (FROM forgotten) AS forgotten, {self._needs_source_sql()} AS needs_source
                FROM (
                  SELECT *, {tag} AS tag FROM (
                    SELECT {listed}, count(*) AS added_rows FROM ({coded}) GROUP BY {listed}
                  ) AS grouped
                ) LEFT JOIN earlier USING (tag)""",
                hmac_pads(self.ownership.tag_key),
            )

        retry_single_threaded(self.added, make)

    def _needs_source_sql(self) -> str:
        """Whether the earlier version does not hold all of a person's rows, or may not hold them as they were."""
        conditions = [f"coalesce(earlier.rows, 0) > {self.ownership.unit.rows}"]
        conditions += ["coalesce(earlier.rows, 0) > 1"] if self.ownership.constants else []
        return " OR ".join(conditions)

    def gather(self) -> DeclarationTally:
        """All rows of these persons, converted."""
        schema, cursor = self.ownership.schema, self.cursor
        stored = ", ".join(f"stored_{place}" for place in range(len(schema.columns)))

        def make(rows: str) -> None:
            beside = {"person": "persons.number"}
            where = "persons.forgotten IS NOT TRUE"
            coded = self.owned_rows.sql(rows, join="LEFT JOIN persons", beside=beside, where=where, with_counts=True)
            cursor.execute(f"CREATE TEMP TABLE added AS {coded}")

        retry_single_threaded(self.added, make)
        cursor.execute(f"CREATE TEMP TABLE gathered AS SELECT person, {stored} FROM added WHERE person IS NOT NULL")
        cursor.execute("CREATE TEMP TABLE deep AS FROM persons WHERE needs_source AND NOT forgotten")
        if _number(cursor, "SELECT count(*) FROM deep"):
            self._gather_from_source(stored)
        names = ", ".join(f"t.{identifier(column.name)}" for column in schema.columns)
        cursor.execute(
            f"""INSERT INTO gathered SELECT persons.number, {names} FROM {_table_sql(self.earlier)} AS t
            JOIN persons ON t.{identifier(PERSON)} = persons.number WHERE NOT needs_source AND NOT forgotten"""
        )
        strange = f"""SELECT count(*) FROM (SELECT person, count(*) AS rows FROM gathered GROUP BY person)
            FULL JOIN (FROM persons WHERE NOT forgotten) ON person = number WHERE {COUNTED}"""
        if _number(cursor, strange):
            raise CannotExtend
        return _tally(cursor, schema)

    def _gather_from_source(self, stored: str) -> None:
        """The rows of before of those whose kept rows do not tell."""

        def make(rows: str) -> None:
            coded = self.owned_rows.sql(rows, join="JOIN deep", beside={"person": "deep.number"})
            self.cursor.execute(f"INSERT INTO gathered SELECT person, {stored} FROM ({coded})")

        with translate_read_errors(self.older):
            retry_single_threaded(self.older, make)

    def rank(self) -> None:
        """The rows that are kept of those who have too many, or who disagree with themselves."""
        secret = secret_sql(part.text for part in self.reach.key_of("persons"))
        constants = [disagree_sql(f"stored_{place}") for place in self.ownership.constants]
        apart = " OR ".join([f"count(*) > {self.ownership.unit.rows}", *constants])
        self.cursor.execute(
            f"""CREATE TEMP TABLE apart AS SELECT persons.*, {secret} AS secret FROM persons
            JOIN (SELECT person FROM gathered GROUP BY person HAVING {apart}) ON person = number""",
            hmac_pads(self.ownership.key),
        )
        coded = "SELECT gathered.*, secret FROM gathered JOIN apart ON gathered.person = apart.number"
        create_candidates(self.cursor, self.ownership, coded)
        create_kept(self.cursor, self.ownership)

    def count_everybody(self) -> None:
        """The side file, as a table."""
        self.cursor.execute(
            """CREATE TEMP VIEW everybody AS
            SELECT number, tag, rows FROM earlier ANTI JOIN persons USING (tag)
            UNION ALL SELECT number, tag, earlier_rows + added_rows FROM persons WHERE NOT forgotten"""
        )

    def write(self, stream: BinaryIO, tally: DeclarationTally) -> DeclarationOutcome:
        """The declared table: everybody else's rows as they were, then those of whoever has added ones."""
        schema, limit = self.ownership.schema, self.ownership.unit.rows
        names = ", ".join(identifier(name) for name in (*(column.name for column in schema.columns), PERSON))
        renamed = ", ".join([*_renamed(schema), f"person AS {identifier(PERSON)}"])
        self.cursor.execute("CREATE TEMP TABLE changed AS SELECT number FROM persons UNION ALL FROM gone")
        written = _copy(
            self.cursor,
            f"""SELECT {names} FROM {_table_sql(self.earlier)} AS t
              ANTI JOIN changed ON t.{identifier(PERSON)} = changed.number
            UNION ALL SELECT {renamed} FROM gathered ANTI JOIN apart ON gathered.person = apart.number
            UNION ALL SELECT {renamed} FROM kept""",
            stream,
        )
        counts = f"count(*), coalesce(sum(least(rows, {limit})), 0), coalesce(sum(rows), 0)"
        [totals] = self.cursor.execute(f"SELECT {counts} FROM everybody").fetchall()
        exact_persons, exact_rows, exact_all = map(int, totals)
        if written != exact_rows:
            raise CannotExtend
        owned = _number(self.cursor, "SELECT count(*) FROM added WHERE person IS NOT NULL")
        return tally.making(
            exact_rows=exact_rows,
            exact_added=tally.exact_rows,
            exact_truncated=exact_all - exact_rows,
            exact_without_person=tally.exact_rows - owned,
            exact_persons=exact_persons,
            exact_dominant=find_dominant_person(self._first(), persons=exact_persons, rows=exact_all),
        )

    def _first(self) -> tuple[list[str], int] | None:
        """Who has the most rows, and how many, if they have an added row: of others the version has no name."""
        texts = ", ".join(part.text for part in self.reach.key_of("persons"))
        order = ", ".join(map(str, range(2, 2 + len(self.reach.key))))
        top_rows = self.cursor.execute(
            f"""SELECT earlier_rows + added_rows AS rows, {texts} FROM persons
            WHERE NOT forgotten AND rows = (SELECT max(rows) FROM everybody) ORDER BY {order} LIMIT 1"""
        ).fetchall()
        return (list(top_rows[0][1:]), int(top_rows[0][0])) if top_rows else None


@contextmanager
def unchanged_since(files: tuple[Path, ...], stamps: tuple[tuple[int, int, int], ...]) -> Iterator[None]:
    """Whatever is made within is made while these files are as they were when they were compared."""
    if stamp_of(files) != stamps:
        raise CannotExtend
    yield
    if stamp_of(files) != stamps:
        raise CannotExtend


def _tally(cursor: duckdb.DuckDBPyConnection, schema: Schema) -> DeclarationTally:
    """What the owner is told of the added rows."""
    tally = DeclarationTally(schema)
    for batch in until_stopped(cursor.sql("FROM added").to_arrow_reader(ROWS_AT_ONCE)):
        tally.count(batch)
    return tally


def _renamed(schema: Schema) -> list[str]:
    return [f"stored_{place} AS {identifier(column.name)}" for place, column in enumerate(schema.columns)]


def _table_sql(file: Path) -> str:
    """A file of ours as a table: its folder's name must not add columns to it."""
    return f"read_parquet({text_literal(glob.escape(str(file)))}, hive_partitioning = false)"


def _copy(cursor: duckdb.DuckDBPyConnection, sql: str, stream: BinaryIO) -> int:
    """Write rows into the file that `stream` has open, anew from its start; how many they were."""
    options = f"FORMAT parquet, USE_TMP_FILE false, ROW_GROUP_SIZE {ROWS_AT_ONCE}"
    return _number(cursor, f"COPY ({sql}) TO {text_literal(str(stream.name))} ({options})")


def _number(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    """The one number that a statement brings."""
    [(number,)] = cursor.execute(sql).fetchall()
    return int(number)
