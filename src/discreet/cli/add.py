"""`discreet add`: declare a table."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Folder, Json, two_ends
from discreet.cli.version_notes import encoding_notes


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
