"""What peers of the lab do, too: measuring k, l and t, and singling people out of synthetic tables. Records."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import peer
import pyarrow.csv as csv
from lab_anonymize import PART, QUASI, SENSITIVE
from lab_synthetic import tables
from records import Record, ours
from synth_data import ADULT

QUICK_PART = 5_000
WORKER = Path(__file__).resolve().parent / "rivals_worker.py"


def records(*, quick: bool) -> list[Record]:
    """Ours and theirs on the same rows, each in a process of its own. Quick: without what takes a peer long."""
    rows = QUICK_PART if quick else PART
    adult = {"source": str(ADULT), "rows": rows, "quasi": list(QUASI), "sensitive": SENSITIVE[0]}
    found = _both(f"k, l and t of {rows:,} rows of Adult", {**adult, "what": "check"}, "pycanon")
    case = f"k-anonymity of {rows:,} rows of Adult, k = 10"
    found.append(_own(case, {**adult, "what": "anonymize"}))
    found.append(_out_of_reach("ARX", case))
    found.append(peer.silent("pycanon", "lab", case, peer.Silent("cannot", "measures tables, and makes none")))
    with tempfile.TemporaryDirectory() as name:
        original, control = tables()
        paths = {"original": f"{name}/original.csv", "control": f"{name}/control.csv"}
        csv.write_csv(original, paths["original"])
        csv.write_csv(control, paths["control"])
        for what, words in (("univariate", "on one column"), ("multivariate", "on several columns")):
            if not quick or what == "univariate":
                found += _both(f"singling out, 500 guesses {words}", {**paths, "what": what}, "anonymeter")
    return found


def _both(case: str, order: dict[str, Any], name: str) -> list[Record]:
    try:
        other = peer.record(name, "lab", case, **peer.ask(name, f"{name}_lab.py", order, limit_s=120))
    except peer.Silent as why:
        other = peer.silent(name, "lab", case, why)
    return [_own(case, order), other]


def _own(case: str, order: dict[str, Any]) -> Record:
    return ours("lab", case, **peer.told([sys.executable, str(WORKER)], order, limit_s=900))


def _out_of_reach(name: str, case: str) -> Record:
    return Record(benchmark="lab", case=case, system=name, outcome="cannot", reason=peer.OUT_OF_REACH[name])
