"""The rows of a public source. They are no secret and few, so that they may come here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.engines import source_values
from discreet.engines.file_source import FileSource as Files
from discreet.engines.public_table_loader import MOST_ROWS
from discreet.engines.spark.declared_table import translate_spark_errors
from discreet.engines.spark.lake_store import local_path
from discreet.engines.spark.session import SparkSession
from discreet.engines.spark.spark_source import SparkSource


def public_rows(
    source: SparkSource, places: Sequence[int], *, session: Callable[[], SparkSession]
) -> Iterator[Sequence[Any]]:
    """These columns of the rows, in this order. Files of this machine are read without Spark."""
    files = tuple(Path(local_path(entry.path)) for entry in source.files)
    if source.table is None and all(file.is_absolute() for file in files):
        yield from _read(source, files, places)
        return
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        with translate_spark_errors(source):
            arrow_rows = source.frame(session(), range(len(source.names))).limit(MOST_ROWS + 1).toArrow()
        file = Path(folder) / "public.parquet"
        pq.write_table(arrow_rows, file)
        yield from _read(source, (file,), places)


def _read(source: SparkSource, files: tuple[Path, ...], places: Sequence[int]) -> Iterator[Sequence[Any]]:
    for row in source_values.source_rows(Files(shown=source.shown, names=source.names, files=files, kind="parquet")):
        yield [row[place] for place in places]
