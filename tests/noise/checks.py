"""The checks that true samplers pass and broken ones fail. Each returns the faults that it finds.

The laws are written down here once more, in plain float64, apart from the code under test.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import chdtrc, erfc

#: A check that passes a true sampler fails it with a chance below this (and the tests' bits are fixed).
LEAST_P = 1e-8
N = 100_000
CELLS = 64


def laplace_beyond(scale, k):
    """P(X >= k) for discrete Laplace, k a float array of whole numbers."""
    k, r = np.asarray(k, dtype=float), math.exp(-1 / scale)
    return np.where(k > 0, np.exp(-np.abs(k) / scale) / (1 + r), 1 - np.exp(-(1 - np.minimum(k, 0)) / scale) / (1 + r))


def gaussian_beyond(sigma, k):
    """P(X >= k) for the discrete Gaussian: summed, or as an integral where that agrees to 1e-7."""
    k = np.asarray(k, dtype=float)
    if sigma > 300:
        return erfc((k - 0.5) / (sigma * math.sqrt(2))) / 2
    reach = math.ceil(40 * sigma) + 2
    support = np.arange(-reach, reach + 1)
    mass = np.exp(-(support**2) / (2 * sigma**2))
    above = np.append(np.cumsum(mass[::-1])[::-1] / mass.sum(), 0.0)
    return above[np.clip(k.astype(int) + reach, 0, above.size - 1)]


def _edges(beyond, reach):
    """Whole numbers that cut the line into cells, each of probability at least about 1 / CELLS."""
    edges = []
    low, above = -reach, 1.0
    while True:
        target = above - 1 / CELLS
        if target < 1 / CELLS:
            return np.array(edges, dtype=float)
        high = reach
        while low < high:  # the least k with P(X >= k) <= target
            middle = (low + high) // 2
            if float(beyond(middle)) <= target:
                high = middle
            else:
                low = middle + 1
        edges.append(low)
        above = float(beyond(low))


def p_value(sample, beyond, reach):
    """Pearson's chi-square of a sample against a law, in cells of about equal probability."""
    edges = _edges(beyond, reach)
    chances = -np.diff(np.concatenate(([1.0], beyond(edges), [0.0])))
    counts = np.bincount(np.searchsorted(edges, sample, side="right"), minlength=chances.size)
    expected = chances * sample.size
    return float(chdtrc(chances.size - 1, ((counts - expected) ** 2 / expected).sum()))


def laplace_p(sample, scale):
    return p_value(sample, lambda k: laplace_beyond(scale, k), math.ceil(45 * scale) + 2)


def gaussian_p(sample, sigma):
    return p_value(sample, lambda k: gaussian_beyond(sigma, k), math.ceil(12 * sigma) + 2)


def far_tail(sample, beyond, scale):
    """Draws far out: as many as there should be, by a normal bound on the square root of a count."""
    for q in (5, 7, 8):
        k = math.ceil(q * scale)
        chance = 2 * float(beyond(k))
        if chance * sample.size < 15:
            continue
        found = int((np.abs(sample) >= k).sum())
        if abs(math.sqrt(found) - math.sqrt(chance * sample.size)) > 3.5:
            return [f"tail beyond {q} scales: {found} and not {chance * sample.size:.0f}"]
    return []


def independence(first, second):
    """Two draws of the same size, one after the other: neither may tell about itself or the other."""
    faults = []
    for name, left, right in (
        ("lag 1", first[:-1], first[1:]),
        ("lag 2", first[:-2], first[2:]),
        ("half", first[: first.size // 2], first[first.size // 2 :]),
        ("calls", first, second),
    ):
        left, right = np.sign(left - np.median(first)), np.sign(right - np.median(first))
        if abs(np.mean(left * right) - np.mean(left) * np.mean(right)) * math.sqrt(left.size) > 6.5:
            faults.append(f"dependent: {name}")
    return faults


def porous(sample, scale):
    """At a large scale nearly all draws differ; a generator of few bits repeats itself."""
    repeats = sample.size - np.unique(sample).size
    expected = sample.size**2 / 2 / (4 * scale) if scale >= 10**5 else math.inf
    return [f"porous: {repeats} repeats"] if repeats > expected + 6.5 * math.sqrt(expected) else []


FEATURES = {
    "value": lambda y: y,
    "low bits": lambda y: np.asarray(y % 256),
    "granularity": lambda y: np.frexp(y.astype(float))[1] - _trailing(y.astype(float)),
    "lowest bit": lambda y: _trailing(y.astype(float)),
}


def _trailing(y):
    """The exponent of the lowest set bit of each float."""
    mantissa, exponent = np.frexp(y)
    whole = np.ldexp(np.abs(mantissa), 53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(float))[1]
    return np.where(whole == 0, -2000, exponent + lowest)


def distinguisher(left, right, epsilon):
    """Guess from an output which of two neighbours it came from; epsilon bounds how often that succeeds.

    For each feature of an output the better guess is learned on one half of the draws and tried on
    the other. No guess is right more often than e^epsilon / (1 + e^epsilon).
    """
    faults = []
    most = 1 / (1 + math.exp(-epsilon))
    half = left.size // 2
    for name, feature in FEATURES.items():
        labels = np.unique(np.concatenate([feature(left), feature(right)]), return_inverse=True)[1]
        a, b = labels[: left.size], labels[left.size :]
        seen_a, seen_b = (np.bincount(part[:half], minlength=labels.max() + 1) for part in (a, b))
        says_a = seen_a > seen_b
        right_guesses = says_a[a[half:]].mean() / 2 + (~says_a[b[half:]]).mean() / 2
        if right_guesses > most + 6.5 * math.sqrt(0.25 / (2 * half)):
            faults.append(f"{name} tells neighbours apart: {right_guesses:.3f} where at most {most:.3f} is allowed")
    return faults
