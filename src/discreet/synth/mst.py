"""MST (McKenna, Miklau and Sheldon 2021): histograms, a private maximum spanning tree, the tree's pairs.

The tree is grown edge by edge by the exponential mechanism. The score of a pair is how far its exact counts are from
what the histograms alone would make of it, in rows, less what noise would add where there is much: it needs no n, and
one row moves it by one. Of what the winner of NIST's contest did in addition there is: neighbouring edges measured
together as far as noise allows; marginals that an expert names, which are measured in any case and stand in the tree;
a tree that is found in public rows, for nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.inference.facts import Measured
from discreet.inference.junction import cells
from discreet.synth.first import First
from discreet.synth.fitting import (
    Axes,
    Fit,
    Task,
    between,
    candidates,
    few_rows,
    fitted,
    histograms_again,
    measured_together,
)
from discreet.synth.independent import independent

#: What the histograms and the choices get of the guarantee; the rest measures what was chosen. Where noise is large,
#: histograms get a little more.
HISTOGRAMS, SELECTION, MORE = Fraction(1, 4), Fraction(1, 4), Fraction(1, 12)

#: What neighbouring edges get of that rest, where they are measured together; a table of three is worth it if an
#: average cell holds so many standard deviations of its noise.
ADJACENT, USEFUL = Fraction(1, 2), 4.0


#: Takes some of the pairs, gives one.
Choose = Callable[[list[Axes]], Axes]


def mst(task: Task) -> Fit:
    """Fit a tree of pairs."""
    if len(task.attributes) == 1:
        return independent(task)
    program = task.program
    budget = program.left
    edge = program.law(budget * (1 - HISTOGRAMS - SELECTION) / len(task.attributes))
    told = task.first(budget * HISTOGRAMS, more=budget * MORE, few=lambda total: few_rows(total, edge))
    sets = [*task.marginals, *tree(task, told, budget * SELECTION)]
    if not sets:
        return fitted(task, told, histograms_again(task, told, told.measured))
    measured = [*told.measured, *measured_together(task, told, sets, program.left * (1 - ADJACENT * task.adjacent))]
    if task.adjacent:
        triples = adjacent(task, told, measured[len(told.measured) :])
        measured += measured_together(task, told, triples or sets, program.left)
    return fitted(task, told, measured)


def tree(task: Task, told: First, share: Fraction) -> list[Axes]:
    """The edges of a spanning tree, chosen one after another, of pairs that a model has room for.

    What an expert named is joined already. A choice among one is none, and costs nothing.
    """
    forest = _Forest(len(told.sizes))
    for own in task.marginals:
        forest.join(own)
    pairs: list[Axes] = [pair for pair in combinations(range(len(told.sizes)), 2) if _cells(told, pair) <= task.cells]
    rounds = forest.missing(pairs)
    choose = _by_public_rows(task, told, pairs) if task.public else _by_choice(task, told, pairs, share, rounds)
    chosen: list[Axes] = []
    for turn in range(rounds):
        task.progress("selecting pairs", 0.2 + 0.5 * turn / rounds)
        free = [pair for pair in pairs if not forest.joins(pair)]
        chosen.append(free[0] if len(free) == 1 else choose(free))
        forest.join(chosen[-1])
    return chosen


def _by_choice(task: Task, told: First, pairs: list[Axes], share: Fraction, rounds: int) -> Choose:
    """One of the pairs, by the exponential mechanism."""
    program = task.program
    epsilon = program.choice(share / max(1, rounds))
    law = program.law((program.left - share) / max(1, rounds))
    model = between(task, told, told.measured, iterations=200)
    known = dict(candidates(model, pairs, law if few_rows(told.total, law) else None, weight=lambda own: 1))

    def choose(free: list[Axes]) -> Axes:
        return free[told.cut.choose(free, lambda: ((own, known[own]) for own in free), epsilon=epsilon, most_weight=1)]

    return choose


def _by_public_rows(task: Task, told: First, pairs: list[Axes]) -> Choose:
    """The pair that is most dependent in public rows, for nothing."""
    assert task.public is not None
    known = {pair: dependence(task.public.pair(told.attributes, *pair)) for pair in pairs}
    return lambda free: max(free, key=known.__getitem__)


def adjacent(task: Task, told: First, edges: Sequence[Measured]) -> list[Axes]:
    """Neighbouring edges as one table: those of most dependence first, as far as noise and the model's size allow.

    Post-processing of the noisy pairs.
    """
    pairs = [edge for edge in edges if len(edge.attributes) == 2]
    strength = {edge.attributes: dependence(edge.values) for edge in pairs}
    joined = {
        tuple(sorted({*one, *other})): min(strength[one], strength[other])
        for one, other in combinations(strength, 2)
        if len({*one, *other}) == 3
    }
    law = task.program.law(task.program.left / len(told.sizes))
    most = min(task.cells, told.total / (USEFUL * math.sqrt(law.variance())))
    tables, chosen = [edge.attributes for edge in edges], list[Axes]()
    for own in sorted(joined, key=lambda own: -joined[own]):
        if _cells(told, own) <= most and cells(told.sizes, [*tables, *chosen, own]) <= task.cells:
            chosen.append(own)
    return chosen[: len(told.sizes)]


def dependence(table: NDArray[np.float64]) -> float:
    """How far a table of two attributes is from the product of its margins, as a share of its sum."""
    total = max(float(table.sum()), 1e-9)
    product = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / total
    return float(np.abs(table - product).sum()) / total


def _cells(told: First, own: Axes) -> int:
    return math.prod(told.sizes[place] for place in own)


class _Forest:
    """Which attributes are joined by edges."""

    def __init__(self, width: int) -> None:
        self._parts = list(range(width))

    def joins(self, own: Axes) -> bool:
        """Whether they are all joined."""
        return len({self._parts[place] for place in own}) == 1

    def join(self, own: Axes) -> None:
        old = {self._parts[place] for place in own}
        self._parts = [min(old) if part in old else part for part in self._parts]

    def missing(self, pairs: Sequence[Axes]) -> int:
        """How many of these pairs the largest forest takes in addition."""
        after = _Forest(len(self._parts))
        after._parts = self._parts
        before = len(set(self._parts))
        for pair in pairs:
            after.join(pair)
        return before - len(set(after._parts))
