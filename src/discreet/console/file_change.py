"""A change of discreet.toml, as an owner sees it first, line by line; it is written only as it was shown."""

from __future__ import annotations

import difflib
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.console.project_handle import ProjectHandle
from discreet.errors import ProjectError
from discreet.project.project import Project
from discreet.schema.project_file import NAME, ProjectFile, read_project
from discreet.schema.toml_edit import write
from discreet.schema.toml_file import parse_toml

#: Unchanged lines around those that change.
_AROUND = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The file as it is and as it would be."""

    before: str
    after: str

    @staticmethod
    def of(folder: Path, after: str) -> FileChange:
        """A change of a project's file. Refused where the console could not read what would stand there."""
        change = FileChange(before=(folder / NAME).read_text(encoding="utf-8-sig"), after=after)
        change.read()
        return change

    def read(self) -> ProjectFile:
        """What the file would say."""
        return read_project(parse_toml(self.after, name=NAME, error=ProjectError))

    @property
    def digest(self) -> str:
        """What a form brings back of it, so that nothing is written that was not shown."""
        return hashlib.sha256(f"{len(self.before)}\n{self.before}{self.after}".encode()).hexdigest()

    def lines(self) -> list[dict[str, str]]:
        """The lines that change, and some around them: what each is, and its text."""
        kinds = {"+": "added", "-": "removed", "@": "place", " ": "same"}
        diff = difflib.unified_diff(self.before.splitlines(), self.after.splitlines(), lineterm="", n=_AROUND)
        return [
            {"kind": kinds[line[0]], "text": "" if line[0] == "@" else line[1:]}
            for line in diff
            if not line.startswith(("---", "+++"))
        ]

    def to_data(self) -> dict[str, Any]:
        return {"lines": self.lines(), "shown": self.digest}

    def write(self, folder: Path) -> None:
        """Write it."""
        write(folder / NAME, self.after)


class OwnerActs:
    """One act on discreet.toml at a time: two owners never overwrite each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def close(self) -> None:
        """Nothing is held."""

    @contextmanager
    def turn(self, handle: ProjectHandle) -> Iterator[Project]:
        """The project as its file is now, for an act that no other one of this console comes between."""
        with self._lock:
            yield handle.project.reread()


def owner_acts_of(handle: ProjectHandle) -> OwnerActs:
    """The one there is."""
    return handle.singleton(OwnerActs, OwnerActs)
