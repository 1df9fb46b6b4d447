"""What every model's fit works with: the program, the attributes, public constraints; and what it comes to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.cut import Candidate, Law
from discreet.errors import UsageError
from discreet.inference.axes import MOST_CELLS, Table
from discreet.inference.behind import is_wide
from discreet.inference.candidates import projections
from discreet.inference.fit import Fitted, Measured, fit
from discreet.inference.tree import Calibrated
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.program import Program
from discreet.synth.attribute import Attribute
from discreet.synth.constraints import Constraints
from discreet.synth.first import First, first, shares
from discreet.synth.public import PublicRows

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


def silent(word: str, done: float) -> None:
    """Tell nobody."""


def cells_in(megabytes: float) -> int:
    """How many cells a model of this size has at most: never more than inference makes of one."""
    return min(int(megabytes * 2**20 / 8), MOST_CELLS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One fit: where it may draw from, and what it shall describe. `rounds`, `model_mb`: how far it may go.

    Attributes are meant by their places. `weights`: how much a set of them matters, 1 where nothing is said;
    `marginals`: sets that are measured in any case; `adjacent`: measure neighbouring edges of a tree together;
    `public`: rows that are no secret, to choose by.
    """

    program: Program
    attributes: tuple[Attribute, ...]
    constraints: Constraints = field(default_factory=Constraints)
    degree: int | None = None
    rounds: int | None = None
    model_mb: float = MODEL_MB
    workload: int | None = None
    weights: Mapping[Axes, int] = field(default_factory=dict)
    marginals: tuple[Axes, ...] = ()
    adjacent: bool = True
    public: PublicRows | None = None
    progress: Progress = silent

    def first(
        self, share: Fraction, *, more: Fraction = Fraction(0), few: Callable[[float], bool] = lambda total: False
    ) -> First:
        """Histograms of all columns for this share, and for `more` where there are `few` rows."""
        self.progress("histograms", 0.0)
        return first(self.program, self.attributes, share, more=more, few=few)

    @property
    def cells(self) -> int:
        """The most cells of a model."""
        return cells_in(self.model_mb)

    def weight(self, own: Axes) -> int:
        """How much a marginal matters: as much as the weightiest set that can be read off it."""
        return max((weight for held, weight in self.weights.items() if set(held) <= set(own)), default=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted model, what it was fitted to, and on which cells."""

    attributes: tuple[Attribute, ...]
    measured: tuple[Measured, ...]
    fitted: Fitted
    total: float
    total_sd: float
    outside: tuple[float, ...]


def fitted(task: Task, told: First, measured: Sequence[Measured], *, start: Fitted | None = None) -> Fit:
    """The final fit to everything that was measured."""
    task.progress("fitting", 0.9)
    limits = task.constraints.on(told.attributes, told.total)
    found = fit(
        told.sizes,
        measured,
        limits.total,
        allowed=limits.allowed,
        totals=limits.totals,
        start=start,
        iterations=FINAL_ITERATIONS,
        tolerance=TOLERANCE,
    )
    return Fit(
        attributes=told.attributes,
        measured=tuple(measured),
        fitted=found,
        total=limits.total,
        total_sd=told.total_sd,
        outside=told.outside,
    )


def between(
    task: Task, told: First, measured: Sequence[Measured], *, start: Fitted | None = None, iterations: int = ITERATIONS
) -> Fitted:
    """A fit between two steps: what the next choice compares the table with."""
    limits = task.constraints.on(told.attributes, told.total)
    return fit(told.sizes, measured, limits.total, allowed=limits.allowed, start=start, iterations=iterations)


def measured_together(task: Task, told: First, sets: Sequence[Axes], share: Fraction) -> list[Measured]:
    """Noisy marginals over these sets for this share in all, as one step.

    The share is split as for histograms, a marginal counting for as many of its cells as it has weight.
    """
    if not sets:
        return []
    sizes = [math.prod(told.sizes[place] for place in own) * task.weight(own) for own in sets]
    laws = [task.program.law(part) for part in shares(task.program.event, sizes, share)]
    noisy = told.cut.measure(sets, laws)
    return [shaped(told.sizes, own, values, law) for own, values, law in zip(sets, noisy, laws, strict=True)]


def histograms_again(task: Task, told: First, measured: Sequence[Measured]) -> list[Measured]:
    """All that is left, for the histograms: where nothing else is worth measuring, none of it is wasted."""
    if task.program.left <= 0:
        return list(measured)
    alone = [(place,) for place in range(len(told.sizes))]
    return [*measured, *measured_together(task, told, alone, task.program.left)]


def shaped(sizes: Sequence[int], own: Axes, values: NDArray[np.int64], law: Law) -> Measured:
    """A noisy marginal as inference takes it."""
    shape = tuple(sizes[place] for place in own)
    return Measured(attributes=own, values=values.astype(np.float64).reshape(shape), variance=float(law.variance()))


def candidates(
    model: Fitted, wanted: Sequence[Axes], law: Law | None, *, weight: Callable[[Axes], int]
) -> Iterator[tuple[Axes, Candidate]]:
    """What each marginal is compared with: the model's own, less what measuring under a law would add as noise.

    Guarantee: estimates, weights and penalties are whole numbers, made of noisy and public ones alone.
    Because: rounded before they meet exact counts, they make scores exact, and one row moves a score by the weight.
    """
    noise = 0.0 if law is None else mean_size(law)
    for own, table in _estimates(model.calibrated, wanted):
        own_weight, estimate = weight(own), np.rint(table).astype(np.int64)
        yield own, Candidate(estimate=estimate, weight=own_weight, penalty=round(own_weight * noise * estimate.size))


def _estimates(calibrated: Calibrated, wanted: Sequence[Axes]) -> Iterator[tuple[Axes, Table]]:
    """The model's marginals, approximated where exact ones would take too large tables: never too large to be asked.

    Of a wide model (see `inference.behind`) what lies within a clique is exact all the same: else what was measured
    already would seem to be known badly, and would be chosen again.
    """
    waiting = dict.fromkeys(wanted)
    if is_wide(calibrated):
        held = [set(clique.attributes) for clique in calibrated.cliques]
        for own in [own for own in wanted if any(clique.issuperset(own) for clique in held)]:
            del waiting[own]
            yield own, calibrated.project(own)
    try:
        for own, table in projections(calibrated, list(waiting)):
            del waiting[own]
            yield own, table
    except UsageError:  # four attributes or more, two and two at the ends of a wide separator
        for own in waiting:
            yield own, _alone(calibrated, own)


def _alone(calibrated: Calibrated, own: Axes) -> Table:
    """A marginal by itself; where it takes too large tables, what one clique says of it, times the others' margins."""
    try:
        return calibrated.project(own)
    except UsageError:
        parts = [tuple(each for each in own if each in clique.attributes) for clique in calibrated.cliques]
        known = max(parts, key=len)
        table = calibrated.project(known)
        others = [each for each in own if each not in known]
        for each in others:
            table = np.multiply.outer(table, calibrated.project((each,)) / max(calibrated.total, 1e-9))
        return table.transpose([(*known, *others).index(each) for each in own])


def few_rows(total: float, law: Law) -> bool:
    """Whether noise of this law is large beside a table of so many rows."""
    return total < MANY_ROWS * math.sqrt(law.variance())


def mean_size(law: Law) -> float:
    """The expected size of the noise in one cell."""
    part = 1 / 2 if isinstance(law, DiscreteLaplace) else 2 / math.pi
    return math.sqrt(part * float(law.variance()))
