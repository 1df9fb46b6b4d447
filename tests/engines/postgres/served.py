"""An engine for tests: tables are declared by DuckDB and counted by a PostgreSQL server, in SQL of our writer."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from collect.database import server
from discreet.engines.duckdb import DuckDBEngine, _dense
from discreet.engines.engine import Exact, ExactKeys
from discreet.engines.stored import PERSON, persons_file
from discreet.errors import Refused
from discreet.plan.expressions import Words
from discreet.sql.dialect import identifier
from discreet.sql.emit import Emitter
from discreet.sql.postgres import SESSION, PostgreSQL
from discreet.sql.write import PLACE, Names, Writer, key_name

_TYPES = {pa.int32(): "INTEGER", pa.int64(): "BIGINT", pa.string(): 'TEXT COLLATE "C"'}


@contextmanager
def served() -> Iterator["Served"]:
    """The engine, with a server of its own."""
    with server() as address, psycopg.connect(address, autocommit=True) as connection:
        for name, value in SESSION.items():
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        yield Served(connection)


class Served:
    """Counts in PostgreSQL."""

    def __init__(self, connection):
        self.connection = connection
        self.made = {}
        self._duckdb = DuckDBEngine(threads=1)
        self.declare = self._duckdb.declare

    def count(self, cells, region, *, tables):
        names, given = self._names(tables, cells.found)
        sql = Writer(emitter=Emitter(dialect=PostgreSQL()), names=names).count(cells, region)
        cursor = psycopg.RawCursor(self.connection)
        rows = cursor.execute(sql, given).fetchall()
        listed = [column.name for column in cursor.description]
        return Exact(_dense({name: _numbers(rows, place) for place, name in enumerate(listed)}, cells))

    def keys(self, plan, keys, region, *, persons, tables):
        names, _ = self._names(tables, None)
        sql = Writer(emitter=Emitter(dialect=PostgreSQL()), names=names).keys(plan, keys, region, persons=persons)
        rows = self.connection.execute(sql).fetchall()
        found = tuple(
            tuple(each if each is None or isinstance(each, str) else int(each) for each in row[:-1]) for row in rows
        )
        return ExactKeys(found, np.array([row[-1] for row in rows], dtype=np.int64))

    def _names(self, tables, found):
        def scan(scan):
            if scan.roster:
                beside = self._table(persons_file(tables.file(scan)))
                return f'(SELECT number AS {identifier(PERSON)}, "rows" FROM {beside}) AS roster'
            return self._table(tables.file(scan))

        names = Names(
            scan=scan,
            persons=lambda scan: self._table(persons_file(tables.file(scan))),
            public=lambda join: self._load(tables.publics[join.place]),
            found=_found(found) if found else "found",
        )
        return names, _given(found) if found else None

    def _table(self, file):
        if file not in self.made:
            self.made[file] = self._load(pq.read_table(file, partitioning=None))
        return self.made[file]

    def _load(self, rows):
        """Rows as a temporary table, and its name."""
        name = f"t{len(self.made)}_{self.connection.execute('SELECT clock_timestamp()').fetchone()[0].timestamp():.6f}"
        columns = [f"{identifier(field.name)} {_TYPES.get(field.type, 'BYTEA')}" for field in rows.schema]
        self.connection.execute(f"CREATE TEMP TABLE {identifier(name)} ({', '.join(columns)})")
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {identifier(name)} FROM STDIN") as copy:
            for row in rows.to_pylist():
                if any(isinstance(value, str) and "\0" in value for value in row.values()):
                    raise Refused("PostgreSQL has no text with a NUL")
                copy.write_row(list(row.values()))
        return identifier(name)


def _numbers(rows, place):
    return np.array([int(row[place]) for row in rows], dtype=np.int64)


def _found(found):
    """The discovered keys, as parameters."""
    types = [*("text" if isinstance(of, Words) else "bigint" for of in found.of), "bigint"]
    columns = [*(key_name(place) for place in range(len(found.of))), PLACE]
    arrays = ", ".join(f"${place + 1}::{type_}[]" for place, type_ in enumerate(types))
    return f"unnest({arrays}) AS found ({', '.join(map(identifier, columns))})"


def _given(found):
    return [*([key[place] for key in found.keys] for place in range(len(found.of))), list(range(found.size))]
