"""The lab: every figure of benchmarks/lab_*.py beside its limit, and what "pycanon" and "anonymeter" do, too.

`--only NAME` runs one file and keeps nothing. `--quick`: without the audit, and without a peer's slow part.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import rivals
from records import BELOW_LIMITS, Record, write
from results import write_section

HERE = Path(__file__).resolve().parent
#: Takes about a CPU minute.
SLOW = ("audit",)


def rows(name: str) -> list[tuple[str, str, float, float]]:
    """The figures of one file: attack, what, seen, limit."""
    return [(name, *figure) for figure in import_module(f"lab_{name}").figures()]


def line(figure: tuple[str, str, float, float]) -> str:
    """One row of the table; what is over its limit says so."""
    name, what, seen, limit = figure
    return f"| {name} | {what} | {seen:.3g} | {limit:g} | {'**over**' if seen > limit else ''} |"


def beside(records: list[Record]) -> list[str]:
    """The peers' part, as a table."""
    told = ["| beside peers | system | CPU s | MiB |", "|---|---|---:|---:|"]
    for record in records:
        figures = (
            f"– ({record.reason}) | –" if record.cpu_s is None else f"{record.cpu_s:.3g} | {record.peak_mib or 0:.0f}"
        )
        told.append(f"| {record.case} | {record.system} {record.version} | {figures} |")
    return told


def main(words: list[str]) -> None:
    """Run, print and keep."""
    quick = "--quick" in words
    names = [path.stem.removeprefix("lab_") for path in sorted(HERE.glob("lab_*.py"))]
    only = words[words.index("--only") + 1] if "--only" in words else None
    print(heading := "| attack | what | seen | at most | |\n|---|---|---:|---:|---|")
    told, missed = [], []
    for name in [only] if only else [name for name in names if not quick or name not in SLOW]:
        for figure in rows(name):
            told.append(line(figure))
            print(told[-1], flush=True)
            if figure[2] > figure[3]:
                missed.append(f"{figure[1]} {figure[2]:.3g}, not {figure[3]:g}")
    if only:
        return
    records = rivals.records(quick=quick)
    told = [heading, *told, "", *beside(records)]
    print("\n".join(told[-len(records) - 3 :]))
    write_section("lab", "\n".join(told), quick=quick)
    write("lab", records, missed=missed, quick=quick)
    if missed:
        raise SystemExit(BELOW_LIMITS)


if __name__ == "__main__":
    main(sys.argv[1:])
