"""`discreet ledger`: check it, list it, write it out, unlock it, back it up, take it to another machine,
or to a PostgreSQL database that several machines can share."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import discreet
from discreet.cli import terminal
from discreet.cli.confirmation import Yes, confirm
from discreet.cli.flags import HERE, Folder, Json, refuse_unwritable_output
from discreet.cli.verb_app import VerbApp
from discreet.errors import Command, Flag, UsageError

if TYPE_CHECKING:
    from discreet.project.project import Project

ledger_app = VerbApp(no_args_is_help=True, help="The ledger: verify, show, export, unlock, back up or move it.")


@ledger_app.command("move")
def move(
    address: Annotated[str, typer.Argument(help="postgresql://user@host:5432/database, without a password.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Move the ledger to PostgreSQL with its whole history. Nothing is spent; the old file is set aside.

    If it is interrupted, run it again: it continues where it stopped.
    """
    from discreet.ledger.store_factory import connection_warnings, open_ledger_store
    from discreet.project.folder import move_ledger

    target, rows = move_ledger(discreet.open(project).folder, address)
    with closing(open_ledger_store(target)) as store:
        warnings = connection_warnings(store)
    lines = [
        f"the ledger is now at {target}, with {rows:,} entries; its old file was set aside",
        "another machine joins with `discreet ledger adopt --state FOLDER`, where FOLDER is a copy of this "
        "machine's state folder",
        *(f"note: {warning}" for warning in warnings),
    ]
    terminal.print_result({"ledger": target.name, "rows": rows, "warnings": list(warnings)}, lines, as_json=as_json)


@ledger_app.command("verify", short_help="Check the whole chain, its key, balances and anchor.")
def verify(project: Folder = HERE, as_json: Json = False) -> None:
    """Check the whole chain against its key, its balances and its anchor."""
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
    """List the entries of the ledger."""
    from discreet.ledger.public_entries import entries_as_data

    ledger = discreet.open(project).ledger
    entries = entries_as_data(ledger.entries(), ledger.state)
    terminal.print_result({"entries": entries}, terminal.entries_table(entries), as_json=as_json)


@ledger_app.command("export")
def export(
    file: Annotated[Path | None, typer.Argument(hidden=True, help="Old spelling of -o FILE.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write the entries to, as JSON lines.")
    ] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Export the entries as JSON lines."""
    from discreet.ledger.public_entries import entries_as_data

    target = output or file
    if target is None or (output is not None and file is not None):
        raise UsageError("name one file to write the entries to", hint="-o entries.jsonl")
    opened_project = discreet.open(project)
    refuse_unwritable_output(target, opened_project)
    entries = entries_as_data(opened_project.ledger.entries(), opened_project.ledger.state)
    try:
        target.write_text("".join(json.dumps(entry, sort_keys=True) + "\n" for entry in entries), encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"cannot write {str(target)!r}: {problem.strerror}") from None
    terminal.print_result(
        {"file": str(target), "entries": len(entries)},
        f"wrote {len(entries):,} entries to {target}",
        as_json=as_json,
    )


@ledger_app.command("acknowledge", short_help="Unlock after a rollback or repeated failures.")
def acknowledge(project: Folder = HERE, as_json: Json = False) -> None:
    """Unlock after a detected rollback or repeated failures. What the ledger lost is charged again."""
    opened_project = discreet.open(project)
    data, text = terminal.repair_output(opened_project.acknowledge(), opened_project)
    terminal.print_result(data, text, as_json=as_json)


@ledger_app.command("adopt")
def adopt(
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FOLDER",
            help="The ledger's state folder, copied from its old machine; with it, nothing is spent.",
        ),
    ] = None,
    alone: Annotated[
        bool,
        typer.Option("--alone", help="No machine has a state folder of this PostgreSQL ledger: lock out all others."),
    ] = False,
    yes: Yes = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Use a ledger on this machine, or join those that share it. Without --state FOLDER, every budget is spent.

    With the state folder of its old machine, nothing is spent. Without it, nobody knows what was charged after this
    copy was made, so every budget counts as spent; the command asks before it does this.
    """
    opened_project = discreet.open(project)
    if state is None:
        _confirm_spending(opened_project, alone=alone, yes=yes)
    data, text = terminal.repair_output(opened_project.adopt(state, alone=alone), opened_project)
    if isinstance(opened_project.ledger_path, Path):
        text += "\nthe ledger continues here: never use it again on its old machine, or its budget is spent twice"
    elif state is not None:
        text += "\nthis machine now shares the ledger; the other machines can continue to use it"
    else:
        text += "\nthe ledger has a new key: to join again, other machines need a copy of this machine's state folder"
    if state is None:
        text += "\nif a limit was raised after this copy was made, the copy does not include it: grant that much less"
        text += "\nif exact totals were published after this copy was made, charges must count double, but here they "
        text += "count once: grant nothing more to the people they are about"
    terminal.print_result(data, text, as_json=as_json)


def _confirm_spending(project: Project, *, alone: bool, yes: bool) -> None:
    """Say what adopting without a state folder spends, and ask."""
    from discreet.ledger.repair import limits_to_spend

    limits = limits_to_spend(project.ledger_path)
    if not limits or (not alone and not isinstance(project.ledger_path, Path)):  # adopting says that it needs --alone
        return
    listed = ", ".join(f"{name} ({terminal.limit_words(limit)})" for name, limit in limits.items())
    flags = [Flag("alone", True)] if alone else []
    confirm(
        f"without --state FOLDER (a copy of the state folder of the ledger's old machine), the whole budget of "
        f"{listed} counts as spent",
        command=Command("ledger adopt", *flags, Flag("yes", True)),
        yes=yes,
    )


@ledger_app.command("backup", short_help="Write a checked copy of the ledger to a new file.")
def backup(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="New file for the copy.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Write a checked copy of the ledger to a new file. Others can keep writing to the ledger meanwhile."""
    from discreet.ledger.backup import backup

    opened_project = discreet.open(project)
    refuse_unwritable_output(output, opened_project)
    rows = backup(opened_project.ledger_path, output)
    lines = [
        f"wrote {rows:,} entries to {output}",
        "it holds queries and answers, but no key; also back up the state folder, in another place",
    ]
    terminal.print_result({"file": str(output), "rows": rows}, lines, as_json=as_json)


@ledger_app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="A file that `ledger backup` wrote.")],
    state: Annotated[
        Path | None, typer.Option("--state", help="The ledger's state folder, if this machine has none.")
    ] = None,
    lost: Annotated[
        bool, typer.Option("--lost", help="The state folder is lost: every budget counts as spent.")
    ] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Replace the ledger with a backup. What was spent after the backup was made is charged again."""
    from discreet.ledger.backup import restore
    from discreet.project.folder import refuse_state_inside

    if state is not None and lost:
        raise UsageError("--state and --lost cannot be used together")
    opened_project = discreet.open(project)
    refuse_state_inside(opened_project.folder)
    done = restore(opened_project.ledger_path, file, state_folder=state, lost=lost)
    data, text = terminal.repair_output(done.repaired, opened_project)
    lines = [f"restored {done.rows:,} entries", text]
    if done.set_aside is not None:
        lines.append(f"the previous ledger is kept as {done.set_aside.name}")
    aside = None if done.set_aside is None else done.set_aside.name
    terminal.print_result(data | {"rows": done.rows, "set_aside": aside}, lines, as_json=as_json)
