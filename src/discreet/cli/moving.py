"""`discreet ledger move`: from a file to a PostgreSQL database that several machines can share."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import show
from discreet.cli.flags import HERE, Folder, Json


def move(
    address: Annotated[str, typer.Argument(help="postgresql://user@host:5432/database, without a password.")],
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Move the ledger to PostgreSQL with its whole history. Nothing is spent; the old file is set aside."""
    import discreet
    from discreet.folder import move_ledger

    target, rows = move_ledger(discreet.open(project).folder, address)
    text = (
        f"the ledger is now at {target}, with {rows} rows; its old file was set aside"
        "\nanother machine joins it with `discreet ledger adopt --state FOLDER`, a copy of this machine's state folder"
    )
    show.out({"ledger": target.name, "rows": rows}, text, as_json=as_json)
