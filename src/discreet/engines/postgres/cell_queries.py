"""One question: one transaction, one snapshot, one SELECT of SQL that `sql.sql_writer` wrote from our own plan.

Guarantee: what is counted is one state of the declared tables, and nothing of it is written anywhere.
Because: REPEATABLE READ READ ONLY has one snapshot, which is taken when the tables are locked (see `session`), and
    the transaction is thrown away. Whole numbers come back, and keys for `keys` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import Region, Value
from discreet.engines.engine import NULL_CODE, PersonRows, TableLocations
from discreet.engines.postgres.postgres_source import qualified_name, stream_rows
from discreet.engines.postgres.schema_tables import side_table
from discreet.engines.postgres.session import PostgresSession
from discreet.engines.table_file import PERSON
from discreet.engines.table_location import PostgresTable, TableLocation
from discreet.errors import Command, Message, SchemaError
from discreet.plan.cells import Axis, Cells, DiscoveredAxis, KeyWeights
from discreet.plan.expressions import Expression, Words
from discreet.plan.relation import JoinPublic, Plan, Scan
from discreet.sql.dialect import identifier
from discreet.sql.emitter import Emitter
from discreet.sql.postgres_dialect import PostgreSQLDialect
from discreet.sql.sql_writer import PLACE, SqlTableNames, SqlWriter, key_name

#: Cells that become numbers together.
_AT_ONCE = 100_000


def postgres_table_of(place: TableLocation) -> PostgresTable:
    """The table at a place."""
    if not isinstance(place, PostgresTable):
        raise SchemaError(
            "this version was made on another engine", hint=Message("run ", Command("refresh"), " to make one here")
        )
    return place


def count(
    session: PostgresSession, cells: Cells, region: Region, tables: TableLocations, *, deadline_s: float
) -> dict[str, Any]:
    """The columns of a question's result, by name."""
    named_ = _PostgresTableNames(tables, cells.discovered_axis)
    sql = _writer(named_).count(cells, region)
    with named_.execute(session, sql, deadline_s) as cursor:
        listed = [column.name for column in cursor.description]
        parts: list[NDArray[Any]] = []
        while rows := cursor.fetchmany(_AT_ONCE):
            parts.append(np.array(rows, dtype=np.int64))
    numbers = np.concatenate(parts) if parts else np.zeros((0, len(listed)), dtype=np.int64)
    return {name: numbers[:, place] for place, name in enumerate(listed)}


def keys(
    session: PostgresSession,
    plan: Plan,
    keys: tuple[Expression, ...],
    region: Region,
    tables: TableLocations,
    *,
    persons: bool,
    deadline_s: float,
    weights: KeyWeights | None = None,
) -> tuple[tuple[tuple[Value | None, ...], ...], NDArray[np.int64]]:
    """The keys that exist, sorted, and how many persons each has."""
    named_ = _PostgresTableNames(tables)
    sql = _writer(named_).keys(plan, keys, region, persons=persons, weights=weights)
    with named_.execute(session, sql, deadline_s) as cursor:
        rows = cursor.fetchall()
    key_values = tuple(tuple(_value(part) for part in row[:-1]) for row in rows)
    return key_values, np.array([row[-1] for row in rows], dtype=np.int64)


def coded(
    session: PostgresSession,
    plan: Plan,
    axes: Sequence[Axis],
    region: Region,
    tables: TableLocations,
    *,
    deadline_s: float,
) -> tuple[NDArray[Any], ...]:
    """The rows as numbers of cells, a column for each axis, in as few bytes as hold them."""
    named_ = _PostgresTableNames(tables)
    sql = _writer(named_).places(plan, tuple(axes), region)
    if named_.parameters:
        raise ValueError("coding rows does not use public tables")
    packs = _packs([axis.size for axis in axes])
    listed = ", ".join(_packed(pack, axes) for pack in packs)
    parts: list[list[NDArray[Any]]] = [[np.zeros(0, dtype=np.min_scalar_type(axis.size - 1))] for axis in axes]
    with session.transaction(read_only=True, deadline_s=deadline_s, locks=named_.locks):
        for rows in stream_rows(session, f"SELECT {listed} FROM ({sql}) AS placed"):
            numbers = np.array(rows, dtype=np.int64)
            for column, pack in enumerate(packs):
                for place, values in _unpacked(numbers[:, column], pack, axes).items():
                    parts[place].append(values.astype(parts[place][0].dtype))
    return tuple(map(np.concatenate, parts))


