"""`discreet attack sampling`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Flag, Message, UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("sampling")(sampling)


def sampling(
    population: Annotated[Path | None, typer.Argument(help="File of the whole population.")] = None,
    sample: Annotated[Path | None, typer.Argument(help="File of the published sample. Default: one is drawn.")] = None,
    on: Annotated[str | None, typer.Option("--on", help="Columns that the attacker has: zip,birth,sex.")] = None,
    share: Annotated[
        float | None, typer.Option("--share", help="Share of the population that is published (default 0.01).")
    ] = None,
    truth: Annotated[
        str | None, typer.Option("--truth", help="Column in both files that says whose row it is.")
    ] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Name the people in a published sample. Without files: a generated state."""
    from discreet.lab.attacks import sampling as lab
    from discreet.lab.table_reader import parse_names, read

    refuse_unwritable_plot(plot)
    if sample is not None and share is not None:
        raise UsageError("--share draws a sample, but a sample is given", hint="leave one of them out")
    part = 0.01 if share is None else share
    if population is None:
        if on is not None or truth is not None:
            raise UsageError("--on and --truth need a file of the whole population")
        evidence = lab.demo(share=part)
    elif on is None:
        raise UsageError("name the columns that the attacker has", hint=Message(Flag("on", ("zip", "birth", "sex"))))
    else:
        everybody = read(population)
        published = lab.draw_sample(everybody, part) if sample is None else read(sample)
        evidence = lab.expose(published, everybody, on=parse_names(on), truth=truth)
    print_evidence(evidence, plot=plot, as_json=as_json)
