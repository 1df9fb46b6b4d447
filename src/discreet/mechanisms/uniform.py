"""A uniform real number, of which only as many bits are drawn as a decision needs.

A decision about a real U is exact when it holds for every real that begins with the bits drawn so
far. Nearly always 62 or 64 bits and float64 arithmetic with a proved margin decide; a lane inside
the margin is *doubtful* and is decided here, in exact arithmetic, with further bits. The margins
are derived in docs/proofs/sampling.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import enclosure
from discreet.mechanisms.bits import Bits

#: `below` trusts float64 where |chance - U| is more than this. The error is at most 2^-47,
#: provided that numpy's exp has a relative error of at most 2^-48 (16 units in the last place;
#: tests/noise/test_margin.py measures it).
BELOW_MARGIN = 2.0**-46


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformReal:
    """A uniform real in [0, 1) that lies in [prefix, prefix + 1] / 2^length."""

    prefix: int
    length: int

    def refined(self, bits: Bits) -> UniformReal:
        """The same real, known to 64 more bits."""
        return UniformReal(prefix=self.prefix << 64 | int(bits.words(1)[0]), length=self.length + 64)

    def interval(self) -> enclosure.Interval:
        return Fraction(self.prefix, 1 << self.length), Fraction(self.prefix + 1, 1 << self.length)

    def minus_ln(self) -> enclosure.Interval | None:
        """-ln U, or None while U may still be 0."""
        if self.prefix == 0:
            return None
        digits = enclosure.digits_for(self.length)
        two_low, two_high = enclosure.ln_of_two(digits)
        low = max(Fraction(0), self.length * two_low - enclosure.ln_of_whole(self.prefix + 1, digits=digits)[1])
        high = self.length * two_high - enclosure.ln_of_whole(self.prefix, digits=digits)[0]
        return low, high

    def is_below(self, chance: enclosure.Computable, bits: Bits) -> bool:
        """Whether U < chance, by drawing bits until both intervals part.

        Ends with probability one: each round leaves it open with probability about 2^-64.
        """
        uniform = self
        while True:
            low, high = uniform.interval()
            chance_low, chance_high = chance(enclosure.digits_for(uniform.length))
            if high <= chance_low:
                return True
            if low >= chance_high:
                return False
            uniform = uniform.refined(bits)


def below(
    words: NDArray[np.uint64],
    chances: NDArray[np.float64],
    exact: Callable[[int], enclosure.Computable],
    bits: Bits,
) -> NDArray[np.bool_]:
    """For each lane, whether U < p, where U begins with the lane's word: exactly Bernoulli(p).

    `chances` are the p in float64, each within 2^-47.5 of the truth; `exact(lane)` is the
    true p, asked for only where float64 cannot tell.
    """
    # Through int64, which converts four times faster than uint64; bit 0 is far below the margin.
    distance = (words >> np.uint64(1)).view(np.int64).astype(np.float64)
    distance *= 2.0**-63
    np.subtract(chances, distance, out=distance)
    decided = distance > 0
    np.abs(distance, out=distance)
    if distance.size and distance.min() <= BELOW_MARGIN:
        for lane in np.flatnonzero(distance <= BELOW_MARGIN).tolist():
            uniform = UniformReal(prefix=int(words[lane]), length=64)
            decided[lane] = uniform.is_below(exact(lane), bits)
    return decided


def whole_below(limit: int, size: int, *, bits: Bits) -> NDArray[np.int64]:
    """`size` independent uniform whole numbers in 0 .. limit - 1.

    Because: a word's lowest bits are uniform below a power of two; those at `limit` or more are
    drawn again, so what remains is uniform below `limit`. (A remainder modulo `limit` would not be.)
    """
    if not 1 <= limit <= 1 << 62:
        raise ValueError(f"a limit must be between 1 and 2^62, got {limit}")
    mask = np.uint64((1 << (limit - 1).bit_length()) - 1)
    drawn = (bits.words(size) & mask).view(np.int64)
    while (again := np.flatnonzero(drawn >= limit)).size:
        drawn[again] = (bits.words(again.size) & mask).view(np.int64)
    return drawn
