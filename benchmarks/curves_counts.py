"""Counts: 5,000 cells of a histogram, each with its own noise, asked as SQL; one histogram, and one of a hundred."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from curves_data import AGES, REGIONS, People, people, project
from curves_picture import BLUE, BROWN, DELTA, GREEN, OLIVE, PURPLE, Picture, computed, measured, peer
from curves_theory import gaussian, laplace

from discreet.accounting.zcdp_conversion import rho_from_epsilon
from discreet.present.charts import ChartCurve, CurvePanel
from discreet.project.project import Project

QUESTION = "SELECT region, age, count(*) AS n FROM people GROUP BY region, age"
MANY = 100


def pictures(epsilons: Sequence[str], *, quick: bool) -> list[Picture]:
    found, asks = people(), 1 if quick else 4
    order = {
        "counts": found.table("region", "age").ravel().tolist(),
        "epsilons": epsilons,
        "delta": DELTA,
        "asks": asks,
        "many": MANY,
    }
    told = {"OpenDP": peer("opendp", "opendp_curves.py", {"what": "counts", **order})}
    told["SmartNoise"] = peer("smartnoise", "smartnoise_curves.py", {**order, "asks": 4 if quick else 20})
    with project(found, numbers=("age",)) as pure:
        laplaces = {many: list(_laplace(pure, found, epsilons, asks, many)) for many in (1, MANY)}
    with project(found, numbers=("age",), accounting="zcdp") as concentrated:
        gaussians = {many: list(_gaussian(concentrated, found, epsilons, asks, many)) for many in (1, MANY)}
    panels = []
    for many, title in ((1, "One histogram"), (MANY, f"One of {MANY} that share epsilon")):
        own = [
            measured("Discreet, Laplace", laplaces[many], hue=GREEN),
            computed("theory", lambda epsilon, many=many: laplace(epsilon / many), hue=GREEN, epsilons=epsilons),
            measured(f"Discreet, Gaussian, delta {DELTA}", gaussians[many], hue=BLUE),
            computed(
                "best Gaussian",
                lambda epsilon, many=many: math.sqrt(many) * gaussian(epsilon, float(DELTA)),
                hue=BLUE,
                epsilons=epsilons,
            ),
        ]
        panels.append(CurvePanel(title=title, curves=(*own, *_peers(told, many))))
    return [
        Picture(
            name="curves-counts",
            title="Counts",
            up="error of a count: root mean square, in people",
            panels=tuple(panels),
            told=f"{REGIONS * AGES:,} counts of {found.rows:,} people by region and age, asked as SQL. On the right each of "
            f"{MANY} such questions gets its part of epsilon (of rho, under Gaussian noise). The best Gaussian is that of "
            "Balle and Wang; Discreet's goes through zCDP, whose filter also holds for questions chosen one after the other.",
            missing=tuple(each for each in told.values() if isinstance(each, str)),
        )
    ]


def _laplace(
    made: Project, found: People, epsilons: Sequence[str], asks: int, many: int
) -> Iterator[tuple[str, np.ndarray]]:
    for epsilon in epsilons:
        yield epsilon, _squares(made, found, str(float(epsilon) / many), asks)


def _gaussian(
    made: Project, found: People, epsilons: Sequence[str], asks: int, many: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Under zCDP a question's epsilon is a price, rho = epsilon^2 / 2: the one whose rho is (epsilon, delta) in all."""
    for epsilon in epsilons:
        rho = rho_from_epsilon(Fraction(epsilon), Fraction(DELTA)) / many
        yield epsilon, _squares(made, found, f"{math.sqrt(2 * rho):.9f}", asks)


def _squares(made: Project, found: People, epsilon: str, asks: int) -> np.ndarray:
    exact, squares = found.table("region", "age"), []
    for _ in range(asks):
        answer = made.sql(QUESTION).ask(epsilon=epsilon, fresh=True)
        noisy = np.full(exact.shape, np.nan)
        for region, age, count in answer.rows:
            if age is not None:
                noisy[int(region), int(age)] = count
        squares.append(((noisy - exact) ** 2).ravel())
    return np.concatenate(squares)


def _peers(told: dict[str, object], many: int) -> Iterator[ChartCurve]:
    hues = {("OpenDP", "laplace"): BROWN, ("OpenDP", "gaussian"): PURPLE, ("SmartNoise", "laplace"): OLIVE}
    for (name, law), hue in hues.items():
        found = told[name]
        if isinstance(found, dict) and f"{law} {many}" in found:
            yield measured(f"{name}, {law.capitalize()}", found[f"{law} {many}"].items(), hue=hue, kind="peer")
