"""`discreet attack floats`: one output of float noise, and which value it came from."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Flag, Message, UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("floats")(floats)


def floats(
    sampler: Annotated[
        str, typer.Option("--sampler", help="Sampler: numpy, discreet, or module:function of (value, scale, size).")
    ] = "numpy",
    scale: Annotated[float, typer.Option("--scale", help="Noise scale.")] = 10.0,
    values: Annotated[str, typer.Option("--values", help="Two neighbouring values.")] = "0,1",
    n: Annotated[int, typer.Option("--n", help="Number of outputs for each value.")] = 20_000,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Identify the input of float noise from one output. After Mironov."""
    refuse_unwritable_plot(plot)
    from discreet.lab.attacks.floats import floats as attack
    from discreet.lab.attacks.floats import sampler_of

    evidence = attack(sampler_of(sampler), values=_pair(values), scale=scale, n=n, name=sampler)
    print_evidence(evidence, plot=plot, as_json=as_json)


def _pair(text: str) -> tuple[float, float]:
    try:
        first, second = (int(part) if part.strip().lstrip("-").isdigit() else float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--values takes two numbers, not {text!r}", hint=Message(Flag("values", (0, 1)))) from None
    return first, second
