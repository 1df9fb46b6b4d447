"""`discreet refresh`: make a new version of a table from its source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Folder, Json
from discreet.cli.version_notes import edited_warning, encoding_notes, refresh_output

if TYPE_CHECKING:
    from discreet.project.project import Project


def refresh(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    check: Annotated[bool, typer.Option("--check", help="Only report whether the source has changed.")] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Make a new version of a declared table from its source. For the owner."""
    import discreet

    opened_project = discreet.open(project)
    if check:
        changed = opened_project.source_changed(table)
        words = "the source has changed" if changed else "the source has not changed since the newest version was made"
        terminal.print_result({"table": table, "changed": changed}, words, as_json=as_json)
        return
    with terminal.progress(f"making {table}", engines=[opened_project.table(table).engine]):
        version, making = opened_project.refresh(table)
    charges = opened_project.ledger.refresh().charges.values()
    answered = any(charge.table == opened_project.table(table).name and charge.version < version for charge in charges)
    data, text = refresh_output(opened_project.table(table), version, making, answered=answered)
    terminal.print_result(data, text, as_json=as_json)
    edited = [edited_warning(places, table) for places in opened_project.edited_places(table)]
    settled = _settled_notes(opened_project, table) if version == 1 else []
    terminal.print_notes([*encoding_notes(opened_project, opened_project.table(table)), *edited, *settled])


def _settled_notes(project: Project, name: str) -> list[str]:
    """What a first version settles."""
    from discreet.project.unit_notes import other_identity_notes, row_unit_notes

    table = project.table(name)
    others = [other for other in project.file.tables.values() if other.name != table.name]
    state = project.ledger.refresh()
    return [
        *row_unit_notes(table, others, fixed=state.is_unit_fixed(table.population)),
        *other_identity_notes(table, state=state),
    ]
