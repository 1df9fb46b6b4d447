"""`discreet again`: measure an earlier query again and combine the answers."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Analyst, Confidence, Folder, Json


def again(
    release: Annotated[str, typer.Argument(help="An earlier release: r-…")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="How much more privacy loss to spend on it.")],
    confidence: Confidence = "0.95",
    analyst: Analyst = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Measure an earlier query again and combine the answers. Charged."""
    import discreet

    opened_project = discreet.open(project)
    engines = terminal.engines_of(opened_project)
    with terminal.with_owner_notes(opened_project), terminal.progress("answering", engines=engines):
        answered = opened_project.again(release, epsilon=epsilon, confidence=confidence, analyst=analyst)
    terminal.print_result(
        answered.to_data(), terminal.answer_lines(answered, opened_project.budget(answered.table)), as_json=as_json
    )
