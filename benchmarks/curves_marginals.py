"""Marginals: all tables of two columns at once, planned together; beside tables measured apart, and beside private-pgm."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from curves_data import People, households, project
from curves_picture import BLUE, BROWN, DELTA, GREEN, GREY, PURPLE, SOME, TEAL, Picture, computed, measured, peer
from curves_theory import tables_apart

from discreet.present.charts import ChartCurve, CurvePanel, CurvePoint
from discreet.project.project import Project

COLUMNS = ("education", "work", "household", "health", "sector", "sex")
PAIRS = tuple(combinations(COLUMNS, 2))


def pictures(epsilons: Sequence[str], *, quick: bool) -> list[Picture]:
    every = households()
    found = People(
        codes={name: every.codes[name] for name in COLUMNS}, sizes={name: every.sizes[name] for name in COLUMNS}
    )
    exact = {pair: found.table(*pair) for pair in PAIRS}
    sizes = [table.size for table in exact.values()]
    order = {"what": "marginals", "epsilons": epsilons, "tables": [table.ravel().tolist() for table in exact.values()]}
    told = {"OpenDP": peer("opendp", "opendp_curves.py", {**order, "asks": 2 if quick else 20})}
    fitted = {
        "epsilons": SOME,
        "delta": DELTA,
        "sizes": found.sizes,
        "codes": {name: codes.tolist() for name, codes in found.codes.items()},
        "asks": 2,
    }
    told["private-pgm"] = "private-pgm: not in quick runs"
    if not quick:
        told["private-pgm"] = peer("private_pgm", "private_pgm_curves.py", {"kind": "marginals", **fitted})
    releases = 5 if quick else 20
    with project(found) as made:
        own = _both(made, exact, epsilons, releases, "planned", hue=GREEN)
    with project(found, accounting="zcdp") as made:
        own += _both(made, exact, epsilons, releases, "planned, Gaussian", hue=BLUE, whole=True, delta=DELTA)
    apart = computed("each table apart", lambda epsilon: tables_apart(sizes, epsilon), hue=GREY, epsilons=epsilons)
    peers = [
        measured(name, told[name][key].items(), hue=hue, kind="peer")  # type: ignore[index]
        for name, key, hue in (("OpenDP", "apart", BROWN), ("private-pgm", "fitted", PURPLE))
        if isinstance(told[name], dict)
    ]
    return [
        Picture(
            name="curves-marginals",
            title="Marginals",
            up="error of a cell: root mean square, in people",
            panels=(CurvePanel(title="", curves=(*own, apart, *peers)),),
            told=f"All {len(PAIRS)} tables of two of {len(COLUMNS)} columns, {sum(sizes):,} cells, {found.rows:,} people, each "
            "release for one epsilon. Theory is what the planner tells beforehand; apart: Laplace noise, epsilon split at "
            "best. OpenDP counts each table with its part of epsilon. private-pgm gets the same tables with Gaussian noise of "
            f"delta {DELTA} and fits one distribution to them, so that nothing is below 0, as `whole` does here: not "
            "unbiased any more, and nearer where noise drowns the cells.",
            missing=tuple(each for each in told.values() if isinstance(each, str)),
        )
    ]


def _both(
    made: Project,
    exact: dict[Any, np.ndarray],
    epsilons: Sequence[str],
    releases: int,
    name: str,
    *,
    hue: int,
    whole: bool = False,
    **terms: Any,
) -> list[ChartCurve]:
    squares: list[tuple[str, list[float]]] = []
    repaired: list[tuple[str, list[float]]] = []
    for epsilon in epsilons:
        found = [
            made.marginals("people", order=2, exactly=True, epsilon=epsilon, fresh=True, **terms)
            for _ in range(releases)
        ]
        squares.append((epsilon, [_error(each, exact, whole=False) for each in found]))
        if whole:
            repaired.append((epsilon, [_error(each, exact, whole=True) for each in found[:10]]))
    plans = [
        CurvePoint(
            x=float(each),
            value=made.plan_marginals("people", order=2, exactly=True, epsilon=each, **terms).expected_rmse,
        )
        for each in epsilons
    ]
    curves = [
        measured(name, squares, hue=hue),
        ChartCurve(name=f"{name}, theory", kind="computed", points=tuple(plans), hue=hue, is_named=False),
    ]
    return [*curves, *([measured(f"{name}, whole", repaired, hue=TEAL)] if whole else [])]


def _error(made: Any, exact: dict[Any, np.ndarray], *, whole: bool) -> float:
    """The mean squared error over all cells of all tables."""
    gaps = []
    for table in made:
        truth = exact[tuple(sorted(table.columns, key=COLUMNS.index))]
        values = table.whole if whole else table.values
        gaps.append(
            (
                values.transpose([table.columns.index(name) for name in sorted(table.columns, key=COLUMNS.index)])
                - truth
            ).ravel()
        )
    return float((np.concatenate(gaps) ** 2).mean())
