"""Price: what a question costs and how wrong its answer may be. Free, and the same on an empty table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet import exact
from discreet.accounting.events import Event
from discreet.accounting.sensitivity import Sensitivity
from discreet.errors import UsageError
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.cells import Cells
from discreet.plan.stability import sensitivity
from discreet.schema.unit import PrivacyUnit

#: `--within` searches epsilon on this grid: fine enough for anybody, coarse enough to read.
WITHIN_GRID = 10**6


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A question, its sensitivity, the noise it gets and the event that this will be.

    `epsilon` is what was asked: on Laplace it is the pure loss, on a Gaussian only the price rho = epsilon^2 / 2.
    """

    cells: Cells
    epsilon: Fraction
    sensitivity: Sensitivity
    mechanism: DiscreteLaplace | DiscreteGaussian

    @property
    def event(self) -> Event:
        if isinstance(self.mechanism, DiscreteLaplace):
            return self.mechanism.event(l1=self.sensitivity.l1)
        return self.mechanism.event(l2_squared=self.sensitivity.l2_squared)


def price(cells: Cells, unit: PrivacyUnit, *, epsilon: Fraction, gaussian: bool = False) -> Price:
    """Price a question at `epsilon`.

    Guarantee: the event's loss is epsilon (Laplace: scale = l1 / epsilon), or rho = epsilon^2 / 2
        (Gaussian: sigma^2 = l2^2 / epsilon^2).
    """
    moves = sensitivity(cells, unit)
    return Price(
        cells=cells,
        epsilon=epsilon,
        sensitivity=moves,
        mechanism=mechanism(moves, epsilon=epsilon, gaussian=gaussian),
    )


def mechanism(moves: Sensitivity, *, epsilon: Fraction, gaussian: bool) -> DiscreteLaplace | DiscreteGaussian:
    """The noise that this epsilon buys for cells that move so far."""
    exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
    if gaussian:
        return DiscreteGaussian(sigma2=moves.l2_squared / epsilon**2)
    return DiscreteLaplace(scale=moves.l1 / epsilon)


def epsilon_within(moves: Sensitivity, *, width: Fraction, confidence: Fraction, gaussian: bool = False) -> Fraction:
    """The cheapest epsilon, on a grid of 1e-6, at which each cell is within `width` with this confidence.

    Because the tail at a fixed width falls as epsilon grows, bisection finds it.
    """
    if width <= 0:
        raise UsageError(f"--within must be above 0, got {exact.show(width)}")
    reach = math.floor(width)

    def good(steps: int) -> bool:
        noise = mechanism(moves, epsilon=Fraction(steps, WITHIN_GRID), gaussian=gaussian)
        return noise.tail(reach) <= 1 - confidence

    low, high = 1, int(exact.MAX_QUESTION_EPSILON) * WITHIN_GRID
    if not good(high):
        raise UsageError(f"no epsilon up to {exact.show(exact.MAX_QUESTION_EPSILON)} is within {exact.show(width)}")
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle + 1, high)
    return Fraction(low, WITHIN_GRID)


def confidence_of(value: object) -> Fraction:
    """A confidence strictly between 0 and 1."""
    found = exact.number(value, name="confidence")
    if not 0 < found < 1:
        raise UsageError(f"confidence must lie between 0 and 1, got {exact.show(found)}", hint="--confidence 0.95")
    return found
