"""Ranges: all intervals of a column of 1,024 cells from one release, by the strategies that Discreet has, and OpenDP's tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from curves_data import SALARIES, People, people, project
from curves_picture import BLUE, BROWN, DELTA, GREEN, GREY, OLIVE, PURPLE, Picture, computed, measured, peer
from curves_theory import all_ranges_of_single_counts, laplace

from discreet.present.charts import ChartCurve, CurvePanel, CurvePoint
from discreet.project.project import Project


def pictures(epsilons: Sequence[str], *, quick: bool) -> list[Picture]:
    found, releases = _salaries(people()), 4 if quick else 12
    exact = found.table("salary")
    order = {"what": "ranges", "counts": exact.tolist(), "epsilons": epsilons, "asks": 3 if quick else 6}
    told = peer("opendp", "opendp_curves.py", order)
    own: list[ChartCurve] = []
    with project(found, numbers=("salary",)) as made:
        own += _both(made, exact, epsilons, releases, "planned", hue=GREEN)
        own += _both(made, exact, epsilons, releases, "binary tree", hue=OLIVE, strategy="binary")
        own.append(_measured(made, exact, epsilons, releases, "adaptive", hue=PURPLE, strategy="adaptive"))
    if not quick:  # its plan takes nine CPU seconds, and each release one to solve
        with project(found, numbers=("salary",), accounting="zcdp") as made:
            own += _both(made, exact, epsilons, 2, "planned, Gaussian", hue=BLUE, delta=DELTA)
    alone = computed(
        "single counts",
        lambda epsilon: all_ranges_of_single_counts(SALARIES, laplace(epsilon)),
        hue=GREY,
        epsilons=epsilons,
    )
    peers = (
        [measured("OpenDP, its tree", told["tree"].items(), hue=BROWN, kind="peer")] if isinstance(told, dict) else []
    )
    branching = (
        f" OpenDP's tree has its own choice of branching, {told['branching']}." if isinstance(told, dict) else ""
    )
    return [
        Picture(
            name="curves-ranges",
            title="Ranges",
            up="error of an interval: root mean square over all 524,800, in people",
            panels=(CurvePanel(title="", curves=(*own, alone, *peers)),),
            told=f"All intervals of the salaries of {found.rows:,} people in {SALARIES:,} cells, from one release each; "
            "theory is what the planner tells before anything is spent, and for single counts the closed form. Gaussian: "
            f"delta {DELTA}.{branching}",
            missing=(told,) if isinstance(told, str) else (),
        )
    ]


def _salaries(found: People) -> People:
    return People(codes={"salary": found.codes["salary"]}, sizes={"salary": SALARIES})


def _both(
    made: Project, exact: np.ndarray, epsilons: Sequence[str], releases: int, name: str, *, hue: int, **wish: Any
) -> list[ChartCurve]:
    """What was measured, and what the planner had told."""
    plans = [
        CurvePoint(x=float(epsilon), value=made.plan_ranges("people", "salary", epsilon=epsilon, **wish).expected_rmse)
        for epsilon in epsilons
    ]
    planned = ChartCurve(name=f"{name}, theory", kind="computed", points=tuple(plans), hue=hue, is_named=False)
    return [_measured(made, exact, epsilons, releases, name, hue=hue, **wish), planned]


def _measured(
    made: Project, exact: np.ndarray, epsilons: Sequence[str], releases: int, name: str, *, hue: int, **wish: Any
) -> ChartCurve:
    found = [
        (
            epsilon,
            [
                all_ranges(made.ranges("people", "salary", epsilon=epsilon, fresh=True, **wish).cells - exact)
                for _ in range(releases)
            ],
        )
        for epsilon in epsilons
    ]
    return measured(name, found, hue=hue)


def all_ranges(errors: np.ndarray) -> float:
    """The mean square of the error over all ranges: a range's is the difference of two prefixes'.

    >>> all_ranges(np.array([1.0, 1.0]))
    2.0
    """
    gaps = np.concatenate([[0.0], np.cumsum(errors)])
    size = len(gaps)
    return float((size * (gaps**2).sum() - gaps.sum() ** 2) / (size * (size - 1) / 2))
