"""The owner's verbs: `discreet init` creates a project folder, `add` declares a table, `refresh` makes a new version of
it from its source, `remove` takes a table away, `forget` erases a person.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import discreet
from discreet.cli import interruption, standard_streams, terminal
from discreet.cli.confirmation import Yes, confirm
from discreet.cli.flags import HERE, Folder, Json, two_ends
from discreet.engines.stop_signal import is_stop_requested, unstoppable
from discreet.errors import Command, Flag, Message, UsageError
from discreet.project.version_notes import (
    cause_notes,
    day_order_notes,
    edited_warning,
    encoding_notes,
    first_cause_notes,
    forget_output,
    layout_notes,
    left_out_notes,
    network_location_notes,
    refresh_output,
    remove_output,
    retire_output,
    unchanged_output,
    unknown_change_note,
)

if TYPE_CHECKING:
    from discreet.accounting.guarantee import Guarantee
    from discreet.project.project import Project


def init(
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Epsilon of the budget that tables inherit.")] = None,
    delta: Annotated[
        str | None, typer.Option("--delta", help="Delta of that budget; 0 means pure differential privacy.")
    ] = None,
    practice: Annotated[
        bool, typer.Option("--practice", help="For generated or public data only; can never become a real project.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="With --practice: delete its ledger and stored tables, and start over.")
    ] = False,
    project: Annotated[Path, typer.Option("--project", help="Folder of the new project. Default: this one.")] = HERE,
    as_json: Json = False,
) -> None:
    """Create a project folder: discreet.toml and an empty ledger."""
    from discreet.schema.project_file import NAME

    if again:
        _start_again(project, practice=practice, budget=epsilon is not None or delta is not None, as_json=as_json)
        return
    declared = (project / NAME).exists()
    above = next((folder for folder in project.resolve().parents if (folder / NAME).exists()), None)
    made = discreet.init(project, epsilon=epsilon, delta=delta, practice=practice)
    data, text = terminal.init_output(made, declared=declared)
    if above is not None:
        terminal.print_notes(
            [f"there is also a project in {above}; two projects about the same people have two budgets"]
        )
    terminal.print_result(data, text, as_json=as_json)


def _start_again(project: Path, *, practice: bool, budget: bool, as_json: bool) -> None:
    from discreet.project.folder import refuse_starting_again, start_practice_again
    from discreet.schema.project_file import NAME

    refuse_starting_again(project)
    if not practice or budget:
        raise UsageError(
            "--again resets a practice project, which keeps the budgets that discreet.toml declares",
            hint=Message(Command("init", Flag("practice", True), Flag("again", True))),
        )
    folder = start_practice_again(project)
    text = f"reset this practice project: its ledger is empty, its stored tables are deleted, and {NAME} is unchanged"
    terminal.print_result({"project": str(folder), "made": ["ledger"]}, text, as_json=as_json)


def add(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="File (CSV, Parquet, Excel…), a quoted glob, or a table of the engine. Several: a table each.",
        ),
    ],
    name: Annotated[str | None, typer.Option("--name", help="The table's name.")] = None,
    person: Annotated[
        str | None, typer.Option("--person", help="Column that identifies the person of each row.")
    ] = None,
    through: Annotated[
        str | None,
        typer.Option("--through", help="Table whose rows these rows refer to by the column of --person."),
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
        str | None,
        typer.Option("--population", help="Population whose budget the table shares; with --epsilon a new one."),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="Engine that holds the table: postgresql://… or spark://…")
    ] = "duckdb",
    codebook: Annotated[
        Path | None,
        typer.Option("--codebook", help="CSV or TOML file with types, bounds, values and labels of columns."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="What columns are, as in 'age, height: 0..120'. Can be repeated."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Declare the table as proposed, without questions.")] = False,
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Encoding of a text file: utf-8, utf-16, cp1252 or latin-1.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="Character between the fields of a text file; tab for a tab.")
    ] = None,
    skip_rows: Annotated[int, typer.Option("--skip-rows", min=0, help="Rows above the header that are left out.")] = 0,
    sheet: Annotated[
        str | None, typer.Option("--sheet", help="Sheet of a workbook, or table in a DuckDB or SQLite file.")
    ] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Declare a table: propose column names and types and write them to discreet.toml. On a terminal, ask first."""
    from discreet.cli.add_talk import AddTalk, ask_sheet, can_talk
    from discreet.project.code_book import CodeBook
    from discreet.project.declaration_language import read_lines
    from discreet.project.unit_notes import unit_notes
    from discreet.schema.column import short_year_notes
    from discreet.schema.source_layout import read_layout

    layout = read_layout(
        {"encoding": encoding, "delimiter": _one_character(delimiter), "skip_rows": skip_rows, "sheet": sheet},
        where="add",
    )
    opened_project = discreet.open(project)
    talks = can_talk() and not yes and not as_json and len(files) == 1 and ends is None
    _refuse_for_several(files, name=name, column=column)
    if talks and sheet is None and engine == "duckdb":
        layout = replace(layout, sheet=ask_sheet(Path(files[0])))
    book = None if codebook is None else CodeBook.read(codebook)
    with terminal.progress("reading the source", engines=[engine]):
        drafts = [
            opened_project.draft(
                file,
                name=name,
                person=_person_of(person, through),
                rows_per_person=rows_per_person,
                ends=two_ends(ends),
                epsilon=epsilon,
                delta=delta,
                public=public,
                population=population,
                engine=engine,
                layout=layout,
                codebook=book,
                look=talks,
            )
            for file in files
        ]
        drafts = [draft.replace(columns=read_lines(column or (), draft.columns)) for draft in drafts]
    if talks:
        answered = [flag for flag, value in (("person", person), ("epsilon", epsilon)) if value is not None]
        drafts = [
            AddTalk(
                draft=draft, folder=opened_project.folder, answered=answered, inherited=opened_project.file.budget
            ).run()
            for draft in drafts
        ]
    tables = opened_project.add_drafts(drafts)
    outputs = []
    for table, draft in zip(tables, drafts, strict=True):
        others = [other for other in opened_project.file.tables.values() if other.name != table.name]
        in_ledger = None if table.public else _ledger_limit(opened_project, table.name)
        outputs.append(
            terminal.add_output(
                table,
                limit_said="rows_per_person" in draft.settings,
                columns_said=talks or bool(codebook or column),
                version_follows=talks,
                warnings=[*draft.public_facts, *unit_notes(table, others)],
                ledger_limit=None if in_ledger is None else in_ledger[1],
            )
        )
    if len(outputs) == 1:
        terminal.print_result(*outputs[0], as_json=as_json)
    else:
        data = {"tables": [data for data, _ in outputs]}
        terminal.print_result(data, terminal.added_tables_text(data["tables"]), as_json=as_json)
    for table in tables:
        terminal.print_notes(
            [
                *layout_notes(table, layout),
                *left_out_notes(opened_project, table),
                *network_location_notes(table),
                *first_cause_notes(opened_project, table),
                *encoding_notes(opened_project, table),
                *day_order_notes(opened_project, table),
                *short_year_notes(table.schema.columns, declared=True),
            ]
        )
    if talks and not public:
        _offer_first_version(opened_project, tables[0].name)


