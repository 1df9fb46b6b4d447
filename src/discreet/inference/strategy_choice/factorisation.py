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

from discreet.inference.strategy_choice.sum_workload import SumWorkload
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
    if isinstance(workload, GivenRanges | SumWorkload):
        ridge = _RIDGE * float(gram.diagonal().mean())
        gram[np.diag_indices(cells)] += ridge
    step = _step(gram, np.ones(cells))
    lower = step.lower_bound(ridge)
    while steps > 1 and step.unevenness() > _EVEN:
        step, steps = _step(gram, np.sqrt(step.diagonal)), steps - 1
        lower = max(lower, step.lower_bound(ridge))
    matrix, total = step.strategy(workload)
    return Factorisation(matrix=matrix, variance=total / workload.queries, lower_bound=lower / workload.queries)


def low_rank_factorisation(workload: SumWorkload, *, seconds: float) -> Floats | None:
    """A strategy as combinations of the queries: a matrix B with as many rows as the queries have dimensions, such that
    the longest column of B W has length 1. For few queries over many cells.

    Because: of V W D = P S U', V the roots of the weights, the root of its square is U S U'; the rows
        S^(1/2) U' D^-1 = S^(-1/2) P' V W are its factor, and the queries follow from them.
    """
    queries, cells = workload.queries, workload.cells
    steps = min(12, int(seconds / (4e-10 * queries**2 * cells + 3e-9 * queries**3)))
    if queries * cells > _MOST_ENTRIES or steps < 1:
        return None
    weighed = workload.weighed
    scale = np.ones(cells)
    best: tuple[float, Floats] | None = None
    for _ in range(steps):
        scaled = weighed * scale
        values, left = np.linalg.eigh(scaled @ scaled.T)
        kept = values > _RANK * values[-1]
        roots = np.sqrt(values[kept])
        across = (left[:, kept].T @ scaled) / roots[:, None]
        diagonal = np.einsum("ij,ij,i->j", across, across, roots)
        lengths = diagonal / scale**2
        error = float(lengths.max()) * float(roots.sum())
        if best is None or error < best[0]:
            rows = left[:, kept].T * np.sqrt(workload.weights) / np.sqrt(roots)[:, None]
            best = error, rows / math.sqrt(float(lengths.max()))
        # A cell that no query tells from nothing keeps a little, so that it stays a number.
        scale = np.sqrt(np.maximum(diagonal, 1e-12 * diagonal.max()))
        scale /= np.linalg.norm(scale)
    return best[1] if best else None


#: Entries of a matrix that is kept beside a release, and values of W W' that are more than rounding.
_MOST_ENTRIES, _RANK = 2**21, 1e-11


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
