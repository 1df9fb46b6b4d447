"""Closed forms that the curves are held against: written from the papers, not from the code that they check.

Variances of local protocols are those of Wang, Blocki, Li and Jha (2017) for estimates (support - n q) / (p - q); of
subset selection, Ye and Barg (2018); of means, Duchi, Jordan and Wainwright (2018) and Wang and others (2019).
"""

from __future__ import annotations

import math

import numpy as np


def laplace(epsilon: float, *, sensitivity: float = 1.0) -> float:
    """The standard deviation of discrete Laplace noise on whole numbers: no mechanism for a count has less at the centre.

    >>> round(laplace(1.0), 4)
    1.3571
    """
    below = math.exp(-epsilon / sensitivity)
    return math.sqrt(2 * below) / (1 - below)


def gaussian(epsilon: float, delta: float) -> float:
    """The least standard deviation of Gaussian noise that is (epsilon, delta)-private: Balle and Wang (2018).

    >>> round(gaussian(1.0, 1e-6), 2)
    4.22
    """
    low, high = 1e-3, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _profile(middle, epsilon) > delta else (low, middle)
    return high


def _profile(sigma: float, epsilon: float) -> float:
    """The delta of Gaussian noise of this scale at this epsilon, for a sensitivity of 1."""
    from scipy.special import log_ndtr

    first, second = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    return float(np.exp(log_ndtr(first)) - np.exp(epsilon + log_ndtr(second)))


def all_ranges_of_single_counts(cells: int, deviation: float) -> float:
    """The root mean square error over all ranges where each cell is counted by itself: the mean length is (n + 2) / 3."""
    return deviation * math.sqrt((cells + 2) / 3)


def tables_apart(cells: list[int], epsilon: float) -> float:
    """Tables measured each by itself, Laplace noise, epsilon split among them at best: error of a cell."""
    sizes = np.array(cells, dtype=float)
    return math.sqrt(2 * float(np.cbrt(sizes).sum()) ** 3 / float(sizes.sum())) / epsilon


def sampling(shares: np.ndarray, rows: int) -> float:
    """The mean total variation between a table of shares and that of so many rows drawn from it (normal law)."""
    return float(np.sqrt(2 * shares * (1 - shares) / (math.pi * rows)).sum()) / 2


def chances(protocol: str, epsilon: float, choices: int) -> tuple[float, float]:
    """p and q: how likely a report supports the respondent's own choice, and any other one."""
    growth = math.exp(epsilon)
    match protocol:
        case "response":
            return growth / (growth + choices - 1), 1 / (growth + choices - 1)
        case "symmetric-unary":
            half = math.exp(epsilon / 2)
            return half / (half + 1), 1 / (half + 1)
        case "unary":
            return 1 / 2, 1 / (growth + 1)
        case "hashing":
            buckets = max(2, round(growth) + 1)
            return growth / (growth + buckets - 1), 1 / buckets
        case "subset":
            found = [_subset(size, growth, choices) for size in range(1, choices)]
            return min(found, key=lambda pair: pair[1] * (1 - pair[1]) / (pair[0] - pair[1]) ** 2)
    raise ValueError(f"no closed form here for {protocol}")


def _subset(size: int, growth: float, choices: int) -> tuple[float, float]:
    own = size * growth / (size * growth + choices - size)
    return own, (own * (size - 1) + (1 - own) * size) / (choices - 1)


def frequencies(protocol: str, epsilon: float, shares: np.ndarray, people: int) -> float:
    """The root mean square error of estimated shares, over the choices.

    >>> round(frequencies("response", 1.0, np.full(2, 0.5), 10_000), 5)
    0.00959
    """
    own, other = chances(protocol, epsilon, len(shares))
    spread = other * (1 - other) * (1 - shares) + own * (1 - own) * shares
    return math.sqrt(float(spread.mean()) / people) / (own - other)


def mean(protocol: str, epsilon: float, values: np.ndarray) -> float:
    """The root mean square error of the mean of these values, which lie between -1 and 1; one report from each."""
    second = float((values**2).mean())
    match protocol:
        case "duchi":
            spread = ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2 - second
        case "piecewise":
            half = math.exp(epsilon / 2)
            spread = second / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
        case "hybrid":
            share = 0.0 if epsilon <= 0.61 else 1 - math.exp(-epsilon / 2)
            parts = mean("piecewise", epsilon, values) ** 2, mean("duchi", epsilon, values) ** 2
            spread = (share * parts[0] + (1 - share) * parts[1]) * len(values)
        case "laplace":
            spread = 8 / epsilon**2
        case _:
            raise ValueError(f"no closed form here for {protocol}")
    return math.sqrt(spread / len(values))
