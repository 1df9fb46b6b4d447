"""Tables and views of SQLite files, whose values have types of their own, whatever their column says.

    a text              as it is; U+FFFD stands where it is not UTF-8
    a whole number      its digits
    a float             the shortest decimal text that is this float
    bytes               U+FFFD: they do not fit any column

Guarantee: a row depends on that row of the table alone, and no value keeps the others from being read.
Because: values are put into text one by one. The file is opened for reading alone; a view cannot call what is not
    SQLite's own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from discreet.engines.content_fault import ContentFault
from discreet.engines.named_tables import choose_table, open_elsewhere
from discreet.schema.source_layout import SourceLayout
from discreet.sql.dialect import identifier

_UNREAD = "\N{REPLACEMENT CHARACTER}"
_ROWS_AT_ONCE = 10_000


def sqlite_tables(file: Path) -> tuple[str, ...]:
    """The tables and views in a file."""
    with _open(file) as connection:
        listed = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
            "ORDER BY name"
        )
        return tuple(_shown(name) for (name,) in listed)


def sqlite_names(file: Path, layout: SourceLayout) -> tuple[str, ...]:
    """The columns of the declared table, or the only one."""
    table = choose_table(file, sqlite_tables(file), layout)
    with _open(file) as connection:
        described = connection.execute(f"SELECT * FROM {identifier(table)} LIMIT 0").description
        return tuple(name for name, *_ in described)


def sqlite_rows(file: Path, names: Sequence[str], layout: SourceLayout) -> Iterator[list[str | None]]:
    """These columns of each row."""
    table = choose_table(file, sqlite_tables(file), layout)
    with _open(file) as connection:
        listed = ", ".join(identifier(name) for name in names)
        cursor = connection.execute(f"SELECT {listed} FROM {identifier(table)}")
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for row in rows:
                yield [_text(value) for value in row]


@contextmanager
def _open(file: Path) -> Iterator[sqlite3.Connection]:
    for beside in (file.with_name(f"{file.name}-{ending}") for ending in ("wal", "journal")):
        if beside.exists() and beside.stat().st_size:
            raise open_elsewhere(file, beside)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro&immutable=1", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.text_factory = _Text
            _tolerate_malformed_views(connection)
            yield connection
    except sqlite3.Error:  # its words may quote a value
        raise ContentFault(f"{file.name} cannot be read as SQLite: it is damaged, or a view in it fails") from None


def _tolerate_malformed_views(connection: sqlite3.Connection) -> None:
    """Let the tables be read that SQLite understands, where one of another version or with an error is not."""
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")
    except sqlite3.DatabaseError as problem:
        if "malformed database schema" not in str(problem):
            raise
        connection.execute("PRAGMA writable_schema = ON")  # skips what it cannot read; the file is not written to


class _Text(bytes):
    """The bytes of a text, which need not be UTF-8: told apart from bytes that are no text."""


def _text(value: object) -> str | None:
    match value:
        case None:
            return None
        case _Text():
            return value.decode(errors="replace") or None
        case bytes():
            return _UNREAD
        case float():
            return repr(value)
        case _:
            return str(value)


def _shown(name: object) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)
