"""What the console needs before it serves: the project, its people, the questions that run, a log."""

from __future__ import annotations

from pathlib import Path

from discreet.console.app import House
from discreet.console.asking.asking import Asking
from discreet.console.desk import Desk
from discreet.console.logs import Logs
from discreet.console.people.people import People
from discreet.console.settings import Settings


def house_of(folder: Path, settings: Settings, *, log: Path | None = None) -> tuple[House, str | None]:
    """The house over a project folder, and the secret of a setup link where it has nobody yet."""
    desk = Desk(folder, deadline_s=settings.deadline_s)
    people = People.of(folder)
    asking = Asking(desk=desk, people=people, settings=settings)
    logs = Logs(grid_ms=settings.grid_ms) if log is None else Logs.to_file(log, grid_ms=settings.grid_ms)
    house = House(desk=desk, people=people, asking=asking, settings=settings, logs=logs)
    return house, people.setup.link()
