"""`discreet attack differencing`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Command, Flag, Message, UsageError

Table = Annotated[Path | None, typer.Argument(help="CSV or Parquet file, one row per person. Default: generated.")]
Trait = Annotated[str | None, typer.Option("--trait", help="Column of FILE that the attack tries to learn.")]
Value = Annotated[
    str | None, typer.Option("--value", help="Value of that column to look for. Default: true, yes or 1.")
]
Budget = Annotated[str, typer.Option("--epsilon", help="Total budget of the Discreet server.")]
Targets = Annotated[int, typer.Option("--targets", help="Number of people to attack.")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="differencing")(differencing)


def differencing(
    file: Table = None,
    trait: Trait = None,
    value: Value = None,
    tale: Annotated[str, typer.Option("--tale", help="Generated scenario: patients, name or class.")] = "patients",
    epsilon: Budget = "1",
    targets: Targets = 1_000,
    server: Annotated[
        str, typer.Option("--server", help="Server whose result is the main one: exact, noisy or discreet.")
    ] = "exact",
    people: Annotated[
        int, typer.Option("--people", help="Generated scenario: how many people share each secret, such as a family.")
    ] = 1,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Count everybody, count all but one, subtract. Runs on exact answers, noisy ones and Discreet's own server."""
    refuse_unwritable_plot(plot)
    needs_trait(file, trait, verb="differencing")
    from discreet.lab.attacks import differencing as lab
    from discreet.lab.table_reader import read

    evidence = lab.attack(
        None if file is None else read(file),
        trait=trait or "",
        value=value,
        tale=tale,
        epsilon=epsilon,
        targets=targets,
        server=server,
        people=people,
    )
    print_evidence(evidence, plot=plot, as_json=as_json)


def needs_trait(file: Path | None, trait: str | None, *, verb: str) -> None:
    """A file needs a column, and a column a file."""
    if (file is None) != (trait is None):
        raise UsageError(
            "a file needs --trait, and --trait needs a file",
            hint=Message(Command(f"attack {verb}", "FILE", Flag("trait", "COLUMN"))),
        )
