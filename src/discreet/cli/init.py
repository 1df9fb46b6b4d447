"""`discreet init`: create a project folder."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Folder, Json


def init(
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon of the budget that tables inherit.")] = None,
    delta: Annotated[
        str | None, typer.Option("--delta", help="Delta of that budget; 0 means pure differential privacy.")
    ] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Create a project folder: discreet.toml and an empty ledger."""
    import discreet
    from discreet.schema.project_file import NAME

    declared = (project / NAME).exists()
    made = discreet.init(project, epsilon=epsilon, delta=delta)
    data, text = terminal.init_output(made, declared=declared)
    terminal.print_result(data, text, as_json=as_json)
