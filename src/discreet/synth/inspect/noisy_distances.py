"""Distances of a model's tables from the exact ones: what they are, how far a person moves them, noise on them.

The model's counts are rounded to public whole numbers first, so that distances are whole and their sensitivity exact.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.axes import Axes, cells_of
from discreet.kernel.binned_table import BinnedTable, moves_of_distances
from discreet.kernel.measurement import Law
from discreet.kernel.program import Program
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.synth.model import Model

#: The model's counts are rounded to this part of a row.
PARTS = 1024

#: Pairs of more cells are left out.
MOST_CELLS = 2**20

#: Groups of sets, each set by its place.
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPlan:
    """What is compared, all of it public: sets of columns, the places of those measured together and of the others."""

    model: Model
    sets: tuple[Axes, ...]
    groups: Groups

    def estimate(self, place: int) -> NDArray[np.int64]:
        """The model's counts of a set in parts of a row: whole numbers."""
        counts = self.model.calibrated.project(self.sets[place])
        return np.rint(counts * PARTS).astype(np.int64).ravel()

    def digest(self) -> str:
        """What makes two comparisons the same one."""
        attributes = [[attribute.axis().to_data(), attribute.groups.tolist()] for attribute in self.model.attributes]
        hasher = hashlib.sha256(json.dumps([PARTS, self.sets, self.groups, attributes]).encode())
        for place in range(len(self.sets)):
            hasher.update(self.estimate(place).astype("<i8").tobytes())
        return hasher.hexdigest()


def comparison_plan(model: Model) -> ComparisonPlan:
    """All pairs of columns that are not too large; the one column where there is but one."""
    sizes = model.fitted.sizes
    candidate_sets: list[Axes] = [*combinations(range(len(sizes)), 2)] or [(0,)]
    sets = tuple(own for own in candidate_sets if cells_of(sizes, own) <= MOST_CELLS)
    if not sets:
        raise UsageError("every pair of columns has too many cells to be compared")
    measured_sets = [set(each.attributes) for each in model.measured]
    measured = tuple(place for place, own in enumerate(sets) if any(set(own) <= other for other in measured_sets))
    others = tuple(place for place in range(len(sets)) if place not in measured)
    return ComparisonPlan(model=model, sets=sets, groups=(measured, others))


def column_plan(model: Model) -> ComparisonPlan:
    """Each column by itself, a group for each."""
    places = range(len(model.fitted.sizes))
    return ComparisonPlan(
        model=model, sets=tuple((place,) for place in places), groups=tuple((place,) for place in places)
    )


def law_of(program: Program, share: Fraction, groups: Groups) -> Law:
    """The noise on one sum for each group that costs this share of the reservation, exactly."""
    moves, event = moves_of_distances(program.moves.l1, [len(group) for group in groups], PARTS), program.event
    if event.epsilon is not None:
        return DiscreteLaplace(scale=moves.l1 / (event.epsilon * share))
    return DiscreteGaussian(sigma2=Fraction(moves.l2_squared) / (2 * event.rho * share))


def measure_distances(cut: BinnedTable, plan: ComparisonPlan, groups: Groups, law: Law) -> list[int]:
    """For each group of sets the noisy sum of their distances from the model, in parts of a row, as one step."""
    named = [[plan.sets[place] for place in group] for group in groups]
    estimates = {plan.sets[place]: place for group in groups for place in group}
    return cut.distances(named, lambda own: plan.estimate(estimates[own]), parts=PARTS, law=law)
