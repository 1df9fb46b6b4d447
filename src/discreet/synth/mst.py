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

from discreet.inference.fit_inputs import MeasuredMarginal
from discreet.inference.junction_tree import model_cells
from discreet.kernel.binned_table import MarginalSet
from discreet.kernel.measurement import Law
from discreet.synth.first_histograms import MeasuredHistograms
from discreet.synth.fit_task import (
    Axes,
    FitTask,
    ModelFit,
    candidates,
    final_fit,
    interim_fit,
    is_noise_large,
    mean_noise_size,
    measure_histograms_again,
    measure_marginals,
)
from discreet.synth.independent import independent
from discreet.synth.resolution import Resolutions

#: What the histograms and the choices get of the guarantee; the rest measures what was chosen. Where noise is large,
#: histograms get a little more.
HISTOGRAMS, SELECTION, MORE = Fraction(1, 4), Fraction(1, 4), Fraction(1, 12)

#: What neighbouring edges get of that rest, where they are measured together; a table of three is worth it if an
#: average cell holds so many standard deviations of its noise.
ADJACENT, USEFUL = Fraction(1, 2), 4.0


#: Pairs are measured over so many groups of their cells that the noise of all is this part of the rows; but not fewer.
NOISE_PART, FEWEST_CELLS = 1 / 8, 9


#: Takes some of the pairs, gives one.
Choose = Callable[[list[Axes]], Axes]


def mst(task: FitTask) -> ModelFit:
    """Fit a tree of pairs."""
    if len(task.attributes) == 1:
        return independent(task)
    program = task.program
    budget = program.share_left
    edge = program.law(budget * (1 - HISTOGRAMS - SELECTION) / len(task.attributes))
    # Of a pure epsilon the same numbers cost more in two steps than in one.
    histograms = task.measure_histograms(
        budget * (HISTOGRAMS + MORE * program.is_pure),
        more=budget * MORE * (not program.is_pure),
        few=lambda total: is_noise_large(total, edge),
    )
    resolution = _Resolution(histograms, edge)
    sets = [*task.marginals, *map(resolution.of, tree(task, histograms, budget * SELECTION, resolution))]
    if not sets:
        return final_fit(task, histograms, measure_histograms_again(task, histograms, histograms.measured))
    has_triples = task.adjacent and not (program.is_pure and is_noise_large(histograms.total, edge))
    measured = [
        *histograms.measured,
        *measure_marginals(task, histograms, sets, program.share_left * (1 - ADJACENT * has_triples)),
    ]
    if has_triples:
        triples = adjacent(task, histograms, measured[len(histograms.measured) :])
        measured += measure_marginals(task, histograms, triples or sets, program.share_left)
    return final_fit(task, histograms, measured)


class _Resolution:
    """Over which groups of their cells pairs are compared and measured: so many that noise leaves something of them."""

    def __init__(self, histograms: MeasuredHistograms, edge: Law) -> None:
        self._resolutions = Resolutions(histograms)
        self._most = NOISE_PART * histograms.total / mean_noise_size(edge)

    def of(self, pair: Axes) -> MarginalSet:
        return self._resolutions.at_most(pair, max(self._most, FEWEST_CELLS)) or pair


def tree(task: FitTask, histograms: MeasuredHistograms, share: Fraction, resolution: _Resolution) -> list[Axes]:
    """The edges of a spanning tree, chosen one after another, of pairs that a model has room for.

    What an expert named is joined already. A choice among one is none, and costs nothing.
    """
    forest = _Forest(len(histograms.sizes))
    for own in task.marginals:
        forest.join(own)
    pairs: list[Axes] = [
        pair for pair in combinations(range(len(histograms.sizes)), 2) if _cells(histograms, pair) <= task.cells
    ]
    rounds = forest.missing(pairs)
    choose = (
        _by_public_rows(task, histograms, pairs)
        if task.public
        else _by_choice(task, histograms, pairs, share, rounds, resolution)
    )
    chosen: list[Axes] = []
    for turn in range(rounds):
        task.progress("selecting pairs", 0.2 + 0.5 * turn / rounds)
        free = [pair for pair in pairs if not forest.joins(pair)]
        chosen.append(free[0] if len(free) == 1 else choose(free))
        forest.join(chosen[-1])
    return chosen


def _by_choice(
    task: FitTask,
    histograms: MeasuredHistograms,
    pairs: list[Axes],
    share: Fraction,
    rounds: int,
    resolution: _Resolution,
) -> Choose:
    """One of the pairs, by the exponential mechanism."""
    program = task.program
    epsilon = program.choice_epsilon(share / max(1, rounds))
    law = program.law((program.share_left - share) / max(1, rounds))
    model = interim_fit(task, histograms, histograms.measured, iterations=200)
    resolved = {pair: resolution.of(pair) for pair in pairs}
    noise = law if is_noise_large(histograms.total, law) else None
    scored_pairs = dict(candidates(model, list(resolved.values()), noise, weight=lambda own: 1))

    def choose(free: list[Axes]) -> Axes:
        sets = [resolved[pair] for pair in free]
        place = histograms.cut.choose(
            sets, lambda: ((own, scored_pairs[own]) for own in sets), epsilon=epsilon, most_weight=1
        )
        return free[place]

    return choose


def _by_public_rows(task: FitTask, histograms: MeasuredHistograms, pairs: list[Axes]) -> Choose:
    """The pair that is most dependent in public rows, for nothing."""
    assert task.public is not None
    dependences = {pair: dependence(task.public.pair(histograms.attributes, *pair)) for pair in pairs}
    return lambda free: max(free, key=dependences.__getitem__)


def adjacent(task: FitTask, histograms: MeasuredHistograms, edges: Sequence[MeasuredMarginal]) -> list[Axes]:
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
    law = task.program.law(task.program.share_left / len(histograms.sizes))
    most = min(task.cells, histograms.total / (USEFUL * math.sqrt(law.variance())))
    tables, chosen = [edge.attributes for edge in edges], list[Axes]()
    for own in sorted(joined, key=lambda own: -joined[own]):
        if _cells(histograms, own) <= most and model_cells(histograms.sizes, [*tables, *chosen, own]) <= task.cells:
            chosen.append(own)
    return chosen[: len(histograms.sizes)]


def dependence(table: NDArray[np.float64]) -> float:
    """How far a table of two attributes is from the product of its margins, as a share of its sum."""
    total = max(float(table.sum()), 1e-9)
    product = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / total
    return float(np.abs(table - product).sum()) / total


def _cells(histograms: MeasuredHistograms, own: Axes) -> int:
    return math.prod(histograms.sizes[place] for place in own)


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
