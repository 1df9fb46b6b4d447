"""Every question by itself: how much of the budget each gets, where those of different cells do not compete."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Rounds of the search, and entries that it looks at in all of them.
_ROUNDS, _MOST_WORK = 80, 1e8


def question_weights(rows: NDArray[np.bool_], costs: Floats, *, gaussian: bool) -> Floats:
    """Weights u for questions, of which no cell is counted for more than 1: the sum of costs / u^2 is small.

    In total for Laplace noise, in squares for Gaussian noise. Each question is read off its own row.

    Because: at the best weights there are prices of cells, not negative and 0 where a cell is not full, and u^3 (or
        u^4) is the cost over the price of the question's cells. Prices rise where a cell is overfull, and fall where
        it is not.

    >>> overlapping = np.array([[True, True, False], [False, True, True], [False, False, True]])
    >>> question_weights(overlapping, np.ones(3), gaussian=False).round(2).tolist()
    [0.56, 0.44, 0.56]
    """
    table = rows.astype(np.float32)
    power = 2 if gaussian else 1
    prices = np.ones(rows.shape[1])
    best, weights = np.inf, np.ones(len(rows))
    for _ in range(max(3, min(_ROUNDS, int(_MOST_WORK / rows.size)))):
        tried = (costs / np.maximum(table @ prices, 1e-300)) ** (1 / (2 + power))
        loads = tried**power @ table
        tried /= float(loads.max()) ** (1 / power)
        value = float((costs / tried**2).sum())
        if value < best:
            best, weights = value, tried
        prices = np.maximum(prices * loads / float(loads.max()), 1e-12 * prices.max())
        prices /= prices.sum()
    return weights