def columns(session: PostgresSession, table: PostgresTable, names: Sequence[str], *, deadline_s: float) -> list[Any]:
    """The codes of some columns of a declared table, as Arrow has them, in no order."""
    import pyarrow as pa

    name = qualified_name(table)
    parts: list[list[Any]] = [[] for _ in names]
    with session.transaction(read_only=True, deadline_s=deadline_s, locks=[name]):
        for rows in stream_rows(session, f"SELECT {', '.join(map(identifier, names))} FROM {name}"):
            for part, values in zip(parts, zip(*rows, strict=True), strict=True):
                part.append(pa.array(values))
    kinds = [pa.string() if any(pa.types.is_string(chunk.type) for chunk in part) else pa.int64() for part in parts]
    return [
        pa.chunked_array([chunk.cast(kind) for chunk in part], kind) for part, kind in zip(parts, kinds, strict=True)
    ]


def person_rows(
    session: PostgresSession,
    plan: Plan,
    axes: Sequence[Axis],
    codes: Sequence[Expression],
    region: Region,
    tables: TableLocations,
    *,
    deadline_s: float,
) -> PersonRows:
    """The rows as numbers of cells, with codes and persons."""
    named_ = _PostgresTableNames(tables)
    sql = _writer(named_).person_places(plan, tuple(axes), tuple(codes), region, null=NULL_CODE)
    if named_.parameters:
        raise ValueError("coding rows does not use public tables")
    packs = _packs([axis.size for axis in axes])
    others = [*(f"c{turn}" for turn in range(len(codes))), "whose"]
    listed = ", ".join([*(_packed(pack, axes) for pack in packs), *others])
    parts: list[list[NDArray[Any]]] = [[np.zeros(0, dtype=np.min_scalar_type(axis.size - 1))] for axis in axes]
    beside: list[list[NDArray[np.int64]]] = [[np.zeros(0, dtype=np.int64)] for _ in others]
    with session.transaction(read_only=True, deadline_s=deadline_s, locks=named_.locks):
        for rows in stream_rows(session, f"SELECT {listed} FROM ({sql}) AS placed"):
            numbers = np.array(rows, dtype=np.int64)
            for column, pack in enumerate(packs):
                for place, values in _unpacked(numbers[:, column], pack, axes).items():
                    parts[place].append(values.astype(parts[place][0].dtype))
            for turn, own in enumerate(beside):
                own.append(numbers[:, len(packs) + turn].copy())
    whole = [np.concatenate(own) for own in beside]
    return PersonRows(tuple(map(np.concatenate, parts)), tuple(whole[:-1]), whole[-1])


def _packs(sizes: Sequence[int]) -> list[list[int]]:
    """Axes that fit together into one number of 62 bits: a row then has one number, or few."""
    packs: list[list[int]] = []
    cells = 2**62
    for place, size in enumerate(sizes):
        if cells * size >= 2**62:
            packs.append([])
            cells = 1
        packs[-1].append(place)
        cells *= size
    return packs


def _packed(pack: Sequence[int], axes: Sequence[Axis]) -> str:
    """The numbers of some axes as one, row-major."""
    text = f"CAST(p{pack[0]} AS BIGINT)"
    for place in pack[1:]:
        text = f"({text} * {axes[place].size} + p{place})"
    return text


def _unpacked(numbers: NDArray[np.int64], pack: Sequence[int], axes: Sequence[Axis]) -> dict[int, NDArray[np.int64]]:
    cell_numbers = {}
    for place in reversed(pack):
        numbers, cell_numbers[place] = np.divmod(numbers, axes[place].size)
    return cell_numbers