def _person_of(person: str | None, through: str | None) -> str | dict[str, str] | None:
    """Who the person of each row is: named by a column, or by the row of another table that it refers to."""
    if through is None:
        return person
    if person is None:
        raise UsageError(
            Message(Flag("through"), " needs the column by which rows refer to ", through[:60]),
            hint=Message(Flag("person", "COLUMN")),
        )
    return {"through": through, "on": person}


def _offer_first_version(project: Project, name: str) -> None:
    """End the talk about a table with its first version, and with how it can be queried."""
    from discreet.sql.dialect import identifier

    if not typer.confirm("Make its first version now? It shows what did not fit.", default=True):
        terminal.print_notes([Message("make it later with ", Command("refresh", name))])
        return
    refresh(name, project=project.folder)
    if project.table(name).budget is not None:
        question = f"SELECT count(*) AS n FROM {name if name.isidentifier() else identifier(name)}"
        standard_streams.write_lines([f"next: {Command('query', question, Flag('epsilon', '0.1'))}"])


def _refuse_for_several(files: list[str], *, name: str | None, column: list[str] | None) -> None:
    """Refuse what can be said of one table alone."""
    for flag, value in (("name", name), ("column", column)):
        if len(files) > 1 and value:
            raise UsageError(
                Message(Flag(flag), f" is about one table, but {len(files)} files are named"),
                hint=Message("describe several tables in one file: ", Flag("codebook", "book.csv")),
            )


def _one_character(delimiter: str | None) -> str | None:
    """A delimiter as it is typed: a tab by its name."""
    return "\t" if delimiter in ("tab", "\\t") else delimiter


