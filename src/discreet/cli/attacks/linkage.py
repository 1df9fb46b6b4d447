"""`discreet attack linkage`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("linkage")(linkage)


def linkage(
    bare: Annotated[Path | None, typer.Argument(metavar="[HOSPITAL]", help="A file without names.")] = None,
    named: Annotated[Path | None, typer.Argument(metavar="[VOTERS]", help="A file with names.")] = None,
    on: Annotated[
        str | None, typer.Option("--on", help="Columns in both files: zip,birth,sex. Default: all shared ones.")
    ] = None,
    search: Annotated[
        bool, typer.Option("--search", help="Try sets of these columns to find which identify people.")
    ] = False,
    truth: Annotated[
        str | None, typer.Option("--truth", help="Column in both files that says whose row it is.")
    ] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Put names on rows by the columns they share with a list. Without files: a generated state."""
    from discreet.lab.attacks import linkage as lab
    from discreet.lab.table_reader import parse_names, read

    refuse_unwritable_plot(plot)
    columns = parse_names(on) if on is not None else None
    if bare is None:
        if truth is not None:
            raise UsageError("--truth needs files; the generated data already contains the true matches")
        evidence = lab.demo(on=columns or lab.STATE, find=search)
    elif named is None:
        raise UsageError("linkage takes two files: one without names and one with names")
    elif search:
        evidence = lab.search(read(bare), read(named), among=columns, truth=truth)
    else:
        evidence = lab.link(read(bare), read(named), on=columns, truth=truth)
    print_evidence(evidence, plot=plot, as_json=as_json)