def _value(part: Any) -> Value | None:
    return part if part is None or isinstance(part, str) else int(part)


def _writer(names: _PostgresTableNames) -> SqlWriter:
    return SqlWriter(emitter=Emitter(dialect=PostgreSQLDialect()), names=names.names())


class _PostgresTableNames:
    """What tables are called in a question. Which are read, and what is a parameter, is known once it is written."""

    def __init__(self, tables: TableLocations, discovered_keys: DiscoveredAxis | None = None) -> None:
        self._tables = tables
        self._discovered_keys = discovered_keys
        self._read: dict[str, None] = {}
        self.parameters: list[Any] = []

    @property
    def locks(self) -> list[str]:
        """The tables that are read, always in the same order."""
        return sorted(self._read)

    def names(self) -> SqlTableNames:
        keys_table = "found" if self._discovered_keys is None else self._keys(self._discovered_keys)
        return SqlTableNames(scan=self._scan, persons=self._persons, public=self._public, discovered_keys=keys_table)

    @contextmanager
    def execute(self, session: PostgresSession, sql: str, deadline_s: float) -> Iterator[Any]:
        """The result of a question that has been written, in binary."""
        import psycopg

        reading = session.transaction(read_only=True, deadline_s=deadline_s, locks=self.locks)
        with reading, psycopg.RawCursor(session.connection) as cursor:
            cursor.execute(sql, self.parameters, binary=True)
            yield cursor

    def _scan(self, scan: Scan) -> str:
        if scan.roster:
            alias = identifier(f"roster of {scan.table}")
            return f'(SELECT number AS {identifier(PERSON)}, "rows" FROM {self._persons(scan)}) AS {alias}'
        return self._table(postgres_table_of(self._tables.file(scan)))

    def _persons(self, scan: Scan) -> str:
        return self._table(side_table(postgres_table_of(self._tables.file(scan))))

    def _table(self, relation: PostgresTable) -> str:
        self._read[qualified_name(relation)] = None
        return qualified_name(relation)

    def _public(self, join: JoinPublic) -> str:
        """A public table's rows, as parameters."""
        import pyarrow as pa

        rows = self._tables.publics[join.place]
        texts = [pa.types.is_string(type_) for type_ in rows.schema.types]
        columns_ = [column.to_pylist() for column in rows.columns]
        return self._unnested(f"public_{join.place}", dict(zip(rows.schema.names, columns_, strict=True)), texts)

    def _keys(self, discovered_keys: DiscoveredAxis) -> str:
        """The discovered keys, likewise."""
        columns_ = {
            key_name(place): [key[place] for key in discovered_keys.keys] for place in range(len(discovered_keys.of))
        }
        texts = [isinstance(of, Words) for of in discovered_keys.of]
        return self._unnested("found", {**columns_, PLACE: list(range(discovered_keys.size))}, [*texts, False])

    def _unnested(self, alias: str, listed: dict[str, list[Any]], texts: Sequence[bool]) -> str:
        arrays = []
        for values, text in zip(listed.values(), texts, strict=True):
            self.parameters.append(_texts(values) if text else _numbers(values))
            arrays.append(f"${len(self.parameters)}::{'text' if text else 'bigint'}[]")
        names = ", ".join(map(PostgreSQLDialect().identifier, listed))
        return f"unnest({', '.join(arrays)}) AS {alias} ({names})"


def _texts(values: Sequence[str | None]) -> list[str | None]:
    """Texts for an array. One with a NUL is equal to none that is here: so is NULL."""
    return [None if value is None or not PostgreSQLDialect().can_hold(value) else value for value in values]


def _numbers(values: Sequence[int | None]) -> str:
    """Whole numbers as the text of an array: a million of them are written at once."""
    return "{" + ",".join("NULL" if value is None else str(value) for value in values) + "}"
