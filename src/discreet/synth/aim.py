"""AIM (McKenna, Mullins, Sheldon and Miklau 2022): measure, round by round, the marginal that the model knows worst.

A round chooses a marginal by the exponential mechanism, measures it and fits anew. The score is how far the exact
counts are from the model's, in rows, less what noise alone would make of it: it needs no n, and one row moves it by
one. Where a measurement did not move the model beyond its noise, the rest of the guarantee is spent in larger steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations

import numpy as np

from discreet.errors import LedgerFault
from discreet.inference.elimination import EliminationGraph
from discreet.inference.fit import FittedGraphicalModel, MeasuredMarginal
from discreet.kernel.binned_table import Candidate, CoarseSet, MarginalSet
from discreet.kernel.measurement import Law
from discreet.kernel.program import Program
from discreet.synth.chance_distance import chance_distance
from discreet.synth.first_histograms import MeasuredHistograms
from discreet.synth.fit_task import (
    Axes,
    FitTask,
    ModelFit,
    as_measurement,
    candidates,
    final_fit,
    interim_fit,
    is_noise_large,
    marginal_of,
    mean_noise_size,
    measure_histograms_again,
    measure_marginals,
)
from discreet.synth.independent import independent
from discreet.synth.resolution import Resolutions, axes_of

#: Of every round's share this goes to the choice, the rest to the measurement; and where shares are of a pure epsilon,
#: of which a choice needs more.
SELECTION, PURE_SELECTION = Fraction(1, 10), Fraction(3, 10)

#: Of a pure epsilon the histograms get so many times what as many rounds would: what is split loses by it.
PURE_HISTOGRAMS = Fraction(5, 4)

#: And a marginal must gain so many times more than what the choice among all of them lifts the best of those that gain
#: nothing by; else the rest counts the columns.
STANDS_OUT = 0.2

#: Where nobody says how many rounds, so many for each column; where noise is large, fewer and larger ones tell more,
#: and marginals of three columns are only noise.
ROUNDS, FEW_ROUNDS = 3, 2

#: After a round that told little, rounds cost so many times more.
ANNEAL = 2

#: A marginal is compared with the model where its noise is at most so many times what one of so many last rounds moved.
REACH, RECENT = 2.0, 8

#: From so many cells on, projecting a model costs more than asking for sizes.
LARGE = 200_000

#: A marginal of more cells is not asked for, in a table of up to so many columns, and of more.
MOST_TABLE, MANY_COLUMNS, MOST_TABLE_OF_MANY = 20_000, 20, 5_000


#: A marginal is asked for as it is where the noise of all its cells is at most so many times the rows; and over so many
#: groups of cells that it is at most these parts of the rows.
MOST_NOISE, NOISE_PARTS = 1.0, (0.25, 0.0625)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """A round's model and what it was fitted to, what it cost, and by how many rows the last ones moved the model."""

    model: FittedGraphicalModel
    measured: tuple[MeasuredMarginal, ...]
    share: Fraction
    shape: EliminationGraph
    moved: tuple[float, ...] = ()
    quiet: bool = False

    @property
    def reach(self) -> float:
        """How many rows of noise a marginal may have that is still compared with the model."""
        return REACH * max(self.moved, default=math.inf)


def aim(task: FitTask) -> ModelFit:
    """Fit by rounds until the guarantee is spent."""
    program, width = task.program, len(task.attributes)
    if width == 1:
        return independent(task)
    budget = program.share_left
    share = budget / max(task.rounds or ROUNDS * width, width + 1)
    large = max(share, budget / max(FEW_ROUNDS * width, width + 1))
    if program.is_pure:  # of which the same numbers cost more in two steps than in one
        share = large
    histograms = task.measure_histograms(
        share * (1 - SELECTION) * width * (PURE_HISTOGRAMS if program.is_pure else 1),
        more=(large - share) * (1 - SELECTION) * width,
        few=lambda total: is_noise_large(total, program.law(share)),
    )
    few = is_noise_large(histograms.total, program.law(share))
    share = large if few else share
    named = measure_marginals(
        task, histograms, task.marginals, min(share * len(task.marginals), program.share_left / 2)
    )
    measured = (*histograms.measured, *named)
    start = interim_fit(task, histograms, measured, iterations=200)
    bound = [axes for axes, _ in task.constraints.on(histograms.attributes, histograms.total).allowed]
    shape = EliminationGraph(histograms.sizes, [*bound, *(each.attributes for each in measured)])
    state = _State(model=start, measured=measured, share=share, shape=shape)
    choices = _Choices(task, histograms, workload(task, histograms, order=task.workload or (2 if few else 3)), few=few)
    while program.share_left > 0:
        task.progress("rounds", float(1 - program.share_left / budget))
        state = _round(task, histograms, choices, state, budget=budget)
    return final_fit(task, histograms, state.measured, start=state.model)


