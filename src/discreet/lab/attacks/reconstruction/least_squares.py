"""Least squares within the box: the people's bits from subset counts, by projected gradients.

The normal equations are never formed and never solved outright: every step multiplies by the queries and by their
transpose. Queries of 0 and 1 share a large mean; taking it out leaves a matrix whose singular values lie close
together, so that a few dozen steps do. Within the box [0, 1] fewer queries suffice than least squares alone needs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

#: Steps at most, and the change of the largest estimate below which it stands still.
STEPS, TOLERANCE = 400, 2e-3
#: Rounds of flipping bits at most.
FLIP_ROUNDS = 8


def estimate(queries: Floats, answers: NDArray[np.float64], *, steps: int = STEPS) -> NDArray[np.float64]:
    """Values in [0, 1] that fit the answers best; `queries` has a row of zeros and ones for each answer.

    Accelerated projected gradients (Nesterov), starting over when the objective rises: O'Donoghue and Candes.
    """
    people = queries.shape[1]
    usual = queries.mean(axis=0)
    # The bits are sought around 1/2; the mean of answers is fitted freely, so that the shared mean has no say.
    centred_answers = (answers - answers.mean() - (queries.sum(axis=1) - usual.sum()) / 2).astype(np.float32)
    step = 1 / _steepness(queries)
    here = ahead = np.zeros(people, dtype=np.float32)
    momentum, worst = 1.0, np.inf
    for _ in range(steps):
        residual = _apply(queries, ahead) - centred_answers
        error = float(residual @ residual)
        there = np.clip(ahead - step * _apply_transpose(queries, residual), -0.5, 0.5)
        if error > worst:
            momentum, ahead, worst = 1.0, here, np.inf  # overshot: start over from the last good place
            continue
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = there + np.float32((momentum - 1) / grown) * (there - here)
        moved = float(np.abs(there - here).max())
        here, momentum, worst = there, grown, error
        if moved < TOLERANCE:
            break
    return here.astype(np.float64) + 0.5


def _apply(queries: Floats, values: Floats) -> Floats:
    """The centred queries times values: a column's mean out of the matrix is the mean out of the product."""
    product: Floats = queries @ values
    product -= product.mean()
    return product


def _apply_transpose(queries: Floats, residual: Floats) -> Floats:
    """The transpose of the centred queries times a residual."""
    product: Floats = (residual - residual.mean()) @ queries
    return product


def _steepness(queries: Floats) -> np.float32:
    """A little more than the largest squared singular value of the centred queries, by power iteration."""
    start = np.random.default_rng(0)  # of a search, and no secret
    way: Floats = start.standard_normal((queries.shape[1],), dtype=np.float32)
    size = np.float32(1)
    for _ in range(12):
        way = _apply_transpose(queries, _apply(queries, way / np.linalg.norm(way)))
        size = np.float32(np.linalg.norm(way))
        if not size:
            return np.float32(1)
    return np.float32(1.1) * size


def round_to_bits(queries: Floats, answers: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Bits near the values, then better ones: flip those that bring the counts nearer to the answers.

    The nearest whole table is a better guess than the nearest point, rounded: a bit that is wrong beside right ones
    shows in all answers at once. As many are flipped together as lower the error, then half as many.
    """
    bits = values > 0.5
    norms = queries.shape[0] * np.maximum(queries.mean(axis=0) * (1 - queries.mean(axis=0)), 0)
    residual = _residual(queries, answers, bits)
    most = len(bits)
    for _ in range(FLIP_ROUNDS):
        # Flipping bit i moves the sum of squares by norm_i - 2 direction_i <column_i, residual>.
        gains = 2 * np.where(bits, -1, 1) * _apply_transpose(queries, residual) - norms
        tried = bits.copy()
        best = np.argsort(-gains)[: max(1, min(most, int(np.count_nonzero(gains > 0))))]
        tried[best] ^= True
        error = _residual(queries, answers, tried)
        if error @ error < residual @ residual:
            bits, residual = tried, error
        elif len(best) == 1:
            break
        else:
            most = len(best) // 2
    return bits


def _residual(queries: Floats, answers: NDArray[np.float64], bits: NDArray[np.bool_]) -> Floats:
    left = answers - queries @ bits.astype(np.float32)
    centred: Floats = (left - left.mean()).astype(np.float32)
    return centred
