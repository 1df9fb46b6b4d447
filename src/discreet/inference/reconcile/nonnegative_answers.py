"""Positive: answers that agree, that are not negative, and in which no parts are more than their whole.

The nearest such numbers, in the metric of the least-squares fit. Constraints are between the measured numbers only:
identities, >= 0, and parts that exclude each other add up to at most their whole. That is a relaxation: a real table
need not exist behind them (`column` makes one), so their distance is a lower bound on every table's.

Only for families of numbers that cannot be negative: counts, and sums of an expression whose bounds are >= 0. Bounds
between counts and sums are left unused. No standard errors: the estimate is biased near zero; quote those of the
least-squares fit.

Constraints come in as they are violated. With C the covariance of the fit and A the constraints, the nearest numbers
are fit + C A' x, where x >= 0 minimizes 1/2 x' A C A' x + x' A fit: one number for each constraint in play.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from discreet.errors import Refused
from discreet.inference.reconcile.column_axes import Flags, Floats
from discreet.inference.reconcile.complementarity import solve_complementarity
from discreet.inference.reconcile.least_squares import LeastSquaresFit
from discreet.inference.reconcile.measured_number import ROWS
from discreet.inference.reconcile.part_constraints import PartConstraint, PartConstraints
from discreet.inference.reconcile.reconciliation import NumberFamily, Reconciliation

#: A constraint counts as violated beyond this share of its own standard error.
VIOLATED = 1e-7

#: Less than this share of its members' variances, and a slack is always 0.
NO_VARIANCE = 1e-10

#: What is published is proved to be the nearest up to this share of its squared distance.
CONVERGED = 1e-6

MOST_ROUNDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class NonnegativeAnswers:
    """`values`: in the order of the measured numbers. `distance`: their weighted squared distance to what was
    measured; `bound`: no numbers that satisfy the constraints are nearer, nor is any table. `binding`: how many
    constraints push."""

    values: tuple[float, ...]
    distance: float
    bound: float
    binding: int


def make_nonnegative(reconciliation: Reconciliation, families: Collection[str] = (ROWS,)) -> NonnegativeAnswers:
    """The nearest numbers that agree and, in these families, are not negative. Refused if they are not found."""
    values = np.array(reconciliation.reconciled.values)
    bound, binding = reconciliation.reconciled.chi_square, 0
    for name, family in reconciliation.families.items():
        if name in families:
            nearest = _nearest(family)
            there = family.geometry.number >= 0
            values[family.given[there]] = nearest.values[family.geometry.number[there]]
            bound += nearest.bound
            binding += nearest.binding
    distance = reconciliation.distance(values)
    if distance > bound + CONVERGED * (1.0 + bound):
        raise Refused("the answers could not be made non-negative: the solution found is not proved to be the nearest")
    return NonnegativeAnswers(values=tuple(values.tolist()), distance=distance, bound=bound, binding=binding)


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestNumbers:
    """Of the different regions of one family: values, a lower bound on what constraints add to the squared
    distance, and how many of them push."""

    values: Floats
    bound: float
    binding: int


def _nearest(family: NumberFamily) -> NearestNumbers:
    constraints = PartConstraints(family.geometry)
    working = _WorkingSet(_covariance(family.fit), family.fit.values)
    values = family.fit.values
    for _ in range(MOST_ROUNDS):
        fresh = working.violated(constraints.violated_by(values), values)
        if not fresh:
            return NearestNumbers(values=np.maximum(values, 0.0), bound=working.bound(), binding=working.binding())
        working.add(fresh)
        values = working.solve()
    raise Refused("the answers could not be made non-negative: the search kept adding constraints")


class _WorkingSet:
    """The constraints in play, each scaled to a standard error of 1; `moved`: A C, `matrix`: A C A'."""

    def __init__(self, covariance: Floats, fitted: Floats) -> None:
        self.covariance, self.fitted = covariance, fitted
        self.spread = np.sqrt(np.diagonal(covariance))
        self.constraints: dict[PartConstraint, float] = {}
        self.moved: Floats = np.zeros((0, len(fitted)))
        self.matrix: Floats = np.zeros((0, 0))
        self.linear: Floats = np.zeros(0)
        self.x: Floats = np.zeros(0)
        self.free: Flags = np.zeros(0, dtype=np.bool_)

    def violated(self, candidates: list[PartConstraint], values: Floats) -> list[PartConstraint]:
        """Those that are violated by more than a hair. One in play cannot be, or floats have failed."""
        fresh = []
        for constraint in candidates:
            if constraint.slack(values) * self._scale(constraint) < -VIOLATED:
                if constraint in self.constraints:
                    raise Refused("the answers could not be made non-negative: the solution lost numerical precision")
                fresh.append(constraint)
        return fresh

    def _scale(self, constraint: PartConstraint) -> float:
        """One over the slack's standard error; 0 if it has none, being an identity (all the parts of a whole)."""
        if constraint in self.constraints:
            return self.constraints[constraint]
        variance = float(self._across(self._move(constraint), constraint))
        members = [constraint.whole, *constraint.parts]
        return variance**-0.5 if variance > NO_VARIANCE * self.covariance[members, members].sum() else 0.0

    def _move(self, constraint: PartConstraint) -> Floats:
        """How the numbers move when this constraint pushes."""
        return np.asarray(self.covariance[constraint.whole] - self.covariance[list(constraint.parts)].sum(axis=0))

    def _across(self, moved: Floats, constraint: PartConstraint) -> Floats:
        """How much a constraint gains from moves."""
        return np.asarray(moved[..., constraint.whole] - moved[..., list(constraint.parts)].sum(axis=-1))

    def add(self, violations: list[PartConstraint]) -> None:
        """Put these in play, but for those that are the same as another up to identities."""
        fresh = self._different(violations)
        scale = [self._scale(constraint) for constraint in fresh]
        moved = np.array([self._move(constraint) for constraint in fresh]) * np.array(scale)[:, None]
        self.moved = np.concatenate((self.moved, moved))
        self.constraints |= dict(zip(fresh, scale, strict=True))
        across = np.array([self._across(self.moved, constraint) for constraint in fresh]) * np.array(scale)[:, None]
        old = len(self.matrix)
        self.matrix = np.block([[self.matrix, across[:, :old].T], [across]]) if old else across
        slack = [constraint.slack(self.fitted) * size for constraint, size in zip(fresh, scale, strict=True)]
        self.linear = np.concatenate((self.linear, slack))
        self.free = np.concatenate((self.free, np.ones(len(fresh), dtype=np.bool_)))

    def _different(self, violations: list[PartConstraint]) -> list[PartConstraint]:
        pushes: dict[bytes, PartConstraint] = {}
        for constraint in violations:
            move = self._move(constraint) * self._scale(constraint)
            pushes.setdefault((np.round(move / self.spread, 6) + 0.0).tobytes(), constraint)
        return list(pushes.values())

    def solve(self) -> Floats:
        """The nearest numbers under the constraints in play."""
        self.x, self.free = solve_complementarity(self.matrix, self.linear, self.free)
        return np.asarray(self.fitted + self.x @ self.moved)

    def bound(self) -> float:
        """The Lagrangian's least value with these multipliers: a lower bound for any that are not negative."""
        return float(-2.0 * self.x @ self.linear - self.x @ self.matrix @ self.x)

    def binding(self) -> int:
        return int((self.x > 0.0).sum())


def _covariance(fit: LeastSquaresFit) -> Floats:
    """Of all regions of the fit."""
    covariance = np.zeros((len(fit.values), len(fit.values)))
    for linked in fit.linked:
        spread = linked.spread()
        covariance[np.ix_(linked.members, linked.members)] = spread @ spread.T
    return covariance
