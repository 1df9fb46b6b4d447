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
from itertools import combinations

import numpy as np

from discreet.inference.candidates import projections
from discreet.inference.fit import Fitted, Measured, fit
from discreet.inference.junction import cells
from discreet.program import Candidate, Law
from discreet.synth.first import First
from discreet.synth.fitting import Fit, Task, fitted, shaped

#: Of every round's share this goes to the choice, the rest to the measurement.
SELECTION = Fraction(1, 10)

#: After a round that told little, rounds cost so many times more.
ANNEAL = 2

#: Propagations of a round's fit, which starts from the last one.
ITERATIONS = 30

#: A marginal of more cells is not asked for, in a table of up to so many columns, and of more.
MOST_TABLE, MANY_COLUMNS, MOST_TABLE_OF_MANY = 20_000, 20, 5_000

Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """A round's model, what it was fitted to, and what the next round costs."""

    model: Fitted
    measured: tuple[Measured, ...]
    share: Fraction


def aim(task: Task) -> Fit:
    """Fit by rounds until the guarantee is spent."""
    program, width = task.program, len(task.attributes)
    budget = program.left
    rounds = task.rounds or 4 * width
    share = budget / max(rounds, width + 1)
    told = task.first(share * (1 - SELECTION) * width)
    wanted = workload(task, told)
    start = fit(told.sizes, told.measured, told.total, iterations=200)
    state = _State(model=start, measured=told.measured, share=share)
    while program.left > 0:
        task.progress("rounds", float(1 - program.left / budget))
        if program.left < 2 * state.share:
            state = replace(state, share=program.left)
        room = task.cells * float(1 - (program.left - state.share) / budget)
        state = _round(task, told, wanted, state, room=room)
    return fitted(task, told, state.measured, start=state.model)


def workload(task: Task, told: First) -> list[Axes]:
    """The marginals to choose from: of up to three columns, or two where noise leaves no more, none too large."""
    order = task.workload or 3
    most = MOST_TABLE if len(told.sizes) <= MANY_COLUMNS else MOST_TABLE_OF_MANY
    most = min(most, task.cells)
    return [
        own
        for size in range(1, order + 1)
        for own in combinations(range(len(told.sizes)), size)
        if size == 1 or math.prod(told.sizes[place] for place in own) <= most
    ]


def _round(task: Task, told: First, wanted: list[Axes], state: _State, *, room: float) -> _State:
    program = task.program
    law = program.law(state.share * (1 - SELECTION))
    epsilon = program.choice(state.share * SELECTION)
    last = state.share == program.left
    known = [measured.attributes for measured in state.measured]

    def fits(place: int) -> bool:
        own = wanted[place]
        return any(set(own) <= set(other) for other in known) or cells(told.sizes, [*known, own]) <= room

    place = told.cut.choose(
        wanted, lambda: _candidates(state.model, wanted, law), epsilon=epsilon, most_weight=1, fits=fits
    )
    own = wanted[place]
    if last:
        law = program.law(program.left)
    (noisy,) = told.cut.measure([own], [law])
    measured = (*state.measured, shaped(told.sizes, own, noisy, float(law.variance())))
    limits = task.constraints.on(told.attributes, told.total)
    model = fit(told.sizes, measured, limits.total, allowed=limits.allowed, start=state.model, iterations=ITERATIONS)
    moved = np.abs(model.calibrated.project(own) - state.model.calibrated.project(own)).sum()
    quiet = moved <= _expected(law) * noisy.size
    return _State(model=model, measured=measured, share=state.share * (ANNEAL if quiet else 1))


def _candidates(model: Fitted, wanted: list[Axes], law: Law) -> Iterator[tuple[Axes, Candidate]]:
    noise = _expected(law)
    for own, table in projections(model.calibrated, wanted):
        estimate = np.rint(table).astype(np.int64)
        yield own, Candidate(estimate=estimate, weight=1, penalty=round(noise * estimate.size))


def _expected(law: Law) -> float:
    """The expected size of the noise in one cell."""
    return math.sqrt(2 / math.pi * float(law.variance()))
