"""`discreet attack synthetic`: whom a synthetic table gives away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import show
from discreet.cli.evidence import Plot, drawable, tell
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import UsageError

Original = Annotated[Path | None, typer.Argument(help="The real rows; without any file, generated ones are attacked.")]
Synthetic = Annotated[Path | None, typer.Argument(help="What was made from them.")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(synthetic)


def synthetic(
    original: Original = None,
    synthetic: Synthetic = None,
    control: Annotated[
        Path | None, typer.Option("--control", help="Rows of the same kind that were not used: what luck does.")
    ] = None,
    secret: Annotated[str | None, typer.Option("--secret", help="The column to guess; else each in turn.")] = None,
    known: Annotated[
        str | None, typer.Option("--known", help="What the attacker knows, as a,b; else all other columns.")
    ] = None,
    attacks: Annotated[int, typer.Option("--attacks", min=1, max=100_000, help="Targets of each attack.")] = 500,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="The guarantee that the synthetic table claims.")
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Its delta.")] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Attack a synthetic table, beside a control. Membership, attribute inference, singling out, nearest records."""
    drawable(plot)
    claimed = _claimed(epsilon, delta)
    if original is None:
        if control is not None or secret is not None or known is not None or claimed[0] is not None:
            raise UsageError("which tables?", hint="discreet attack synthetic ORIGINAL.csv SYNTHETIC.csv")
        from discreet.lab.synthetic import demo

        with show.progress("attacking three synthetic tables of generated people"):
            found = demo(attacks=attacks)
    else:
        if synthetic is None:
            raise UsageError("which synthetic table?", hint=f"discreet attack synthetic {original} SYNTHETIC.csv")
        from discreet.lab.reading import names, read
        from discreet.lab.synthetic import attack

        with show.progress("attacking"):
            found = attack(
                read(original),
                read(synthetic),
                None if control is None else read(control),
                secret=secret,
                known=None if known is None else names(known),
                attacks=attacks,
                epsilon=claimed[0],
                delta=claimed[1],
            )
    tell(found, plot=plot, as_json=as_json)


def _claimed(epsilon: str | None, delta: str | None) -> tuple[float | None, float]:
    """The guarantee that a synthetic table claims."""
    from discreet import exact

    if epsilon is None:
        if delta is not None:
            raise UsageError("--delta says nothing without --epsilon")
        return None, 0.0
    told = exact.probability("0" if delta is None else delta, name="delta")
    return float(exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)), float(told)
