"""`discreet attack synthetic`: whom a synthetic table gives away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet import exact
from discreet.cli import terminal
from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Command, Message, UsageError

Original = Annotated[Path | None, typer.Argument(help="File of the real rows. Default: generated data.")]
Synthetic = Annotated[Path | None, typer.Argument(help="File of the synthetic rows made from them.")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(synthetic)


def synthetic(
    original: Original = None,
    synthetic: Synthetic = None,
    control: Annotated[
        Path | None, typer.Option("--control", help="Rows of the same kind that were not used: a baseline for luck.")
    ] = None,
    secret: Annotated[str | None, typer.Option("--secret", help="Column to guess. Default: each in turn.")] = None,
    known_columns: Annotated[
        str | None, typer.Option("--known", help="Columns that the attacker knows: a,b. Default: all other columns.")
    ] = None,
    attacks: Annotated[
        int, typer.Option("--attacks", min=1, max=100_000, help="Number of targets of each attack.")
    ] = 500,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon that the synthetic table claims.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Delta that the synthetic table claims.")] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Attack a synthetic table and a control. Membership, attribute inference, singling out, nearest records."""
    refuse_unwritable_plot(plot)
    claimed = _claimed(epsilon, delta)
    if original is None:
        if control is not None or secret is not None or known_columns is not None or claimed[0] is not None:
            raise UsageError(
                "name the original and the synthetic table",
                hint=Message(Command("attack synthetic", "ORIGINAL.csv", "SYNTHETIC.csv")),
            )
        from discreet.lab.attacks.synthetic import demo

        with terminal.progress("attacking three synthetic tables of generated people"):
            evidence = demo(attacks=attacks)
    else:
        if synthetic is None:
            raise UsageError(
                "name the synthetic table", hint=Message(Command("attack synthetic", str(original), "SYNTHETIC.csv"))
            )
        from discreet.lab.attacks.synthetic import attack
        from discreet.lab.table_reader import parse_names, read

        with terminal.progress("attacking"):
            evidence = attack(
                read(original),
                read(synthetic),
                None if control is None else read(control),
                secret=secret,
                known_columns=None if known_columns is None else parse_names(known_columns),
                attacks=attacks,
                epsilon=claimed[0],
                delta=claimed[1],
            )
    print_evidence(evidence, plot=plot, as_json=as_json)


def _claimed(epsilon: str | None, delta: str | None) -> tuple[float | None, float]:
    """The guarantee that a synthetic table claims."""
    if epsilon is None:
        if delta is not None:
            raise UsageError("--delta needs --epsilon")
        return None, 0.0
    claimed_delta = exact.probability("0" if delta is None else delta, name="delta")
    return float(exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)), float(claimed_delta)
