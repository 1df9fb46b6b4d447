"""Coins of an exact bias, in vectors: Bernoulli(p) for a p that can be enclosed, and Bernoulli(exp(-x)) for rational x.

Guarantee: a lane is True with probability exactly p, lanes independent.
Because: a lane is True when U < p for a uniform real U (see uniform.py), and a comparison that
    64 bits and float64 leave open is decided with more bits in exact arithmetic.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import enclosure, uniform
from discreet.mechanisms.bits import Bits

#: Where x is larger, exp(-x) is 0 in float64 and 1e-868 in truth: the same to `uniform.below`.
_MOST_EXPONENT = 2000


def bernoulli(chance: enclosure.Computable, size: int, *, bits: Bits) -> NDArray[np.bool_]:
    """`size` coins whose bias is any real number that can be enclosed as closely as is wished."""
    near = np.full(size, float(chance(30)[0]))
    return uniform.below(bits.words(size), near, lambda lane: chance, bits)


def exp_minus(gaps: NDArray[np.int64] | NDArray[np.object_], rate: Fraction, *, bits: Bits) -> NDArray[np.bool_]:
    """One coin for each gap, True with probability exp(-gap * rate). Gaps are whole and >= 0.

    Gaps are int64, or Python's unbounded ints in an object array. Nothing underflows: a gap of
    10^9 is never True by rounding and never False by it.
    """
    if rate < 0 or (gaps.size and gaps.min() < 0):
        raise ValueError("exp(-x) is a probability only for x >= 0")
    chances = np.exp(-_floats(gaps, rate))

    def exact(lane: int) -> enclosure.Computable:
        return partial(_exp_minus, int(gaps[lane]) * rate)

    return uniform.below(bits.words(gaps.size), chances, exact, bits)


def _exp_minus(value: Fraction, digits: int) -> enclosure.Interval:
    return enclosure.exp_minus(value, digits=digits)


def _floats(gaps: NDArray[np.int64] | NDArray[np.object_], rate: Fraction) -> NDArray[np.float64]:
    """gap * rate, with a relative error of at most 4 * 2^-53, or at least 2000 where it is more."""
    if gaps.dtype != np.object_ or rate == 0:
        return np.minimum(gaps.astype(np.float64) * float(rate), _MOST_EXPONENT) if rate else np.zeros(gaps.size)
    most = int(_MOST_EXPONENT / rate) + 1
    return np.array([min(int(gap), most) for gap in gaps.tolist()], dtype=np.float64) * float(rate)
