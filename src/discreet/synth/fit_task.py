"""What every model's fit works with: the program, the attributes, public constraints; and what it comes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.axes import MOST_CELLS, Table
from discreet.inference.calibrated_tree import CalibratedTree
from discreet.inference.fit import FitSearch, FittedGraphicalModel, MeasuredMarginal, fit
from discreet.inference.fit_inputs import sum_groups
from discreet.inference.projections import projections
from discreet.inference.separator_conditionals import has_approximate_conditionals
from discreet.kernel.binned_table import Candidate, CoarseSet, MarginalSet
from discreet.kernel.measurement import Law
from discreet.kernel.program import Program
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.synth.attribute import Attribute
from discreet.synth.constraints import PublicConstraints
from discreet.synth.first_histograms import MeasuredHistograms, measure_histograms, split_share
from discreet.synth.public_rows import PublicRows
from discreet.synth.resolution import axes_of, normal_scores, smooth_potential, within_groups

#: A model's tables take at most so many megabytes, of 8 bytes a cell.
MODEL_MB = 10.0

#: Propagations of a fit between two steps, which starts from the last one; and of the final fit.
ITERATIONS, FINAL_ITERATIONS = 30, 300

#: The final fit ends when it is nearer to its optimum than this share of the noise.
TOLERANCE = 0.05

#: With fewer rows for each standard deviation of the noise in a marginal, it is dear: small ones tell more.
MANY_ROWS = 300.0

Axes = tuple[int, ...]

#: What is told while a fit goes on: a word, and how far it is.
Progress = Callable[[str, float], None]


def no_progress(word: str, done: float) -> None:
    """Tell nobody."""


def cells_in(megabytes: float) -> int:
    """How many cells a model of this size has at most: never more than inference makes of one."""
    return min(int(megabytes * 2**20 / 8), MOST_CELLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTask:
    """One fit: where it may draw from, and what it shall describe. `rounds`, `model_mb`: how far it may go.

    Attributes are meant by their places. `weights`: how much a set of them matters, 1 where nothing is said;
    `marginals`: sets that are measured in any case; `adjacent`: measure neighbouring edges of a tree together;
    `public`: rows that are no secret, to choose by.
    """

    program: Program
    attributes: tuple[Attribute, ...]
    constraints: PublicConstraints = field(default_factory=PublicConstraints)
    degree: int | None = None
    rounds: int | None = None
    model_mb: float = MODEL_MB
    workload: int | None = None
    weights: Mapping[Axes, int] = field(default_factory=dict)
    marginals: tuple[Axes, ...] = ()
    adjacent: bool = True
    public: PublicRows | None = None
    progress: Progress = no_progress

    def measure_histograms(
        self, share: Fraction, *, more: Fraction = Fraction(0), few: Callable[[float], bool] = lambda total: False
    ) -> MeasuredHistograms:
        """Histograms of all columns for this share, and for `more` where there are `few` rows."""
        self.progress("histograms", 0.0)
        return measure_histograms(self.program, self.attributes, share, more=more, few=few)

    @property
    def cells(self) -> int:
        """The most cells of a model."""
        return cells_in(self.model_mb)

    def weight(self, own: Axes) -> int:
        """How much a marginal matters: as much as the weightiest set that can be read off it."""
        if not self.weights:
            return 1
        return max(
            (weight for weighted_set, weight in self.weights.items() if set(weighted_set) <= set(own)), default=1
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFit:
    """A fitted model, what it was fitted to, and on which cells."""

    attributes: tuple[Attribute, ...]
    measured: tuple[MeasuredMarginal, ...]
    fitted: FittedGraphicalModel
    total: float
    total_sd: float
    outside: tuple[float, ...]


def final_fit(
    task: FitTask,
    histograms: MeasuredHistograms,
    measured: Sequence[MeasuredMarginal],
    *,
    start: FittedGraphicalModel | None = None,
) -> ModelFit:
    """The final fit to everything that was measured."""
    task.progress("fitting", 0.9)
    limits = task.constraints.on(histograms.attributes, histograms.total)
    model = fit(
        histograms.sizes,
        measured,
        limits.total,
        allowed=limits.allowed,
        totals=limits.totals,
        start=start,
        search=FitSearch(iterations=FINAL_ITERATIONS, tolerance=TOLERANCE),
        fixed=_within_groups(histograms, measured),
    )
    return ModelFit(
        attributes=histograms.attributes,
        measured=tuple(measured),
        fitted=model,
        total=limits.total,
        total_sd=histograms.total_sd,
        outside=histograms.outside,
    )


def interim_fit(
    task: FitTask,
    histograms: MeasuredHistograms,
    measured: Sequence[MeasuredMarginal],
    *,
    start: FittedGraphicalModel | None = None,
    iterations: int = ITERATIONS,
) -> FittedGraphicalModel:
    """A fit between two steps: what the next choice compares the table with."""
    limits = task.constraints.on(histograms.attributes, histograms.total)
    return fit(
        histograms.sizes,
        measured,
        limits.total,
        allowed=limits.allowed,
        start=start,
        search=FitSearch(iterations=iterations),
        fixed=_within_groups(histograms, measured),
    )


def _within_groups(histograms: MeasuredHistograms, measured: Sequence[MeasuredMarginal]) -> dict[Axes, Table]:
    """How pairs of numbers that were measured over groups of cells, and not cell by cell, go on within the groups."""
    coarse: dict[Axes, list[MeasuredMarginal]] = {}
    fine = {frozenset(marginal.attributes) for marginal in measured if marginal.groups is None}
    for marginal in measured:
        if marginal.groups is not None and len(marginal.attributes) == 2 and frozenset(marginal.attributes) not in fine:
            coarse.setdefault(marginal.attributes, []).append(marginal)
    potentials: dict[Axes, Table] = {}
    for axes, own in coarse.items():
        one, other = (normal_scores(histograms, place) for place in axes)
        if one is not None and other is not None:
            estimates = [
                within_groups(marginal.values, marginal.variance, (one, other), marginal.groups)
                for marginal in own
                if marginal.groups is not None
            ]
            precision = sum(1 / variance for _, variance in estimates)
            mean = sum(correlation / variance for correlation, variance in estimates) / precision
            potentials[axes] = smooth_potential(mean, 1 / precision, (one, other))
    return potentials


def measure_marginals(
    task: FitTask, histograms: MeasuredHistograms, sets: Sequence[MarginalSet], share: Fraction
) -> list[MeasuredMarginal]:
    """Noisy marginals over these sets for this share in all, as one step.

    The share is split as for histograms, a marginal counting for as many of its cells as it has weight.
    """
    if not sets:
        return []
    sizes = [math.prod(shape_of(histograms.sizes, own)) * task.weight(axes_of(own)) for own in sets]
    laws = [task.program.law(part) for part in split_share(task.program.event, sizes, share)]
    noisy = histograms.cut.measure(sets, laws)
    return [
        as_measurement(histograms.sizes, own, values, law) for own, values, law in zip(sets, noisy, laws, strict=True)
    ]


def measure_histograms_again(
    task: FitTask, histograms: MeasuredHistograms, measured: Sequence[MeasuredMarginal]
) -> list[MeasuredMarginal]:
    """All that is left, for the histograms: where nothing else is worth measuring, none of it is wasted."""
    if task.program.share_left <= 0:
        return list(measured)
    alone = [(place,) for place in range(len(histograms.sizes))]
    return [*measured, *measure_marginals(task, histograms, alone, task.program.share_left)]


def as_measurement(sizes: Sequence[int], own: MarginalSet, values: NDArray[np.int64], law: Law) -> MeasuredMarginal:
    """A noisy marginal as inference takes it."""
    return MeasuredMarginal(
        attributes=axes_of(own),
        values=values.astype(np.float64).reshape(shape_of(sizes, own)),
        variance=float(law.variance()),
        groups=_groups_of(own) if isinstance(own, CoarseSet) else None,
    )


def shape_of(sizes: Sequence[int], own: MarginalSet) -> tuple[int, ...]:
    """How many cells, or groups of them, each attribute of a marginal has."""
    if isinstance(own, CoarseSet):
        return tuple(max(group) + 1 for group in own.groups)
    return tuple(sizes[place] for place in own)


def _groups_of(own: CoarseSet) -> tuple[NDArray[np.int64], ...]:
    return tuple(np.array(group, dtype=np.int64) for group in own.groups)


def marginal_of(model: FittedGraphicalModel, own: MarginalSet) -> Table:
    """The model's marginal, over groups of cells where they are asked for."""
    table = model.calibrated.project(axes_of(own))
    return sum_groups(table, _groups_of(own)) if isinstance(own, CoarseSet) else table


