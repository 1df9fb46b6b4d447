"""`discreet ledger move`: from a file to a PostgreSQL database that several machines can share."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Folder, Json


def move(
    address: Annotated[str, typer.Argument(help="postgresql://user@host:5432/database, without a password.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Move the ledger to PostgreSQL with its whole history. Nothing is spent; the old file is set aside.

    If it is interrupted, run it again: it continues where it stopped.
    """
    import discreet
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
