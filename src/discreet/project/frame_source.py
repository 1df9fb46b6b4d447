"""Data frames as sources: kept as Parquet in the project's folder, and declared like any other file.

    pandas, polars, Arrow tables and readers, anything with an Arrow C stream

The file is `sources/NAME.parquet`, for its owner only, whole or not there. Another frame under the same name is
refused: what was answered is about the rows that were there, and a new version is made of a source that changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.engines.table_file import new_file
from discreet.errors import Flag, Message, UsageError

FOLDER = "sources"

_NAME = re.compile(r"[^\W_][^/\\\0*?\[\]:]{0,99}")


@contextmanager
def stored_frame(frame: object, *, name: str | None, folder: Path) -> Iterator[Path]:
    """The file of a frame. If what is done with it fails and it was not there before, it is taken away again."""
    if not name or not _NAME.fullmatch(name) or not name.isprintable():
        raise UsageError(
            "a data frame needs a name" if not name else f"{name[:60]!r} is no name for the file of a data frame",
            hint=Message(Flag("name", "visits"), ": it becomes the table's name and that of its file"),
        )
    table = _arrow_table(frame)
    file = folder / FOLDER / f"{name}.parquet"
    is_new = not file.exists()
    if is_new:
        with new_file(file) as stream:
            pq.write_table(table, stream, compression="zstd")
    elif not _holds(file, table):
        raise UsageError(
            f"{FOLDER}/{file.name} exists and has other rows",
            hint="use another name; to give the table new rows, replace that file and refresh the table",
        )
    try:
        yield file
    except BaseException:
        if is_new:
            file.unlink(missing_ok=True)
        raise


def _holds(file: Path, table: Any) -> bool:
    try:
        return bool(pq.read_table(file, partitioning=None).equals(table))
    except (pa.ArrowException, OSError):
        return False


def _arrow_table(frame: Any) -> Any:
    """A frame as an Arrow table with plain texts."""
    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            table = _from_pandas(frame)
        elif isinstance(frame, pa.RecordBatchReader):
            table = frame.read_all()
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pa.table(frame)
        else:
            hint = "collect() it first" if hasattr(frame, "collect") else "a file name, a pandas or polars frame, Arrow"
            raise UsageError(f"a {type(frame).__name__} is no table of rows", hint=hint)
    except pa.ArrowException:  # its words may quote a value
        raise UsageError(f"this {type(frame).__name__} cannot be stored as Parquet") from None
    views = [
        field.with_type(pa.large_string()) if pa.types.is_string_view(field.type) else field for field in table.schema
    ]
    table = table.cast(pa.schema(views)).replace_schema_metadata(None)
    if len(set(table.column_names)) < table.num_columns:
        raise UsageError("two columns of the data frame have the same name", hint="rename one of them")
    return table


def _from_pandas(frame: Any) -> Any:
    """A pandas frame: an index that has a name is a column, any other is left out."""
    if not hasattr(frame, "columns"):
        raise UsageError("a Series is no table of rows", hint="series.to_frame()")
    named = [name for name in frame.index.names if name is not None]
    unnamed = [place for place, name in enumerate(frame.index.names) if name is None]
    frame = frame.droplevel(unnamed) if named and unnamed else frame
    if set(named) & set(frame.columns):
        raise UsageError("an index and a column of the data frame have the same name", hint="rename one of them")
    frame = frame.reset_index(drop=not named)
    columns = [_column(frame.iloc[:, place]) for place in range(frame.shape[1])]
    return pa.Table.from_arrays(columns, names=[str(name) for name in frame.columns])


def _column(values: Any) -> Any:
    """A column of a pandas frame. One of objects is text, value by value: no value decides the type of the others."""
    import pandas as pd

    kind = values.dtype.categories.dtype if isinstance(values.dtype, pd.CategoricalDtype) else values.dtype
    if not pd.api.types.is_object_dtype(kind):
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            pass
    texts = [None if gone else _text(value) for value, gone in zip(values, values.isna(), strict=True)]
    return pa.array(texts, pa.string())


def _text(value: object) -> str:
    """A value as text, as files write it; U+FFFD stands where a half of a pair has no other half."""
    text = str(value).lower() if str(value) in ("True", "False") and not isinstance(value, str) else str(value)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
