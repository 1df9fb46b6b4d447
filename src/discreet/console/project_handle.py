"""The desk: the project as its discreet.toml is now, shared by all who come."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from discreet.errors import DiscreetError
from discreet.project.project import Project
from discreet.schema.project_file import NAME

FileStamp = tuple[int, int, int]


class Closable(Protocol):
    """Something that is let go of at the end."""

    def close(self) -> None: ...


Kind = TypeVar("Kind", bound=Closable)


class ProjectHandle:
    """Holds one ledger and one engine; reads discreet.toml again when it changes.

    A handler takes `project` once and keeps it: a project is what its file said when it was read.
    """

    def __init__(self, folder: Path, *, deadline_s: float) -> None:
        self._stamp = _file_stamp(folder)
        self._project = Project(folder, deadline_s=deadline_s)
        self._project.ledger.refresh()
        self._problem = ""
        self._lock = threading.Lock()
        self._singletons: dict[type[Any], Closable] = {}
        self._singleton_lock = threading.Lock()

    @property
    def folder(self) -> Path:
        return self._project.folder

    @property
    def project(self) -> Project:
        """The project as its file is now; as it was, where the file cannot be read."""
        with self._lock:
            stamp = _file_stamp(self._project.folder)
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

    def singleton(self, kind: type[Kind], make: Callable[[], Kind]) -> Kind:
        """The one thing of a kind that all visits share: made when it is first needed, closed with the desk."""
        with self._singleton_lock:
            instance = self._singletons.get(kind)
            if instance is None:
                instance = self._singletons[kind] = make()
            assert isinstance(instance, kind)
            return instance

    def close(self) -> None:
        """Let go of what is shared, the newest first, and of the ledger.

        Nothing is closed under the lock: a job that ends meanwhile may still ask for what it reports to.
        """
        while (instance := self._pop_singleton()) is not None:
            instance.close()
        self._project.ledger.close()

    def _pop_singleton(self) -> Closable | None:
        with self._singleton_lock:
            return self._singletons.popitem()[1] if self._singletons else None


def _file_stamp(folder: Path) -> FileStamp:
    try:
        file_stat = (folder / NAME).stat()
    except OSError:
        return (0, 0, 0)
    return file_stat.st_mtime_ns, file_stat.st_size, file_stat.st_ino
