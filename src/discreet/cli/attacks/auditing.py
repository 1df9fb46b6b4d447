"""`discreet attack auditing`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Command, Flag, Message, UsageError

if TYPE_CHECKING:
    from discreet.lab.evidence import Evidence


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="auditing")(auditing)


def auditing(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="File of queries, one per line: anna, ben = 1. With --question, a table, one row per person. "
            "Default: generated."
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Kind of secrets in FILE: sum (any numbers) or boolean (bits).")
    ] = None,
    question: Annotated[
        list[str] | None,
        typer.Option(
            "--question",
            help="An SQL sum of a confidential column over public ones: select sum(salary) from t where age > 35. "
            "Give it once for each question, in their order.",
        ),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="A file of such SQL sums, with a ; between them.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Column of the table that names people. Default: name, if there is one."),
    ] = None,
    formula: Annotated[
        str | None,
        typer.Option("--formula", help="Draw a formula, such as 'a b c; b c d', as counts whose audit is as hard."),
    ] = None,
    people: Annotated[int | None, typer.Option("--n", min=1, help="Generated data: number of values.")] = None,
    queries: Annotated[int | None, typer.Option("--queries", min=1, help="Generated data: number of sums.")] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Deny unsafe queries, and see what a denial still reveals. Shows which queries can be answered, at what cost."""
    refuse_unwritable_plot(plot)
    from discreet.lab import query_auditing as lab

    sql = bool(question or questions)
    if formula is not None:
        if file is not None or sql or kind is not None or people is not None or queries is not None:
            raise UsageError(
                "a formula is audited alone, without a table or queries",
                hint=Message(Command("attack auditing", Flag("formula", "a b c"))),
            )
        print_evidence(lab.audit_formula(formula), plot=plot, as_json=as_json)
        return
    if (people is not None or queries is not None) and (file is not None or sql):
        raise UsageError(
            "the file determines the number of people and queries",
            hint=Message("leave out ", Flag("n"), " and ", Flag("queries")),
        )
    if sql:
        evidence = _audit_sql(file, question, questions, name=name, kind=kind or "sum")
    elif name is not None:
        raise UsageError("a column of names is only for SQL sums over a table", hint=Message(Flag("question", "SQL")))
    elif file is None:
        if kind is not None:
            raise UsageError(
                "--kind describes the queries of a file, but no file is given",
                hint=Message(Command("attack auditing", "FILE", Flag("kind", "sum"))),
            )
        evidence = lab.demo(people=people or lab.PEOPLE, queries=queries or lab.QUERIES)
    else:
        evidence = lab.attack(lab.read(file), kind=kind or "sum")
    print_evidence(evidence, plot=plot, as_json=as_json)


def _audit_sql(
    file: Path | None, question: list[str] | None, questions: Path | None, *, name: str | None, kind: str
) -> Evidence:
    """SQL sums over a user's table."""
    from discreet.lab import query_auditing as lab
    from discreet.lab.table_reader import read

    if file is None:
        raise UsageError(
            "SQL sums need a table",
            hint=Message(
                Command("attack auditing", "employees.csv", Flag("question", "select sum(salary) from employees"))
            ),
        )
    texts = list(question or [])
    if questions is not None:
        try:
            texts.append(questions.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            raise UsageError(
                f"there is no text file {str(questions)!r}", hint="SQL sums, with a ; between them"
            ) from None
    return lab.audit_sql(lab.read_sums(read(file), texts, name=name), kind=kind)
