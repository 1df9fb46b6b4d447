"""`discreet attack minimality`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Flag, Message, UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(minimality)


def minimality(
    file: Annotated[Path | None, typer.Argument(help="The original table. Default: generated villages.")] = None,
    quasi: Annotated[
        str | None, typer.Option("--quasi", help="Columns that the attacker knows: a,b,c; the last is generalised.")
    ] = None,
    sensitive: Annotated[str | None, typer.Option("--sensitive", help="The column to learn.")] = None,
    protect: Annotated[
        str | None, typer.Option("--protect", help="The value of that column that is protected.")
    ] = None,
    l: Annotated[int, typer.Option("--l", min=2, help="At most 1/L of a class may have that value.")] = 2,  # noqa: E741
    k: Annotated[int, typer.Option("--k", min=1, help="Put at least K rows in every class.")] = 2,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Learn from the fact that a publisher had to generalise."""
    from discreet.lab.attacks import minimality as attack
    from discreet.lab.table_reader import parse_names, read

    refuse_unwritable_plot(plot)
    if file is None:
        if quasi is not None or sensitive is not None or protect is not None:
            raise UsageError("--quasi, --sensitive and --protect need a file")
        print_evidence(attack.demo(l=l, k=k), plot=plot, as_json=as_json)
        return
    if quasi is None or sensitive is None or protect is None:
        raise UsageError(
            "a file needs --quasi, --sensitive and --protect",
            hint=Message(
                Flag("quasi", ("zip", "job")), " ", Flag("sensitive", "test"), " ", Flag("protect", "positive")
            ),
        )
    evidence = attack.minimality(read(file), quasi=parse_names(quasi), sensitive=sensitive, protect=protect, l=l, k=k)
    print_evidence(evidence, plot=plot, as_json=as_json)
