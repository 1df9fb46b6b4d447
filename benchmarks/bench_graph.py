"""Networks: speed at ten million edges, and how well a rumour is foretold. `--only NAME` runs one part and keeps nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from results import write_section

HERE = Path(__file__).resolve().parent
#: Each is a file graph_NAME.py that prints its tables.
PARTS = ("speed", "spread", "triangles", "traits", "ladders")


def told(name: str) -> str:
    """What one part prints, by a process of its own."""
    done = subprocess.run(
        [sys.executable, str(HERE / f"graph_{name}.py")],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return f"### {name}\n\n{done.stdout.strip()}"


def main(words: list[str]) -> None:
    """Run, print and keep."""
    only = words[words.index("--only") + 1] if "--only" in words else None
    parts = []
    for name in [only] if only else PARTS:
        parts.append(told(name))
        print(parts[-1], flush=True)
    if not only:
        write_section("graph", "\n\n".join(parts))


if __name__ == "__main__":
    main(sys.argv[1:])
