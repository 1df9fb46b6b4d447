"""Start-up: CPU seconds of whole processes, for help, a budget and a query on a small table.

The least of a few runs of each: user and system time of the process and its children. Bytecode is compiled before.
`--against=FOLDERS` measures the same verbs with another PYTHONPATH too (the `src` of another checkout, and what it
needs), in turns, so that a busy machine slows both. `--quick`: 3 runs instead of 5.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from records import BELOW_LIMITS
from results import write_section

SOURCES = str(Path(__file__).resolve().parent.parent / "src")
ROWS = 10_000
COUNT = "SELECT disease, count(*) AS n FROM patients GROUP BY disease"
DISCREET = "from discreet.cli import run; run()"
DECLARED = """[project]
ledger = "sqlite:///.discreet/ledger.db"
[tables.patients]
source = "patients.csv"
budget = { epsilon = 1000 }
[tables.patients.columns.age]
type = "integer"
low = 0
high = 110
[tables.patients.columns.disease]
type = "category"
values = ["allergy", "flu", "measles", "mumps"]
"""

#: What is measured: the program, its words, and the most CPU seconds that it should take on a quiet machine.
CASES: dict[str, tuple[str, list[str], float | None]] = {
    "python": ("pass", [], None),
    "python, numpy, DuckDB": ("import numpy, duckdb", [], None),
    "import discreet": ("import discreet", [], 0.3),
    "--help": (DISCREET, ["--help"], 0.2),
    "budget": (DISCREET, ["budget"], 0.5),
    "explain": (DISCREET, ["explain", COUNT, "--epsilon", "0.5"], None),
    "query, stored": (DISCREET, ["query", COUNT, "--epsilon", "0.5"], None),
    "query, new": (DISCREET, ["query", COUNT, "--epsilon", "0.5", "--fresh"], 0.6),
}


def cpu_s(sources: str, folder: Path, case: str) -> float:
    """CPU seconds of one process."""
    program, words, _ = CASES[case]
    surroundings = {**os.environ, "PYTHONPATH": sources}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=folder, env=surroundings, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def make_project(folder: Path) -> None:
    """A table of 10,000 people whose first query is answered."""
    diseases = ["allergy", "flu", "flu", "measles", "mumps"]
    rows = "".join(f"{place % 100},{diseases[place % 5]}\n" for place in range(ROWS))
    (folder / "patients.csv").write_text(f"age,disease\n{rows}")
    (folder / "discreet.toml").write_text(DECLARED)
    for words in (["init"], ["refresh", "patients"], ["query", COUNT, "--epsilon", "0.5"]):
        subprocess.run(
            [sys.executable, "-c", DISCREET, *words],
            cwd=folder, env={**os.environ, "PYTHONPATH": SOURCES}, check=True, capture_output=True,
        )  # fmt: skip


def measure(trees: dict[str, str], runs: int) -> dict[str, dict[str, float]]:
    """By tree and case, the least of some runs, in turns; one run before compiles the bytecode."""
    least: dict[str, dict[str, float]] = {name: {} for name in trees}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_project(folder)
        for case in CASES:
            for run in range(runs + 1):
                for name, sources in trees.items():
                    seconds = cpu_s(sources, folder, case)
                    if run:
                        least[name][case] = min(seconds, least[name].get(case, seconds))
            print(case, {name: round(figures[case], 3) for name, figures in least.items()}, flush=True)
    return least


def main() -> None:
    quick = "--quick" in sys.argv
    against = [word.partition("=")[2] for word in sys.argv if word.startswith("--against=")]
    trees = {"before": against[0], "now": SOURCES} if against else {"now": SOURCES}
    least = measure(trees, 3 if quick else 5)
    lines = [
        "| process | " + " | ".join(f"{name}, CPU s" for name in trees) + " | aim |",
        "|---" * (len(trees) + 2) + "|",
    ]
    for case, (_, _, most) in CASES.items():
        figures = " | ".join(f"{least[name][case]:.2f}" for name in trees)
        lines.append(f"| {case} | {figures} | {'' if most is None else f'{most:.1f}'} |")
    missed = [case for case, (_, _, most) in CASES.items() if most is not None and least["now"][case] > most]
    note = f"Missed: {', '.join(missed)}." if missed else "All aims are met."
    head = f"Whole processes, a table of {ROWS:,} rows with a SQLite ledger; user and system CPU seconds, the least of the runs."
    write_section("startup", "\n\n".join([head, "\n".join(lines), note]), quick=quick)
    sys.exit(BELOW_LIMITS if missed else 0)


if __name__ == "__main__":
    main()
