"""`discreet attack auditing`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="auditing")(auditing)


def auditing(
    file: Annotated[Path | None, typer.Argument(help="Questions, one a line: anna, ben = 1; else generated.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Of FILE: sum (any numbers) or boolean (bits).")] = None,
    people: Annotated[int | None, typer.Option("--n", min=1, help="Generated: how many numbers.")] = None,
    queries: Annotated[int | None, typer.Option("--queries", min=1, help="Generated: how many sums.")] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Deny what would tell, and see what a denial still tells. Which questions can be answered, at what cost."""
    refuse_unwritable_plot(plot)
    from discreet.lab import query_auditing as lab

    if file is None:
        if kind is not None:
            raise UsageError("--kind is about the questions of a file", hint="discreet attack auditing FILE --kind sum")
        evidence = lab.demo(people=people or lab.PEOPLE, queries=queries or lab.QUERIES)
    else:
        if people is not None or queries is not None:
            raise UsageError("a file says how many people and questions there are", hint="leave out --n and --queries")
        evidence = lab.attack(lab.read(file), kind=kind or "sum")
    print_evidence(evidence, plot=plot, as_json=as_json)
