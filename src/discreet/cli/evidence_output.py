"""How verbs of the lab tell what they found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import refuse_unwritable_path
from discreet.errors import Flag, Message, UsageError

if TYPE_CHECKING:
    from discreet.lab.evidence import Evidence

Plot = Annotated[Path | None, typer.Option("--plot", help="Also draw a chart to this .svg file.")]


def refuse_unwritable_plot(plot: Path | None) -> None:
    """Refuse, before the work, a picture that could not be written."""
    if plot is None:
        return
    if plot.suffix.lower() != ".svg":
        raise UsageError(f"{str(plot)!r} is not an .svg file", hint=Message(Flag("plot", "picture.svg")))
    refuse_unwritable_path(plot)


def print_evidence(evidence: Evidence, *, plot: Path | None, as_json: bool) -> None:
    """Print what an attack found, and draw it."""
    if plot is not None:
        evidence.plot(plot)
    text = [*evidence.lines(), *([f"wrote {plot}"] if plot is not None else [])]
    terminal.print_result(evidence.to_data(), text, as_json=as_json)