def candidates(
    model: FittedGraphicalModel, sets: Sequence[MarginalSet], law: Law | None, *, weight: Callable[[Axes], int]
) -> Iterator[tuple[MarginalSet, Candidate]]:
    """What each marginal is compared with: the model's own, less what measuring under a law would add as noise.

    Guarantee: estimates, weights and penalties are whole numbers, made of noisy and public ones alone.
    Because: rounded before they meet exact counts, they make scores exact, and one row moves a score by the weight.
    """
    noise = 0.0 if law is None else mean_noise_size(law)
    over: dict[Axes, list[MarginalSet]] = {}
    for own in sets:
        over.setdefault(axes_of(own), []).append(own)
    for axes, table in _estimates(model.calibrated, list(over)):
        for own in over[axes]:
            coarse = sum_groups(table, _groups_of(own)) if isinstance(own, CoarseSet) else table
            own_weight, estimate = weight(axes), np.rint(coarse).astype(np.int64)
            penalty = round(own_weight * noise * estimate.size)
            yield own, Candidate(estimate=estimate, weight=own_weight, penalty=penalty)


def _estimates(calibrated: CalibratedTree, sets: Sequence[Axes]) -> Iterator[tuple[Axes, Table]]:
    """The model's marginals, approximated where exact ones would take too large tables: never too large to be asked.

    Of a wide model (see `inference.separator_conditionals`) what lies within a clique is exact all the same: else what
    was measured already would seem to be known badly, and would be chosen again.
    """
    waiting = dict.fromkeys(sets)
    if has_approximate_conditionals(calibrated):
        clique_sets = [set(clique.attributes) for clique in calibrated.cliques]
        for own in [own for own in sets if any(clique.issuperset(own) for clique in clique_sets)]:
            del waiting[own]
            yield own, calibrated.project(own)
    try:
        for own, table in projections(calibrated, list(waiting)):
            del waiting[own]
            yield own, table
    except UsageError:  # four attributes or more, two and two at the ends of a wide separator
        for own in waiting:
            yield own, _alone(calibrated, own)


def _alone(calibrated: CalibratedTree, own: Axes) -> Table:
    """A marginal by itself; where it takes too large tables, what one clique says of it, times the others' margins."""
    try:
        return calibrated.project(own)
    except UsageError:
        parts = [tuple(each for each in own if each in clique.attributes) for clique in calibrated.cliques]
        covered = max(parts, key=len)
        table = calibrated.project(covered)
        others = [each for each in own if each not in covered]
        for each in others:
            table = np.multiply.outer(table, calibrated.project((each,)) / max(calibrated.total, 1e-9))
        return table.transpose([(*covered, *others).index(each) for each in own])


def is_noise_large(total: float, law: Law) -> bool:
    """Whether noise of this law is large beside a table of so many rows."""
    return total < MANY_ROWS * math.sqrt(law.variance())


def mean_noise_size(law: Law) -> float:
    """The expected size of the noise in one cell."""
    part = 1 / 2 if isinstance(law, DiscreteLaplace) else 2 / math.pi
    return math.sqrt(part * float(law.variance()))
