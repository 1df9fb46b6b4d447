"""Fitting the steps of persons: which variables of the next row hang together with which others, and how strongly.

Histograms of the next row's columns at fine cells; then one table of each variable at coarser cells; then, round by
round, the pair or triple that the model is farthest from, chosen by the exponential mechanism and measured, as in AIM
(McKenna, Mullins, Sheldon and Miklau 2022) but with candidates that all hold a variable of the next row. A round that
finds no more than noise doubles what the next ones cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.inference.axes import Axes
from discreet.inference.fit import FitSearch, FittedGraphicalModel, fit
from discreet.inference.fit_inputs import MeasuredMarginal
from discreet.inference.junction_tree import model_cells
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.measurement import Law
from discreet.kernel.person_table import WEIGHT, PersonColumn, PersonProgram, PersonReader, StepProgram
from discreet.kernel.program import Program
from discreet.synth.attribute import Attribute
from discreet.synth.first_histograms import measure_histograms, split_share
from discreet.synth.fit_task import (
    FINAL_ITERATIONS,
    ITERATIONS,
    TOLERANCE,
    Progress,
    as_measurement,
    candidates,
    cells_in,
    mean_noise_size,
)
from discreet.synth.persons.chain import ChainVariable
from discreet.synth.persons.coarse_cells import coarsen

#: Shares of what the steps may cost: for fine histograms, for each variable alone; and of each round, for its choice.
FINE, ALONE, CHOICE = Fraction(3, 20), Fraction(1, 10), Fraction(1, 10)

#: Rounds for each variable of the next row, were none to double; and in all, at most.
ROUNDS, MOST_ROUNDS = 4, 32

#: A table is measured if its noise is at most this part of what it holds, in all.
MOST_NOISE = 0.25

#: Fewest and most cells of a variable; and of one that is settled for a person.
FEWEST, MOST, MOST_SETTLED = 3, 24, 8

#: A choice costs a little less than its share, by rounding: what is left of that is not worth a round.
LEAST = Fraction(1, 1000)

MODEL_MB = 8.0

#: So many rounds scale a table to its margins.
RAKED = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class StepVariable:
    """A variable to be fitted: which it is, its cells, and how it comes from a person's rows."""

    variable: ChainVariable
    attribute: Attribute
    column: PersonColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFit:
    """A fitted chain. Counts are of persons: a person's steps weigh 1 together."""

    variables: tuple[ChainVariable, ...]
    attributes: tuple[Attribute, ...]
    fitted: FittedGraphicalModel
    measured: tuple[MeasuredMarginal, ...]
    total: float
    total_sd: float


def fit_chain(
    program: Program,
    reader: PersonReader,
    settled: Sequence[StepVariable],
    following: Sequence[tuple[StepVariable, PersonColumn | None]],
    *,
    share: Fraction,
    progress: Progress,
    counting: type[PersonProgram] = StepProgram,
) -> ChainFit:
    """Fit the steps for a share of the program. `counting`: what is counted, if not steps.

    `settled`: what is constant, with cells that are given. `following`: the next row's variables, whose cells are found
    here, each with how the same is counted of the row before, if that is a variable too.
    """
    steps = counting(program, reader, [each.column for each, _ in following], share=share)
    fine = measure_histograms(steps, [each.attribute for each, _ in following], share * FINE)
    rest = share * (1 - FINE - ALONE)
    rounds = max(2, min(MOST_ROUNDS, ROUNDS * len(following)))
    sd = math.sqrt(float(steps.law(rest / rounds * (1 - CHOICE)).variance()))
    most = max(FEWEST, min(MOST, int(math.sqrt(MOST_NOISE * max(fine.total, 0.0) / sd))))
    following_now, before = [], []
    for (each, previous), attribute in zip(following, fine.attributes, strict=True):
        own = replace(each, attribute=coarsen(attribute, most))
        following_now.append(own)
        if previous is not None:
            variable = ChainVariable(role="previous", column=each.variable.column)
            before.append(StepVariable(variable=variable, attribute=own.attribute, column=previous))
    constant = [replace(each, attribute=coarsen(each.attribute, min(most, MOST_SETTLED))) for each in settled]
    return _ChainSearch(steps, [*constant, *before, *following_now], fine.total, fine.total_sd, progress).fit(rounds)


