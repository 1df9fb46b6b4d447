"""Copies of sources in which every cell can be read, made only where an engine met one that cannot.

    a text that is not UTF-8                 what does not belong becomes U+FFFD, and such a text does not fit
    a timestamp beyond 64 bits of micros     infinity, which does not fit either
    a time of day outside the day            NULL

One person's cell must not decide whether the table exists. It becomes NULL like any other that does not fit.

Guarantee: a cell of a copy depends on that cell alone, and one that could be read is the same in the copy.
Because: what the decoder replaces ends where a byte begins a character of its own, so it never takes a
    delimiter, a quote or the end of a line with it; columns of Parquet are looked at value by value.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet.engines.duckdb_declared_table import translate_read_errors
from discreet.engines.file_source import FileSource, open_bytes
from discreet.engines.parquet_writer import ROWS_AT_ONCE
from discreet.engines.source_values import legible_texts
from discreet.engines.stop_signal import check_stop, until_stopped
from discreet.errors import UsageError

#: Bytes of a CSV that are looked at together.
_CHUNK = 1 << 22

#: How the engine reads an infinity, in any unit.
_INFINITY = 2**63 - 1

#: The most milliseconds, either way, that are whole microseconds within 64 bits.
_MOST_MILLIS = _INFINITY // 1000

_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def repair_sources(chain: Iterable[FileSource], folder: Path) -> tuple[FileSource, ...]:
    """The same sources, as copies in `folder`, which is its owner's alone: one snapshot of them all."""
    chain = tuple(chain)
    before = [source.stamp() for source in chain]
    copies = tuple(_repair_source(source, folder, str(place)) for place, source in enumerate(chain))
    for source, stamp in zip(chain, before, strict=True):
        if source.stamp() != stamp:
            raise UsageError(f"{source.shown} changed while it was read", hint="try again when nothing writes to it")
    return copies


def _repair_source(source: FileSource, folder: Path, place: str) -> FileSource:
    if source.parts:
        parts = tuple(_repair_source(part, folder, f"{place}-{number}") for number, part in enumerate(source.parts))
        files = tuple(file for part in parts for file in part.files)
        return replace(source, parts=parts, files=files, is_repaired=True)
    if source.is_repaired:
        return source
    copies = [folder / f"{place}-{number}.{source.kind}" for number in range(len(source.files))]
    copy = _copy_csv if source.kind == "csv" else _copy_parquet
    with translate_read_errors(source):
        for file, target in zip(source.files, copies, strict=True):
            copy(file, target)
    return replace(source, files=tuple(copies), is_repaired=True)


def _copy_csv(file: Path, target: Path) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with open_bytes(file) as stream, target.open("wb") as copy:
        while chunk := stream.read(_CHUNK):
            check_stop()
            copy.write(decoder.decode(chunk).encode())
        copy.write(decoder.decode(b"", final=True).encode())


def _copy_parquet(file: Path, target: Path) -> None:
    with pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as stream:
        plain = pa.schema([pa.field(field.name, _plain(field.type)) for field in stream.schema_arrow])
        texts = [field.name for field in plain if _is_text(field.type)]
        with pq.ParquetWriter(target, plain, compression="none", use_dictionary=texts) as copy:
            for batch in until_stopped(stream.iter_batches(ROWS_AT_ONCE)):
                columns = [legible_column(column) for column in batch.columns]
                copy.write_batch(pa.RecordBatch.from_arrays(columns, schema=plain))


def _plain(kind: Any) -> Any:
    """The type of a column whose values stand in no dictionary."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def legible_column(column: Any) -> Any:
    """A column, with what cannot be read put into a form that can."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, legible_column(column.storage))
    if pa.types.is_dictionary(kind):
        return legible_column(column.dictionary_decode())
    if _is_text(kind):
        return column if _is_utf8(column) else pa.array(legible_texts(column), type=kind)
    if pa.types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        far = _MOST_MILLIS if kind.unit == "ms" else _MOST_MILLIS // 1000
        count = column.cast(pa.int64())
        inside = pc.and_(pc.greater_equal(count, -far), pc.less_equal(count, far))
        return pc.if_else(inside, count, pa.scalar(_INFINITY, pa.int64())).cast(kind)
    if pa.types.is_time(kind):
        whole = pa.int32() if kind.bit_width == 32 else pa.int64()
        count = column.cast(whole)
        inside = pc.and_(pc.greater_equal(count, 0), pc.less_equal(count, _DAY[kind.unit]))
        return pc.if_else(inside, count, pa.scalar(None, whole)).cast(kind)
    return column


def milliseconds(column: Any) -> Any:
    """A column of whole seconds in milliseconds; infinity for one that is none of 64 bits."""
    count = column.cast(pa.int64())
    far = _MOST_MILLIS // 1000
    inside = pc.and_(pc.greater_equal(count, -far), pc.less_equal(count, far))
    thousands = pc.multiply(pc.if_else(inside, count, 0), 1000)
    return pc.if_else(inside, thousands, pa.scalar(_INFINITY, pa.int64())).cast(pa.timestamp("ms", column.type.tz))


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_utf8(column: Any) -> bool:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
