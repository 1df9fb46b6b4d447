"""`discreet audit`: `measure` the epsilon of what is installed, and try one's own questions on `neighbours`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import discreet
from discreet.cli import terminal
from discreet.cli.audit import FAILED, measure
from discreet.cli.flags import HERE, Folder, Json
from discreet.cli.verb_app import DefaultVerbGroup, VerbApp
from discreet.errors import Refused, UsageError
from discreet.present.cell_text import cell_text

if TYPE_CHECKING:
    from discreet.lab.neighbours.question_report import NeighbourReport, QuestionReport, VectorReport, Violation

audit_app = VerbApp(
    cls=DefaultVerbGroup,
    subcommand_metavar="[measure] [NAME]... | neighbours --table TABLE --questions FILE",
    help="Measure the epsilon of the installed code, or try your own questions on neighbouring tables. "
    "`discreet audit NAME` is short for `discreet audit measure NAME`.",
)
audit_app.command("measure")(measure)


@audit_app.command(short_help="Test your queries on pairs of small made-up tables.")
def neighbours(
    table: Annotated[str, typer.Option("--table", help="The declared table whose people come and go.")],
    questions: Annotated[
        Path, typer.Option("--questions", help="A file of SQL queries, with a ; between them. - reads standard input.")
    ],
    tries: Annotated[
        int | None, typer.Option("--tries", help="How many pairs of tables to try for each query. Default: 50.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", help="duckdb, memory, or an address. Default: the engine of the table."),
    ] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Test your queries on pairs of small made-up tables that differ by one person: does any exact number change by
    more than the sensitivity that its noise assumes? Exit code 1 if one does; exit code 3 if none does but a query was
    refused. Free: no private data is read.
    """
    from discreet.lab import neighbours as lab

    text = _read(questions)
    report = lab.audit(
        discreet.open(project),
        table=table,
        questions=text,
        tries=lab.TRIES if tries is None else tries,
        engine=engine,
        progress=_progress,
    )
    terminal.print_result(report.to_data(), report_lines(report), as_json=as_json)
    if not report.holds:
        raise typer.Exit(FAILED)
    if report.refused:
        raise typer.Exit(Refused.exit_code)


def _progress(number: int) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[Ktrying pair {number:,}", end="\r", file=sys.stderr, flush=True)


def _read(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(
            f"cannot read {str(file)!r}: {problem.strerror}",
            hint="write your queries into a file, with a ; between them",
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{str(file)!r} is not UTF-8 text") from None


def report_lines(report: NeighbourReport) -> list[str]:
    """A report for people."""
    lines = [
        f"Neighbours differ by {report.unit} of {report.table!r}. The {report.engine} engine counted, before noise.",
    ]
    for number, question in zip(report.numbers, report.questions, strict=True):
        lines += ["", *_question_lines(number, question)]
    for refused in report.refused:
        lines += ["", f"{refused.number}. {' '.join(refused.text.split())}", f"   REFUSED, not tried: {refused.reason}"]
    broken = sum(not question.holds for question in report.questions)
    verdict = (
        f"{broken} of {len(report.questions)} queries move further than claimed."
        if broken
        else ("No number moved further than its sensitivity.")
    )
    if report.refused:
        verdict += f" {len(report.refused)} {'query was' if len(report.refused) == 1 else 'queries were'} refused."
    lines += ["", f"{verdict} Tables were made up: no private data was read, and nothing was charged."]
    return lines + [f"note: {note}" for note in report.notes]


def _question_lines(number: int, question: QuestionReport) -> list[str]:
    text = " ".join(question.text.split())
    verdict = "holds" if question.holds else "DOES NOT HOLD"
    tried = f"{question.pairs:,} pairs with one added or removed, {question.changed_pairs:,} with one changed"
    lines = [f"{number}. {text}", f"   {verdict}: {tried}"]
    lines += [f"   {_vector_line(vector)}" for vector in question.vectors.values()]
    return lines + ([] if question.violation is None else _violation_lines(question.violation))


def _vector_line(vector: VectorReport) -> str:
    data = vector.to_data()
    parts = [f"{norm.upper()} {data[norm]['largest']:,.4g} of {data[norm]['claimed']:,.4g}" for norm in ("l1", "l2")]
    ends = "attained" if vector.is_attained else f"{vector.largest_ratio:.0%} of the claim"
    return f"{data['statistic']}: largest change {', '.join(parts)} ({ends})"


def _violation_lines(violation: Violation) -> list[str]:
    who = "one row" if violation.person is None else f"person {' + '.join(violation.person)!r}"
    lines = [f"   {violation.reason}"]
    for table in violation.tables:
        lines += [f"   {table.name} with {who}:", *_rows_lines(table.columns, table.rows_with)]
        lines += [f"   {table.name} without:", *_rows_lines(table.columns, table.rows_without)]
    return lines


def _rows_lines(columns: tuple[str, ...], rows: tuple[tuple[Any, ...], ...]) -> list[str]:
    cells = [list(columns), *([cell_text(cell) for cell in row] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    return [
        "     " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
