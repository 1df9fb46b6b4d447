"""L-BFGS: the least value of a smooth convex function, from its gradient alone.

The inverse Hessian is kept as the last few steps and changes of gradient (Nocedal 1980) in the compact form of Byrd,
Nocedal and Schnabel (1994): two products of a matrix and a vector for each half, where the usual two loops take a
hundred and sixty small ones. The caller's diagonal scaling makes the variables alike first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Function = Callable[[Vector], tuple[float, Vector]]

#: A step must bring this share of the decrease that the slope promises, and leave at most that share of the slope.
DECREASE, SLOPE = 1e-4, 0.9

#: Values closer than this, as a share of their size, are not told apart: they differ by rounding.
ROUNDING = 1e-13

#: A line search that has looked this often has met rounding, not the function.
MOST_LOOKS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum:
    """The best point found: the one of smallest residual, not the last. `evaluations` counts calls of the function."""

    point: Vector
    residual: float
    evaluations: int


def minimise(
    function: Function,
    start: Vector,
    *,
    scaling: Vector,
    residual: Callable[[Vector], float],
    tolerance: float,
    evaluations: int,
    memory: int = 40,
) -> Minimum:
    """Follow the function down until `residual(gradient)` is at most `tolerance`, or the evaluations are used up.

    `scaling` is about the inverse of the Hessian's diagonal. At least one evaluation is made.
    """
    search = _QuasiNewtonSearch(function, residual, np.sqrt(scaling), evaluations)
    here = search.evaluate(start, np.zeros_like(start), 0.0)
    curvature, learned = _Curvature(memory, len(start)), False
    while search.best.residual > tolerance and search.left > 0:
        direction = -curvature.times(here.gradient, learned)
        slope = inner_product(here.gradient, direction)
        if not slope < 0:
            break
        there = search.line_search(here, direction, slope)
        if there is None:
            break
        learned = curvature.learn((there.point - here.point) / search.root, there.gradient - here.gradient)
        here = there
    return Minimum(
        point=search.best.point, residual=search.best.residual, evaluations=evaluations - max(search.left, 0)
    )


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """What was seen at one point: the gradient is that of the scaled variables."""

    point: Vector
    value: float
    gradient: Vector
    residual: float


class _QuasiNewtonSearch:
    """Looks at points, remembers the best, and counts."""

    def __init__(self, function: Function, residual: Callable[[Vector], float], root: Vector, looks: int) -> None:
        self._function, self._residual, self.root, self.left = function, residual, root, looks
        self.best = _Evaluation(root, math.inf, root, math.inf)

    def evaluate(self, origin: Vector, direction: Vector, step: float) -> _Evaluation:
        point = origin + step * direction
        value, gradient = self._function(point)
        evaluation = _Evaluation(point, value, gradient * self.root, self._residual(gradient))
        self.left -= 1
        if evaluation.residual < self.best.residual or self.best.point is self.root:
            self.best = evaluation
        return evaluation

    def line_search(self, here: _Evaluation, direction: Vector, slope: float) -> _Evaluation | None:
        """A point along the direction that satisfies Wolfe's two conditions, by bisection with interpolation.

        None where none was found: rounding, or the evaluations are used up.
        """
        path = direction * self.root
        low, high, step = 0.0, math.inf, 1.0
        at_low, slope_low = here.value, slope
        slack = ROUNDING * abs(here.value)
        for _ in range(min(MOST_LOOKS, self.left)):
            there = self.evaluate(here.point, path, step)
            after = inner_product(there.gradient, direction)
            if not there.value <= here.value + DECREASE * step * slope + slack or math.isnan(after):
                high = step
                step = _between(low, high, at_low, slope_low, there.value)
            elif after < SLOPE * slope:
                low, at_low, slope_low = step, there.value, after
                step = 2 * step if math.isinf(high) else (low + high) / 2
            else:
                return there
        return None


def _between(low: float, high: float, at_low: float, slope_low: float, at_high: float) -> float:
    """Where the parabola through both ends is least, kept away from the ends."""
    width = high - low
    bend = at_high - at_low - slope_low * width
    share = -slope_low * width / (2 * bend) if 0 < bend < math.inf else 0.5
    return low + width * min(max(share, 0.1), 0.5)


class _Curvature:
    """The last steps and changes of gradient, oldest overwritten first, and their products.

    Products are einsum's, not BLAS's: those of this size are split over threads that wait for each other, which on a
    shared machine costs ten times the work itself.
    """

    def __init__(self, memory: int, size: int) -> None:
        self._steps, self._changes = np.zeros((memory, size)), np.zeros((memory, size))
        self._across, self._among = np.zeros((memory, memory)), np.zeros((memory, memory))
        self._along_last, self._over_last = np.zeros(memory), np.zeros(memory)
        self._order: list[int] = []

    def learn(self, step: Vector, change: Vector) -> bool:
        """Remember a step and how the gradient changed along it, unless rounding hides that it curves upwards."""
        product, size = inner_product(step, change), inner_product(change, change)
        if not product > ROUNDING * math.sqrt(size * inner_product(step, step)):
            return False
        place = len(self._order) if len(self._order) < len(self._steps) else self._order.pop(0)
        self._order.append(place)
        self._steps[place], self._changes[place] = step, change
        self._across[place, place], self._among[place, place] = product, size
        return True

    def times(self, gradient: Vector, learned: bool) -> Vector:
        """The inverse Hessian, as far as it is known, times the gradient."""
        if not self._order:
            return gradient.copy()
        remembered, newest = len(self._order), self._order[-1]
        along = np.einsum("ij,j->i", self._steps[:remembered], gradient)
        over = np.einsum("ij,j->i", self._changes[:remembered], gradient)
        if learned:
            self._fill(along, over)
        self._along_last[:remembered], self._over_last[:remembered] = along, over
        scale = self._across[newest, newest] / self._among[newest, newest]
        outer, inner = self._weights(along, over, scale)
        direction: Vector = scale * gradient
        direction += np.einsum("i,ij->j", outer, self._steps[:remembered])
        direction -= np.einsum("i,ij->j", scale * inner, self._changes[:remembered])
        return direction

    def _fill(self, along: Vector, over: Vector) -> None:
        """The products with the newest change: it is the gradient less the last one, whose products are known."""
        *older, newest = self._order
        self._across[older, newest] = along[older] - self._along_last[older]
        among = over[older] - self._over_last[older]
        self._among[older, newest] = self._among[newest, older] = among

    def _weights(self, along: Vector, over: Vector, scale: float) -> tuple[Vector, Vector]:
        """How much of each step and of each change the product holds (Byrd, Nocedal and Schnabel, theorem 2.2)."""
        order = np.array(self._order)
        grid = order[:, None], order
        upper, among = np.where(_upper(len(order)), self._across[grid], 0.0), self._among[grid]
        inner = np.linalg.solve(upper, along[order])
        rest = upper.diagonal() * inner + scale * (np.einsum("ij,j->i", among, inner) - over[order])
        placed = np.empty((2, len(inner)))
        placed[:, order] = np.linalg.solve(upper.T, rest), inner
        return placed[0], placed[1]


@cache
def _upper(size: int) -> NDArray[np.bool_]:
    """The places on and above the diagonal of a square."""
    return np.triu(np.ones((size, size), dtype=np.bool_))


def inner_product(left: Vector, right: Vector) -> float:
    """The inner product, on this thread."""
    return float(np.einsum("i,i->", left, right))
