"""`discreet attack census`: rebuild people from published tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("census")(census)


def census(
    block: Annotated[
        Path | None, typer.Argument(help="TOML file of the tables. Default: a fictional block of seven people.")
    ] = None,
    without: Annotated[str | None, typer.Option("--without", help="Leave these statistics out: 3B,4A.")] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Publish the tables again, with noise for this epsilon.")
    ] = None,
    most: Annotated[int, typer.Option("--most", min=1, help="List at most this many possible blocks.")] = 1000,
    seconds: Annotated[
        float, typer.Option("--seconds", help="About how many seconds to search for each answer.")
    ] = 60.0,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Reconstruct people from published tables. Finds every block that fits, and what is certain about its people."""
    from discreet.lab.attacks import census as lab

    refuse_unwritable_plot(plot)
    published = lab.seven_people() if block is None else lab.read(block)
    names = [name.strip() for name in without.split(",")] if without else []
    with terminal.progress("searching"):
        evidence = lab.attack(published, without=names, epsilon=epsilon, most=most, seconds=seconds)
    print_evidence(evidence, plot=plot, as_json=as_json)
