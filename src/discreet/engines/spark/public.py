"""The rows of a public source. They are no secret and few, so that they may come here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from discreet.engines import values
from discreet.engines.public import MOST_ROWS
from discreet.engines.source import Source as Files
from discreet.engines.spark.declare import readable
from discreet.engines.spark.session import Session
from discreet.engines.spark.source import Source
from discreet.engines.spark.store import plain


def public_rows(source: Source, places: Sequence[int], *, session: Callable[[], Session]) -> Iterator[Sequence[Any]]:
    """These columns of the rows, in this order. Files of this machine are read without Spark."""
    files = tuple(Path(plain(entry.path)) for entry in source.files)
    if source.table is None and all(file.is_absolute() for file in files):
        yield from _read(source, files, places)
        return
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as folder:
        with readable(source):
            found = source.frame(session(), range(len(source.names))).limit(MOST_ROWS + 1).toArrow()
        file = Path(folder) / "public.parquet"
        pq.write_table(found, file)
        yield from _read(source, (file,), places)


def _read(source: Source, files: tuple[Path, ...], places: Sequence[int]) -> Iterator[Sequence[Any]]:
    for row in values.rows(Files(shown=source.shown, names=source.names, files=files, kind="parquet")):
        yield [row[place] for place in places]
