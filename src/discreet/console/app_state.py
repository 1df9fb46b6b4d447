"""What the console needs before it serves: the project, its people, the questions that run, a log."""

from __future__ import annotations

from pathlib import Path

from discreet.console.access_log import AccessLog
from discreet.console.app import AppState
from discreet.console.jobs.query_service import QueryService
from discreet.console.people.people import People
from discreet.console.project_handle import ProjectHandle
from discreet.console.settings import Settings


def open_state(folder: Path, settings: Settings, *, log: Path | None = None) -> tuple[AppState, str | None]:
    """The house over a project folder, and the secret of a setup link where it has nobody yet."""
    handle = ProjectHandle(folder, deadline_s=settings.deadline_s)
    people = People.of(folder)
    queries = QueryService(handle=handle, people=people, settings=settings)
    access_log = (
        AccessLog(grid_ms=settings.grid_ms) if log is None else AccessLog.to_file(log, grid_ms=settings.grid_ms)
    )
    state = AppState(handle=handle, people=people, queries=queries, settings=settings, access_log=access_log)
    return state, people.setup.link()
