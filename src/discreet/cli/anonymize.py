"""`discreet anonymize`: make a release with k-anonymity, l-diversity and t-closeness, and say what it still tells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Ignored, Json
from discreet.cli.row_file import Format, new_file

if TYPE_CHECKING:
    from discreet.lab.anonymize import AnonymizedRelease
    from discreet.lab.anonymize.cell_suppression import CellSuppression

Quasi = Annotated[str, typer.Option("--quasi", help="Columns that an attacker may know: a,b,c.")]
Sensitive = Annotated[
    str | None, typer.Option("--sensitive", help="Sensitive columns, which an attacker should not learn: a,b.")
]


def anonymize(
    file: Annotated[Path, typer.Argument(help="A CSV or Parquet file.")],
    quasi: Quasi,
    k: Annotated[int, typer.Option("--k", min=1, help="Put at least K rows in every class.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Write the release to this .csv or .parquet file.")],
    format_: Format = None,
    sensitive: Sensitive = None,
    l: Annotated[float, typer.Option("--l", help="At least L sensitive values in every class.")] = 1.0,  # noqa: E741
    t: Annotated[float, typer.Option("--t", help="Allow each class at most distance T from the whole table.")] = 1.0,
    entropy: Annotated[
        bool, typer.Option("--entropy", help="Measure l as the exponential of the entropy, not as a number of values.")
    ] = False,
    method: Annotated[
        str, typer.Option("--method", help="The algorithm: mondrian, lattice or suppression (of single cells).")
    ] = "mondrian",
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            help="What a class shows: round (30-50, R*) or tight (34-47), made from its own rows. "
            "Default: the method's own.",
        ),
    ] = None,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Write rows in the order of the file, which may show whose they are.")
    ] = False,
    suppress: Annotated[
        float | None,
        typer.Option("--suppress", help="With lattice: the share of rows that may be left out (default 0.05)."),
    ] = None,
    hierarchies: Annotated[
        list[Path] | None,
        typer.Option("--hierarchies", help="With lattice: a hierarchy file COLUMN.csv, or a folder of such files."),
    ] = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Make a k-anonymous release and report what it still reveals. Columns that you do not name are left out."""
    from discreet.lab import anonymize as made_by
    from discreet.lab.anonymize.hierarchy import read_hierarchies
    from discreet.lab.table_reader import parse_names, read

    target = new_file(output, format_, file, *(hierarchies or ()))
    table = read(file)
    made = made_by.anonymize(
        table,
        quasi=parse_names(quasi),
        sensitive=parse_names(sensitive) if sensitive is not None else (),
        k=k,
        l=l,
        t=t,
        entropy=entropy,
        method=method,
        suppress=suppress,
        hierarchies=read_hierarchies(hierarchies or ()),
        labels=labels,
        keep_order=keep_order,
    )
    target.write_table(made.table)
    dropped = [name for name in table.column_names if name not in made.table.column_names]
    terminal.print_result(
        {**made.to_data(), "columns_left_out": dropped}, _lines(made, output, dropped, k), as_json=as_json
    )


def _lines(made: AnonymizedRelease, output: Path, dropped: list[str], k: int) -> list[str]:
    from discreet.lab.evidence import percent

    before, after = made.before, made.after
    lines = [
        f"wrote {output}: {after.rows:,} rows in {after.classes:,} classes, k = {after.k}"
        + (f", l = {after.l}, t = {after.t:.4f}" if after.l is not None else ""),
        f"before: k = {before.k}; {percent(before.unique_share)} of rows were unique; "
        f"information loss {made.loss:.3f} (0: unchanged, 1: nothing left)",
    ]
    if made.left_out:
        lines.append(f"left out: {made.left_out:,} rows")
    if (cells := made.suppression) is not None:
        lines.append(_cells(cells, before.rows, k))
    if made.levels is not None:
        lines.append("levels: " + ", ".join(f"{name} {level}" for name, level in made.levels.items()))
    if dropped:
        lines.append(f"columns left out because they were not named: {', '.join(dropped)}")
    lines += ["what still leaks:", _labels(made)]
    if made.keeps_order:
        lines.append("  rows are in the order of your file: whoever knows that order knows whose row each is")
    if after.homogeneous_share is None or after.entropy_l is None:
        lines.append("  unknown: name the --sensitive column to measure it")
    else:
        certain = float((after.largest_share >= 0.9).mean())
        lines += [
            f"  {percent(after.homogeneous_share)} of people are in a class with one sensitive value: it is revealed",
            f"  {percent(certain)} are in a class where at least 9 in 10 have the same value",
        ]
    return [
        *lines,
        "  it does not protect against an attacker who has another release or knows more: see discreet attack",
    ]


def _cells(cells: CellSuppression, rows: int, k: int) -> str:
    """How many cells were replaced, beside the fewest possible."""
    share = f"replaced: {cells.stars:,} of {rows * cells.kept.shape[1]:,} cells"
    if cells.stars == cells.fewest:
        return f"{share}, which is proved to be the fewest possible"
    return (
        f"{share}; at least {cells.fewest:,} are necessary, so this is at most {cells.factor:.2f} times the fewest "
        f"(for any table: at most {3 * (k - 1)} times)"
    )


def _labels(made: AnonymizedRelease) -> str:
    """What the labels themselves show."""
    if made.labels == "stars":
        return "  labels show a value where all rows of a class have it, and * where they do not"
    if made.labels == "round":
        return (
            "  labels show between which round numbers or dates the rows of a class lie, and how their words begin: "
            "more than the cuts of the method, because they depend on single rows"
        )
    if made.labels == "tight":
        from discreet.lab.evidence import percent

        return (
            "  labels show the smallest and the largest value of each class, and lists of words: these are values of "
            f"people; {percent(made.shown_alone or 0.0)} of rows are the only one of their class with a value shown"
        )
    if made.method == "lattice":
        sentence = "  labels show the levels of the hierarchies; level 0 shows the values themselves"
        if words := made.shows_words:
            sentence += (
                f"; {', '.join(words)}: real values (the first and last of each group), because no hierarchy was given"
            )
        return sentence
    return (
        f"  labels show the cut points, which are round, and exact values where at least {made.after.k} rows have "
        "them or where there is no other value between two neighbours"
    )
