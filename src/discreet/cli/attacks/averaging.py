"""`discreet attack averaging`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.attacks.differencing import Budget, Table, Targets, Trait, Value, needs_trait
from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="averaging")(averaging)


def averaging(
    file: Table = None,
    trait: Trait = None,
    value: Value = None,
    repeats: Annotated[int, typer.Option("--repeats", help="How many times the query is asked.")] = 1_000,
    epsilon: Budget = "1",
    targets: Targets = 1_000,
    server: Annotated[
        str, typer.Option("--server", help="Server whose result is the main one: exact, noisy or discreet.")
    ] = "noisy",
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Repeat a query until fresh noise averages out. A ledger that counts the cost stops it."""
    refuse_unwritable_plot(plot)
    needs_trait(file, trait, verb="averaging")
    from discreet.lab.attacks import averaging as lab
    from discreet.lab.table_reader import read

    evidence = lab.attack(
        None if file is None else read(file),
        trait=trait or "",
        value=value,
        epsilon=epsilon,
        repeats=repeats,
        targets=targets,
        server=server,
    )
    print_evidence(evidence, plot=plot, as_json=as_json)