def workload(task: FitTask, histograms: MeasuredHistograms, *, order: int) -> list[Axes]:
    """The marginals to choose from: of up to `order` columns, none too large."""
    sizes = histograms.sizes
    most = min(most_table(len(sizes)), task.cells)
    return [
        own
        for size in range(1, order + 1)
        for own in combinations(range(len(sizes)), size)
        if size == 1 or math.prod(sizes[place] for place in own) <= most
    ]


class _Choices:
    """What a round chooses from: the marginals of a workload at the resolutions that its noise allows.

    A marginal whose noise alone would be more than all rows is not asked for as it is, and a pair whose noise would be
    more than a part of them is asked for over groups of its cells as well. `nothing`: of a pure epsilon a round may
    choose to measure none, and all that is left counts the columns. It is the one cell of all rows, whose score is a
    public number.
    """

    def __init__(self, task: FitTask, histograms: MeasuredHistograms, sets: list[Axes], *, few: bool) -> None:
        self._sets = sets
        self._total = histograms.total
        self._is_weighted = bool(task.weights)
        self.ends_quietly = task.program.is_pure and few
        self.resolutions = Resolutions(histograms)
        self.nothing = CoarseSet(axes=(0,), groups=((0,) * histograms.sizes[0],))
        self._has_nothing = task.program.is_pure
        self._by_chance = cache(partial(chance_distance, histograms))

    def under(self, law: Law) -> list[MarginalSet]:
        """The marginals to choose from, where they are measured under this law."""
        rows = self._total / mean_noise_size(law)  # so many cells have as much noise as there are rows
        sets = dict.fromkeys(own for axes in self._sets for own in self._resolved(axes, rows))
        if not self._has_nothing:
            return list(sets)
        return [*(own for own in sets if len(axes_of(own)) > 1), self.nothing]

    def by_chance(self, own: MarginalSet) -> int:
        """What is taken off a marginal's score: its distance from the model if its columns do not depend on each other.

        Only where nothing may be chosen instead: else noise of the columns is a reason to measure them once more.
        """
        return math.ceil(self._by_chance(own)) if self._has_nothing else 0

    def _resolved(self, axes: Axes, rows: float) -> Iterator[MarginalSet]:
        if len(axes) == 1 or self._is_weighted or self.resolutions.cells(axes) <= MOST_NOISE * rows:
            yield axes
        if len(axes) == 2:
            for part in NOISE_PARTS:
                own = self.resolutions.at_most(axes, part * rows)
                if own is not None:
                    yield own


def most_table(width: int) -> int:
    """The most cells of a marginal that is asked for, in a table of so many columns."""
    return MOST_TABLE if width <= MANY_COLUMNS else MOST_TABLE_OF_MANY


def _round(
    task: FitTask, histograms: MeasuredHistograms, choices: _Choices, state: _State, *, budget: Fraction
) -> _State:
    """Choose, measure, fit. The last round measures with all that is left, to the last digit."""
    program = task.program
    own, share, last = _choose_marginal(task, histograms, choices, state, budget)
    if isinstance(own, list):
        return replace(state, measured=(*state.measured, *own))
    law = program.law(program.share_left if last else share * (1 - _selection(program)))
    (noisy,) = histograms.cut.measure([own], [law])
    measured = (*state.measured, as_measurement(histograms.sizes, own, noisy, law))
    model = interim_fit(task, histograms, measured, start=state.model)
    moved = float(np.abs(marginal_of(model, own) - marginal_of(state.model, own)).sum())
    return _State(
        model=model,
        measured=measured,
        share=share,
        shape=state.shape.with_factor(axes_of(own)),
        moved=(*state.moved, moved)[-RECENT:],
        quiet=_is_quiet(moved, law, noisy.size),
    )


def _selection(program: Program) -> Fraction:
    """The part of a round's share that its choice costs."""
    return PURE_SELECTION if program.is_pure else SELECTION


def _is_quiet(moved: float, law: Law, size: int) -> bool:
    """Whether a measurement moved the model by no more than its noise would."""
    return moved <= mean_noise_size(law) * size


