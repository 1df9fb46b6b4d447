"""SQL at the speed of the raw query: Discreet beside raw DuckDB and the peers "smartnoise" and "opendp".

Ten million rows, six queries, each row a person and then a person with many rows: CPU time, error and memory of whole
questions, and the latency at 10,000 rows. `--quick`: one million rows, without what is slow (OpenDP, and SmartNoise
beyond 10 CPU s), printed and not kept.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from results import write_section
from sql_data import ROWS
from sql_run import OPENDP, OURS, RAW, SMALL, SMARTNOISE, Figures, run
from sql_tables import text_of

from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace

#: What the issue asks for: a question costs at most 1.2 times the raw query and 10 ms more, the declared table of ten
#: million rows 15 CPU s, a question's own memory 1.5 times the raw query's, 20,000 noisy cells 20 ms.
MOST_TIMES, MOST_MORE_S = 1.2, 0.010
MOST_MAKING_S = 15.0
MOST_MEMORY_TIMES = 1.5
MOST_CELLS_S = 0.020
CELLS = 20_000

ALL = [RAW, OURS, SMARTNOISE, OPENDP]

#: Allocators take memory by the piece, so that less than this is no difference.
LEAST_MEMORY_MIB = 4.0


def cells_seconds() -> float:
    """CPU seconds of the noise of 20,000 cells, the least of a few."""
    mechanism, bits, least = DiscreteLaplace(scale=Fraction(10)), system(), float("inf")
    for _ in range(50):
        start = time.process_time()
        mechanism.draw(CELLS, bits=bits)
        least = min(least, time.process_time() - start)
    return least


def over_limits(found: Figures, cells_s: float) -> list[str]:
    """Where Discreet takes more than it should."""
    told = [f"{CELLS:,} noisy cells took {cells_s * 1e3:.0f} ms"] if cells_s > MOST_CELLS_S else []
    for (name, unit, query), report in found.large.items():
        raw = found.large[RAW.name, unit, query]
        if name != OURS.name or report.refused:
            continue
        if report.least > MOST_TIMES * raw.least + MOST_MORE_S:
            told.append(f"{query} by {unit}: {report.least:.3f} CPU s where raw takes {raw.least:.3f}")
        if report.memory_mib > max(MOST_MEMORY_TIMES * raw.memory_mib, raw.memory_mib + LEAST_MEMORY_MIB):
            told.append(f"{query} by {unit}: {report.memory_mib:.0f} MiB where raw takes {raw.memory_mib:.0f}")
    for (name, unit, query), report in found.small.items():
        more = 0 if report.refused else report.median - found.small[RAW.name, unit, query].median
        if name == OURS.name and more > MOST_MORE_S:
            told.append(f"{query} by {unit}: {more * 1e3:.1f} ms over raw at {SMALL:,} rows")
    for unit, report in found.makings.items():
        if not report.refused and report.least > MOST_MAKING_S * found.rows / ROWS:
            told.append(f"the declared table by {unit} took {report.least:.1f} CPU s")
    return told


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_STATE"] = str(Path(name) / "state")
        found = run(
            Path(name) / "projects",
            rows=1_000_000 if quick else ROWS,
            systems=[RAW, OURS, replace(SMARTNOISE, repeats=1, cpu_limit_s=10)] if quick else ALL,
            systems_small=[RAW, OURS] if quick else ALL,
        )
    cells_s = cells_seconds()
    over = over_limits(found, cells_s)
    text = text_of(found, cells=CELLS, cells_s=cells_s)
    text += "\n\nDiscreet over its limits: " + ("; ".join(over) or "nowhere") + "."
    print(text)
    if not quick:
        write_section("sql", text)
    if over:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
