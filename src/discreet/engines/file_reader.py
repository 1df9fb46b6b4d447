"""The rows of files that engines do not read as they are, by the reader of their kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreet.engines.file_source import FileSource


def text_rows(part: FileSource) -> Iterator[list[str | None]]:
    """The rows of one file whose values are all text."""
    [file], names, layout = part.files, part.names, part.layout
    match part.kind:
        case "json":
            from discreet.engines.json_lines import json_rows

            yield from json_rows(file, names, layout)
        case "sqlite":
            from discreet.engines.sqlite_reader import sqlite_rows

            yield from sqlite_rows(file, names, layout)
        case "excel":
            from discreet.engines.workbook_reader import sheet_rows

            yield from sheet_rows(file, names, layout)
        case _:
            raise ValueError(f"a {part.kind} file has no rows of text here")


def typed_batches(part: FileSource) -> Iterator[Any]:
    """The rows of one file with types, as Arrow batches."""
    [file] = part.files
    if part.kind == "arrow":
        from discreet.engines.arrow_reader import arrow_batches

        yield from arrow_batches(file, part.names)
        return
    from discreet.engines.duckdb_file import duckdb_batches

    yield from duckdb_batches(file, part.names, part.layout)


def typed_schema(source: FileSource) -> Any:
    """The Arrow types of a source's columns, in their order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    part = source.single_files()[0]
    match part.kind:
        case "arrow":
            from discreet.engines.arrow_reader import arrow_columns

            types, _ = arrow_columns(part.files[0])
        case "duckdb":
            from discreet.engines.duckdb_file import duckdb_schema

            schema = duckdb_schema(part.files[0], part.names, part.layout)
            types = dict(zip(schema.names, schema.types, strict=True))
        case _:
            schema = pq.read_schema(part.files[0])
            return pa.schema([schema.field(place) for place in source.places_in(part)])
    return pa.schema([(name, types[name]) for name in source.names])
