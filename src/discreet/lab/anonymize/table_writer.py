"""Writes tables of the lab as CSV or Parquet, by the name of the file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from discreet.errors import UsageError


def check_output_path(path: Path, *sources: Path) -> None:
    """Refuse a name that says no format, or that of a file which is read."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"{path.name!r} is neither .csv nor .parquet", hint="-o release.csv")
    if any(path.resolve() == source.resolve() for source in sources):
        raise UsageError(f"{path.name!r} is the input file: writing would overwrite it", hint="write to another file")


def write_table(table: pa.Table, path: Path) -> None:
    """Write all rows."""
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, path)
    else:
        from pyarrow import csv

        csv.write_csv(table, path)
