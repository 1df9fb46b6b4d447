"""The best strategy of all for the mean squared error under Gaussian noise, of few cells.

The smallest of max_i X_ii * tr(G X^-1) over X = A'A, with G = W'W. Its dual is the largest of tr(sqrt(D G D))^2 over
D = diag(d) with sum of d_i^2 = 1: every d is a proved lower bound, and at the best one D X D = sqrt(D G D) has the
diagonal d^2, up to a number. So d is taken from the last diagonal, again and again (Denisov and others 2022).

What makes it fast is to scale every column of A to length 1 at once: one step is then within a thousandth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.strategy_choice.workload import GivenRanges, Workload

Floats = NDArray[np.float64]

#: More cells than this are not planned for.
MOST_CELLS = 2048

#: Directions that no query asks about are told apart by this share of the mean diagonal, or A would be singular.
_RIDGE = 1e-7

#: A step that leaves the columns as even as this is the last.
_EVEN = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Factorisation:
    """A strategy with columns of length 1, its mean variance, and a proved lower bound on that of any such."""

    matrix: Floats
    variance: float
    lower_bound: float


def step_seconds(cells: int) -> float:
    """About how long one step takes, on a slow core. A formula, so that a plan does not depend on the load."""
    return 0.3 * (cells / 1024) ** 3


def factorisation(workload: Workload, *, seconds: float) -> Factorisation | None:
    """The best strategy found with so much work; None where there are too many cells to take one step."""
    cells = workload.cells
    steps = int(seconds / step_seconds(cells)) - 1  # and one for the matrix itself
    if cells > MOST_CELLS or steps < 1:
        return None
    gram, ridge = workload.gram().copy(), 0.0
    if isinstance(workload, GivenRanges):
        ridge = _RIDGE * float(gram.diagonal().mean())
        gram[np.diag_indices(cells)] += ridge
    step = _step(gram, np.ones(cells))
    lower = step.lower_bound(ridge)
    while steps > 1 and step.unevenness() > _EVEN:
        step, steps = _step(gram, np.sqrt(step.diagonal)), steps - 1
        lower = max(lower, step.lower_bound(ridge))
    matrix, total = step.strategy(workload)
    return Factorisation(matrix=matrix, variance=total / workload.queries, lower_bound=lower / workload.queries)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """sqrt(D G D) for one D: its eigenvalues, eigenvectors and diagonal."""

    scale: Floats
    values: Floats
    vectors: Floats
    diagonal: Floats

    def unevenness(self) -> float:
        """How much the lengths of the columns differ before they are scaled: nothing, at the best D."""
        lengths = self.diagonal / self.scale**2
        return float(lengths.max() / lengths.min()) - 1

    def lower_bound(self, ridge: float) -> float:
        """What no strategy of l2 sensitivity 1 goes below, summed over the queries.

        Because: tr sqrt(A + B) <= tr sqrt(A) + tr sqrt(B), so the ridge is taken out again.
        """
        trace = float(self.values.sum()) - math.sqrt(ridge) * float(self.scale.sum())
        return max(trace, 0.0) ** 2 / float((self.scale**2).sum())

    def strategy(self, workload: Workload) -> tuple[Floats, float]:
        """A triangular matrix of columns of length 1, and the sum over the queries of their variances."""
        across = np.sqrt(self.diagonal)
        # D X D = sqrt(D G D), then each column to length 1: divided by the root of its diagonal, D cancels.
        squared = (self.vectors * self.values) @ self.vectors.T / np.outer(across, across)
        inverse = (self.vectors / self.values) @ self.vectors.T * np.outer(across, across)
        return np.linalg.cholesky(squared).T, float(np.einsum("ij,ij->", workload.gram(), inverse))


def _step(gram: Floats, scale: Floats) -> _Step:
    values, vectors = np.linalg.eigh(scale[:, None] * gram * scale)
    # Rounding may make the smallest negative; a strategy needs them all positive.
    values = np.sqrt(np.maximum(values, 1e-14 * values[-1]))
    diagonal = np.einsum("ij,ij,j->i", vectors, vectors, values)
    return _Step(scale=scale, values=values, vectors=vectors, diagonal=diagonal)
