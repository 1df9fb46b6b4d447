"""Synthetic data: what Discreet's models cost and how near they come, on Adult, and beside dpmm.

Every fit is a process of its own: CPU seconds from start to written rows, import and all, and the peak of its memory;
the mean of three fits, and one of large tables. The rows are scored in the environment "scoring": the mean total variation over all marginals of
one, of two, and over 200 of three columns, and how well a classifier trained on them ranks the real people by income.
`--quick`: one fit each, of Adult at epsilon 1 only, printed and not kept. `--peers`: dpmm, too, which takes minutes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from results import write_section
from synth_data import HERE, SCORE, Table, adult, wide, write_project

import discreet

#: What was seen where it took too long to be repeated: CPU s, MB, tv2, tv3, AUC, at epsilon 1.
ELSEWHERE = {
    "DataSynthesizer 0.1.13, correlated, k = 2": (1700, 230, 0.262, 0.344, 0.849),
    "mbi 2.0.0, MST": (144, 1592, 0.042, 0.089, 0.842),
    "smartnoise-synth 1.0.8, MST": (133, 3022, 0.121, 0.258, 0.782),
}

#: Its environment is made where `--peers` asks for it.
PEER = "peers:dpmm".removeprefix("peers:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One line of the table: a fit, and what the issue asks of it at most (of the AUC: at least)."""

    name: str
    table: str
    kind: str
    epsilon: str
    more: dict[str, Any]
    cpu_s: float
    memory_mb: float
    tv2: float
    tv3: float = 1.0
    auc: float = 0.0

    @property
    def fits(self) -> int:
        """Large tables are fitted once: what they are about is time."""
        return 3 if self.table == "adult-1" else 1


def _run(name: str, kind: str, epsilon: str, *limits: float, table: str = "adult-1", **more: Any) -> Run:
    return Run(
        name=name,
        table=table,
        kind=kind,
        epsilon=epsilon,
        more=more,
        **dict(zip(("cpu_s", "memory_mb", "tv2", "tv3", "auc"), limits, strict=False)),
    )


RUNS = (
    _run("independent", "independent", "1", 0.5, 250, 0.082, 0.184),
    _run("privbayes", "privbayes", "1", 4, 250, 0.056, 0.112, 0.82),
    _run("mst", "mst", "1", 2.5, 250, 0.043, 0.091, 0.835),
    _run("aim, 1 MB", "aim", "1", 5, 250, 0.026, 0.059, 0.90, model_mb="1"),
    _run("aim", "aim", "1", 15, 400, 0.024, 0.055, 0.90),
    _run("mst", "mst", "0.1", 2.5, 250, 0.084),
    _run("aim", "aim", "0.1", 3, 250, 0.068, 1.0, 0.85),
    _run("mst", "mst", "10", 2.5, 250, 0.036),
    _run("aim", "aim", "10", 30, 800, 0.0125, 0.035),
    _run("mst, ten times the rows", "mst", "1", 6, 600, 1.0, table="adult-10"),
    _run("aim, ten times the rows", "aim", "1", 20, 800, 1.0, table="adult-10"),
    _run("mst, 35 columns", "mst", "1", 8, 600, 1.0, table="wide"),
    _run("aim of pairs, 35 columns", "aim", "1", 10, 600, 1.0, table="wide", workload=2, model_mb="4"),
    _run("aim, 35 columns", "aim", "1", 60, 1000, 1.0, table="wide", workload=3, model_mb="4"),
)


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DISCREET_STATE"] = str(folder / "state")
        _compile(folder)
        runs = [run for run in RUNS if not quick or (run.table, run.epsilon) == ("adult-1", "1")]
        tables = _tables(folder, {run.table for run in runs})
        found = [
            (run, _mean([_fit(run, tables[run.table], folder) for _ in range(1 if quick else run.fits)]))
            for run in runs
        ]
        told = [_line(run, report) for run, report in found]
        if "--peers" in sys.argv[1:]:
            told += [_peer_line(kind, tables["adult-1"], folder) for kind in ("mst", "aim")]
    over = [text for run, report in found for text in _over(run, report)]
    text = _text(told, over)
    print(text)
    if not quick:
        write_section("synth", text)
    if over:
        raise SystemExit(1)


