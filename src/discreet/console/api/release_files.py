"""A release as a file: each noisy column is followed by the ends of its noise interval."""

from __future__ import annotations

import io

from discreet.console import render
from discreet.console.responses import Download, PageTable
from discreet.release import Release

PARQUET = "application/vnd.apache.parquet"


def csv_file(release: Release) -> Download:
    """As CSV."""
    table = release.to_arrow()
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    text = render.csv_of(PageTable(columns=table.column_names, rows=rows))
    return Download(content=text.encode(), media_type="text/csv; charset=utf-8", name=f"{release.id}.csv")


def parquet_file(release: Release) -> Download:
    """As Parquet."""
    import pyarrow.parquet as parquet

    out = io.BytesIO()
    parquet.write_table(release.to_arrow(), out)
    return Download(content=out.getvalue(), media_type=PARQUET, name=f"{release.id}.parquet")
