"""`discreet attack network`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="network")(network)


def network(
    tale: Annotated[
        str,
        typer.Option(
            "--tale",
            help="Scenario: keepers, friends or accounts (is a link there?), newcomer (is a person?), alice (both).",
        ),
    ] = "keepers",
    epsilon: Annotated[
        str, typer.Option("--epsilon", help="Total budget of the Discreet server for each target.")
    ] = "1",
    targets: Annotated[int | None, typer.Option("--targets", help="Number of links or people to attack.")] = None,
    server: Annotated[
        str, typer.Option("--server", help="Server whose result is the main one: exact, noisy or discreet.")
    ] = "exact",
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Learn who is in a network, and who knows whom. Runs on exact, badly noised and Discreet's own statistics."""
    refuse_unwritable_plot(plot)
    from discreet.lab.attacks.network import attack

    evidence = attack(tale=tale, epsilon=epsilon, targets=targets, server=server)
    print_evidence(evidence, plot=plot, as_json=as_json)
