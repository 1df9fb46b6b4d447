"""What the console needs before it serves: the project, its people, the questions that run, a log; and the
folder's lock."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from discreet.console.access_log import AccessLog
from discreet.console.jobs.query_service import QueryService
from discreet.console.people.people import People
from discreet.console.project_handle import ProjectHandle
from discreet.console.settings import Settings
from discreet.errors import UsageError

LOCK_NAME = "console.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState:
    """What all visits share."""

    handle: ProjectHandle
    people: People
    queries: QueryService
    settings: Settings
    access_log: AccessLog

    def close(self) -> None:
        """Let go of the ledger, the people and the log."""
        self.handle.close()
        self.people.close()
        self.access_log.close()


def open_state(folder: Path, settings: Settings, *, log: Path | None = None) -> tuple[AppState, str | None]:
    """The state over a project folder, and the secret of a setup link where it has nobody yet."""
    handle = ProjectHandle(folder, deadline_s=settings.deadline_s)
    people = People.of(folder)
    queries = QueryService(handle=handle, people=people, settings=settings)
    access_log = (
        AccessLog(grid_ms=settings.grid_ms) if log is None else AccessLog.to_file(log, grid_ms=settings.grid_ms)
    )
    state = AppState(handle=handle, people=people, queries=queries, settings=settings, access_log=access_log)
    return state, people.setup.link()


class ConsoleLock:
    """One console for a folder: a second one is refused, and told where the first is.

    Two would each count questions at once, jobs and logins for themselves, and while there is no owner the link of the
    second would end that of the first. Held while a console serves; a process that dies lets go of it. The file tells
    where it is found.
    """

    def __init__(self, folder: Path, *, address: str) -> None:
        self._handle = os.open(folder / ".discreet" / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # Not flock: a forked child would hold that on after this process.
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            where = os.pread(self._handle, 300, 0).decode(errors="replace").strip()
            os.close(self._handle)
            raise UsageError(
                f"a console already serves this folder{f', at {where}' if where else ''}",
                hint="use that console, or stop it first",
            ) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{address}\n".encode(), 0)

    def close(self) -> None:
        """Let go."""
        os.close(self._handle)
