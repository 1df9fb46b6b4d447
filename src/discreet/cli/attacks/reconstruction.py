"""`discreet attack reconstruction`."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.attacks.differencing import Table, Trait, Value, needs_trait
from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="reconstruction")(reconstruction)


def reconstruction(
    file: Table = None,
    trait: Trait = None,
    value: Value = None,
    people: Annotated[int | None, typer.Option("--n", help="Number of people.")] = None,
    queries: Annotated[int | None, typer.Option("--queries", help="Number of counts to ask for. Default: 4 n.")] = None,
    noise: Annotated[
        float | None, typer.Option("--noise", help="Largest error, as a multiple of sqrt(n). Default: 0.25.")
    ] = None,
    method: Annotated[str, typer.Option("--method", help="Method: squares, hadamard, lp or exhaustive.")] = "squares",
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Instead of --noise: the epsilon that all answers cost together.")
    ] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Solve many noisy counts for everybody's secret bit. After Dinur and Nissim."""
    refuse_unwritable_plot(plot)
    needs_trait(file, trait, verb="reconstruction")
    from discreet.lab.attacks import reconstruction as lab

    bits = None
    if file is not None:
        from discreet.lab.table_reader import read
        from discreet.lab.worlds.target_places import trait_bits

        bits = trait_bits(read(file), trait or "", value)
    evidence = lab.attack(bits, people=people, queries=queries, noise=noise, method=method, epsilon=epsilon)
    print_evidence(evidence, plot=plot, as_json=as_json)
