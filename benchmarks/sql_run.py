"""Runs the measurements of `./do bench sql`: every query of every system in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import peer
from sql_data import table
from sql_discreet import MAKE, write_project
from sql_queries import QUERIES
from sql_worker import TOO_LONG, Order, Report

HERE = Path(__file__).resolve().parent
UNITS = {"row": "each row is a person", "person": "a person has many rows"}
ROWS_PER_PERSON = 1000
SMALL = 10_000

#: A query that runs longer on the clock is given up; so is one beyond its order's CPU seconds.
MOST_WALL_S = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Who is measured: a worker, the environment that it runs in, and how often it is asked."""

    name: str
    worker: str
    peer: str = ""
    repeats: int = 11
    repeats_small: int = 20
    cpu_limit_s: int = 600
    units: tuple[str, ...] = ("row", "person")

    @property
    def python(self) -> str:
        return str(peer.python(self.peer)) if self.peer else sys.executable


RAW = System(name="raw DuckDB", worker="sql_raw.py")
OURS = System(name="Discreet", worker="sql_discreet.py")
SMARTNOISE = System(
    name="SmartNoise", worker="peers/smartnoise_sql.py", peer="smartnoise", repeats=2, repeats_small=5, cpu_limit_s=120
)
OPENDP = System(name="OpenDP", worker="peers/opendp_sql.py", peer="opendp", repeats=1, repeats_small=3, cpu_limit_s=120)


#: By system, unit and query.
Reports = dict[tuple[str, str, str], Report]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was seen of the large and of the small table, and of the making of the large one, by unit."""

    rows: int
    large: Reports
    small: Reports
    makings: dict[str, Report]


def run(folder: Path, *, rows: int, systems: list[System], systems_small: list[System]) -> Figures:
    """Every query of every system, under both units. Raw and Discreet run next to each other."""
    found = Figures(rows=rows, large={}, small={}, makings={})
    for unit in UNITS:
        projects = {size: folder / f"{unit}-{size}" for size in {rows, SMALL}}
        for size, project in projects.items():
            write_project(project, source=table(size), unit=unit, rows_per_person=ROWS_PER_PERSON)
        found.makings[unit] = _ask(OURS, MAKE, unit, projects, size=rows, repeats=1)
        _tell(OURS, MAKE, unit, rows, found.makings[unit])
        for query in QUERIES:
            for system in systems:
                report = _ask(system, query, unit, projects, size=rows, repeats=system.repeats)
                found.large[system.name, unit, query] = report
                _tell(system, query, unit, rows, report)
            for system in (each for each in systems_small if unit in each.units):
                report = _ask(system, query, unit, projects, size=SMALL, repeats=system.repeats_small)
                found.small[system.name, unit, query] = report
                _tell(system, query, unit, SMALL, report)
    return found


def _ask(system: System, query: str, unit: str, projects: dict[int, Path], *, size: int, repeats: int) -> Report:
    ours = system.name == OURS.name
    if system.peer and (reason := peer.missing(system.peer)):
        return Report.dash(reason)
    order = Order(
        query=query,
        unit=unit,
        place=str(projects[size] if ours else table(size)),
        small=str(projects[SMALL] if ours else table(SMALL)),
        repeats=repeats,
        cpu_limit_s=system.cpu_limit_s,
        rows_per_person=ROWS_PER_PERSON,
    )
    command = [system.python, str(HERE / system.worker)]
    try:
        done = subprocess.run(
            command, input=json.dumps(asdict(order)), capture_output=True, text=True, timeout=MOST_WALL_S
        )
    except subprocess.TimeoutExpired:
        return Report.dash(f"not finished after {MOST_WALL_S} s", "timed out")
    if done.returncode == TOO_LONG:
        return Report.dash(f"not finished after {system.cpu_limit_s} CPU s", "timed out")
    if done.returncode:
        return Report.dash(peer.last_words(done.stderr) or f"exit code {done.returncode}", "failed")
    return Report(**json.loads(done.stdout))


def _tell(system: System, query: str, unit: str, rows: int, report: Report) -> None:
    """Progress, for whoever waits."""
    told = report.refused or f"{report.least:.4f} CPU s"
    print(f"{rows:>10,} rows, {unit:6} {query:4} {system.name:10} {told}", file=sys.stderr)
