"""Runs the measurements of `./do bench scale`: for each number of rows and each unit a project, its acts in processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import scale_project
from scale_data import Data, make
from scale_engines import Engine
from scale_project import ACTS, Unit
from scale_worker import TOO_LARGE, Report

HERE = Path(__file__).resolve().parent
MOST_WALL_S = 3600
#: What a process may hold with all that works for it.
MOST_MIB = 8192.0

#: By unit, act and number of rows.
Figures = dict[tuple[Unit, str, int], Report]


def run(folder: Path, engine: Engine, *, cases: Mapping[int, Sequence[Unit]], keep: bool) -> Figures:
    """Everything, the smallest table first. What was made of one size is erased before the next, unless kept."""
    found: Figures = {}
    for rows, units in cases.items():
        data = make(folder / "data" / str(rows), rows)
        print(f"{rows:,} rows: {data.bytes / 2**20:,.0f} MiB of Parquet", file=sys.stderr)
        engine.load(data)
        for unit in units:
            project = folder / "projects" / f"{engine.name}-{unit}-{rows}"
            _fresh(project)
            state = folder / "state" / project.name
            os.environ["DISCREET_STATE"] = str(state)
            scale_project.write(project, data, unit=unit, engine=engine.address, source=_source(engine, data))
            for acts in _processes(unit, engine):
                for report in _reports(project, acts, engine, state):
                    found[unit, report.act, rows] = report
                    _tell(unit, rows, report)
            if not keep:
                shutil.rmtree(project)
        if not keep:
            shutil.rmtree(folder / "data" / str(rows))
    return found


def _source(engine: Engine, data: Data) -> scale_project.Source:
    return lambda name: engine.source(data, name)


def _fresh(project: Path) -> None:
    shutil.rmtree(project, ignore_errors=True)
    shutil.rmtree(project.parents[1] / "state" / project.name, ignore_errors=True)


def _processes(unit: Unit, engine: Engine) -> list[list[str]]:
    """Which acts share a process: makings and fits have their own, where starting one is cheap."""
    acts = [name for name, act in ACTS.items() if unit in act.units]
    if engine.together:
        return [acts]
    asked = [name for name in acts if not ACTS[name].alone]
    made = [name for name in acts if name.startswith("make")]
    fitted = [name for name in acts if ACTS[name].alone and name not in made]
    return [*([name] for name in made), asked, *([name] for name in fitted)]


def _reports(project: Path, acts: list[str], engine: Engine, state: Path) -> Iterator[Report]:
    """What a process tells, as it tells it; what it did not come to is a report of why."""
    order = {"project": str(project), "acts": acts, "server": engine.server, "most_mib": MOST_MIB}
    worker = subprocess.Popen(
        [sys.executable, str(HERE / "scale_worker.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "DISCREET_STATE": str(state)},
    )
    assert worker.stdin is not None and worker.stdout is not None
    late = threading.Timer(MOST_WALL_S, worker.kill)
    late.start()
    told = 0
    try:
        worker.stdin.write(json.dumps(order))
        worker.stdin.close()
        for line in worker.stdout:
            told += 1
            yield Report(**json.loads(line))
        worker.wait()
    finally:
        late.cancel()
        worker.kill()
    problem = "more than 8 GiB" if worker.returncode == TOO_LARGE else f"ended with {worker.returncode}"
    yield from (Report(act=act, refused=problem) for act in acts[told:])


def _tell(unit: Unit, rows: int, report: Report) -> None:
    """Progress, for whoever waits."""
    told = report.refused or (
        f"{report.all_cpu_s:8.2f} CPU s {report.wall_s:8.2f} s {report.driver_mib:6.0f} + {report.server_mib:.0f} MiB"
    )
    print(f"{rows:>11,} rows, {unit:6} {report.act:12} {told}", file=sys.stderr, flush=True)
