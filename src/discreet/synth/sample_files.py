"""Sampled rows as a file: CSV or Parquet, part by part, whole or not at all.

A CSV file has dates, numbers and words as the table's columns are declared to be written; Parquet has types.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from discreet.errors import UsageError
from discreet.schema.column import Column
from discreet.synth.written_values import written_rows

if TYPE_CHECKING:
    from discreet.synth.model import Model
    from discreet.synth.persons.person_model import PersonModel


def write_rows(
    model: Model | PersonModel,
    target: Path | BinaryIO,
    *,
    n: int | None,
    given: Mapping[str, object],
    seed: int | None,
    format_: str | None = None,
) -> int:
    """Write a sample; how many rows it has.

    `n`: the number of rows, or of persons where the model has them. `format_`: csv or parquet; default: by the file's
    name.
    """
    counted = 0

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        nonlocal counted
        for batch in batches:
            counted += batch.num_rows
            yield batch

    parts = count(model.batches(n, given=given, seed=seed))
    if not isinstance(target, Path):
        _csv(parts, target, model.columns)
        return counted
    suffix = target.suffix.lower() if format_ is None else f".{format_}"
    if suffix not in (".csv", ".parquet"):
        raise UsageError(f"{str(target)!r} must end in .csv or .parquet", hint="-o rows.csv")
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with draft.open("wb") as stream:
            if suffix == ".csv":
                _csv(parts, stream, model.columns)
            else:
                _parquet(parts, stream)
        draft.replace(target)
    except OSError as problem:
        raise UsageError(f"{target.name!r} cannot be written: {problem.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return counted


def _csv(parts: Any, stream: BinaryIO, columns: Sequence[Column]) -> None:
    """All parts, below one header."""
    for place, part in enumerate(parts):
        append_csv(part, stream, columns, with_header=place == 0)


def append_csv(part: Any, stream: BinaryIO, columns: Sequence[Column], *, with_header: bool) -> None:
    """Rows at the end of a CSV file, as their columns are declared to be written. Texts are quoted if one needs it."""
    part = written_rows(part, columns)
    if with_header:
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(part.column_names)
        stream.write(header.getvalue().encode())
    quoting = "needed" if any(_needs_quotes(column) for column in part.columns) else "none"
    arrow_csv.write_csv(part, stream, arrow_csv.WriteOptions(include_header=False, quoting_style=quoting))


def _needs_quotes(column: Any) -> bool:
    if not pa.types.is_string(column.type):
        return False
    # Looked for in each word once: there are far fewer of them than rows.
    has_special = pc.any(pc.match_substring_regex(pc.unique(column), '^$|[",\\r\\n]'))
    return bool(has_special.as_py())


def _parquet(parts: Any, stream: BinaryIO) -> None:
    import pyarrow.parquet as pq

    writer = None
    try:
        for part in parts:
            writer = writer or pq.ParquetWriter(stream, part.schema)
            writer.write_table(part)
    finally:
        if writer is not None:
            writer.close()
