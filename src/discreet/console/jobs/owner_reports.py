"""What owners are told of versions: how many rows did not fit, were clamped or left out. Exact, so for owners alone.

Kept in memory, the newest of each table: nothing exact is written to a file that a backup or an analyst could read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from discreet.console.console_text import console_texts, page_sentence
from discreet.console.project_handle import ProjectHandle
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.stop_signal import is_stop_requested, unstoppable
from discreet.errors import DiscreetError
from discreet.project.project import Project
from discreet.project.version_notes import (
    cause_notes,
    day_order_notes,
    edited_warning,
    encoding_notes,
    forget_output,
    refresh_output,
    unknown_change_note,
)
from discreet.schema.address import engine_kind
from discreet.schema.schema import Table

#: Tables whose newest report is kept.
MOST_KEPT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerReport:
    """One report. `lines`: what happened, in sentences. `notes`: what to think about. `numbers`: the same as data."""

    table: str
    title: str
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()
    numbers: Any = None

    def to_data(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "lines": list(self.lines),
            "notes": list(self.notes),
            "numbers": self.numbers,
        }


class OwnerReports:
    """The newest report of each table."""

    def __init__(self) -> None:
        self._reports: OrderedDict[str, OwnerReport] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, report: OwnerReport) -> None:
        with self._lock:
            self._reports[report.table] = report
            self._reports.move_to_end(report.table)
            while len(self._reports) > MOST_KEPT:
                self._reports.popitem(last=False)

    def find(self, table: str) -> OwnerReport | None:
        with self._lock:
            return self._reports.get(table)

    def forget(self, table: str) -> None:
        """A table that was removed has none."""
        with self._lock:
            self._reports.pop(table, None)

    def close(self) -> None:
        with self._lock:
            self._reports.clear()


def owner_reports_of(handle: ProjectHandle) -> OwnerReports:
    """Those of the house."""
    return handle.singleton(OwnerReports, OwnerReports)


#: Beside the report of a version that somebody wished to stop.
_TOO_LATE = "The stop came too late: this version was already being entered, so it is in use."


def refresh_report(project: Project, name: str, *, force: bool = False) -> OwnerReport:
    """Make a new version of a table where anything has changed, and say what came of it."""
    table = project.table(name)
    with project.versions.stoppable_making(name):
        is_unknown = not force and project.is_up_to_date(name) is None
        version, making = project.refresh(name, force=force)
    notes = [_TOO_LATE] if making is not None and is_stop_requested() else []
    with unstoppable():  # the version stands
        return _refreshed_report(project, table, version, making, notes, is_unknown=is_unknown)


def _refreshed_report(
    project: Project,
    table: Table,
    version: int,
    making: DeclarationOutcome | None,
    notes: list[str],
    *,
    is_unknown: bool,
) -> OwnerReport:
    """What came of a refresh."""
    name = table.name
    notes += [*project.warnings(name), *(edited_warning(places, name) for places in project.edited_places(name))]
    if making is None:
        lines = [
            f"Nothing has changed, so no new version was made; the newest is version {version}.",
            "To make one in any case, tick “even if nothing has changed”; queries on it are charged again.",
        ]
        return OwnerReport(
            table=table.name,
            title="No new version",
            lines=tuple(lines),
            notes=tuple(console_texts(notes)),
            numbers={"version": version, "made": False},
        )
    charges = project.ledger.refresh().charges.values()
    answered = any(charge.table == table.name and charge.version < version for charge in charges)
    causes = cause_notes(project, table, making)
    data, text = refresh_output(table, version, making, answered=answered, causes=causes)
    if is_unknown:
        notes.append(unknown_change_note(engine_kind(table.engine)))
    notes += [*encoding_notes(project, table), *day_order_notes(project, table)]
    return OwnerReport(
        table=table.name,
        title=f"Version {version} was made",
        lines=tuple(_report_line(line) for line in text.splitlines()),
        notes=tuple(_report_line(line) for line in console_texts(notes)),
        numbers=data,
    )


def forget_report(project: Project, name: str, person: tuple[str, ...]) -> OwnerReport:
    """Erase a person, and say from what. It is not left halfway where the server ends."""
    with unstoppable():
        data, text = forget_output(project.forget(name, person))
    return OwnerReport(
        table=project.table(name).name,
        title="A person was erased",
        lines=tuple(_report_line(line) for line in text.splitlines()),
        numbers=data,
    )


def failed_report(name: str, problem: DiscreetError, *, title: str) -> OwnerReport:
    """Why nothing came of it."""
    return OwnerReport(
        table=name,
        title=title,
        lines=(page_sentence(problem.reason), *([page_sentence(problem.hint)] if problem.hint else [])),
    )


def _report_line(line: str) -> str:
    """A line of a terminal as a sentence; a column's name, which ends with a colon, keeps its spelling.

    >>> _report_line("  first day: 2 values did not fit"), _report_line("warning: steps are coarse")
    ('first day: 2 values did not fit.', 'Warning: steps are coarse.')
    """
    text = line.strip()
    if text.startswith("warning: "):
        return page_sentence(f"W{text[1:]}")
    sentence = page_sentence(text)
    return text[:1] + sentence[1:] if ": " in text else sentence
