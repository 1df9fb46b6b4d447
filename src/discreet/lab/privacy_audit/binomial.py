"""Tails of binomial counts, and what they say about the chance behind a count. Exact: no normal approximation."""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.lab.evidence import binomial_upper_tail


def binomial_lower_tail(successes: int, n: int, chance: float) -> float:
    """P(Binomial(n, chance) <= successes), small ones to full relative precision."""
    return 1.0 if successes >= n else binomial_upper_tail(n - successes, n, 1 - chance)


def lower_confidence_limit(successes: int, n: int, doubt: float) -> float:
    """The chance is at least this, but for a share `doubt` of all counts (Clopper and Pearson, one side)."""
    if successes == 0:
        return 0.0
    return find_crossing(
        lambda chance: _ln(binomial_upper_tail(successes, n, chance)) - math.log(doubt), 0.0, successes / n
    )


def upper_confidence_limit(successes: int, n: int, doubt: float) -> float:
    """The chance is at most this, but for a share `doubt` of all counts."""
    return 1 - lower_confidence_limit(n - successes, n, doubt)


def find_crossing(rises: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function crosses zero between low and high: false position, with bisection where that is slow."""
    below, above = rises(low), rises(high)
    if below >= 0 or above <= 0:
        return low if below >= 0 else high
    for turn in range(200):
        share = below / (below - above) if math.isfinite(below) and turn % 3 else 0.5
        middle = low + (high - low) * min(max(share, 0.01), 0.99)
        if high - low <= 1e-12 * max(high, 1e-300) or not low < middle < high:
            break
        value = rises(middle)
        if value < 0:
            low, below = middle, value
        else:
            high, above = middle, value
    return low


def _ln(chance: float) -> float:
    return math.log(chance) if chance > 0 else -math.inf
