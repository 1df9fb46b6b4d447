"""`discreet init`: create a project folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Json


def init(
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon of the budget that tables inherit.")] = None,
    delta: Annotated[
        str | None, typer.Option("--delta", help="Delta of that budget; 0 means pure differential privacy.")
    ] = None,
    project: Annotated[Path, typer.Option("--project", help="Folder of the new project. Default: this one.")] = HERE,
    as_json: Json = False,
) -> None:
    """Create a project folder: discreet.toml and an empty ledger."""
    import discreet
    from discreet.schema.project_file import NAME

    declared = (project / NAME).exists()
    above = next((folder for folder in project.resolve().parents if (folder / NAME).exists()), None)
    made = discreet.init(project, epsilon=epsilon, delta=delta)
    data, text = terminal.init_output(made, declared=declared)
    if above is not None:
        terminal.print_notes(
            [f"there is also a project in {above}; two projects about the same people have two budgets"]
        )
    terminal.print_result(data, text, as_json=as_json)
