"""Projects that exist for one audit: a temporary folder with a table, a budget and a ledger of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.ledger.filesystem import use_state_folder
from discreet.project.project import Project

#: No question of an audit comes near it.
BUDGET = "{ epsilon = 900, delta = 0.02 }"
#: More than all projects of an audit take, in bytes.
ROOM = 100 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTable:
    """A further table: its columns (name to TOML), its lines, and what else is declared of it.

    Public, or about the same people as `people`.
    """

    name: str
    columns: dict[str, str]
    rows: Sequence[str]
    person: str = ""
    more: str = ""
    is_public: bool = False


@contextmanager
def temporary_project(
    columns: dict[str, str],
    rows: Sequence[str],
    *,
    person: str = "",
    more: str = "",
    accounting: str = "renyi",
    beside: Sequence[AuditTable] = (),
) -> Iterator[Project]:
    """A project whose table `people` has these columns (name to TOML) and lines of CSV, and tables beside it.

    `person`: the first column, which says whose row it is. The ledger's anchor lies in the folder too: nothing of an
    audit stays behind.
    """
    people = AuditTable(name="people", columns=columns, rows=rows, person=person, more=more)
    with (
        tempfile.TemporaryDirectory(prefix="discreet-audit-", dir=_memory()) as name,
        use_state_folder(Path(name) / "state"),
    ):
        folder = Path(name) / "project"
        folder.mkdir()
        text = f'[populations.people]\nbudget = {BUDGET}\naccounting = "{accounting}"\n'
        for table in (people, *beside):
            header = ",".join([*([table.person] if table.person else []), *table.columns])
            (folder / f"{table.name}.csv").write_text("\n".join([header, *table.rows]) + "\n", encoding="utf-8")
            text += _declaration(table)
        (folder / "discreet.toml").write_text(text, encoding="utf-8")
        opened = Project.make(folder)
        for table in (people, *beside):
            if not table.is_public:
                opened.refresh(table.name)
        try:
            yield opened
        finally:
            opened.ledger.close()


def _declaration(table: AuditTable) -> str:
    """A table's part of discreet.toml."""
    lines = [f"[tables.{table.name}]", f'source = "{table.name}.csv"']
    lines += ["public = true"] if table.is_public else ['population = "people"']
    lines += [f'person = "{table.person}"'] if table.person else []
    lines += [table.more] if table.more else []
    for name, text in table.columns.items():
        lines += [f"[tables.{table.name}.columns.{name}]", text]
    return "\n".join(lines) + "\n"


def _memory() -> str | None:
    """A folder in memory where there is one with room: what an audit makes up need not survive a power cut."""
    shared = Path("/dev/shm")  # noqa: S108 - the folder in it has a random name and its owner's rights
    try:
        return str(shared) if os.access(shared, os.W_OK) and shutil.disk_usage(shared).free > ROOM else None
    except OSError:
        return None
