"""`discreet attack background`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Flag, Message, UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(background)


def background(
    file: Annotated[Path | None, typer.Argument(help="A release. Default: generated patients.")] = None,
    quasi: Annotated[str | None, typer.Option("--quasi", help="Columns that the attacker knows: a,b,c.")] = None,
    sensitive: Annotated[str | None, typer.Option("--sensitive", help="The column to learn.")] = None,
    facts: Annotated[
        int | None, typer.Option("--facts", min=0, help="Number of values that the attacker can rule out (default 2).")
    ] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Learn somebody's value by ruling out a few other values."""
    from discreet.lab.attacks import background as attack
    from discreet.lab.table_reader import parse_names, read

    refuse_unwritable_plot(plot)
    if file is None:
        if quasi is not None or sensitive is not None or facts is not None:
            raise UsageError("--quasi, --sensitive and --facts need a file")
        print_evidence(attack.demo(), plot=plot, as_json=as_json)
        return
    if quasi is None or sensitive is None:
        raise UsageError(
            "a file needs --quasi and --sensitive",
            hint=Message(Flag("quasi", ("zip", "age", "sex")), " ", Flag("sensitive", "condition")),
        )
    evidence = attack.background(
        read(file), quasi=parse_names(quasi), sensitive=sensitive, facts=2 if facts is None else facts
    )
    print_evidence(evidence, plot=plot, as_json=as_json)
