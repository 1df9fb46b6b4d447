"""Quantiles: how many people lie between the private median and the exact one, in a hundred towns of a thousand people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from curves_data import People, project
from curves_picture import BLUE, BROWN, GREEN, GREY, Picture, averaged, computed, peer

from discreet.present.charts import CurvePanel

TOWNS, EACH = 100, 1000
#: So fine a grid that a cell holds about one person of a town: what is measured is the mechanism, not its cells. And no
#: more of them than SQL searches a quantile in.
CELLS = 4096
QUESTION = "SELECT town, median(salary) AS m FROM people GROUP BY town"
#: The part of a question's epsilon that its estimate gets; the ends of its interval get the rest.
ESTIMATE = 0.8


def pictures(epsilons: Sequence[str], *, quick: bool) -> list[Picture]:
    found, asks = towns(), 1 if quick else 4
    groups = [np.sort(found.codes["salary"][found.codes["town"] == town]) for town in range(TOWNS)]
    some = groups[:10] if quick else groups
    order = {
        "what": "quantiles",
        "groups": [group.tolist() for group in some],
        "size": CELLS,
        "fraction": 0.5,
        "epsilons": epsilons,
        "asks": 1,
    }
    told = peer("opendp", "opendp_curves.py", order)
    with project(found, numbers=("salary",)) as made:
        asked = [(epsilon, _asked(made, groups, epsilon, asks)) for epsilon in epsilons]
        without = [(epsilon, _asked(made, groups, epsilon, asks, interval=False)) for epsilon in epsilons]
    alone = People(codes={"salary": found.codes["salary"][found.codes["town"] == 0]}, sizes={"salary": CELLS})
    with project(alone, numbers=("salary",)) as made:
        read = [(epsilon, _read(made, groups[0], epsilon, 5 if quick else 20)) for epsilon in epsilons]
    own = [
        averaged("Discreet, with interval", asked, hue=GREEN),
        averaged("Discreet, no interval", without, hue=GREEN),
        computed(
            "permute-and-flip",
            lambda epsilon: _expected(groups, ESTIMATE * epsilon, flips=True),
            hue=GREEN,
            epsilons=epsilons,
            is_named=False,
        ),
        averaged("Discreet, from ranges", read, hue=BLUE),
        computed(
            "bound, 95%",
            lambda epsilon: 2 * math.log(20 * CELLS) / (ESTIMATE * epsilon) / 2,
            hue=GREY,
            epsilons=epsilons,
        ),
    ]
    peers = []
    if isinstance(told, dict):
        chosen = {
            epsilon: [rank_error(group, value) for ask in asked_of for group, value in zip(some, ask, strict=True)]
            for epsilon, asked_of in told["chosen"].items()
        }
        peers = [
            averaged("OpenDP, no interval", chosen.items(), hue=BROWN, kind="peer"),
            computed(
                "exponential mechanism, all of epsilon",
                lambda epsilon: _expected(groups, epsilon),
                hue=BROWN,
                epsilons=epsilons,
                is_named=False,
            ),
        ]
    return [
        Picture(
            name="curves-quantiles",
            title="Quantiles",
            up="error of a median: people between it and the exact one, on average",
            panels=(CurvePanel(title="", curves=(*own, *peers)),),
            told=f"The median salary in {TOWNS} towns of {EACH:,} people, on a grid of {CELLS:,} values. Theory: the expectation "
            "under the exponential mechanism's exact law on these data, and the textbook bound, which 95% of the draws keep. "
            "Discreet spends four fifths of the epsilon on the estimate and one fifth on the two ends of its interval, "
            "or all on the estimate; OpenDP gives no interval. A town that could as well be empty is not shown, and counts as "
            f"{EACH // 2:,} people. From ranges: one release of one town, from which every other quantile is free.",
            missing=(told,) if isinstance(told, str) else (),
        )
    ]


def towns() -> People:
    """Towns of the same size, each with salaries of a level of its own."""
    generator = np.random.default_rng(13)
    level = generator.normal(6.4, 0.2, TOWNS)
    salaries = generator.lognormal(np.repeat(level, EACH), 0.6).astype(np.int64)
    codes = {"town": np.repeat(np.arange(TOWNS), EACH), "salary": np.minimum(salaries, CELLS - 1)}
    return People(codes=codes, sizes={"town": TOWNS, "salary": CELLS})


def rank_error(group: np.ndarray, value: float | None) -> float:
    """How many of the sorted group lie between the value and the middle of the group; half of it where none is shown.

    >>> rank_error(np.array([1, 2, 3, 4]), 2.5), rank_error(np.array([1, 2, 3, 4]), 9)
    (0.0, 2.0)
    >>> rank_error(np.array([1, 2, 3, 4]), None)
    2.0
    """
    if value is None:
        return len(group) / 2
    below, upto = np.searchsorted(group, value, side="left"), np.searchsorted(group, value, side="right")
    return float(max(0.0, below - len(group) / 2, len(group) / 2 - upto))


def _asked(made: Any, groups: list[np.ndarray], epsilon: str, asks: int, *, interval: bool = True) -> list[float]:
    found = []
    for _ in range(asks):
        for town, value in made.sql(QUESTION).ask(epsilon=epsilon, fresh=True, interval=interval).rows:
            found.append(rank_error(groups[int(town)], value))
    return found


def _read(made: Any, group: np.ndarray, epsilon: str, releases: int) -> list[float]:
    made_of = (made.ranges("people", "salary", epsilon=epsilon, fresh=True) for _ in range(releases))
    return [rank_error(group, float(each.quantile(0.5).value)) for each in made_of]


def _expected(groups: list[np.ndarray], epsilon: float, *, flips: bool = False) -> float:
    """The expected error of the exponential mechanism with score minus the rank error, whose sensitivity is 1/2; or, if
    it `flips`, of permute-and-flip.

    Its chance of a value is proportional to exp(epsilon score / (2 sensitivity)) = exp(epsilon score). A flipped coin of
    bias w is picked with w times the mean of 1 / (1 + heads among the others): an integral of the product of 1 - w s.
    """
    found = []
    for group in groups:
        below = np.searchsorted(group, np.arange(CELLS), side="left")
        upto = np.searchsorted(group, np.arange(CELLS), side="right")
        errors = np.maximum(0.0, np.maximum(below - len(group) / 2, len(group) / 2 - upto))
        weights = np.exp(-epsilon * (errors - errors.min()))
        if flips:
            places = (np.arange(400) + 0.5) / 400
            left = np.log1p(-np.outer(places, np.minimum(weights, 1 - 1e-12)))
            weights = weights * np.exp(left.sum(axis=1, keepdims=True) - left).mean(axis=0)
        found.append(float((errors * weights).sum() / weights.sum()))
    return float(np.mean(found))
