"""The lab: every figure of benchmarks/lab_*.py beside its limit. `--only NAME` runs one file and keeps nothing."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from results import write_section

HERE = Path(__file__).resolve().parent


def rows(name: str) -> list[tuple[str, str, float, float]]:
    """The figures of one file: attack, what, seen, limit."""
    return [(name, *figure) for figure in import_module(f"lab_{name}").figures()]


def line(figure: tuple[str, str, float, float]) -> str:
    """One row of the table; what is over its limit says so."""
    name, what, seen, limit = figure
    return f"| {name} | {what} | {seen:.3g} | {limit:g} | {'**over**' if seen > limit else ''} |"


def main(words: list[str]) -> None:
    """Run, print and keep."""
    names = [path.stem.removeprefix("lab_") for path in sorted(HERE.glob("lab_*.py"))]
    only = words[words.index("--only") + 1] if "--only" in words else None
    print(heading := "| attack | what | seen | at most | |\n|---|---|---:|---:|---|")
    told = []
    for name in [only] if only else names:
        for figure in rows(name):
            told.append(line(figure))
            print(told[-1], flush=True)
    if not only:
        write_section("lab", "\n".join([heading, *told]))


if __name__ == "__main__":
    main(sys.argv[1:])
