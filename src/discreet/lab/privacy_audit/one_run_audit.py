"""One run is enough: a whole release over a table with canaries, each of them in it or not by a fair coin.

After Steinke, Nasr and Jagielski (2023). Whoever reads the release guesses, for some of the canaries, whether each is
in the table. Under the guarantee those guesses can hardly be right more often than coins of bias
e^epsilon / (1 + e^epsilon) fall on heads, though there was one run only and the canaries share it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.lab.evidence import binomial_upper_tail
from discreet.lab.privacy_audit import binomial

#: The largest epsilon that is looked for: more than that is no protection.
MOST = 60.0


def guess_canaries(scores: NDArray[np.float64], many: int) -> NDArray[np.int8]:
    """1 (in), -1 (out) or 0 (no guess) for each canary: the `many` // 2 with the highest and the lowest scores.

    Equal scores are told apart by their place, in which the coins have no say.
    """
    order, half = np.argsort(scores, kind="stable"), many // 2
    signs = np.zeros(len(scores), dtype=np.int8)
    signs[order[:half]] = -1
    signs[order[len(order) - half :]] = 1
    return signs


def p_value(right: int, guessed: int, *, canaries: int, epsilon: float, delta: float = 0.0) -> float:
    """The chance, at most, of so many right guesses (or more) if the release is (epsilon, delta)-private.

    Guarantee: under (epsilon, delta), for adding or removing one canary, P(result <= x) <= x for every x.
    Because: the main theorem of the paper (as computed in its appendix D). Given the guesses, each is right
        with the chance q = e^epsilon / (1 + e^epsilon) at most, whatever the other canaries are; so without a delta
        their number is below Binomial(guessed, q). A delta adds at most 2 * canaries * delta times the largest
        average of that law's masses right below `right`. The number of guesses is fixed beforehand.
    """
    bias = 1 / (1 + math.exp(-epsilon))
    tail = binomial_upper_tail(right, guessed, bias) if right > 0 else 1.0
    if delta == 0 or tail >= 1:
        return tail
    masses = _masses(guessed, bias)[:right][::-1]  # of right - 1, right - 2, ...
    steepest = float((np.cumsum(masses) / np.arange(1, right + 1)).max()) if right else 0.0
    return min(1.0, tail + 2 * canaries * delta * steepest)


def lower_bound(right: int, guessed: int, *, canaries: int, delta: float = 0.0, confidence: float = 0.95) -> float:
    """With this confidence the release is not (epsilon, delta)-private for any smaller epsilon than this."""
    doubt = math.log(1 - confidence)

    def excess(epsilon: float) -> float:
        chance = p_value(right, guessed, canaries=canaries, epsilon=epsilon, delta=delta)
        return (math.log(chance) if chance > 0 else -1e9) - doubt

    return binomial.find_crossing(excess, 0.0, MOST)


def _masses(n: int, chance: float) -> NDArray[np.float64]:
    """P(Binomial(n, chance) = k) for k = 0 .. n."""
    k = np.arange(n + 1)
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    masses: NDArray[np.float64] = np.exp(
        factorials[n] - factorials - factorials[::-1] + k * math.log(chance) + (n - k) * math.log1p(-chance)
    )
    return masses
