"""`discreet forget`: erase a person from a table."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Folder, Json


def forget(
    table: Annotated[str, typer.Argument(help="A declared table with a person column.")],
    person: Annotated[list[str], typer.Argument(help="The value, or values, that identify the person.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Erase a person from a table and from tables that refer to it. For the owner."""
    import discreet

    opened_project = discreet.open(project)
    with terminal.progress(
        f"erasing from {table}",
        engines=[declared_table.engine for declared_table in opened_project.file.tables.values()],
    ):
        erased = opened_project.forget(table, person)
    data, text = terminal.forget_output(erased)
    terminal.print_result(data, text, as_json=as_json)
