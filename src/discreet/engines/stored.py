"""The declared table as a file: what its columns hold, and how the file comes to be."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from discreet.errors import Refused, SchemaError, UsageError
from discreet.schema.column import Column, Moment, Number, domain
from discreet.schema.schema import Schema

#: Codes lie strictly inside 64 bits, so that a number beyond them is still seen to be clamped.
MOST_STORED = 2**63 - 2


def check_declarable(schema: Schema) -> None:
    """Refuse what this version must not make: an untruncated table of persons could be answered row by row."""
    if not schema.unit.is_row:
        raise Refused(
            f"{schema.table!r} protects persons with many rows, which this version does not make yet",
            hint="declare a table with one row a person, without `person`",
        )
    if not schema.columns:
        raise SchemaError(f"table {schema.table!r} declares no column", hint=f"[tables.{schema.table}.columns.NAME]")


def bounds(column: Column) -> tuple[int, int] | None:
    """The least and the largest code that a stored column holds; None for text."""
    if isinstance(column, Number | Moment):
        low = -MOST_STORED if column.low is None else column.low
        high = MOST_STORED if column.high is None else column.high
        return low, high
    limits = domain(column)
    return None if limits is None else (limits[0], limits[1] - 1)


def storage(column: Column) -> str:
    """The smallest DuckDB type that holds every code of a column."""
    limits = bounds(column)
    if limits is None:
        return "VARCHAR"
    for bits, name in ((7, "TINYINT"), (15, "SMALLINT"), (31, "INTEGER")):
        if -(2**bits) <= limits[0] and limits[1] < 2**bits:
            return name
    return "BIGINT"


def arrow_schema(schema: Schema) -> Any:
    """The columns of a declared table's file."""
    import pyarrow as pa

    types = {"TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64()}
    return pa.schema([(column.name, types.get(storage(column), pa.string())) for column in schema.columns])


@contextmanager
def new_file(target: Path) -> Iterator[BinaryIO]:
    """A file for its owner only that becomes `target` when it is whole and on disk, and vanishes otherwise."""
    try:
        for folder in reversed([folder for folder in target.parents if not folder.exists()]):
            folder.mkdir(mode=0o700)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".making.")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        folder_handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder_handle)
        finally:
            os.close(folder_handle)
    except OSError as problem:
        if problem.errno is None:  # not the file system's: a reader that broke off in the middle
            raise
        raise UsageError(f"the declared table cannot be written: {problem.strerror}") from None
