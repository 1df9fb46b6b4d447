"""Declared tables of rows, made once a process for the same rows under the same declaration.

Most tests declare the same few tables, in 25 ms each. A declared table of rows depends on its source and its
declaration alone, so what was made of the same bytes is copied. Where a test has replaced anything that tables are made
by, it is made anew: no planted bug hides here.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb

from discreet.engines import duckdb_declared_table
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.file_source import FileSource
from discreet.schema.schema import Schema

#: What tables are made by.
MODULES = [
    importlib.import_module(f"discreet.engines.{name}")
    for name in (
        "csv_faults", "declared_table_sql", "duckdb_conversion", "duckdb_declared_table", "file_source",
        "parquet_writer", "rounding_notes", "table_file",
    )
]  # fmt: skip

#: Larger sources are made anew.
MOST_BYTES = 1 << 18

#: By the source without its path, its bytes and the declaration: what was said of the table, and its file.
_made: dict[tuple, tuple[DeclarationOutcome, bytes]] = {}


def makers() -> list[int]:
    """Everything that tables are made by, to see whether a test has replaced some of it."""
    return [id(each) for module in MODULES for each in vars(module).values()]


def remembering(declare: Callable[..., DeclarationOutcome], is_replaced: Callable[[], bool]):
    """Stands for `duckdb_declared_table.declare`, which is `declare`."""

    def made(
        cursor: duckdb.DuckDBPyConnection, schema: Schema, source: FileSource, *, target: Path
    ) -> DeclarationOutcome:
        is_small = len(source.files) == 1 and source.files[0].stat().st_size <= MOST_BYTES
        if not is_small or source.is_repaired or source.kind != "csv" or is_replaced():
            return declare(cursor, schema, source, target=target)
        content = hashlib.sha256(source.files[0].read_bytes()).digest()
        key = (replace(source, files=()), source.files[0].suffix, content, schema)
        if key not in _made:
            outcome = declare(cursor, schema, source, target=target)
            _made[key] = (copy.deepcopy(outcome), target.read_bytes())
            return outcome
        outcome, table = _made[key]
        with duckdb_declared_table.new_file(target) as stream, source.ensure_unchanged():
            stream.write(table)
        return copy.deepcopy(outcome)

    return made