def refresh(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    check: Annotated[bool, typer.Option("--check", help="Only report whether the source has changed.")] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Make a version even if source and declaration are unchanged, and read all files."
        ),
    ] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Make a new version of a declared table from its source, if anything has changed. For the owner."""
    from discreet.schema.address import engine_kind
    from discreet.schema.column import short_year_notes

    opened_project = discreet.open(project)
    if check:
        with terminal.progress(f"comparing the source of {table} with its newest version"):
            changed = opened_project.source_changed(table)
        words = "the source has changed" if changed else "the source has not changed since the newest version was made"
        terminal.print_result({"table": table, "changed": changed}, words, as_json=as_json)
        return
    before = _ledger_limit(opened_project, table)
    engine = opened_project.table(table).engine
    with terminal.progress(f"making {table}", engines=[engine]), opened_project.versions.stoppable_making(table):
        is_unknown = not force and opened_project.is_up_to_date(table) is None
        version, making = opened_project.refresh(table, force=force)
    stands = f"version {version} of {opened_project.table(table).name!r} {'was made and ' if making else ''}is in use"
    is_too_late = making is not None and is_stop_requested()
    if is_too_late:
        terminal.print_notes([f"Ctrl-C came too late: {stands}"])
    with interruption.say_what_stands(stands), unstoppable() if is_too_late else nullcontext():
        corrected = _corrected_notes(before, _ledger_limit(opened_project, table))
        edited = [edited_warning(places, table) for places in opened_project.edited_places(table)]
        differences = opened_project.warnings(table)
        if making is None:
            data, text = unchanged_output(opened_project.table(table), version, differs=bool(differences))
        else:
            if is_unknown:
                terminal.print_notes([unknown_change_note(engine_kind(engine))])
            charges = opened_project.ledger.refresh().charges.values()
            name = opened_project.table(table).name
            answered = any(charge.table == name and charge.version < version for charge in charges)
            declared = opened_project.table(table)
            causes = cause_notes(opened_project, declared, making)
            data, text = refresh_output(declared, version, making, answered=answered, causes=causes)
        lines = [text, *(f"  {note}" for note in corrected)]
        terminal.print_result(data | {"corrected": corrected}, lines, as_json=as_json)
        if making is None:
            terminal.print_notes([*differences, *edited])
            return
        settled = _settled_notes(opened_project, table) if version == 1 else []
        terminal.print_notes(
            [
                *encoding_notes(opened_project, opened_project.table(table)),
                *short_year_notes(opened_project.table(table).schema.columns),
                *differences,
                *edited,
                *settled,
            ]
        )


def _ledger_limit(project: Project, name: str) -> tuple[str, Guarantee] | None:
    """The population and the limit that the ledger has for a table; None where it has none yet."""
    state, table = project.ledger.refresh(), project.table(name)
    population = state.population_of_table.get(table.name)
    return None if population is None else (population, state.account(population).guarantee)


def _corrected_notes(before: tuple[str, Guarantee] | None, after: tuple[str, Guarantee] | None) -> list[str]:
    """How a refresh corrected the population or the limit, which it does only while nothing was released."""
    if before is None or after is None or before == after:
        return []
    if before[0] != after[0]:
        return [f"the table now belongs to population {after[0]!r} (before: {before[0]!r}) and uses its budget"]
    new, old = (terminal.limit_words(limit) for _, limit in (after, before))
    return [
        f"the limit of {after[0]!r} is now {new} (before: {old}); this was possible because nothing was released yet"
    ]


def _settled_notes(project: Project, name: str) -> list[str]:
    """What a first version settles."""
    from discreet.project.unit_notes import other_identity_notes, row_unit_notes

    table = project.table(name)
    others = [other for other in project.file.tables.values() if other.name != table.name]
    state = project.ledger.refresh()
    return [
        *row_unit_notes(table, others, fixed=state.is_fixed(table.population)),
        *other_identity_notes(table, state=state),
    ]


def remove(
    table: Annotated[str, typer.Argument(help="A table about whose people nothing was released yet.")],
    yes: Yes = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Remove a table before the first answer about its people. Its source file stays. For the owner."""
    opened_project = discreet.open(project)
    table = opened_project.versions.removable_table(table)
    confirm(
        f"this removes the declaration of {table!r} from discreet.toml and deletes its stored versions; its source "
        "stays",
        command=Command("remove", table, Flag("yes", True)),
        yes=yes,
    )
    data, text = remove_output(opened_project.remove(table))
    terminal.print_result(data, text, as_json=as_json)


def retire(
    table: Annotated[str, typer.Argument(help="A declared table about which something was released.")],
    yes: Yes = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Take a table out of use: delete its declaration and stored rows, and keep its releases. For the owner."""
    opened_project = discreet.open(project)
    table = opened_project.versions.retirable_table(table)
    confirm(
        f"this removes the declaration of {table!r} from discreet.toml and deletes its stored rows; its source, its "
        "releases and what was spent stay",
        command=Command("retire", table, Flag("yes", True)),
        yes=yes,
    )
    data, text = retire_output(opened_project.retire(table))
    terminal.print_result(data, text, as_json=as_json)


def forget(
    table: Annotated[str, typer.Argument(help="A declared table with a person column.")],
    person: Annotated[list[str], typer.Argument(help="The value, or values, that identify the person.")],
    yes: Yes = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Erase a person from a table and from tables that refer to it. For the owner."""
    opened_project = discreet.open(project)
    opened_project.versions.erasure.refuse_forgetting(table, person)
    confirm(
        f"this erases a person from {opened_project.table(table).name!r} and from tables that refer to it, for good",
        yes=yes,
        needs_terminal=True,
    )
    with terminal.progress(
        f"erasing from {table}",
        engines=[declared_table.engine for declared_table in opened_project.file.tables.values()],
    ):
        erased = opened_project.forget(table, person)
    data, text = forget_output(erased)
    terminal.print_result(data, text, as_json=as_json)
