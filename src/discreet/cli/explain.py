"""`discreet explain`: what a query would cost, and its expected error. Free."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Confidence, Delta, Epsilon, Folder, Json, Within, require_one_price


def explain(
    sql: Annotated[str, typer.Argument(help="The SQL query.")],
    epsilon: Epsilon = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    delta: Delta = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show what a query would cost, its expected error, and why. Free."""
    import discreet

    require_one_price(epsilon, within)
    opened_project = discreet.open(project)
    with terminal.with_owner_notes(opened_project):
        explanation = opened_project.sql(sql).explain(
            epsilon=epsilon, within=within, confidence=confidence, delta=delta
        )
    terminal.print_result(explanation.data, str(explanation), as_json=as_json)
