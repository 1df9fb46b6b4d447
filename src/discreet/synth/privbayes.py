"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017): a Bayesian network, grown attribute by attribute.

Half of the guarantee goes to histograms and structure, half to the network's tables. The next attribute and its
parents are chosen by the exponential mechanism; the score is how far the exact counts of (attribute, parents) are
from what the model makes of them as long as the attribute stands alone, in rows: it needs no n, no mutual
information, no "is it binary", and one row moves it by one. The tables, which disagree, are made one consistent model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from discreet.inference.candidates import projections
from discreet.inference.fit import Fitted, fit
from discreet.inference.junction import cells
from discreet.program import Candidate, Law
from discreet.synth.first import First
from discreet.synth.fitting import Fit, Task, fitted, shaped

HISTOGRAMS, STRUCTURE = Fraction(1, 5), Fraction(3, 10)

#: The largest degree that is tried where none is asked for.
MOST_DEGREE = 3

#: A table is useful if its average cell holds so many standard deviations of its noise.
USEFUL = 4.0

ITERATIONS = 30

Axes = tuple[int, ...]


def privbayes(task: Task) -> Fit:
    """Fit a network of the degree that was asked for, or that the noise allows."""
    program = task.program
    budget, width = program.left, len(task.attributes)
    if width == 1:
        told = task.first(program.left)
        return fitted(task, told, told.measured)
    told = task.first(budget * HISTOGRAMS)
    law = program.law(budget * (1 - HISTOGRAMS - STRUCTURE) / (width - 1))
    epsilon = program.choice(budget * STRUCTURE / (width - 1))
    measured = list(told.measured)
    limits = task.constraints.on(told.attributes, told.total)
    model = fit(told.sizes, measured, limits.total, allowed=limits.allowed)
    known = [_start(told)]
    for turn in range(width - 1):
        task.progress("network", turn / width)
        wanted = _families(task, told, known, law)
        tables = [own.attributes for own in measured]

        def fits(place: int, wanted: list[Axes] = wanted, tables: list[Axes] = tables) -> bool:
            return len(wanted[place]) <= 2 or cells(told.sizes, [*tables, wanted[place]]) <= task.cells

        def candidates(
            model: Fitted = model, wanted: list[Axes] = wanted, known: list[int] = known
        ) -> Iterator[tuple[Axes, Candidate]]:
            return _candidates(model, wanted, law)

        own = wanted[told.cut.choose(wanted, candidates, epsilon=epsilon, most_weight=1, fits=fits)]
        last = turn == width - 2
        noise = program.law(program.left) if last else law
        (noisy,) = told.cut.measure([own], [noise])
        measured.append(shaped(told.sizes, own, noisy, float(noise.variance())))
        model = fit(told.sizes, measured, limits.total, allowed=limits.allowed, start=model, iterations=ITERATIONS)
        known += [place for place in own if place not in known]
    return fitted(task, told, measured, start=model)


def _start(told: First) -> int:
    """Where the network begins: the attribute of the most cells, which is a public matter."""
    return int(np.argmax(told.sizes))


def _families(task: Task, told: First, known: list[int], law: Law) -> list[Axes]:
    """Each new attribute with each set of known parents whose table is useful; a single parent always is."""
    degree = task.degree or MOST_DEGREE
    most = min(task.cells, told.total / (USEFUL * math.sqrt(law.variance())))
    found = []
    for new in range(len(told.sizes)):
        if new in known:
            continue
        for count in range(1, min(degree, len(known)) + 1):
            for parents in combinations(known, count):
                own = tuple(sorted((new, *parents)))
                if count == 1 or math.prod(told.sizes[place] for place in own) <= most:
                    found.append(own)
    return list(dict.fromkeys(found))


def _candidates(model: Fitted, wanted: list[Axes], law: Law) -> Iterator[tuple[Axes, Candidate]]:
    noise = math.sqrt(2 / math.pi * float(law.variance()))
    for own, table in projections(model.calibrated, wanted):
        estimate = np.rint(table).astype(np.int64)
        yield own, Candidate(estimate=estimate, weight=1, penalty=round(noise * estimate.size))
