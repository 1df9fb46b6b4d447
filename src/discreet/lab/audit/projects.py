"""Projects that exist for one audit: a temporary folder with a table, a budget and a ledger of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from discreet.api import Project
from discreet.ledger.place import state_in

#: No audit comes near it.
BUDGET = "{ epsilon = 900, delta = 0.02 }"
#: More than all projects of an audit take, in bytes.
ROOM = 100 << 20


@contextmanager
def project(
    columns: dict[str, str], rows: Sequence[str], *, person: str = "", more: str = "", budget: str = BUDGET
) -> Iterator[Project]:
    """A project whose table `people` has these columns (name to TOML) and lines of CSV.

    `person`: the first column, which says whose row it is. The ledger's anchor lies in the folder too: nothing of an
    audit stays behind.
    """
    with tempfile.TemporaryDirectory(prefix="discreet-audit-", dir=_memory()) as name, state_in(Path(name) / "state"):
        folder = Path(name) / "project"
        folder.mkdir()
        header = ",".join([*([person] if person else []), *columns])
        (folder / "people.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        declared = "".join(f"[tables.people.columns.{each}]\n{text}\n" for each, text in columns.items())
        owner = f'person = "{person}"\n' if person else ""
        text = f'[tables.people]\nsource = "people.csv"\nbudget = {budget}\n{owner}{more}\n{declared}'
        (folder / "discreet.toml").write_text(text, encoding="utf-8")
        opened = Project.make(folder)
        opened.refresh("people")
        try:
            yield opened
        finally:
            opened.ledger.close()


def _memory() -> str | None:
    """A folder in memory where there is one with room: what an audit makes up need not survive a power cut."""
    shared = Path("/dev/shm")  # noqa: S108 - the folder in it has a random name and its owner's rights
    try:
        return str(shared) if os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > ROOM else None
    except OSError:
        return None
