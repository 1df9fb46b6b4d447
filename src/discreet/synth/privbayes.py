"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017): a Bayesian network, grown attribute by attribute.

The next attribute and its parents are chosen by the exponential mechanism; the score is how far the exact counts of
(attribute, parents) are from what the model makes of them as long as the attribute stands alone, in rows, less what
noise would add: it needs no n, no mutual information, no "is it binary", and one row moves it by one. An attribute
whose tables with all others would be noise is chosen without parents. The tables, which disagree, are made one
consistent model.

Dependence drowns where tables are fine: 32 x 32 cells of 7,000 rows at epsilon 1 are noise. So columns are made coarser
first (`coarser_cells`), until a table of two of them stands out, and their histograms are measured once more on those
cells, of which there are few: otherwise their errors would look like dependence. What is not spent on attributes
without parents measures the network's tables a second time.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from discreet.inference.fit import FittedGraphicalModel
from discreet.inference.fit_inputs import MeasuredMarginal
from discreet.inference.junction_tree import model_cells
from discreet.kernel.measurement import Law
from discreet.synth.coarser_cells import coarsen
from discreet.synth.first_histograms import MeasuredHistograms
from discreet.synth.fit_task import (
    Axes,
    FitTask,
    ModelFit,
    as_measurement,
    candidates,
    final_fit,
    interim_fit,
    measure_marginals,
)
from discreet.synth.independent import independent

#: What the histograms, those on coarser cells and the structure get of the guarantee; the rest measures the tables.
HISTOGRAMS, COARSE, STRUCTURE = Fraction(1, 5), Fraction(1, 10), Fraction(1, 10)

#: The largest degree that is tried where none is asked for.
MOST_DEGREE = 3

#: A table with several parents is useful if its average cell holds so many standard deviations of its noise.
USEFUL = 4.0

#: Columns are made coarser until the average cell of a pair of them holds so many; but no column coarser than this.
CLEAR, FEWEST_CELLS = 6.0, 4


def privbayes(task: FitTask) -> ModelFit:
    """Fit a network of the degree that was asked for, or that the noise allows."""
    program = task.program
    budget, width = program.share_left, len(task.attributes)
    if width == 1:
        return independent(task)
    fine = task.measure_histograms(budget * HISTOGRAMS)
    law = program.law(budget * (1 - HISTOGRAMS - COARSE - STRUCTURE) / (width - 1))
    epsilon = program.choice_epsilon(budget * STRUCTURE / (width - 1))
    histograms = coarsen(fine, pair_cells(fine.total, law))
    alone: list[Axes] = [(place,) for place in range(width)]
    measured = [*histograms.measured, *measure_marginals(task, histograms, alone, budget * COARSE)]
    model = interim_fit(task, histograms, measured, iterations=200)
    network_attributes = [_start(histograms)]
    while families := _families(task, histograms, network_attributes, law):
        task.progress("network", len(network_attributes) / width)
        own = _choose_family(task, histograms, model, families, measured, law, epsilon)
        if len(own) > 1:
            (noisy,) = histograms.cut.measure([own], [law])
            measured.append(as_measurement(histograms.sizes, own, noisy, law))
            model = interim_fit(task, histograms, measured, start=model)
        network_attributes += [place for place in own if place not in network_attributes]
    return final_fit(task, histograms, _measure_again(task, histograms, measured), start=model)


def pair_cells(total: float, law: Law) -> int:
    """How many cells a column has at most, so that a table of two columns stands out from noise of this law."""
    return max(FEWEST_CELLS, math.isqrt(int(total / (CLEAR * math.sqrt(law.variance())))))


def _start(histograms: MeasuredHistograms) -> int:
    """Where the network begins: the attribute of the most cells, which is a public matter."""
    return int(np.argmax(histograms.sizes))


def _measure_again(
    task: FitTask, histograms: MeasuredHistograms, measured: list[MeasuredMarginal]
) -> list[MeasuredMarginal]:
    """All that is left, for the network's tables once more, and for the columns that stand alone."""
    families = [own.attributes for own in measured if len(own.attributes) > 1]
    joined = {place for own in families for place in own}
    alone = [(place,) for place in range(len(histograms.sizes)) if place not in joined]
    if task.program.share_left <= 0:
        return measured
    return [*measured, *measure_marginals(task, histograms, [*families, *alone], task.program.share_left)]


def _choose_family(
    task: FitTask,
    histograms: MeasuredHistograms,
    model: FittedGraphicalModel,
    families: list[Axes],
    measured: list[MeasuredMarginal],
    law: Law,
    epsilon: Fraction,
) -> Axes:
    """A new attribute with its parents, or one without, by the exponential mechanism. One parent always fits."""
    tables = [own.attributes for own in measured]
    place = histograms.cut.choose(
        families,
        lambda: candidates(model, families, law, weight=task.weight),
        epsilon=epsilon,
        most_weight=max(map(task.weight, families)),
        fits=lambda place: (
            len(families[place]) <= 2 or model_cells(histograms.sizes, [*tables, families[place]]) <= task.cells
        ),
    )
    return families[place]


def _families(task: FitTask, histograms: MeasuredHistograms, network_attributes: list[int], law: Law) -> list[Axes]:
    """Each new attribute alone, with each set of known parents whose table is useful, or with one parent."""
    degree = task.degree or MOST_DEGREE
    most = min(task.cells, histograms.total / (USEFUL * math.sqrt(law.variance())))
    families: dict[Axes, None] = {}
    for new in range(len(histograms.sizes)):
        for count in range(min(degree, len(network_attributes)) + 1):
            for parents in combinations(network_attributes, count) if new not in network_attributes else ():
                own = tuple(sorted((new, *parents)))
                size = math.prod(histograms.sizes[place] for place in own)
                if size <= (task.cells if count <= 1 else most):
                    families[own] = None
    return list(families)
