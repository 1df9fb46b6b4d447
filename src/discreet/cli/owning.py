"""What the owner does: `discreet init`, `add`, `refresh` and `forget`."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import show
from discreet.cli.flags import HERE, Folder, Json, two_ends
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.api import Project
    from discreet.schema.schema import Table


def init(
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="The budget that tables inherit.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Its delta; 0 is pure differential privacy.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Make the project folder: discreet.toml and an empty ledger."""
    import discreet
    from discreet.schema.file import NAME

    declared = (project / NAME).exists()
    made = discreet.init(project, epsilon=epsilon, delta=delta)
    data, text = show.made(made, declared=declared)
    show.out(data, text, as_json=as_json)


def add(
    file: Annotated[str, typer.Argument(help="A CSV or Parquet file, or a quoted glob; or a table of the engine.")],
    name: Annotated[str | None, typer.Option("--name", help="The table's name.")] = None,
    person: Annotated[str | None, typer.Option("--person", help="The column that says whose row it is.")] = None,
    rows_per_person: Annotated[
        int | None, typer.Option("--rows-per-person", min=1, help="At most so many of a person's rows.")
    ] = None,
    ends: Annotated[
        str | None, typer.Option("--ends", help="FROM,TO: a row is an edge between two persons, in these columns.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="The table's budget.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="The budget's delta.")] = None,
    public: Annotated[bool, typer.Option("--public", help="Everybody may know this table.")] = False,
    population: Annotated[str | None, typer.Option("--population", help="The people whose budget it shares.")] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="Where the table lies: postgresql://… or spark://…")
    ] = "duckdb",
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Declare a table: proposes names and types and writes them into discreet.toml."""
    import discreet
    from discreet.declaring import protected

    found = discreet.open(project)
    with show.progress("looking at the source", engines=[engine]):
        table = found.add(
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
    others = [other for other in found.file.tables.values() if other.name != table.name]
    data, text = show.added(table, limit_said=rows_per_person is not None, warnings=protected(table, others))
    show.out(data, text, as_json=as_json)
    show.notes(_encodings(found, table))


def refresh(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    check: Annotated[bool, typer.Option("--check", help="Only say whether the source has changed.")] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Make a new version of the declared table from its source: an act of the owner."""
    import discreet
    from discreet.cli.version_notes import edited_warning, refreshed

    found = discreet.open(project)
    if check:
        changed = found.source_changed(table)
        words = "the source has changed" if changed else "the source is what the newest version was made from"
        show.out({"table": table, "changed": changed}, words, as_json=as_json)
        return
    with show.progress(f"making {table}", engines=[found.table(table).engine]):
        version, making = found.refresh(table)
    charges = found.ledger.refresh().charges.values()
    answered = any(charge.table == found.table(table).name and charge.version < version for charge in charges)
    data, text = refreshed(found.table(table), version, making, answered=answered)
    show.out(data, text, as_json=as_json)
    edited = [edited_warning(places, table) for places in found.edited_places(table)]
    settled = _for_good(found, table) if version == 1 else []
    show.notes([*_encodings(found, found.table(table)), *edited, *settled])


def forget(
    table: Annotated[str, typer.Argument(help="A declared table of persons.")],
    person: Annotated[list[str], typer.Argument(help="Whom: the value, or values, that name the person.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Erase a person from a table and those reached through it: an act of the owner."""
    import discreet

    found = discreet.open(project)
    with show.progress(f"forgetting in {table}", engines=[known.engine for known in found.file.tables.values()]):
        erased = found.forget(table, person)
    data, text = show.forgotten(erased)
    show.out(data, text, as_json=as_json)


def _encodings(project: Project, table: Table) -> list[str]:
    """Whether the text files of a table are in another encoding than UTF-8, which nothing else would tell."""
    from discreet.engines.encoding import encoding_note
    from discreet.engines.source import find
    from discreet.schema.address import DEFAULT

    if table.engine != DEFAULT:
        return []
    with suppress(DiscreetError, OSError):  # a file that went away since: what was done is done
        note = encoding_note(find(table.source, folder=project.folder))
        return [] if note is None else [note]
    return []


def _for_good(project: Project, name: str) -> list[str]:
    """What a first version settles."""
    from discreet.declaring import other_names, rows_for_good

    table = project.table(name)
    others = [other for other in project.file.tables.values() if other.name != table.name]
    state = project.ledger.refresh()
    return [*rows_for_good(table, others, fixed=state.fixed(table.population)), *other_names(table, state=state)]
