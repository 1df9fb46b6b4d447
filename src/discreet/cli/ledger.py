"""`discreet ledger`: check it, list it, write it out, unlock it, back it up, take it to another machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import ledger_move, terminal
from discreet.cli.flags import HERE, Folder, Json, refuse_unwritable_output
from discreet.errors import UsageError

ledger_app = typer.Typer(no_args_is_help=True, help="The ledger: check it, list it, write it out, unlock it, move it.")
ledger_app.command("move")(ledger_move.move)


@ledger_app.command("verify", short_help="Check the whole chain, its key, balances and anchor.")
def verify(project: Folder = HERE, as_json: Json = False) -> None:
    """Check the whole chain against its key, its balances and its anchor."""
    import discreet

    report = discreet.open(project).verify()
    data = {
        "sound": report.sound,
        "rows": report.rows,
        "row": report.row,
        "problem": report.problem,
        "warnings": list(report.warnings),
    }
    terminal.print_result(
        data, [terminal.verification_line(report), *(f"note: {one}" for one in report.warnings)], as_json=as_json
    )
    if not report.sound:
        raise typer.Exit(5)


@ledger_app.command("show")
def show_ledger(project: Folder = HERE, as_json: Json = False) -> None:
    """List the entries."""
    import discreet
    from discreet.ledger.public_entries import entries_as_data

    ledger = discreet.open(project).ledger
    entries = entries_as_data(ledger.entries(), ledger.state)
    terminal.print_result({"entries": entries}, terminal.entries_table(entries), as_json=as_json)


@ledger_app.command("export")
def export(
    file: Annotated[Path, typer.Argument(help="Where to write the entries, as JSON lines.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Write the entries out as JSON lines."""
    import discreet
    from discreet.ledger.public_entries import entries_as_data

    opened_project = discreet.open(project)
    refuse_unwritable_output(file, opened_project)
    entries = entries_as_data(opened_project.ledger.entries(), opened_project.ledger.state)
    try:
        file.write_text("".join(json.dumps(entry, sort_keys=True) + "\n" for entry in entries), encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"cannot write {str(file)!r}: {problem.strerror}") from None
    terminal.print_result(
        {"file": str(file), "entries": len(entries)},
        f"wrote {len(entries)} entries to {file}",
        as_json=as_json,
    )


@ledger_app.command("acknowledge", short_help="Unlock after a rollback or repeated failures.")
def acknowledge(project: Folder = HERE, as_json: Json = False) -> None:
    """Unlock after a detected rollback or repeated failures; what was forgotten is charged anew."""
    import discreet

    opened_project = discreet.open(project)
    data, text = terminal.repair_output(opened_project.acknowledge(), opened_project)
    terminal.print_result(data, text, as_json=as_json)


@ledger_app.command("adopt")
def adopt(
    state: Annotated[
        Path | None, typer.Option("--state", help="The ledger's state folder, brought from its old machine.")
    ] = None,
    alone: Annotated[
        bool,
        typer.Option("--alone", help="Of a ledger in PostgreSQL no machine has a state folder any more: shut all out."),
    ] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Take a ledger to this machine, or join those that share it. Without its state folder every budget is spent."""
    import discreet

    opened_project = discreet.open(project)
    data, text = terminal.repair_output(opened_project.adopt(state, alone=alone), opened_project)
    if isinstance(opened_project.ledger_path, Path):
        text += "\nthe ledger goes on here: never use it again where it comes from, or its budget is spent twice"
    elif state is not None:
        text += "\nthis machine shares the ledger now; the others go on"
    else:
        text += "\nthe ledger has a new key: others join it again with a copy of this machine's state folder"
    if state is None:
        text += "\nif a limit was raised after this copy was made, grant no more than was granted on top of that"
    terminal.print_result(data, text, as_json=as_json)


@ledger_app.command("backup", short_help="Write a checked copy of the ledger to a new file.")
def backup(
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="A new file for the copy.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Write a copy of the ledger to a new file, checked, while others may go on writing."""
    import discreet
    from discreet.ledger.backup import backup

    opened_project = discreet.open(project)
    refuse_unwritable_output(to, opened_project)
    rows = backup(opened_project.ledger_path, to)
    lines = [
        f"wrote {rows} rows to {to}",
        "it holds questions and answers, and no key; back up the state folder, too, and apart from it",
    ]
    terminal.print_result({"file": str(to), "rows": rows}, lines, as_json=as_json)


@ledger_app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `ledger backup` wrote.")],
    state: Annotated[
        Path | None, typer.Option("--state", help="The ledger's state folder, where this machine has none.")
    ] = None,
    lost: Annotated[
        bool, typer.Option("--lost", help="No state folder is left: every budget counts as spent.")
    ] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Put a backup in the ledger's place. What was spent after it was made is charged anew."""
    import discreet
    from discreet.ledger.backup import restore
    from discreet.project.folder import refuse_state_inside

    if state is not None and lost:
        raise UsageError("--state and --lost contradict each other")
    opened_project = discreet.open(project)
    refuse_state_inside(opened_project.folder)
    done = restore(opened_project.ledger_path, file, state_folder=state, lost=lost)
    data, text = terminal.repair_output(done.repaired, opened_project)
    lines = [f"restored {done.rows} rows", text]
    if done.set_aside is not None:
        lines.append(f"what was there is kept as {done.set_aside.name}")
    aside = None if done.set_aside is None else done.set_aside.name
    terminal.print_result(data | {"rows": done.rows, "set_aside": aside}, lines, as_json=as_json)
