"""Magnitudes: floor(s * (-ln U) + c), exactly, in float64 with a proved margin.

For a uniform real U, P(floor(-s ln U) >= k) = P(U <= exp(-k/s)) = exp(-k/s): a geometric law.
With c = s ln(2 / (1 + exp(-1/s))), which is above 0 and below 1, it is

    P(floor(-s ln U + c) >= k) = 2 exp(-k/s) / (1 + exp(-1/s))        for k >= 1,

the law of |X| for X two-sided geometric ("folded"). So one word gives one draw: nothing is
rejected, and a fair sign makes it discrete Laplace, with zero counted once.

How a word is used: bit 0 is left to the caller (a sign), bit 1 is spare, and the upper 62 bits
are the first bits of U. docs/proofs/sampling.md has the proof of the margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import enclosure
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.uniform import UniformReal

#: The float64 value of s * (-ln U) + c is within half of (s + 1) * LOG_MARGIN of every value that
#: the unread bits of U allow, provided that numpy's log has a relative error of at most 2^-48
#: (16 units in the last place; tests/noise/test_margin.py measures it).
LOG_MARGIN = 2.0**-41
#: Below this the unread bits of U could matter more than the margin allows: always looked at again.
_SMALL = np.int64(1 << 46)
#: The largest scale for which doubtful lanes stay rare (23 in a million).
MOST_SCALE = 1 << 24

_PREFIX_BITS = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometric:
    """Whole numbers K >= 0 with P(K >= k) = exp(-k/scale), or its folded form (see above)."""

    scale: Fraction
    folded: bool

    def __post_init__(self) -> None:
        if not 0 < self.scale <= MOST_SCALE:
            raise ValueError(f"a geometric scale must be above 0 and at most 2^24, got {self.scale}")

    def magnitudes(self, words: NDArray[np.uint64], *, bits: Bits) -> NDArray[np.float64]:
        """One draw for each word, as float64 (all are whole and below 2^53)."""
        slope, intercept = _line(self.scale, self.folded)
        margin = (1.0 + slope) * LOG_MARGIN
        # Odd, so that it is the middle of the reals that begin with these bits, and never zero.
        odd = ((words >> np.uint64(1)) | np.uint64(1)).view(np.int64)
        value = odd.astype(np.float64)
        np.log(value, out=value)
        np.multiply(value, -slope, out=value)
        np.add(value, intercept + margin, out=value)
        floors = np.floor(value)
        np.subtract(value, floors, out=value)  # exact: both lie within a factor of two, or found is 0
        if floors.size and (value.min() < 2 * margin or odd.min() < _SMALL):
            for lane in np.flatnonzero((value < 2 * margin) | (odd < _SMALL)).tolist():
                floors[lane] = self.resolve(int(words[lane]), bits=bits)
        return floors

    def resolve(self, word: int, *, bits: Bits) -> int:
        """The draw that `word` begins, in exact arithmetic, with as many further bits as it takes."""
        uniform = UniformReal(prefix=word >> 2, length=_PREFIX_BITS)
        while (magnitude := self._floor(uniform)) is None:
            uniform = uniform.refined(bits)
        return magnitude

    def _floor(self, uniform: UniformReal) -> int | None:
        """floor(-s ln U + c) if it is the same for all U that begin so, else None."""
        logarithm = uniform.minus_ln()
        if logarithm is None:
            return None
        offset = _offset(self.scale, self.folded, enclosure.digits_for(uniform.length))
        low, high = (math.floor(self.scale * (part + shift)) for part, shift in zip(logarithm, offset, strict=True))
        return low if low == high else None


@lru_cache(maxsize=256)
def _offset(scale: Fraction, folded: bool, digits: int) -> enclosure.Interval:
    """c / s = ln(2 / (1 + exp(-1/s))), or 0."""
    if not folded:
        return Fraction(0), Fraction(0)
    low, high = enclosure.exp_minus(1 / scale, digits=digits)
    return enclosure.ln((2 / (1 + high), 2 / (1 + low)), digits=digits)


@lru_cache(maxsize=256)
def _line(scale: Fraction, folded: bool) -> tuple[float, float]:
    """s and s * ln(2^63) + c in float64: the value is the second minus s * ln(odd)."""
    whole = 63 * enclosure.ln_of_two(50)[0] + _offset(scale, folded, 50)[0]
    return float(scale), float(scale * whole)
