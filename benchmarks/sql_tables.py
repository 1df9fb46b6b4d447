"""What `./do bench sql` saw, as text: tables with a row for each query and a column for each system."""

from __future__ import annotations

from collections.abc import Callable

from sql_queries import MEANING, QUERIES, error
from sql_run import OURS, RAW, ROWS_PER_PERSON, SMALL, UNITS, Figures, Reports

HEAD = f"""
Whole questions at epsilon 1, each charged anew: read, priced, charged, counted, noised, stored, released. One thread, and
a process for each query. SmartNoise SQL 1.0.10 runs through a cursor on the same DuckDB, its epsilon shared out so that
the whole query costs 1, its keys by threshold; OpenDP 0.16.0 on Polars, with known keys. Where a person has many rows,
{ROWS_PER_PERSON:,} of them count; raw counts all.
""".strip()

SECONDS = """
CPU seconds, the least of some runs ({runs}), and as a multiple of the raw query on the same Parquet file.
""".strip()

LATENCY = """
CPU milliseconds, the median of some runs ({runs}).
""".strip()

ERRORS = """
Relative error of one draw, the median over groups, for each number; a person's rows beyond the limit are missing from it.
""".strip()

MEMORY = """
MiB that the first question added at its peak to what the process held, libraries loaded.
""".strip()


class Notes:
    """Why a figure is missing: a number in its cell, the reason below the tables, each reason once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def dash(self, who: str, reason: str) -> str:
        return f"– [{self._numbers.setdefault(f'{who}: {reason}', len(self._numbers) + 1)}]"

    def text(self) -> str:
        return "\n".join(f"[{number}] {reason}  " for reason, number in self._numbers.items())


def text_of(found: Figures, *, cells: int, cells_s: float) -> str:
    """All tables, both units in each part."""
    notes = Notes()
    parts = [HEAD]
    for rows, caption, make in (
        (found.rows, SECONDS, _seconds),
        (SMALL, LATENCY, _latency),
        (found.rows, ERRORS, _errors),
        (found.rows, MEMORY, _memory),
    ):
        parts.append(caption.format(runs=_runs(found.large if rows == found.rows else found.small)))
        for unit, meaning in UNITS.items():
            parts.append(make(found, unit, notes, f"{rows:,} rows, {meaning}"))
    parts += [_making(found, notes), f"The noise of {cells:,} cells takes {cells_s * 1e3:.2f} CPU ms.", notes.text()]
    return "\n\n".join(part for part in parts if part)


def _runs(reports: Reports) -> str:
    """How often each system was asked a query."""
    most = {
        name: max(len(report.cpu_s) for (who, _, _), report in reports.items() if who == name)
        for name in _names(reports)
    }
    return ", ".join(f"{name} {count}" for name, count in most.items())


def _seconds(found: Figures, unit: str, notes: Notes, title: str) -> str:
    def cell(name: str, query: str) -> str:
        report, raw = found.large[name, unit, query], found.large[RAW.name, unit, query]
        if report.refused:
            return notes.dash(name, report.refused)
        return f"{report.least:.3f}" + ("" if report is raw else f" ({report.least / raw.least:.1f}x)")

    return _grid(title, _names(found.large), cell)


def _latency(found: Figures, unit: str, notes: Notes, title: str) -> str:
    def cell(name: str, query: str) -> str:
        report = found.small.get((name, unit, query))
        if report is None:
            return ""
        return notes.dash(name, report.refused) if report.refused else f"{report.median * 1e3:.1f}"

    return _grid(title, _names(found.small), cell)


def _errors(found: Figures, unit: str, notes: Notes, title: str) -> str:
    def cell(name: str, query: str) -> str:
        report, raw = found.large[name, unit, query], found.large[RAW.name, unit, query]
        return "–" if report.refused else error(query, raw.rows, report.rows)

    return _grid(title, [name for name in _names(found.large) if name != RAW.name], cell)


def _memory(found: Figures, unit: str, notes: Notes, title: str) -> str:
    def cell(name: str, query: str) -> str:
        report = found.large[name, unit, query]
        return "–" if report.refused else f"{report.memory_mib:.0f}"

    return _grid(title, _names(found.large), cell)


def _making(found: Figures, notes: Notes) -> str:
    told = [
        f"{notes.dash(OURS.name, report.refused) if report.refused else f'{report.least:.1f}'} where {UNITS[unit]}"
        for unit, report in found.makings.items()
    ]
    return f"CPU seconds to make the declared table of {found.rows:,} rows, once a version: {', '.join(told)}."


def _grid(title: str, names: list[str], cell: Callable[[str, str], str]) -> str:
    head = [f"| {title} | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    rows = [[f"{query} {MEANING[query]}", *(cell(name, query) for name in names)] for query in QUERIES]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def _names(reports: Reports) -> list[str]:
    return list(dict.fromkeys(name for name, _, _ in reports))
