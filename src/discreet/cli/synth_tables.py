"""`discreet synth sample` of several tables: one file a table, in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import discreet
from discreet.cli import terminal
from discreet.cli.flags import refuse_overwriting, refuse_unwritable_output, refuse_unwritable_path
from discreet.cli.row_file import named_format
from discreet.errors import Flag, Message, ProjectError, UsageError

if TYPE_CHECKING:
    from discreet.project.project import Project
    from discreet.synth.persons.tables_model import PersonTablesModel


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesTarget:
    """Where sampled tables go: a folder, the format of its files, and whether files there may be replaced.

    Files of `project` never are.
    """

    folder: Path | None
    format_: str | None
    overwrite: bool
    project: Path

    def files(self, model: PersonTablesModel) -> dict[str, Path]:
        """The file of each table; refused where one is in the way."""
        if self.folder is None:
            raise UsageError(
                f"this model has {len(model.tables)} tables, which need a folder",
                hint=Message(Flag("output", "FOLDER", short="o")),
            )
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(
                f"{str(self.folder)!r} is a file; this model has {len(model.tables)} tables, which need a folder",
                hint=Message(Flag("output", "FOLDER", short="o")),
            )
        ending = named_format(self.format_ or "csv")
        if any("/" in name or "\\" in name or name.startswith(".") for name in model.tables):
            raise UsageError("a table has a name that no file can have")
        files = {name: self.folder / f"{name}.{ending}" for name in model.tables}
        opened_project = self._project()
        for file in files.values():
            if file.parent.exists():
                refuse_unwritable_path(file)
                if opened_project is not None:
                    refuse_unwritable_output(file, opened_project)
            refuse_overwriting(file, overwrite=self.overwrite)
        return files

    def _project(self) -> Project | None:
        try:
            return discreet.open(self.project)
        except ProjectError:
            return None  # a model's file is enough


def sample_tables(
    model: PersonTablesModel,
    target: TablesTarget,
    *,
    persons: int | None,
    given: Mapping[str, str | None],
    seed: int | None,
    as_json: bool,
) -> None:
    """Write a sample, and say so."""
    from discreet.synth.persons.tables_output import write_tables

    files = target.files(model)
    with terminal.progress("sampling"):
        counts = write_tables(model, files, persons=persons, given=given, seed=seed)
    data = {
        "persons": counts[model.main],
        "files": [{"table": name, "file": str(file), "rows": counts[name]} for name, file in files.items()],
        "kind": model.card.kind,
    }
    lines = [f"wrote {counts[name]:,} rows to {file}" for name, file in files.items()]
    terminal.print_result(data, "\n".join(lines), as_json=as_json)