def _choose_marginal(
    task: FitTask, histograms: MeasuredHistograms, choices: _Choices, state: _State, budget: Fraction
) -> tuple[MarginalSet | list[MeasuredMarginal], Fraction, bool]:
    """The marginal to measure, or what was measured in the end; the round's share, and whether it is the last.

    Whether the last round was quiet is a comparison of floats, which another machine may decide otherwise. A fit that
    goes on after it was broken off goes the way that the ledger holds: a step that is stored there for another share
    is refused before anything is drawn, and then it is the other one's.
    """
    try:
        return _choose_marginal_after(task, histograms, choices, state, budget, quiet=state.quiet)
    except LedgerFault as problem:
        try:
            return _choose_marginal_after(task, histograms, choices, state, budget, quiet=not state.quiet)
        except LedgerFault:
            raise problem from None


def _choose_marginal_after(
    task: FitTask,
    histograms: MeasuredHistograms,
    choices: _Choices,
    state: _State,
    budget: Fraction,
    *,
    quiet: bool,
) -> tuple[MarginalSet | list[MeasuredMarginal], Fraction, bool]:
    """The choice of a round after one that was quiet, or was not.

    Where shares are of a pure epsilon, and noise is large, there are no more after a quiet one: all that is left
    measures the histograms once more, for pairs that noise hides would be paid for by every column.
    """
    program = task.program
    if quiet and choices.ends_quietly:
        return measure_histograms_again(task, histograms, ()), program.share_left, True
    share = state.share * (ANNEAL if quiet else 1)
    last = program.share_left < 2 * share
    if last:
        share = program.share_left
    room = task.cells * float(1 - (program.share_left - share) / budget)
    own = _draw_choice(task, histograms, choices, state, share=share, room=room)
    if own == choices.nothing:
        return measure_histograms_again(task, histograms, ()), program.share_left, True
    return own, share, last


def _draw_choice(
    task: FitTask,
    histograms: MeasuredHistograms,
    choices: _Choices,
    state: _State,
    *,
    share: Fraction,
    room: float,
) -> MarginalSet:
    """One of the marginals that the model has room for, by the exponential mechanism."""
    law = task.program.law(share * (1 - _selection(task.program)))
    epsilon = task.program.choice_epsilon(share * _selection(task.program))
    candidate_sets = choices.under(law)
    place = histograms.cut.choose(
        candidate_sets,
        lambda: _scored_candidates(task, histograms, choices, candidate_sets, state, law, room, epsilon),
        epsilon=epsilon,
        most_weight=max(task.weight(axes_of(own)) for own in candidate_sets),
        fits=lambda place: state.shape.fits(axes_of(candidate_sets[place]), room),
    )
    return candidate_sets[place]


def _scored_candidates(
    task: FitTask,
    histograms: MeasuredHistograms,
    choices: _Choices,
    candidate_sets: list[MarginalSet],
    state: _State,
    law: Law,
    room: float,
    epsilon: Fraction,
) -> Iterator[tuple[MarginalSet, Candidate]]:
    """What each marginal is scored by.

    Comparing is what a round spends its time on, so what could hardly be chosen is not compared: it gets a score
    below all others, the same whatever the rows are. That are marginals whose noise alone is far more than the last
    rounds moved the model (a gain is what a marginal would move it, less its noise), and, where the model is large,
    those that it has no room for; while it is small, room is looked for when one was drawn.
    """
    cells = {own: choices.resolutions.cells(own) for own in candidate_sets}
    most = math.inf if task.weights else state.reach / mean_noise_size(law)
    near = [own for own in candidate_sets if own != choices.nothing and (len(axes_of(own)) == 1 or cells[own] <= most)]
    if state.model.calibrated.cells > LARGE:
        has_room = {axes: state.shape.fits(axes, room) for axes in dict.fromkeys(map(axes_of, near))}
        near = [own for own in near if has_room[axes_of(own)]]
    heaviest = max(task.weight(axes_of(own)) for own in candidate_sets)
    for own, candidate in candidates(state.model, near, law, weight=task.weight):
        yield own, replace(candidate, penalty=candidate.penalty + candidate.weight * choices.by_chance(own))
    lowest = math.ceil(heaviest * (mean_noise_size(law) * max(cells.values()) + 2 * histograms.total))
    # The choice adds to each score what has the size of 2 * sensitivity / epsilon.
    lift = 2 * heaviest * task.program.moves.l1 * math.log(len(candidate_sets)) / float(epsilon)
    for own in set(candidate_sets).difference(near):
        if own == choices.nothing:
            yield own, Candidate(estimate=np.zeros(1, dtype=np.int64), weight=0, penalty=-math.ceil(STANDS_OUT * lift))
            continue
        yield own, Candidate(estimate=np.zeros(cells[own], dtype=np.int64), weight=0, penalty=lowest)
