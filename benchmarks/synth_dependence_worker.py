"""Fits of one generated table: an order on stdin, one line of errors for each fit on stdout.

In one process, for a hundred fits; the table's project is made once.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # before numpy is loaded

from synth_dependence import Columns, DependentTable, dependence_errors, table_of  # noqa: E402

import discreet  # noqa: E402


def main() -> None:
    order = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_STATE"] = str(Path(name) / "state")
        for number, seed in enumerate(order["seeds"]):
            table = table_of(order["table"], seed)
            project = project_of(table, Path(name) / str(number), delta=order["delta"])
            for kind in order["kinds"]:
                started = time.process_time()
                model = project.synthesize("people", model=kind, epsilon=order["epsilon"], fresh=True)
                took = time.process_time() - started
                errors = dependence_errors(table, columns_of(table, model.sample(table.rows)))
                report = {"kind": kind, "seed": seed, "cpu_s": took, "fitted": model.card.kind}
                report["pairs"] = sum(len(each.attributes) > 1 for each in model.measured)
                print(json.dumps(report | asdict(errors)), flush=True)


def project_of(table: DependentTable, folder: Path, *, delta: str) -> discreet.Project:
    """A project over the table, with a budget that lasts."""
    folder.mkdir()
    (folder / "people.csv").write_text("\n".join(table.lines()) + "\n")
    declared = "".join(f"[tables.people.columns.{name}]\n{text}\n" for name, text in table.declaration().items())
    budget = f"{{ epsilon = 10000{'' if delta == '0' else f', delta = {delta}'} }}"
    (folder / "discreet.toml").write_text(f'[tables.people]\nsource = "people.csv"\nbudget = {budget}\n{declared}')
    discreet.init(folder)
    project = discreet.open(folder)
    project.refresh("people")
    return project


def columns_of(table: DependentTable, rows: object) -> Columns:
    """Synthetic rows as numbers; nan where they are missing."""
    frame = rows.to_pandas()  # type: ignore[attr-defined]
    return {
        name: frame[name].str[1:].astype(int).to_numpy()
        if name in table.sizes
        else frame[name].astype("float64").to_numpy()
        for name in table.columns
    }


if __name__ == "__main__":
    main()
