"""Fit a model to noisy marginals: Private-PGM (McKenna, Sheldon and Miklau 2019) by its dual.

The least-squares problem over all distributions p with marginals mu(p), where y was measured with variance v:

    minimise   sum (total mu - y)^2 / (2 v)  +  pull * total * KL(p || centre)

Its dual is smooth, has no constraints, and its gradient is plain belief propagation:

    minimise   total log Z(theta) - <theta, y> + pull / 2 * sum v (theta - centre)^2
    gradient   total mu(theta) - y + pull * v * (theta - centre)

The KL term is a proximal one. With the centre at 0 the answer leans to the uniform by less than the noise; moving the
centre to the answer and solving again, and again, goes to the exact optimum.

Post-processing: takes noisy values and public facts only, and costs no privacy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import UsageError
from discreet.inference.axes import Axes, Table, broadcast_over, ratio, sum_to
from discreet.inference.calibrated_tree import CalibratedTree, propagate, sum_to_separator
from discreet.inference.dual_problem import DualProblem
from discreet.inference.fit_inputs import MeasuredMarginal, gather_inputs
from discreet.inference.lbfgs import minimise

__all__ = ["STRENGTH", "FitSearch", "FittedGraphicalModel", "MeasuredMarginal", "fit", "restore_fit"]

#: The pull to the centre, times the smallest standard deviation of the measurements. Ten times more leans visibly to
#: the uniform; ten times less takes more iterations and fits the noise.
STRENGTH = 0.05

#: Kept means within 1e-9 of the total; the sweeps go on to a tenth of that, for each sweep moves the others a little.
TOTAL_TOLERANCE = 1e-10

#: Totals that agree with each other and with what is ruled out are met long before.
MOST_SWEEPS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedGraphicalModel:
    """A fitted model.

    `residual` is how far from the optimum the search stopped, `misfit` how far the model is from what was measured;
    both are root mean squares over cells, in standard deviations of the noise. `iterations` counts propagations.
    `potentials`, by sorted attributes, are what a later fit starts from.
    """

    sizes: tuple[int, ...]
    total: float
    potentials: Mapping[Axes, Table]
    calibrated: CalibratedTree
    residual: float
    misfit: float
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSearch:
    """How far a fit searches.

    iterations, tolerance: stop after so many propagations, or when the residual is that share of the noise.
    strength, centres: how strongly the model is pulled to its centre, and how often the problem is solved, each time
        around the last answer. Once, around the uniform, is right under noise; more often for the exact optimum.
    """

    iterations: int = 240
    tolerance: float = 0.05
    strength: float = STRENGTH
    centres: int = 1


UNDER_NOISE = FitSearch()


def fit(
    sizes: Sequence[int],
    measurements: Iterable[MeasuredMarginal],
    total: float,
    *,
    allowed: Iterable[tuple[Sequence[int], ArrayLike]] = (),
    totals: Iterable[tuple[Sequence[int], ArrayLike]] = (),
    start: FittedGraphicalModel | None = None,
    search: FitSearch = UNDER_NOISE,
    fixed: Mapping[Axes, Table] | None = None,
) -> FittedGraphicalModel:
    """The model of this total that is nearest to the noisy marginals.

    allowed: (attributes, table of bool): where False the model is exactly 0, and so is all that follows from it.
    totals: (attributes, counts) known publicly; the model's marginals equal them to 1e-9 of the total.
    start: an earlier fit, whose potentials this one begins with. search: when it stops.
    fixed: potentials, by sorted attributes within some measured set, that the model has beside those that are searched:
        where measurements leave it free, the model is nearest to what these make of it, not to the uniform.

    What was never measured comes out uniform and independent of the rest, as far as what is allowed leaves it so.

    Guarantee: none is spent; a function of noisy values and public facts.
    """
    facts = gather_inputs(sizes, total, measurements, allowed, totals)
    problem = DualProblem(facts, search.strength, fixed)
    theta = problem.starting_point(start.potentials if start else {})
    centre = np.zeros_like(theta)
    evaluations, residual = 0, 0.0
    for _ in range(search.centres if facts.total > 0 and len(theta) else 0):
        minimum = minimise(
            problem.centred_at(centre),
            theta,
            scaling=problem.scaling,
            residual=problem.residual,
            tolerance=search.tolerance,
            evaluations=search.iterations,
        )
        theta = centre = minimum.point
        evaluations, residual = evaluations + minimum.evaluations, minimum.residual
    calibrated, misfit = problem.calibrate(theta)
    return FittedGraphicalModel(
        sizes=facts.sizes,
        total=facts.total,
        potentials=problem.potentials(theta),
        calibrated=fit_public_totals(calibrated, facts.public_counts) if facts.public_counts else calibrated,
        residual=residual,
        misfit=misfit,
        iterations=evaluations,
    )


def restore_fit(
    sizes: Sequence[int],
    total: float,
    potentials: Mapping[Axes, Table],
    *,
    allowed: Iterable[tuple[Sequence[int], ArrayLike]] = (),
    totals: Iterable[tuple[Sequence[int], ArrayLike]] = (),
) -> FittedGraphicalModel:
    """The model that a fit with the same `allowed` and `totals` came to, from its potentials in their order."""
    factors = [
        MeasuredMarginal(attributes=axes, values=np.zeros(table.shape), variance=1.0)
        for axes, table in potentials.items()
    ]
    facts = gather_inputs(sizes, total, factors, allowed, totals)
    problem = DualProblem(facts, STRENGTH)
    theta = problem.starting_point(potentials)
    calibrated, _ = problem.calibrate(theta)
    return FittedGraphicalModel(
        sizes=facts.sizes,
        total=facts.total,
        potentials=problem.potentials(theta),
        calibrated=fit_public_totals(calibrated, facts.public_counts) if facts.public_counts else calibrated,
        residual=0.0,
        misfit=0.0,
        iterations=0,
    )


def fit_public_totals(calibrated: CalibratedTree, public_counts: Mapping[Axes, Table]) -> CalibratedTree:
    """The model nearest to this one, in relative entropy, whose marginals are the known ones: iterative proportional
    fitting on a calibrated tree.

    Each known set of attributes must lie within a clique. Cells that are 0 stay 0.
    """
    cliques = calibrated.cliques
    holders = {axes: _holder(calibrated, axes) for axes in public_counts}
    tables = [clique.table.copy() for clique in cliques]
    for _ in range(MOST_SWEEPS):
        worst = 0.0
        for axes, counts in public_counts.items():
            clique_axes = cliques[holders[axes]].attributes
            now = sum_to(tables[holders[axes]], clique_axes, axes)
            if ((now == 0) & (counts > 0)).any():
                raise _contradiction()
            worst = max(worst, float(np.abs(now - counts).max()))
            separators = [
                sum_to_separator(table, clique.separator) for table, clique in zip(tables, cliques, strict=True)
            ]
            tables[holders[axes]] *= broadcast_over(ratio(counts, now), axes, clique_axes)
            propagate(cliques, tables, separators)
        if worst <= TOTAL_TOLERANCE * calibrated.total:
            return calibrated.with_tables(tables)
    raise _contradiction()


def _holder(calibrated: CalibratedTree, axes: Axes) -> int:
    candidates = [place for place, clique in enumerate(calibrated.cliques) if set(axes) <= set(clique.attributes)]
    return min(candidates, key=lambda place: calibrated.cliques[place].table.size)


def _contradiction() -> UsageError:
    return UsageError(
        "the public totals cannot all be true",
        hint="check for two that disagree on a shared column, or one that counts a combination that is ruled out",
    )
