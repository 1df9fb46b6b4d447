"""MST (McKenna, Miklau and Sheldon 2021): histograms, a private maximum spanning tree, the tree's pairs.

A third of the guarantee each. The tree is grown edge by edge by the exponential mechanism; the score of a pair is
how far its exact counts are from what the histograms alone would make of it, in rows: it needs no n, and one row
moves it by one.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.inference.fit import Fitted, fit
from discreet.program import Candidate
from discreet.synth.first import First
from discreet.synth.fitting import Fit, Task, fitted, shaped

SHARES = {"histograms": Fraction(1, 3), "selection": Fraction(1, 3)}


def mst(task: Task) -> Fit:
    """Fit a tree of pairs."""
    program = task.program
    budget = program.left
    told = task.first(budget * SHARES["histograms"])
    pairs = tree(task, told, budget * SHARES["selection"])
    measured = list(told.measured)
    if pairs:
        law = program.law(program.left / len(pairs))
        noisy = told.cut.measure(pairs, [law] * len(pairs))
        variance = float(law.variance())
        measured += [shaped(told.sizes, pair, values, variance) for pair, values in zip(pairs, noisy, strict=True)]
    return fitted(task, told, measured)


def tree(task: Task, told: First, share: Fraction) -> list[tuple[int, int]]:
    """The edges of a spanning tree, chosen one after another, of pairs that a model has room for."""
    width = len(told.sizes)
    pairs = [pair for pair in combinations(range(width), 2) if _cells(told, pair) <= task.cells]
    start = fit(told.sizes, told.measured, told.total, tolerance=0.05)
    estimates = {pair: _estimate(start, pair) for pair in pairs}
    parts = list(range(width))
    chosen: list[tuple[int, int]] = []
    rounds = _edges_of_forest(width, pairs)
    for turn in range(rounds):
        task.progress("selecting pairs", 0.2 + 0.5 * turn / rounds)
        open_pairs = [pair for pair in pairs if parts[pair[0]] != parts[pair[1]]]
        known = [(pair, Candidate(estimate=estimates[pair], weight=1, penalty=0)) for pair in open_pairs]
        place = told.cut.choose(
            open_pairs,
            known.__iter__,
            epsilon=task.program.choice(share / rounds),
            most_weight=1,
        )
        left, right = open_pairs[place]
        chosen.append((left, right))
        old, new = parts[right], parts[left]
        parts = [new if part == old else part for part in parts]
    return chosen


def _cells(told: First, pair: tuple[int, int]) -> int:
    return told.sizes[pair[0]] * told.sizes[pair[1]]


def _estimate(model: Fitted, pair: tuple[int, int]) -> NDArray[np.int64]:
    return np.rint(model.calibrated.project(pair)).astype(np.int64)


def _edges_of_forest(width: int, pairs: list[tuple[int, int]]) -> int:
    """How many edges the largest forest of these pairs has."""
    parts = list(range(width))
    edges = 0
    for left, right in pairs:
        if parts[left] != parts[right]:
            edges += 1
            old, new = parts[right], parts[left]
            parts = [new if part == old else part for part in parts]
    return edges
