"""Scale: whole questions on 1, 10 and 100 million rows that lie as Parquet on disk, within 8 GiB of memory.

    ./do bench scale [--engine=duckdb, spark://local or postgresql] [--rows=1000000,10000000] [--units=row,person]
                     [--folder=DIR] [--keep] [--quick]

Each row a person, then persons with many rows: making the declared table, questions through the facade, fits of
synthetic data and marginals; CPU and wall seconds, the peak of memory, and the slope of time against rows. The tables
(1.5 GB at 100 million rows) are made in a temporary folder, or in DIR, and erased at the end, unless kept.
`--engine=postgresql` starts a server of its own, and stops at 10 million rows; Spark stops there where a person has many
rows. `--quick`: a million rows, each a person.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from records import BELOW_LIMITS, Record, ours, write
from results import write_section
from scale_engines import POSTGRESQL, engine
from scale_project import ACTS, ROWS_PER_PERSON, UNITS, Unit
from scale_run import MOST_MIB, Figures, run
from scale_worker import Report

SIZES = (1_000_000, 10_000_000, 100_000_000)
#: Time must not grow faster than this power of the rows, from the second largest to the largest table: a little over 1,
#: since a table of 18 million persons no longer fits a processor's cache.
MOST_SLOPE = 1.3
#: Nor memory of a question by more than this from the second largest to the largest, in the process of the curator.
#: (On DuckDB the engine is in it: distinct persons and joins are held there, within the engine's own limit.)
MOST_GROWTH_MIB = 2048.0
#: The making of a table of persons takes Spark on two cores most of an hour beyond.
MOST_PERSON_ROWS_ON_SPARK = 10_000_000


def slope(rows: Sequence[int], seconds: Sequence[float]) -> float:
    """The power of the rows by which time grows: least squares of the logarithms."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def main() -> None:
    told = _arguments()
    sizes = [int(size) for size in told.rows.split(",")] if told.rows else list(SIZES)
    if told.engine.startswith(POSTGRESQL) and not told.rows:
        sizes = sizes[:2]
    sizes = sizes[:1] if told.quick else sizes
    with tempfile.TemporaryDirectory(prefix="discreet-bench-scale-") as temporary, engine(told.engine) as found:
        folder = Path(told.folder or temporary).resolve()
        units: list[Unit] = ["row"] if told.quick else told.units.split(",")
        figures = run(folder, found, cases=cases_of(found.name, sizes, units), keep=told.keep)
        name = found.name
    over = list(over_limits(figures))
    text = text_of(figures, name) + "\n\nOver its limits: " + ("; ".join(over) or "nowhere") + "."
    print(text)
    called = "scale" if name == "duckdb" else f"scale-{name}"
    write_section(called, text, quick=told.quick)
    write(called, records_of(called, figures), missed=over, quick=told.quick)
    if over:
        raise SystemExit(BELOW_LIMITS)


def cases_of(engine: str, sizes: Sequence[int], units: Sequence[Unit]) -> dict[int, list[Unit]]:
    """For each number of rows the units that are measured."""
    most = MOST_PERSON_ROWS_ON_SPARK if engine not in ("duckdb", POSTGRESQL) else max(sizes)
    return {rows: [unit for unit in units if unit == "row" or rows <= most] for rows in sizes}


def _sizes(figures: Figures, unit: Unit) -> list[int]:
    return sorted({rows for one, _, rows in figures if one == unit})


def records_of(called: str, figures: Figures) -> list[Record]:
    """Ours alone: the peers are measured on what they can hold, by `./do bench sql`."""
    found = []
    for (unit, act, rows), report in figures.items():
        case = f"{ACTS[act].meaning.replace('`', '')}, {rows:,} rows, by {unit}"
        if report.refused:
            found.append(ours(called, case, outcome="failed", reason=report.refused))
        else:
            held = report.driver_mib + report.server_mib
            found.append(ours(called, case, cpu_s=report.all_cpu_s, peak_mib=held))
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--rows", default="")
    parser.add_argument("--units", default=",".join(UNITS))
    parser.add_argument("--folder", default="")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--quick", action="store_true")
    told = parser.parse_args()
    if told.keep and not told.folder:
        parser.error("--keep needs a --folder=DIR to keep things in")
    return told


def over_limits(figures: Figures) -> list[str]:
    """What failed, held too much, or grew faster than the rows."""
    told = []
    for (unit, act, rows), report in figures.items():
        sizes = _sizes(figures, unit)
        where = f"{act} by {unit} at {rows:,} rows"
        held = report.driver_mib + report.server_mib
        if report.refused:
            told.append(f"{where}: {report.refused}")
        elif held > MOST_MIB:
            told.append(f"{where} held {held:,.0f} MiB")
        before = figures.get((unit, act, sizes[-2])) if len(sizes) > 1 and rows == sizes[-1] else None
        if before is None or before.refused or report.refused:
            continue
        power = math.log(report.all_cpu_s / before.all_cpu_s) / math.log(rows / sizes[-2])
        if power > MOST_SLOPE:
            told.append(f"{where}: CPU time grows by the power {power:.2f}")
        if not ACTS[act].alone and report.driver_mib > before.driver_mib + MOST_GROWTH_MIB:
            told.append(f"{where}: {report.driver_mib:,.0f} MiB after {before.driver_mib:,.0f}")
    return told


def text_of(figures: Figures, name: str) -> str:
    """The tables, with what they mean."""
    units = list(dict.fromkeys(unit for unit, _, _ in figures))
    lines = [
        f"Engine: {name}. CPU seconds (wall seconds), everything that works for the question counted: read, priced, charged, "
        "counted, noised, stored. The slope is the power of the rows by which CPU time grows (least squares of logarithms; in "
        "brackets from the second largest to the largest table, where what does not depend on rows weighs less). MiB: the peak "
        "of the curator's process"
        + (", in which DuckDB is." if name == "duckdb" else ", and after the plus sign of the engine's.")
        + " The files were in the machine's cache."
    ]
    for unit in units:
        lines += ["", *_table(figures, _sizes(figures, unit), unit)]
    return "\n".join(lines)


def _table(figures: Figures, sizes: Sequence[int], unit: Unit) -> list[str]:
    title = "each row is a person" if unit == "row" else f"a person has at most {ROWS_PER_PERSON} rows"
    heads = [f"{rows // 10**6} million" for rows in sizes]
    several = len(sizes) > 1
    columns = [title, *heads, *(["slope"] if several else []), *(f"MiB at {head}" for head in heads)]
    lines = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    for act in ACTS:
        reports = [figures.get((unit, act, rows)) for rows in sizes]
        shown = [report for report in reports if report is not None]
        if len(shown) == len(sizes):
            cells = [ACTS[act].meaning, *map(_seconds, shown), *([_slope(sizes, shown)] if several else [])]
            lines.append("| " + " | ".join([*cells, *map(_mib, shown)]) + " |")
    return lines


def _seconds(report: Report) -> str:
    return "–" if report.refused else f"{report.all_cpu_s:.2f} ({report.wall_s:.2f})"


def _mib(report: Report) -> str:
    more = f" + {report.server_mib:,.0f}" if report.server_mib else ""
    return "–" if report.refused else f"{report.driver_mib:,.0f}{more}"


def _slope(sizes: Sequence[int], reports: Sequence[Report]) -> str:
    if any(report.refused for report in reports):
        return "–"
    seconds = [report.all_cpu_s for report in reports]
    return f"{slope(sizes, seconds):.2f} ({slope(sizes[-2:], seconds[-2:]):.2f})"


if __name__ == "__main__":
    sys.exit(main())
