"""Coins as a respondent's device flips them: a bias that is a whole number of 256^planes, byte by byte.

The order in which bytes are read is part of the contract: the JavaScript client reads the same
bytes and sends the same report (tests/surveys/protocols/vectors.json).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols.option_checks import check_whole

#: Biases are whole numbers of 256^-4 = 2^-32 unless a test wants to enumerate all that can be drawn.
PLANES = 4
#: A coin of six bytes is the finest.
MOST_PLANES = 6
#: Lanes at a time: what is drawn stays in the cache.
_LANES = 1 << 20
#: An epsilon is stated in 10^-12, rounded up.
_UNITS = 10**12

EPSILON_TOO_SMALL = "This epsilon is too small: reports would say nothing."


@dataclass(frozen=True, slots=True, kw_only=True)
class Coin:
    """Heads with probability heads / 256^planes, exactly.

    Because: a flip is U < heads for a uniform U of `planes` bytes, read from the first byte on and
        only until the answer is known.
    """

    heads: int
    planes: int = PLANES

    def __post_init__(self) -> None:
        if not 1 <= self.planes <= MOST_PLANES or not 0 <= self.heads <= self.sides:
            raise ValueError(f"not a coin: {self}")

    @property
    def sides(self) -> int:
        return int(256**self.planes)

    @property
    def chance(self) -> Fraction:
        return Fraction(self.heads, self.sides)

    def flips(self, size: int, *, bits: Bits) -> NDArray[np.bool_]:
        """`size` flips. One byte each, then one more for each flip that is still open, and so on."""
        fallen = np.empty(size, dtype=np.bool_)
        for start in range(0, size, _LANES):
            self._fill(fallen[start : start + _LANES], bits)
        return fallen

    def _fill(self, fallen: NDArray[np.bool_], bits: Bits) -> None:
        first, rest = divmod(self.heads, 256 ** (self.planes - 1))
        drawn = random_bytes(fallen.size, bits=bits)
        np.less(drawn, first, out=fallen)
        lanes = np.flatnonzero(drawn == first) if rest else np.empty(0, dtype=np.intp)
        for plane in range(self.planes - 2, -1, -1):
            if not rest or not lanes.size:
                return
            byte, rest = divmod(rest, 256**plane)
            drawn = random_bytes(lanes.size, bits=bits)
            fallen[lanes] = drawn < byte
            lanes = lanes[drawn == byte]


def flips_of(heads: NDArray[np.int64], *, planes: int = PLANES, bits: Bits) -> NDArray[np.bool_]:
    """One flip for each lane, each of a coin of its own, read byte by byte as `Coin.flips` reads."""
    fallen = np.zeros(heads.size, dtype=np.bool_)
    lanes = np.arange(heads.size)
    rest = heads.astype(np.int64)
    for plane in range(planes - 1, -1, -1):
        byte, rest = np.divmod(rest, np.int64(256**plane))
        drawn = random_bytes(lanes.size, bits=bits).astype(np.int64)
        fallen[lanes] = drawn < byte
        still = (drawn == byte) & (rest > 0)
        lanes, rest = lanes[still], rest[still]
        if not lanes.size:
            break
    return fallen


def random_bytes(count: int, *, bits: Bits) -> NDArray[np.uint8]:
    """`count` random bytes: whole words are drawn, and what is over of the last is thrown away."""
    return bits.words(-(-count // 8)).view(np.uint8)[:count]


def check_epsilon(epsilon: object) -> Fraction:
    """An epsilon that one report may cost, as it was written: a number, or "ln 3"."""
    return exact.epsilon(epsilon, most=Fraction(20))


def epsilon_of(ratio: Fraction) -> Fraction:
    """The epsilon of outputs whose likelihoods differ by at most `ratio` >= 1, rounded up."""
    if ratio < 1:
        raise ValueError(f"the largest ratio of likelihoods must be at least 1, got {ratio}")
    if ratio == 1:
        return Fraction(0)
    return Fraction(exact.units_up(exact.ln(ratio, up=True), _UNITS), _UNITS)


def cost(ratio: Fraction, requested_epsilon: Fraction, *, times: int = 1) -> Fraction:
    """What `times` independent likelihood ratios of at most `ratio` each cost: at most what was `requested_epsilon`
    for.

    Guarantee: at least times ln(ratio), and at most `requested_epsilon`. Refused where the ratio is 1: reports would
        say nothing.
    Because: it is the logarithm, rounded up. Where the rounding passes `requested_epsilon`, `requested_epsilon` is
        itself at least the logarithm: ratio <= a lower bound on e^(asked / times), as is checked here in exact
    arithmetic.

    >>> cost(Fraction(3), Fraction("1.1"))
    Fraction(1098612288669, 1000000000000)
    """
    if ratio <= 1:
        raise UsageError(EPSILON_TOO_SMALL, hint="choose a larger epsilon, a coarser grid or fewer choices")
    if ratio > likelihood_bound(requested_epsilon / times):
        raise ValueError("these coins cost more than the requested epsilon")
    return min(epsilon_of(ratio**times), requested_epsilon)


def least_heads(fits: Callable[[int], bool], sides: int) -> int:
    """The least number of heads in 1 .. sides that `fits`, which holds from some number on."""
    low, high = 1, sides
    if not fits(high):
        raise ValueError("no coin fits")
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return low


def likelihood_bound(epsilon: Fraction) -> Fraction:
    """e to the epsilon, rounded down: likelihoods that differ by at most this are safe."""
    return exact.exp(epsilon, up=False)


def heads_for(chance: Fraction, *, planes: int = PLANES) -> int:
    """The least number of heads whose chance is at least `chance`."""
    return math.ceil(chance * int(256 ** check_whole(planes, name="planes", low=1, high=MOST_PLANES)))
