"""`discreet attack intersection`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Command, Flag, Message, UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(intersection)


def intersection(
    files: Annotated[list[Path] | None, typer.Argument(help="Two releases. Default: generated hospitals.")] = None,
    people: Annotated[
        Path | None, typer.Option("--people", help="File of people who are in both, with their real values.")
    ] = None,
    quasi: Annotated[str | None, typer.Option("--quasi", help="Columns that the attacker knows: a,b,c.")] = None,
    sensitive: Annotated[str | None, typer.Option("--sensitive", help="The column to learn.")] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Combine two releases about the same people."""
    from discreet.lab.attacks import intersection as attack
    from discreet.lab.table_reader import parse_names, read

    refuse_unwritable_plot(plot)
    if not files:
        if people is not None or quasi is not None or sensitive is not None:
            raise UsageError("--people, --quasi and --sensitive need two releases")
        print_evidence(attack.demo(), plot=plot, as_json=as_json)
        return
    if len(files) != 2 or people is None or quasi is None or sensitive is None:
        raise UsageError(
            "this attack needs two releases, --people, --quasi and --sensitive",
            hint=Message(
                Command(
                    "attack intersection",
                    "a.csv",
                    "b.csv",
                    Flag("people", "c.csv"),
                    Flag("quasi", ("zip", "age")),
                    Flag("sensitive", "condition"),
                )
            ),
        )
    first, second = (read(file) for file in files)
    evidence = attack.intersection(first, second, read(people), quasi=parse_names(quasi), sensitive=sensitive)
    print_evidence(evidence, plot=plot, as_json=as_json)
