"""AIM (McKenna, Mullins, Sheldon and Miklau 2022): measure, round by round, the marginal that the model knows worst.

A round chooses a marginal by the exponential mechanism, measures it and fits anew. The score is how far the exact
counts are from the model's, in rows, less what noise alone would make of it: it needs no n, and one row moves it by
one. Where a measurement did not move the model beyond its noise, the rest of the guarantee is spent in larger steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from discreet.inference.fit import Fitted, Measured
from discreet.inference.junction import cells
from discreet.program import Law
from discreet.synth.first import First
from discreet.synth.fitting import (
    Axes,
    Fit,
    Task,
    between,
    candidates,
    few_rows,
    fitted,
    mean_size,
    measured_together,
    shaped,
)
from discreet.synth.independent import independent

#: Of every round's share this goes to the choice, the rest to the measurement.
SELECTION = Fraction(1, 10)

#: Where nobody says how many rounds, so many for each column; where noise is large, fewer and larger ones tell more,
#: and marginals of three columns are only noise.
ROUNDS, FEW_ROUNDS = 3, 2

#: After a round that told little, rounds cost so many times more.
ANNEAL = 2

#: From so many cells on, projecting a model costs more than asking for sizes; but not in a table of many columns.
LARGE = 200_000

#: A marginal of more cells is not asked for, in a table of up to so many columns, and of more.
MOST_TABLE, MANY_COLUMNS, MOST_TABLE_OF_MANY = 20_000, 20, 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """A round's model, what it was fitted to, and what the next round costs."""

    model: Fitted
    measured: tuple[Measured, ...]
    share: Fraction
    sizes: _Sizes


def aim(task: Task) -> Fit:
    """Fit by rounds until the guarantee is spent."""
    program, width = task.program, len(task.attributes)
    if width == 1:
        return independent(task)
    budget = program.left
    share = budget / max(task.rounds or ROUNDS * width, width + 1)
    large = max(share, budget / max(FEW_ROUNDS * width, width + 1))
    told = task.first(
        share * (1 - SELECTION) * width,
        more=(large - share) * (1 - SELECTION) * width,
        few=lambda total: few_rows(total, program.law(share)),
    )
    few = few_rows(told.total, program.law(share))
    share = large if few else share
    named = measured_together(task, told, task.marginals, min(share * len(task.marginals), program.left / 2))
    measured = (*told.measured, *named)
    start = between(task, told, measured, iterations=200)
    bound = [axes for axes, _ in task.constraints.on(told.attributes, told.total).allowed]
    state = _State(model=start, measured=measured, share=share, sizes=_Sizes(told.sizes, bound))
    wanted = workload(task, told, order=task.workload or (2 if few else 3))
    while program.left > 0:
        task.progress("rounds", float(1 - program.left / budget))
        if program.left < 2 * state.share:
            state = replace(state, share=program.left)
        room = task.cells * float(1 - (program.left - state.share) / budget)
        state = _round(task, told, wanted, state, room=room)
    return fitted(task, told, state.measured, start=state.model)


def workload(task: Task, told: First, *, order: int) -> list[Axes]:
    """The marginals to choose from: of up to `order` columns, none too large."""
    most = min(most_table(len(told.sizes)), task.cells)
    return [
        own
        for size in range(1, order + 1)
        for own in combinations(range(len(told.sizes)), size)
        if size == 1 or math.prod(told.sizes[place] for place in own) <= most
    ]


def most_table(width: int) -> int:
    """The most cells of a marginal that is asked for, in a table of so many columns."""
    return MOST_TABLE if width <= MANY_COLUMNS else MOST_TABLE_OF_MANY


def _round(task: Task, told: First, wanted: list[Axes], state: _State, *, room: float) -> _State:
    """Choose, measure, fit. The last round measures with all that is left, to the last digit."""
    program = task.program
    law = program.law(state.share * (1 - SELECTION))
    last = state.share == program.left
    own = _chosen(task, told, wanted, state, law, room)
    if last:
        law = program.law(program.left)
    (noisy,) = told.cut.measure([own], [law])
    measured = (*state.measured, shaped(told.sizes, own, noisy, law))
    model = between(task, told, measured, start=state.model)
    moved = np.abs(model.calibrated.project(own) - state.model.calibrated.project(own)).sum()
    quiet = moved <= mean_size(law) * noisy.size
    return replace(state, model=model, measured=measured, share=state.share * (ANNEAL if quiet else 1))


def _chosen(task: Task, told: First, wanted: list[Axes], state: _State, law: Law, room: float) -> Axes:
    """The marginal to measure, of those that the model has room for.

    While the model is small, room is looked for when a marginal was drawn; later, the many that a large model has no
    room for are left out before they are compared with it. Room is a public matter: either way it is the same draw.
    """
    known = [measured.attributes for measured in state.measured]
    if state.model.calibrated.cells > LARGE and len(told.sizes) <= MANY_COLUMNS:
        wanted = [own for own in wanted if state.sizes.cells(known, own) <= room]
    place = told.cut.choose(
        wanted,
        lambda: candidates(state.model, wanted, law, weight=task.weight),
        epsilon=task.program.choice(state.share * SELECTION),
        most_weight=max(map(task.weight, wanted)),
        fits=lambda place: state.sizes.cells(known, wanted[place]) <= room,
    )
    return wanted[place]


class _Sizes:
    """How many cells a model has that is fitted to some marginals. It depends on who is measured with whom alone."""

    def __init__(self, sizes: tuple[int, ...], bound: Sequence[Axes] = ()) -> None:
        self._sizes = sizes
        self._bound = frozenset(pair for each in bound for pair in combinations(each, 2))  # by constraints
        self._found: dict[frozenset[Axes], int] = {}

    def cells(self, known: list[Axes], own: Axes) -> float:
        """The cells with one marginal more; 0 where that adds none."""
        edges = self._bound.union(pair for each in known for pair in combinations(each, 2))
        after = edges.union(combinations(own, 2))
        if after == edges:
            return 0
        if after not in self._found:
            self._found[after] = cells(self._sizes, after)
        return self._found[after]
