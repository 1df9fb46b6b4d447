"""The declared table as a file: what its columns hold, and how the file comes to be."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from discreet.engines.keyed_hashes import TAG_BYTES
from discreet.errors import SchemaError, UsageError
from discreet.schema.column import Column, MomentColumn, NumberColumn, domain
from discreet.schema.privacy_unit import OURS
from discreet.schema.schema import Schema

#: Codes lie strictly inside 64 bits, so that a number beyond them is still seen to be clamped.
MOST_STORED = 2**63 - 2


#: How names begin of what is not whole yet. Nobody makes anything for a week without writing.
_MAKING = ".making."
_ORPHANED_AFTER_S = 7 * 86_400


#: What a table of persons calls the number of a row's person. No declared column can have this name.
PERSON = f"{OURS}person"

#: What a table of ends calls the numbers of the two persons of an edge.
FROM, TO = f"{OURS}from", f"{OURS}to"


def persons_file(file: Path) -> Path:
    """The side file of a table of persons: `number`, `tag` and, before truncation, `rows` of each person."""
    return file.with_name(f"{file.stem}.persons.parquet")


def check_declarable(schema: Schema) -> None:
    """Refuse a schema of which no table can be made."""
    schema.unit.check_columns(column.name for column in schema.columns)
    if not schema.columns and not schema.unit.ends:
        raise SchemaError(f"table {schema.table!r} declares no columns", hint=f"[tables.{schema.table}.columns.NAME]")


def code_bounds(column: Column) -> tuple[int, int] | None:
    """The least and the largest code that a stored column holds; None for text."""
    if isinstance(column, NumberColumn | MomentColumn):
        low = -MOST_STORED if column.low is None else column.low
        high = MOST_STORED if column.high is None else column.high
        return low, high
    limits = domain(column)
    return None if limits is None else (limits[0], limits[1] - 1)


def duckdb_type(column: Column) -> str:
    """The DuckDB type that holds every code of a column."""
    limits = code_bounds(column)
    if limits is None:
        return "VARCHAR"
    # Parquet keeps narrower numbers in 32 bits as well, and reads them more slowly.
    return "INTEGER" if limits[0] >= -(2**31) and limits[1] < 2**31 else "BIGINT"


def arrow_schema(schema: Schema) -> Any:
    """The columns of a declared table's file."""
    import pyarrow as pa

    types = {"INTEGER": pa.int32(), "BIGINT": pa.int64()}
    if schema.unit.ends:
        return pa.schema([(FROM, pa.int32()), (TO, pa.int32())])
    columns = [(column.name, types.get(duckdb_type(column), pa.string())) for column in schema.columns]
    return pa.schema(columns if schema.unit.is_row else [*columns, (PERSON, pa.int32())])


def persons_schema() -> Any:
    """The columns of a side file."""
    import pyarrow as pa

    return pa.schema([("number", pa.int32()), ("tag", pa.binary(TAG_BYTES)), ("rows", pa.int64())])


@contextmanager
def new_pair(target: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """A table of persons and its side file, which come to be together.

    The table takes its name last: where it is, its side file is. Two files cannot be replaced at once,
    so `target` must be a new name.
    """
    beside = persons_file(target)
    if target.exists() or beside.exists():
        raise ValueError("a table of persons needs a new name")
    try:
        with new_file(target) as stream, new_file(beside) as persons:
            yield stream, persons
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


@contextmanager
def working_folder(target: Path) -> Iterator[Path]:
    """A folder for its owner only beside `target`, for what does not fit in memory; it vanishes with all in it."""
    try:
        _prepare_folder(target)
        folder = tempfile.mkdtemp(dir=target.parent, prefix=_MAKING)
    except OSError as problem:
        raise UsageError(f"the declared table cannot be written: {problem.strerror}") from None
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def new_file(target: Path) -> Iterator[BinaryIO]:
    """A file for its owner only that becomes `target` when it is whole and on disk, and vanishes otherwise."""
    try:
        _prepare_folder(target)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=_MAKING)
        try:
            with open(name, "wb", opener=lambda *_: handle) as stream:  # under its name, for who opens it by that
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


def _prepare_folder(target: Path) -> None:
    """The folders above a file, for their owner only, without what was left in them by whoever was killed long ago."""
    for folder in reversed([folder for folder in target.parents if not folder.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)  # another process may be first
    for left in target.parent.glob(f"{_MAKING}*"):
        with suppress(OSError):  # another process was first
            if time.time() - _last_write_time(left) > _ORPHANED_AFTER_S:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _last_write_time(left: Path) -> float:
    """When something was last written in a file or a folder."""
    return max(each.stat().st_mtime for each in (left, *left.rglob("*")))
