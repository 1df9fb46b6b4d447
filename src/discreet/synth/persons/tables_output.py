"""Sampled tables as files, one a table: CSV or Parquet, part by part, all whole or none."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow.parquet as pq

from discreet.errors import UsageError
from discreet.schema.column import Column
from discreet.synth.persons.tables_model import PersonTablesModel
from discreet.synth.sample_files import append_csv


def write_tables(
    model: PersonTablesModel,
    files: Mapping[str, Path],
    *,
    persons: int | None,
    given: Mapping[str, object],
    seed: int | None,
) -> dict[str, int]:
    """Write a sample to the file of each table; how many rows each has. A name that ends in .parquet is Parquet."""
    drafts = {name: file.with_name(f".{file.name}.{os.getpid()}") for name, file in files.items()}
    counts = dict.fromkeys(files, 0)
    try:
        for file in files.values():
            file.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            columns = model.table_columns
            writers = {
                name: _FileWriter(
                    stack.enter_context(draft.open("wb")), columns[name], is_parquet=files[name].suffix == ".parquet"
                )
                for name, draft in drafts.items()
            }
            for tables in model.batches(persons, given=given, seed=seed):
                for name, table in tables.items():
                    writers[name].append(table)
                    counts[name] += table.num_rows
            for writer in writers.values():
                writer.close()
        for name, draft in drafts.items():
            draft.replace(files[name])
    except OSError as problem:
        raise UsageError(f"the tables cannot be written: {problem.strerror}") from None
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
    return counts


class _FileWriter:
    """One file in the making."""

    def __init__(self, stream: BinaryIO, columns: Sequence[Column], *, is_parquet: bool) -> None:
        self.stream = stream
        self.columns = columns
        self.is_parquet = is_parquet
        self.writer: Any = None
        self.is_empty = True

    def append(self, table: Any) -> None:
        if not self.is_parquet:
            append_csv(table, self.stream, self.columns, with_header=self.is_empty)
        else:
            self.writer = self.writer or pq.ParquetWriter(self.stream, table.schema)
            self.writer.write_table(table)
        self.is_empty = False

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
