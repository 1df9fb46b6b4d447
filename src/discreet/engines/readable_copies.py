"""Copies of sources whose files the engine does not read as they are, in a form that it does.

    CSV in another encoding, packed, or with rows above its header    CSV in UTF-8, from its header on
    JSON lines, Excel, SQLite                                         Parquet, all columns text
    Arrow, DuckDB                                                     Parquet with the same types

They lie beside the table that is being made, for their owner only, and vanish when it is made or fails.

Guarantee: a row of a copy depends on that row of the source and on the declared layout alone, and is the same row.
Because: each reader says so of its rows (`text_lines`, `json_lines`, `workbook_reader`, `sqlite_reader`, `duckdb_file`,
    `arrow_reader`), and nothing is added to them, sorted or left out. All copies of one table are of one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.file_reader import text_rows, typed_batches, typed_schema
from discreet.engines.file_source import FileSource, open_csv
from discreet.engines.repaired_sources import legible_column, milliseconds
from discreet.engines.stop_signal import check_stop, until_stopped
from discreet.engines.table_file import working_folder
from discreet.engines.unpacking import check_unpacked_size, translate_damage
from discreet.errors import UsageError
from discreet.schema.source_layout import UNDECLARED

#: Rows, and characters, that are written together.
_ROWS_AT_ONCE, _CHARACTERS_AT_ONCE = 10_000, 1 << 22


@contextmanager
def readable(chain: Sequence[FileSource], *, target: Path) -> Iterator[tuple[FileSource, ...]]:
    """The same sources, with copies in place of files that are not read as they are, beside `target`."""
    for file in (file for source in chain for part in source.single_files() if part.is_native for file in part.files):
        check_unpacked_size(file)
    if all(part.is_native for source in chain for part in source.single_files()):
        yield tuple(chain)
        return
    with working_folder(target) as folder:
        with ExitStack() as unchanged:  # before anything is made of them
            for source in chain:
                unchanged.enter_context(source.ensure_unchanged())
            copies = tuple(_copied(source, folder, f"{place}") for place, source in enumerate(chain))
        yield copies


def _copied(source: FileSource, folder: Path, name: str) -> FileSource:
    if source.parts:
        parts = tuple(_copied(part, folder, f"{name}-{place}") for place, part in enumerate(source.parts))
        files = tuple(file for part in parts for file in part.files)
        return replace(
            source, parts=parts, files=files, kind=parts[0].kind, is_text_copy=parts[0].is_text_copy,
            is_repaired=all(part.is_repaired for part in parts), layout=parts[0].layout,
        )  # fmt: skip
    if source.is_native:
        return source
    if source.kind == "csv":
        files = tuple(folder / f"{name}-{number}.csv" for number in range(len(source.files)))
        for file, copy in zip(source.files, files, strict=True):
            _copy_text(file, source, copy)
        layout = replace(UNDECLARED, delimiter=source.delimiter)
        above = source.layout.skip_rows
        return replace(source, files=files, layout=layout, is_repaired=True, lines_above=above)
    copy = folder / f"{name}.parquet"
    (_copy_rows if source.is_text else _copy_batches)(source, copy)
    return replace(
        source, files=(copy,), kind="parquet", layout=UNDECLARED, is_text_copy=source.is_text, is_repaired=True
    )


def _copy_text(file: Path, source: FileSource, copy: Path) -> None:
    with ExitStack() as stack:
        stack.enter_context(translate_damage(file))
        text = stack.enter_context(open_csv(file, source.layout))
        stream = stack.enter_context(copy.open("w", encoding="utf-8", newline=""))
        while piece := text.read(_CHARACTERS_AT_ONCE):
            check_stop()
            stream.write(piece)


def _copy_rows(source: FileSource, copy: Path) -> None:
    schema = pa.schema([(f"c{place}", pa.large_string()) for place in range(len(source.names))])
    rows = text_rows(source)
    with translate_damage(source.files[0]), pq.ParquetWriter(copy, schema, compression="none") as writer:
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            check_stop()
            columns = [pa.array(column, pa.large_string()) for column in zip(*some, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _copy_batches(source: FileSource, copy: Path) -> None:
    kinds = [_stored_kind(kind) for kind in typed_schema(source).types]
    schema = pa.schema([(f"c{place}", kind) for place, kind in enumerate(kinds)])
    try:
        with pq.ParquetWriter(copy, schema, compression="none", use_dictionary=False) as writer:
            for batch in until_stopped(typed_batches(source)):
                columns = [_stored(column, kind) for column, kind in zip(batch.columns, kinds, strict=True)]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    except pa.ArrowException:
        raise UsageError(f"{source.shown} has a column that cannot be read") from None


def _stored_kind(kind: pa.DataType) -> pa.DataType:
    """The type that a copy has for one: Parquet has no whole seconds, and not all of them are milliseconds."""
    return pa.timestamp("ms", kind.tz) if pa.types.is_timestamp(kind) and kind.unit == "s" else kind


def _stored(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(column.type) and column.type.unit == "s":
        column = milliseconds(column)
    return legible_column(column).cast(kind)