class _ChainSearch:
    """The rounds of a fit, over variables whose cells are settled. Numbers are weights: `WEIGHT` for a person."""

    def __init__(
        self, steps: PersonProgram, variables: Sequence[StepVariable], total: float, total_sd: float, progress: Progress
    ) -> None:
        self.variables = tuple(variables)
        self.steps = steps.with_columns([each.column for each in variables])
        self.total, self.total_sd = total, total_sd
        self.progress = progress
        self.sizes = tuple(each.attribute.size for each in variables)
        axes = tuple(each.column.axis for each in variables)
        groups = tuple(each.attribute.groups[each.attribute.fine_of_counted()] for each in variables)
        self.cut = BinnedTable(self.steps, axes).merged(groups)
        #: Of a variable of the next row the place of the same one of the row before; what is constant is the same.
        self.before = _places_before([each.variable for each in self.variables])
        self.measured: list[MeasuredMarginal] = []
        self.model: FittedGraphicalModel | None = None

    def fit(self, rounds: int) -> ChainFit:
        """Measure every variable alone, then round by round what is worth it."""
        self._measure_alone()
        part = self.steps.share_left / rounds
        start = self.steps.share_left
        while self.steps.share_left > LEAST * start:
            if self.steps.share_left < 2 * part:
                part = self.steps.share_left
            law = self.steps.law(part * (1 - CHOICE))
            sets = self._sets(law)
            if not sets:
                break
            self.progress("steps", 0.5 + 0.4 * float(1 - self.steps.share_left / start))
            part = part if self._round(sets, part, law) else 2 * part
        if self.steps.share_left > LEAST * start:
            self._measure_alone()
        return self._final()

    def _measure_alone(self) -> None:
        """Every variable alone: for its share at first, for all that is left where nothing else is worth it."""
        share = self.steps.share_left
        if not self.measured:
            share *= ALONE / (1 - FINE)
        self._measure([(place,) for place in range(len(self.sizes))], share)

    def _measure(self, sets: Sequence[Axes], share: Fraction) -> None:
        sizes = [math.prod(self.sizes[place] for place in own) for own in sets]
        laws = [self.steps.law(own) for own in split_share(self.steps.event, sizes, share)]
        noisy = self.cut.measure(sets, laws)
        self.measured += [
            as_measurement(self.sizes, own, values, law) for own, values, law in zip(sets, noisy, laws, strict=True)
        ]
        measured = [*self.measured, *self._mirrored()]
        self.model = fit(self.sizes, measured, self.total, start=self.model, search=FitSearch(iterations=ITERATIONS))

    def _mirrored(self) -> list[MeasuredMarginal]:
        """For the row before, what the model says of the next row where a table was measured within it, or with traits.

        Else two columns of the row before that say the same of the next one, a diagnosis and its costs, would count
        twice: a model that never saw them together takes them for independent. Post-processing.
        """
        if self.model is None:
            return []
        calibrated, mirrored = self.model.calibrated, []
        for own in self.measured:
            axes = self._axes_before(own.attributes)
            if axes is not None and self._fits(axes):
                margins = [calibrated.project((place,)) for place in axes]
                table = raked(calibrated.project(own.attributes), margins)
                mirrored.append(MeasuredMarginal(attributes=axes, values=table, variance=own.variance))
        return mirrored

    def _axes_before(self, axes: Axes) -> Axes | None:
        """The same columns of the row before, where a table has no other."""
        before = tuple(self.before.get(place, -1) for place in axes)
        return before if len(axes) > 1 and -1 not in before and before == tuple(sorted(set(before))) else None

    def _round(self, sets: Sequence[Axes], part: Fraction, law: Law) -> bool:
        """Choose and measure one table; whether it told more than noise."""
        model = self.model
        assert model is not None
        place = 0
        if len(sets) > 1:  # one alone fits, for some does
            place = self.cut.choose(
                sets,
                lambda: candidates(model, sets, law, weight=lambda own: 1),
                epsilon=self.steps.choice_epsilon(part * CHOICE),
                most_weight=1,
                fits=lambda place: self._fits(sets[place]),
            )
        own = sets[place]
        before = model.calibrated.project(own)
        self._measure([own], min(part * (1 - CHOICE) if len(sets) > 1 else part, self.steps.share_left))
        distance = float(np.abs(self.measured[-1].values - before).mean())
        return distance > 1.1 * mean_noise_size(law)

    def _sets(self, law: Law) -> list[Axes]:
        """Pairs with a variable of the next row, and triples that a measured pair is part of; none too large."""
        measured = [own.attributes for own in self.measured if len(own.attributes) > 1]
        noise = mean_noise_size(law)
        following = {place for place, each in enumerate(self.variables) if each.variable.is_next}
        pairs = list(combinations(range(len(self.sizes)), 2))
        triples = {
            tuple(sorted({*own, place})) for own in measured if len(own) == 2 for place in range(len(self.sizes))
        }
        sets = []
        for own in [*pairs, *sorted(own for own in triples if len(own) == 3)]:
            cells = math.prod(self.sizes[place] for place in own)
            if following & set(own) and own not in measured and cells * noise <= 2 * MOST_NOISE * self.total:
                sets.append(own)
        return sets if any(map(self._fits, sets)) else []

    def _fits(self, own: Axes) -> bool:
        """Whether the model stays small with one more table."""
        tables = [each.attributes for each in self.measured if len(each.attributes) > 1]
        mirrored = [before for each in (*tables, own) if (before := self._axes_before(each)) is not None]
        return model_cells(self.sizes, [*tables, own, *mirrored]) <= cells_in(MODEL_MB)

    def _final(self) -> ChainFit:
        measured, mirrored = _of_persons(self.measured), _of_persons(self._mirrored())
        total = max(1.0, self.total / WEIGHT)
        search = FitSearch(iterations=FINAL_ITERATIONS, tolerance=TOLERANCE)
        return ChainFit(
            variables=tuple(each.variable for each in self.variables),
            attributes=tuple(each.attribute for each in self.variables),
            fitted=fit(self.sizes, [*measured, *mirrored], total, search=search),
            measured=measured,
            total=total,
            total_sd=self.total_sd / WEIGHT,
        )


