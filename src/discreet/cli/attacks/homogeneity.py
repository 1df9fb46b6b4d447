"""`discreet attack homogeneity`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Flag, Message, UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(homogeneity)


def homogeneity(
    file: Annotated[Path | None, typer.Argument(help="A release. Default: generated patients.")] = None,
    quasi: Annotated[str | None, typer.Option("--quasi", help="Columns that the attacker knows: a,b,c.")] = None,
    sensitive: Annotated[str | None, typer.Option("--sensitive", help="The column to learn.")] = None,
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="First make a release of the file, by Mondrian with this k.")
    ] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Find people whose class has only one sensitive value."""
    from discreet.lab.anonymize import anonymize
    from discreet.lab.attacks import homogeneity as attack
    from discreet.lab.table_reader import parse_names, read

    refuse_unwritable_plot(plot)
    if file is None:
        if quasi is not None or sensitive is not None or k is not None:
            raise UsageError("--quasi, --sensitive and --k need a file")
        print_evidence(attack.demo(), plot=plot, as_json=as_json)
        return
    if quasi is None or sensitive is None:
        raise UsageError(
            "a file needs --quasi and --sensitive",
            hint=Message(Flag("quasi", ("zip", "age", "sex")), " ", Flag("sensitive", "condition")),
        )
    table = read(file)
    if k is not None:
        table = anonymize(table, quasi=parse_names(quasi), sensitive=[sensitive], k=k).table
    print_evidence(attack.homogeneity(table, quasi=parse_names(quasi), sensitive=sensitive), plot=plot, as_json=as_json)
