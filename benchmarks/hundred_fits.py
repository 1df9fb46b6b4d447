"""One fit of a generated table, and what became of its claims: the work that `bench_hundred` does many times.

`pair`: how far the correlation of the main pair is off. `columns`: for each column of a table of which nothing is
declared whether it collapsed, which of its values of 5% are lost, whether NULL was invented, which ends are short.
"""

from __future__ import annotations

import os
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bench_undeclared import Tally, compare
from synth_dependence import correlation_of, table_of
from synth_dependence_worker import project_of
from undeclared_tables import JUDGED, TUNED, write_csv

import discreet

#: The delta of a regime that has one; of the whole budget, so that a fit may spend it.
DELTA, BUDGET_DELTA = "1e-6", "1e-3"
MAKERS = TUNED | JUDGED


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOrder:
    """`what`: a pair of a declared table, a pair of one of which nothing is declared, or columns of such a one."""

    what: str
    table: str
    delta: str
    seed: int
    kind: str = "auto"

    @property
    def name(self) -> str:
        return f"{self.what}, {self.table}, delta {self.delta}, {self.kind}, seed {self.seed}"


def fit_once(order: FitOrder) -> dict[str, Any]:
    """The fit in a project of its own; a fit that fails is an outcome too, with its reason."""
    started = time.process_time()
    report: dict[str, Any] = {"what": order.what, "table": order.table, "delta": order.delta, "seed": order.seed}
    report["kind"] = order.kind
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DISCREET_STATE"] = str(Path(folder) / "state")
        try:
            outcome = _columns(order, Path(folder)) if order.what == "columns" else _pair(order, Path(folder))
        except Exception as why:  # one fit of hundreds: the others go on
            outcome = {"failed": f"{type(why).__name__}: {why}", "trace": traceback.format_exc(limit=-4)}
    return report | outcome | {"cpu_s": round(time.process_time() - started, 2)}


def _pair(order: FitOrder, folder: Path) -> dict[str, Any]:
    table = table_of(order.table, order.seed)
    if order.what == "pair":
        project = project_of(table, folder / "project", delta=order.delta)
    else:
        project = _undeclared(folder, order.delta, lambda path: path.write_text("\n".join(table.lines()) + "\n"))
    model = _fit(project, order)
    rows = model.sample(table.rows)
    made = {name: _numbers(rows[name].to_pylist()) for name in table.main}
    real, synthetic = correlation_of(table.columns, *table.main), correlation_of(made, *table.main)
    return {"real": round(real, 4), "synthetic": round(synthetic, 4), "fitted": model.card.kind}


def _columns(order: FitOrder, folder: Path) -> dict[str, Any]:
    columns = MAKERS[order.table](np.random.default_rng([order.seed, len(order.table)]))
    model = _fit(_undeclared(folder, order.delta, lambda path: write_csv(path, columns)), order)
    return {"columns": {name: _plain(columns[name], tally) for name, tally in compare(columns, model).items()}}


def _plain(values: list[Any], tally: Tally) -> dict[str, Any]:
    """What is counted of a column, without what is 0."""
    kept = ("values5", "lost5", "values1", "lost1", "collapsed", "ends", "short_low", "short_high", "wide", "invented")
    counts = {name: int(getattr(tally, name)) for name in kept}
    is_text = isinstance(values[0], str) and not any(_is_number(one) for one in values[:20])
    distance = {"distance": round(float(tally.distances[0]), 4)} if tally.distances else {}
    return {"text": is_text} | {name: count for name, count in counts.items() if count} | distance


def _is_number(word: str) -> bool:
    return word != "" and word.replace("-", "").replace("/", "").replace(".", "").isdigit()


def _undeclared(folder: Path, delta: str, write: Callable[[Path], object]) -> discreet.Project:
    """A project over a file of which nothing is declared."""
    place = folder / "project"
    place.mkdir()
    write(place / "people.csv")
    discreet.init(place)
    budget: Mapping[str, str] = {} if delta == "0" else {"delta": BUDGET_DELTA}
    discreet.open(place).add(str(place / "people.csv"), epsilon="1000", **budget)
    return discreet.open(place)


def _fit(project: discreet.Project, order: FitOrder) -> Any:
    delta = {} if order.delta == "0" or order.what == "pair" else {"delta": order.delta}
    return project.synthesize("people", model=order.kind, epsilon="1", **delta)


def _numbers(values: list[Any]) -> np.ndarray[Any, Any]:
    """Numbers, with nan where there is none."""
    return np.array([float(one) if isinstance(one, int | float) else np.nan for one in values])