def _places_before(variables: Sequence[ChainVariable]) -> dict[int, int]:
    """Where each variable is that says of the row before what this one says of the next; traits are where they are."""
    places = {variable: place for place, variable in enumerate(variables)}
    before = {place: place for variable, place in places.items() if variable.role in ("trait", "rows")}
    for variable, place in places.items():
        previous = ChainVariable(role="previous", column=variable.column)
        if variable.role == "next" and previous in places:
            before[place] = places[previous]
    return before


def _of_persons(measured: Sequence[MeasuredMarginal]) -> tuple[MeasuredMarginal, ...]:
    """Tables of weights as tables of persons."""
    return tuple(
        MeasuredMarginal(attributes=own.attributes, values=own.values / WEIGHT, variance=own.variance / WEIGHT**2)
        for own in measured
    )


def raked(table: NDArray[np.float64], margins: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The table scaled along each axis in turn until it has these margins, with its associations.

    >>> raked(np.array([[3.0, 1.0], [1.0, 3.0]]), [np.array([6.0, 2.0]), np.array([4.0, 4.0])]).round(2).tolist()
    [[3.7, 2.3], [0.3, 1.7]]
    """
    scaled = np.maximum(table, 1e-9)
    for _ in range(RAKED):
        for axis, margin in enumerate(margins):
            others = tuple(other for other in range(scaled.ndim) if other != axis)
            factors = np.maximum(margin, 1e-9) / scaled.sum(axis=others)
            scaled = scaled * np.expand_dims(factors, others)
    return scaled