def _compile(folder: Path) -> None:
    """Compile the sources once, as installing a package does: no fit is to pay for it."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    told = "import pyarrow.csv, discreet.api, discreet.synth.fit, discreet.synth.writing"
    subprocess.run([sys.executable, "-c", told], check=True)


def _tables(folder: Path, names: set[str]) -> dict[str, Table]:
    made = {"adult-1": lambda: adult(folder), "adult-10": lambda: adult(folder, times=10), "wide": lambda: wide(folder)}
    tables = {name: made[name]() for name in names}
    for name, table in tables.items():
        write_project(table, folder / name)
        discreet.init(folder / name)
        discreet.open(folder / name).refresh("people")
    return tables


def _fit(run: Run, table: Table, folder: Path) -> dict[str, float]:
    rows = folder / "rows.csv"
    order = {
        "project": str(folder / run.table),
        "kind": run.kind,
        "epsilon": run.epsilon,
        "rows": str(rows),
        "n": table.rows,
        "more": run.more,
    }
    report: dict[str, float] = _told([sys.executable, HERE / "synth_worker.py"], order)
    report |= _score(table, rows)
    print(run.name, run.epsilon, {name: round(value, 4) for name, value in report.items()}, file=sys.stderr)
    return report


def _told(command: list[Any], order: object) -> Any:
    done = subprocess.run(
        [str(word) for word in command], input=json.dumps(order), capture_output=True, text=True, timeout=3000
    )
    if done.returncode:
        raise SystemExit(f"{Path(command[1]).name} failed: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def _score(table: Table, rows: Path) -> dict[str, float]:
    python = HERE / ".peers" / "scoring" / "bin" / "python"
    target = ["--target", table.target] if table.target else []
    told = _told([python, SCORE, table.source, rows, table.bins, *target], None)
    return {name: told[name] for name in ("tv1", "tv2", "tv3", "auc") if name in told}


def _mean(reports: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.fmean(report[name] for report in reports) for name in reports[0]}


def _peer_line(kind: str, table: Table, folder: Path) -> str:
    """One run of the peer at epsilon 1, on the same cells; said where it did not finish."""
    rows = folder / "peer.csv"
    order = {"kind": kind, "source": str(table.source), "bins": str(table.bins), "rows": str(rows), "epsilon": 1.0}
    try:
        report = _told([HERE / ".peers" / PEER / "bin" / "python", HERE / "peers" / "dpmm_synth.py"], order)
    except (SystemExit, subprocess.TimeoutExpired) as problem:
        return f"| dpmm {kind}, one run | 1 | {str(problem)[:80]} | | | | | |"
    report |= _score(table, rows)
    return _cells(f"dpmm 0.1.9 {kind}, capped, one run", "1", report)


def _line(run: Run, report: dict[str, float]) -> str:
    return _cells(f"**Discreet** {run.name}", run.epsilon, report)


def _cells(name: str, epsilon: str, report: dict[str, float]) -> str:
    auc = f"{report['auc']:.3f}" if "auc" in report else ""
    figures = " | ".join(f"{report[each]:.4f}" for each in ("tv1", "tv2", "tv3"))
    start = f" ({report['start_s']:.1f})" if "start_s" in report else ""
    return f"| {name} | {epsilon} | {report['cpu_s']:.1f}{start} | {report['memory_mb']:.0f} | {figures} | {auc} |"


def _over(run: Run, report: dict[str, float]) -> list[str]:
    """Where Discreet is over what was asked of it."""
    name = f"{run.name} at epsilon {run.epsilon}"
    found = [
        f"{name}: {what} {report[what]:.4g}, not {limit:g}"
        for what, limit in (("cpu_s", run.cpu_s), ("memory_mb", run.memory_mb), ("tv2", run.tv2), ("tv3", run.tv3))
        if report[what] > limit
    ]
    if report.get("auc", 1.0) < run.auc:
        found.append(f"{name}: AUC {report['auc']:.3f}, not {run.auc}")
    return found


def _text(told: list[str], over: list[str]) -> str:
    seen = [
        f"| {name} (seen on another machine) | 1 | ~{cpu:,} | {memory} | | {tv2:.3f} | {tv3:.3f} | {auc} |"
        for name, (cpu, memory, tv2, tv3, auc) in ELSEWHERE.items()
    ]
    lines = [
        "Adult (48,842 rows, 15 columns, public bins), delta 1e-9, means of three fits; one fit of ten times the rows, and of a",
        "generated table of 170,000 rows and 35 columns of up to 180 values. Total variation of marginals of one, two",
        "and three columns; AUC of a classifier of income trained on the synthetic rows. The real training half of Adult",
        "has tv2 .0074 and AUC .920. CPU seconds are those of a whole process, in brackets what starting it takes: imports,",
        "opening the project.",
        "",
        "| model | epsilon | CPU s | memory MB | tv1 | tv2 | tv3 | AUC |",
        "|---|---|---|---|---|---|---|---|",
        *told,
        *seen,
        "",
        "Discreet over its limits: " + ("; ".join(over) or "nowhere") + ".",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
