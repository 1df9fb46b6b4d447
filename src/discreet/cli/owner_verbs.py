"""The owner's verbs: `discreet init` creates a project folder, `add` declares a table, `refresh` makes a new version of
it from its source, `forget` erases a person.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.cli.confirmation import Yes, confirm
from discreet.cli.flags import HERE, Folder, Json, two_ends
from discreet.cli.version_notes import edited_warning, encoding_notes, refresh_output

if TYPE_CHECKING:
    from discreet.project.project import Project


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


def add(
    file: Annotated[str, typer.Argument(help="CSV or Parquet file, a quoted glob, or a table of the engine.")],
    name: Annotated[str | None, typer.Option("--name", help="The table's name.")] = None,
    person: Annotated[
        str | None, typer.Option("--person", help="Column that identifies the person of each row.")
    ] = None,
    rows_per_person: Annotated[
        int | None, typer.Option("--rows-per-person", min=1, help="Keep at most K rows per person.")
    ] = None,
    ends: Annotated[
        str | None,
        typer.Option("--ends", help="FROM,TO: each row is an edge between the persons in these two columns."),
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon of the table's budget.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Delta of the table's budget.")] = None,
    public: Annotated[bool, typer.Option("--public", help="Declare the table public: everybody may know it.")] = False,
    population: Annotated[
        str | None, typer.Option("--population", help="Population whose budget the table shares.")
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="Engine that holds the table: postgresql://… or spark://…")
    ] = "duckdb",
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Declare a table: propose column names and types and write them to discreet.toml."""
    import discreet
    from discreet.project.unit_notes import unit_notes

    opened_project = discreet.open(project)
    with terminal.progress("reading the source", engines=[engine]):
        table = opened_project.add(
            file,
            name=name,
            person=person,
            rows_per_person=rows_per_person,
            ends=two_ends(ends),
            epsilon=epsilon,
            delta=delta,
            public=public,
            population=population,
            engine=engine,
        )
    others = [other for other in opened_project.file.tables.values() if other.name != table.name]
    data, text = terminal.add_output(table, limit_said=rows_per_person is not None, warnings=unit_notes(table, others))
    terminal.print_result(data, text, as_json=as_json)
    terminal.print_notes(encoding_notes(opened_project, table))


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


def forget(
    table: Annotated[str, typer.Argument(help="A declared table with a person column.")],
    person: Annotated[list[str], typer.Argument(help="The value, or values, that identify the person.")],
    yes: Yes = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Erase a person from a table and from tables that refer to it. For the owner."""
    import discreet

    opened_project = discreet.open(project)
    confirm(f"this erases a person from {opened_project.table(table).name!r} for good", yes=yes)
    with terminal.progress(
        f"erasing from {table}",
        engines=[declared_table.engine for declared_table in opened_project.file.tables.values()],
    ):
        erased = opened_project.forget(table, person)
    data, text = terminal.forget_output(erased)
    terminal.print_result(data, text, as_json=as_json)
