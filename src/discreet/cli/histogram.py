"""`discreet histogram`: how many rows have each value, or pair of values, of some columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text as RichText

import discreet
from discreet.cli import terminal
from discreet.cli.flags import (
    HERE,
    Analyst,
    AtMost,
    Bins,
    BinWidth,
    Confidence,
    Delta,
    Epsilon,
    Folder,
    Fresh,
    GroupBy,
    Json,
    Overwrite,
    ShareOfGroups,
    Where,
    Within,
    require_one_price,
)
from discreet.cli.row_file import Format, OldCsv, OldParquet, Output, row_files

if TYPE_CHECKING:
    from discreet.release import Release

#: The longest bar, in letters.
_BAR = 40


def histogram(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    columns: Annotated[list[str], typer.Argument(help="One column, or several to count every combination.")],
    where: Where = None,
    by: GroupBy = None,
    bins: Bins = None,
    width: BinWidth = None,
    epsilon: Epsilon = None,
    within: Within = None,
    share_of_groups: ShareOfGroups = None,
    at_most: AtMost = None,
    confidence: Confidence = "0.95",
    delta: Delta = None,
    analyst: Analyst = None,
    fresh: Fresh = False,
    output: Output = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    csv: OldCsv = None,
    parquet: OldParquet = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Count the rows for each value or bin of some columns. Charged; repeating it is free."""
    require_one_price(epsilon, within, share_of_groups=share_of_groups, at_most=at_most)
    opened_project = discreet.open(project)
    files = row_files(output, format_, opened_project, overwrite=overwrite, csv=csv, parquet=parquet)
    with terminal.progress("counting"):
        release = opened_project.histogram(table, *columns, where=where, by=by or (), bins=bins, width=width).ask(
            epsilon=epsilon,
            within=within,
            share_of_groups=share_of_groups,
            at_most=at_most,
            confidence=confidence,
            delta=delta,
            analyst=analyst,
            fresh=fresh,
        )
    wrote = terminal.save_rows(release, files)
    lines = [*terminal.answer_lines(release, opened_project.budget(release.table)), *wrote]
    terminal.print_result(
        release.to_data(), [_bars(release), *lines[1:]] if len(columns) == 1 and not by else lines, as_json=as_json
    )


def _bars(release: Release) -> Any:
    """The answer with a bar for each count, where there is one key: what is below 0 has none."""
    counts = [row[-1] if isinstance(row[-1], int | float) else 0 for row in release.rows]
    most = max([1.0, *map(float, counts)])
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    heads, rows = terminal.marked_cells(release)
    for head in (*heads, ""):
        table.add_column(RichText(head), no_wrap=True)
    for (key, number), count in zip(rows, counts, strict=False):  # no more than a screen shows
        table.add_row(RichText(key), RichText(number), "▇" * round(_BAR * max(0.0, float(count)) / most))
    return table
