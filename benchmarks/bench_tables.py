"""Ranges, marginals, publications, streams, reconcile: every table of benchmarks/tables_*.py, beside "opendp".

`--only NAME` runs one and keeps nothing. `--quick`: ranges, and a smaller tree beside OpenDP's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from results import write_section

HERE = Path(__file__).resolve().parent

QUICK = ("ranges", "tree")


def told(path: Path, words: list[str]) -> str:
    """What one file prints, by a process of its own and one thread."""
    name = path.stem.removeprefix("tables_")
    done = subprocess.run(
        [sys.executable, str(path), *words],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return f"### {name}\n\n{done.stdout.strip()}"


def main(words: list[str]) -> None:
    """Run, print and keep."""
    quick = "--quick" in words
    only = words[words.index("--only") + 1] if "--only" in words else None
    paths = [HERE / f"tables_{only}.py"] if only else sorted(HERE.glob("tables_*.py"))
    if quick and not only:
        paths = [HERE / f"tables_{name}.py" for name in QUICK]
    parts = []
    for path in paths:
        parts.append(told(path, ["--quick"] if quick else []))
        print(parts[-1], flush=True)
    if not only:
        write_section("tables", "\n\n".join(parts), quick=quick)


if __name__ == "__main__":
    main(sys.argv[1:])
