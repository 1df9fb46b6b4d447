"""`discreet attack auditing`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Command, Flag, Message, UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="auditing")(auditing)


def auditing(
    file: Annotated[
        Path | None, typer.Argument(help="File of queries, one per line: anna, ben = 1. Default: generated.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="Kind of queries in FILE: sum (any numbers) or boolean (bits).")
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

    if file is None:
        if kind is not None:
            raise UsageError(
                "--kind describes the queries of a file, but no file is given",
                hint=Message(Command("attack auditing", "FILE", Flag("kind", "sum"))),
            )
        evidence = lab.demo(people=people or lab.PEOPLE, queries=queries or lab.QUERIES)
    else:
        if people is not None or queries is not None:
            raise UsageError(
                "the file determines the number of people and queries",
                hint=Message("leave out ", Flag("n"), " and ", Flag("queries")),
            )
        evidence = lab.attack(lab.read(file), kind=kind or "sum")
    print_evidence(evidence, plot=plot, as_json=as_json)
