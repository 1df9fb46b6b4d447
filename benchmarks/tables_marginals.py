"""Marginals: how exact the plans are beside what is known, how long planning takes, and one release of each.

    OPENBLAS_NUM_THREADS=1 python benchmarks/tables_marginals.py [--quick]

Prints a Markdown table. RMSE is the root of the mean variance of a cell, from the exact laws; in releases, of the
errors that were made, on a generated table of 48,842 rows. CPU seconds of this process. `--quick`: plans alone.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.accounting.events import ReservationEvent
from discreet.tables.marginals.marginal_workload import MarginalWorkload
from discreet.tables.marginals.marginals_plan import MarginalsPlan, plan_marginals
from discreet.tables.marginals.marginals_release import MarginalsRelease, expected_rmse

#: Adult's domain as private-pgm has it: 14 attributes, 6e17 cells.
ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
HUNDRED = (10,) * 100
ROWS = 48_842

RHO = ReservationEvent(epsilon=None, rho=Fraction(1, 2), delta=Fraction(0))
PURE = ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A wish; `target`: the RMSE to reach under zCDP at rho 0.5; `apart`: that of independent tables, best split."""

    name: str
    wish: MarginalWorkload
    target: float | None
    apart: float | None
    released: bool = True


CASES = [
    Case(name="Adult, 1-way", wish=MarginalWorkload.of_order(ADULT, 1, exactly=True), target=3.05, apart=3.16),
    Case(name="Adult, 2-way", wish=MarginalWorkload.of_order(ADULT, 2, exactly=True), target=6.36, apart=6.88),
    Case(name="Adult, 3-way", wish=MarginalWorkload.of_order(ADULT, 3, exactly=True), target=10.52, apart=11.89),
    Case(
        name="Adult, up to 3-way", wish=MarginalWorkload.of_order(ADULT, 3), target=10.67, apart=12.44, released=False
    ),
    Case(name="100 of 10, up to 2-way", wish=MarginalWorkload.of_order(HUNDRED, 2), target=58.28, apart=71.07),
    Case(
        name="12 binary, 2-way",
        wish=MarginalWorkload.of_order((2,) * 12, 2, exactly=True),
        target=None,
        apart=None,
        released=False,
    ),
]


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    print("| wish | cells | noise | RMSE planned | target | independent tables | plan, CPU s |", end="")
    print("" if quick else " RMSE made | outside 95% | release, CPU s | tables, CPU s |")
    print("|---|---|---|---|---|---|---|" + ("" if quick else "---|---|---|---|"))
    for case in CASES:
        for event in (RHO, PURE):
            line = [*_planned(case, event), *([] if quick or not case.released else _released(case, event))]
            print("| " + " | ".join(line) + " |", flush=True)


def _planned(case: Case, event: ReservationEvent) -> Iterator[str]:
    gaussian = event.epsilon is None
    start = time.process_time()
    wish = MarginalWorkload(sizes=case.wish.sizes, sets=case.wish.sets, weights=case.wish.weights)
    planned = plan_marginals(wish, gaussian=gaussian)
    took = time.process_time() - start
    yield from (case.name, f"{sum(case.wish.cells):,}", "zCDP, rho 0.5" if gaussian else "pure, epsilon 1")
    yield f"{_rmse(planned, event):.3f}"
    yield f"{case.target}" if gaussian and case.target else ""
    yield f"{case.apart}" if gaussian and case.apart else f"{_apart(wish):.2f}" if not gaussian else ""
    yield f"{took:.3f}"


def _rmse(planned: MarginalsPlan, event: ReservationEvent) -> float:
    return expected_rmse(planned, planned.precision(planned.laws(event, rows=1)))


def _apart(wish: MarginalWorkload) -> float:
    """Each table measured by itself, Laplace noise, epsilon 1 split at best, nothing shared between tables."""
    cells = np.array(wish.cells, dtype=float)
    return math.sqrt(2 * float(np.cbrt(cells).sum()) ** 3 / float(cells.sum()))


def _released(case: Case, event: ReservationEvent) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_STATE"] = str(Path(name) / "state")
        project, codes = _project(Path(name) / "project", case.wish.sizes)
        orders = {len(axes) for axes in case.wish.sets}
        terms: dict[str, Any] = {"epsilon": "1"}
        if event.epsilon is None:
            terms = {"epsilon": "5.221741", "delta": "1e-6"}  # rho 0.5
        project.version("people")
        start = time.process_time()
        made = project.marginals("people", order=max(orders), exactly=len(orders) == 1, **terms)
        took = time.process_time() - start
        start = time.process_time()
        squares, outside, cells = 0.0, 0, 0
        for square, out, count in _errors(made, codes, case.wish.sizes):
            squares, outside, cells = squares + square, outside + out, cells + count
        yield f"{math.sqrt(squares / cells):.3f}"
        yield f"{outside / cells:.4f}"
        yield f"{took:.2f}"
        yield f"{time.process_time() - start:.2f}"


def _errors(made: MarginalsRelease, codes: np.ndarray, sizes: tuple[int, ...]) -> Iterator[tuple[float, int, int]]:
    for table in made:
        axes = [int(column[1:]) for column in table.columns]
        shape = [sizes[axis] for axis in axes]
        exact = np.bincount(np.ravel_multi_index(tuple(codes[:, axes].T), shape), minlength=table.values.size)
        errors = table.values.ravel() - exact
        yield float((errors**2).sum()), int((np.abs(errors) > table.half_width).sum()), errors.size


def _project(folder: Path, sizes: tuple[int, ...]) -> tuple[Any, np.ndarray]:
    """A generated table of closed categories; a seed, for it protects nobody."""
    import discreet

    generator = np.random.default_rng(7)
    codes = np.stack([(generator.random(ROWS) ** 2 * size).astype(int) for size in sizes], axis=1)
    folder.mkdir()
    header = ",".join(f"c{place}" for place in range(len(sizes)))
    np.savetxt(folder / "people.csv", codes, fmt="%d", delimiter=",", header=header, comments="")
    told = ['[tables.people]\nsource = "people.csv"\nbudget = { epsilon = 90, delta = 1e-5 }']
    for place, size in enumerate(sizes):
        values = ", ".join(f'"{value}"' for value in range(size))
        told.append(f'[tables.people.columns.c{place}]\ntype = "category"\nvalues = [{values}]\nclosed = true')
    (folder / "discreet.toml").write_text("\n".join(told) + "\n")
    return discreet.init(folder), codes


if __name__ == "__main__":
    main()
