"""All ranges over a million leaves, beside OpenDP's tree: planning, sums, noise and consistency, and the error.

Each in a process of its own. `--quick`: 65,536 leaves. Writes the records of `./do bench tables`.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import peer
from records import Record, ours, write

WORKER = Path(__file__).resolve().parent / "tree_worker.py"
ERROR = "root mean square error over all ranges"
#: Draws for the error. Ranges of a draw lean on the same noise: its own error is taken as a tenth, which is a guess.
DRAWS, PEER_DRAWS, SPREAD = 10, 2, 0.1


def records(leaves: int) -> list[Record]:
    case = f"all ranges of {leaves:,} leaves, epsilon 1"
    found = []
    for strategy in ("best", "binary"):
        order = {"leaves": leaves, "draws": DRAWS, "strategy": strategy}
        figures = peer.told([sys.executable, str(WORKER)], order, limit_s=900)
        about: dict[str, Any] = {"error_name": ERROR, "uncertainty": SPREAD / math.sqrt(DRAWS)}
        own = ours("tables", case, **figures, **about)
        # What a user gets is the best strategy; the plain tree says what planning is worth.
        found.append(own if strategy == "best" else replace(own, system="Discreet, binary tree", yardstick=True))
    try:
        figures = peer.ask("opendp", "opendp_tree.py", {"leaves": leaves, "draws": PEER_DRAWS})
        about = {"error_name": ERROR, "uncertainty": SPREAD / math.sqrt(PEER_DRAWS)}
        found.append(peer.record("opendp", "tables", case, **figures, **about))
    except peer.Silent as why:
        found.append(peer.silent("opendp", "tables", case, why))
    why = peer.Silent("cannot", "has no ranges: SQL counts only, each range a query with noise of its own")
    return [*found, peer.silent("smartnoise", "tables", case, why)]


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    found = records(2**16 if quick else 2**20)
    write("tables", found, quick=quick)
    print("| | CPU s | MiB | root mean square error |\n|---|---:|---:|---:|")
    for record in found:
        if record.cpu_s is None or record.error is None or record.peak_mib is None:
            print(f"| {record.system}, {record.case} | – ({record.reason}) | – | – |")
        else:
            figures = f"{record.cpu_s:.2f} | {record.peak_mib:.0f} | {record.error:.1f}"
            print(f"| {record.system} {record.version}, {record.case} | {figures} |")


if __name__ == "__main__":
    main()
