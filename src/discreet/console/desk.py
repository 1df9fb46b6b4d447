"""The desk: the project as its discreet.toml is now, shared by all who come."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from discreet.api import Project
from discreet.errors import DiscreetError
from discreet.schema.file import NAME

Stamp = tuple[int, int, int]


class Closing(Protocol):
    """Something that is let go of at the end."""

    def close(self) -> None: ...


Kind = TypeVar("Kind", bound=Closing)


class Desk:
    """Holds one ledger and one engine; reads discreet.toml again when it changes.

    A handler takes `project` once and keeps it: a project is what its file said when it was read.
    """

    def __init__(self, folder: Path, *, deadline_s: float) -> None:
        self._stamp = _stamp(folder)
        self._project = Project(folder, deadline_s=deadline_s)
        self._project.ledger.refresh()
        self._problem = ""
        self._lock = threading.Lock()
        self._shared: dict[type[Any], Closing] = {}
        self._sharing = threading.Lock()

    @property
    def folder(self) -> Path:
        return self._project.folder

    @property
    def project(self) -> Project:
        """The project as its file is now; as it was, where the file cannot be read."""
        with self._lock:
            stamp = _stamp(self._project.folder)
            if stamp != self._stamp:
                try:
                    self._project, self._problem = self._project.reread(), ""
                except DiscreetError as problem:
                    self._problem = problem.reason
                self._stamp = stamp
            return self._project

    @property
    def problem(self) -> str:
        """Why discreet.toml, as it is now, is not in use; for owners."""
        return self._problem

    def shared(self, kind: type[Kind], make: Callable[[], Kind]) -> Kind:
        """The one thing of a kind that all visits share: made when it is first needed, closed with the desk."""
        with self._sharing:
            found = self._shared.get(kind)
            if found is None:
                found = self._shared[kind] = make()
            assert isinstance(found, kind)
            return found

    def close(self) -> None:
        """Let go of what is shared, and of the ledger."""
        with self._sharing:
            for each in reversed(self._shared.values()):
                each.close()
            self._shared.clear()
        self._project.ledger.close()


def _stamp(folder: Path) -> Stamp:
    try:
        found = (folder / NAME).stat()
    except OSError:
        return (0, 0, 0)
    return found.st_mtime_ns, found.st_size, found.st_ino
