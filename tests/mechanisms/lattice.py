"""Exact laws of small weighted sums: where weights are multiples of one step, they are convolutions on a lattice."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from discreet.mechanisms.laplace import DiscreteLaplace

#: Weights are multiples of one over this.
LATTICE = 12


def masses(law):
    """P(X = k) for k from -reach to reach, beyond which lies less than 1e-17."""
    spread = float(law.scale) if isinstance(law, DiscreteLaplace) else math.sqrt(law.sigma2)
    reach = math.ceil((42 if isinstance(law, DiscreteLaplace) else 9) * spread) + 2
    places = np.arange(-reach, reach + 1)
    if isinstance(law, DiscreteLaplace):
        found = np.exp(-np.abs(places) / float(law.scale))
    else:
        found = np.exp(-(places**2) / (2 * float(law.sigma2)))
    return found / found.sum()


def tails(terms):
    return _tails(tuple(terms))


@lru_cache(maxsize=8)
def _tails(terms):
    """P(|sum| > k / LATTICE) for k = 0, 1, 2 ..., by convolution. Terms: units of the lattice, a law, draws."""
    law = np.ones(1)
    for units, noise, times in terms:
        own = masses(noise)
        spaced = np.zeros((len(own) - 1) * abs(units) + 1)
        spaced[:: abs(units)] = own
        for _ in range(times):
            law = np.convolve(law, spaced)
    middle = len(law) // 2
    return np.append(np.cumsum(law[middle + 1 :][::-1])[::-1] * 2, 0.0)


def weighed(terms):
    return [(units / LATTICE, law, times) for units, law, times in terms]
