"""`discreet reconcile`: the released answers of a table, made to agree with each other. Free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text as RichText

import discreet
from discreet.cli import terminal
from discreet.cli.flags import HERE, Folder, Json, Overwrite
from discreet.cli.row_file import Format, OldCsv, Output, RowFile, row_files
from discreet.errors import Command, Message, UsageError, no_release

if TYPE_CHECKING:
    from discreet.answers.reconcile.agreement import Agreement, ReconciledNumber
    from discreet.project.project import Project

#: So many identities, and releases that stay out, are listed on a screen.
_MOST_LISTED = 20


def reconcile(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE] [RELEASE...]", help="A table, or some of its releases: r-…")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Also show whole numbers that agree; no count is negative.")
    ] = False,
    output: Output = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    csv: OldCsv = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Make the released answers of a table agree with each other. Free."""
    opened_project = discreet.open(project)
    files = row_files(output, format_, opened_project, overwrite=overwrite, csv=csv)
    table, releases = _table_and_releases(opened_project, list(words or []))
    with terminal.progress("reconciling"):
        agreement = opened_project.reconcile(table, releases, whole=whole)
    for file in files:
        _write(agreement, file)
    terminal.print_result(agreement.to_data(), _agreement_lines(agreement), as_json=as_json)


def _table_and_releases(project: Project, words: list[str]) -> tuple[str, list[str]]:
    """The table and the releases: a release tells its table, and the only table need not be named."""
    if words and words[0].startswith("d-") and words[0] not in project.file.tables:
        raise no_release(words[0])
    if words and not words[0].startswith("r-"):
        table = project.table(words[0])
        if table.public:
            raise UsageError(f"{table.name!r} is public: its answers are exact and agree already")
        return table.name, words[1:]
    charges = project.ledger.refresh().charges
    if words and words[0] in charges:
        return charges[words[0]].table, words
    if words:
        raise no_release(words[0])
    private = [table.name for table in project.file.tables.values() if not table.public]
    if len(private) != 1:
        raise UsageError(
            "name a table", hint=Message(Command("reconcile", private[0])) if private else "declare a table first"
        )
    return private[0], []


def _agreement_lines(agreement: Agreement) -> list[Any]:
    rounded = agreement.rounded is not None
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    table.add_column("number", no_wrap=True)
    for name in ("released", "reconciled", *(["whole"] if rounded else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for line in agreement.lines[: terminal.MOST_ROWS]:
        cells = [_pair(line.value, line.standard_error), _pair(line.reconciled, line.reconciled_error)]
        table.add_row(RichText(line.words()), *cells, *([_whole(line)] if rounded else []))
    lines: list[Any] = [table]
    if len(agreement.lines) > terminal.MOST_ROWS:
        lines.append(f"… {len(agreement.lines) - terminal.MOST_ROWS:,} more; -o FILE.csv writes them all")
    lines += ["", *_identities(agreement)]
    left = [f"left out: {each.release}, {each.reason}" for each in agreement.left_out]
    lines += left[:_MOST_LISTED] + ([f"… {len(left) - _MOST_LISTED:,} more"] if len(left) > _MOST_LISTED else [])
    if agreement.rounded is False:
        lines.append(
            "no whole numbers were found that satisfy every identity: the numbers shown agree, but are not whole"
        )
    return [*lines, "± is one standard error of the noise. Nothing was charged."]


def _identities(agreement: Agreement) -> list[str]:
    lines = [f"  {agreement.identity(each)}" for each in agreement.identities[:_MOST_LISTED]]
    if not lines:
        return ["no number follows from the others: nothing to reconcile"]
    more = len(agreement.identities) - len(lines)
    many = "1 identity holds" if len(agreement.identities) == 1 else f"{len(agreement.identities):,} identities hold"
    head = (
        f"{many} for any data; the released numbers deviate by a chi-square of {agreement.chi_square:.3g} "
        f"(about {agreement.degrees:,} is expected)"
    )
    return [head, *lines, *([f"  … {more:,} more"] if more else [])]


def _pair(value: float, error: float) -> str:
    return f"{value:,.6g} ± {error:.3g}"


def _whole(line: ReconciledNumber) -> str:
    return "" if line.whole is None else f"{line.whole:,.10g}"


def _write(agreement: Agreement, file: RowFile) -> None:
    """The numbers: one row for each, its keys in one field."""
    names = ("release", "column", "keys", "value", "standard_error", "reconciled", "reconciled_error", "whole")
    rows = []
    for line in agreement.lines:
        data = line.to_data()
        keys = ";".join(f"{name}={'' if label is None else label}" for name, label in data["keys"].items())
        rows.append([(data | {"keys": keys})[name] for name in names])
    try:
        file.write_rows(names, rows)
    except OSError as problem:
        raise UsageError(f"{str(file.path)!r} could not be written: {problem.strerror or problem}") from None
