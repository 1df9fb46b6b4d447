"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017): a Bayesian network, grown attribute by attribute.

Half of the guarantee goes to histograms and structure, half to the network's tables. The next attribute and its
parents are chosen by the exponential mechanism; the score is how far the exact counts of (attribute, parents) are
from what the model makes of them as long as the attribute stands alone, in rows: it needs no n, no mutual
information, no "is it binary", and one row moves it by one. The tables, which disagree, are made one consistent model.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from discreet.cut import Law
from discreet.inference.facts import Measured
from discreet.inference.fit import Fitted
from discreet.inference.junction import cells
from discreet.synth.first import First
from discreet.synth.fitting import Axes, Fit, Task, between, candidates, fitted, histograms_again, shaped
from discreet.synth.independent import independent

HISTOGRAMS, STRUCTURE = Fraction(1, 5), Fraction(3, 10)

#: The largest degree that is tried where none is asked for.
MOST_DEGREE = 3

#: A table is useful if its average cell holds so many standard deviations of its noise.
USEFUL = 4.0


def privbayes(task: Task) -> Fit:
    """Fit a network of the degree that was asked for, or that the noise allows."""
    program = task.program
    budget, width = program.left, len(task.attributes)
    if width == 1:
        return independent(task)
    told = task.first(budget * HISTOGRAMS)
    law = program.law(budget * (1 - HISTOGRAMS - STRUCTURE) / (width - 1))
    epsilon = program.choice(budget * STRUCTURE / (width - 1))
    measured = list(told.measured)
    model = between(task, told, measured, iterations=200)
    known = [_start(told)]
    while wanted := _families(task, told, known, law):
        task.progress("network", len(known) / width)
        own = wanted[0] if len(wanted) == 1 else _chosen(task, told, model, wanted, measured, law, epsilon)
        last = len(known) == width - 1
        noise = program.law(program.left) if last else law
        (noisy,) = told.cut.measure([own], [noise])
        measured.append(shaped(told.sizes, own, noisy, noise))
        model = between(task, told, measured, start=model)
        known += [place for place in own if place not in known]
    return fitted(task, told, histograms_again(task, told, measured), start=model)


def _start(told: First) -> int:
    """Where the network begins: the attribute of the most cells, which is a public matter."""
    return int(np.argmax(told.sizes))


def _chosen(
    task: Task,
    told: First,
    model: Fitted,
    wanted: list[Axes],
    measured: list[Measured],
    law: Law,
    epsilon: Fraction,
) -> Axes:
    """A new attribute with its parents, by the exponential mechanism. One parent always fits."""
    tables = [own.attributes for own in measured]
    place = told.cut.choose(
        wanted,
        lambda: candidates(model, wanted, law, weight=task.weight),
        epsilon=epsilon,
        most_weight=max(map(task.weight, wanted)),
        fits=lambda place: len(wanted[place]) == 2 or cells(told.sizes, [*tables, wanted[place]]) <= task.cells,
    )
    return wanted[place]


def _families(task: Task, told: First, known: list[int], law: Law) -> list[Axes]:
    """Each new attribute with each set of known parents whose table is useful, or with one whose table is not large."""
    degree = task.degree or MOST_DEGREE
    most = min(task.cells, told.total / (USEFUL * math.sqrt(law.variance())))
    found: dict[Axes, None] = {}
    for new in range(len(told.sizes)):
        for count in range(1, min(degree, len(known)) + 1):
            for parents in combinations(known, count) if new not in known else ():
                own = tuple(sorted((new, *parents)))
                size = math.prod(told.sizes[place] for place in own)
                if size <= (task.cells if count == 1 else most):
                    found[own] = None
    return list(found)
