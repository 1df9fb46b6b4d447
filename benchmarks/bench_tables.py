"""Ranges, marginals, publications, streams, reconcile: every table of benchmarks/tables_*.py. `--only NAME` runs one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from results import write_section

HERE = Path(__file__).resolve().parent

#: Runs in an environment of its own, beside the planner.
PEER = "opendp"


def told(path: Path) -> str:
    """What one file prints, by a process of its own and one thread."""
    name = path.stem.removeprefix("tables_")
    done = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return f"### {name}\n\n{done.stdout.strip()}"


def main(words: list[str]) -> None:
    """Run, print and keep."""
    only = words[words.index("--only") + 1] if "--only" in words else None
    paths = [HERE / f"tables_{only}.py"] if only else sorted(HERE.glob("tables_*.py"))
    parts = []
    for path in paths:
        parts.append(told(path))
        print(parts[-1], flush=True)
    if not only:
        write_section("tables", "\n\n".join(parts))


if __name__ == "__main__":
    main(sys.argv[1:])
