"""A ladder whose rungs have a least width: more exact than `Ladder`, and its interval can be said without waste.

Before it is drawn, the width of the first rung (how far the number could move from here) is measured with noise, and
the floor is that noisy width and a public part more. Rungs as wide as the floor change nothing when the exact width
moves a little, so nearly all of epsilon goes to the decay from rung to rung; an exponential mechanism keeps half of it
for the sum of weights. docs/proofs/ladders.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from operator import index

import numpy as np

from discreet import exact as rounding
from discreet.accounting import events
from discreet.errors import UsageError
from discreet.mechanisms import bernoulli, enclosure, geometric, uniform
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.integer_arrays import Integers, check_integers
from discreet.mechanisms.ladder import Ladder
from discreet.mechanisms.laplace import DiscreteLaplace, error_probability

#: The least floor is so many steps over epsilon: measured, the narrowest intervals of sparse and of dense networks.
_STEPS = 6

#: Digits beyond those asked for: chances stay that close where the decay is small, or rungs are wide.
_GUARD = 40

#: A half width is so many floors, in such parts; and the noise of the width is looked at in so many pieces.
_PARTS = 16
_PIECES = 256

#: Beyond this a decay leaves nothing, and float64 no number.
_FAR = 600.0

#: What float64 may have rounded away, and what is left to widths that no piece reaches.
_ROUNDED = 1e-9
_UNSEEN = Fraction(1, 10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlooredLadder:
    """P(value + d) proportional to exp(-decay u), where u is the rung of the distance |d|.

    Rung 0 is the value itself. With K = floor((floor - width) / step), rungs 1 to K + 1 have `floor` whole numbers on
    each side, and each further one `step` more than the last. `least`: the floor is at least this, whatever was drawn.

    Guarantee: (decay + step / least)-differentially private, and (decay^2 / 2)-zCDP, if between neighbours the value
        moves by at most the smaller of their two widths, and the width by at most `step`.
    Because: the rung of any whole number then moves by at most 1, and the sum of all weights by a factor of at most
        1 + step / least; the loss lies in a range of 2 decay. `choose` draws from exactly this law.

    >>> ladder = FlooredLadder.of(Fraction(4, 5), step=1, is_pure=True)
    >>> ladder.least, ladder.decay, ladder.above(3).half_width(DiscreteLaplace(scale=Fraction(5)), Fraction(95, 100))
    (8, Fraction(27, 40), 60)
    """

    decay: Fraction
    step: int
    least: int
    floor: int

    def __post_init__(self) -> None:
        if not isinstance(self.decay, Fraction) or self.decay <= 0 or not 1 <= self.step <= self.least <= self.floor:
            raise ValueError(f"this is no ladder: {self}")

    @staticmethod
    def of(epsilon: Fraction, *, step: int, is_pure: bool) -> FlooredLadder:
        """The ladder that costs epsilon; or, where rho is what is paid, epsilon^2 / 2 of it."""
        least = max(step, math.ceil(_STEPS * step / epsilon))
        decay = epsilon - Fraction(step, least) if is_pure else epsilon
        if 1 / decay > geometric.MOST_SCALE:
            raise UsageError(
                f"epsilon {rounding.show(epsilon)} is too small for this statistic; it must be at least 1e-7",
                hint="ask with another epsilon",
            )
        return FlooredLadder(decay=decay, step=step, least=least, floor=least)

    def above(self, noisy_width: int, widest: int | None = None) -> FlooredLadder:
        """The same, with the floor that follows from a noisy width. widest: what public facts keep the width below."""
        floor = self.least + max(0, noisy_width if widest is None else min(noisy_width, widest))
        return FlooredLadder(decay=self.decay, step=self.step, least=self.least, floor=floor)

    def event(self) -> events.LadderEvent:
        return events.LadderEvent(decay=self.decay, step=self.step, floor=self.least)

    def choose(self, exact: Integers, *, bits: Bits) -> tuple[int, events.Event]:
        """A noisy value for `exact` = [value, width], and what it costs.

        Because: with g = exp(-decay) and q = g / (1 - g), the rungs of one side weigh floor g^u, which is the law of
        u = 1 + G, of weight floor q in all; and those beyond K + 1 another step (u - K - 1) g^u, which is that of
        u = K + 2 + G + G', of weight step g^(K + 1) q (1 + q), with G, G' geometric. Rung 0 weighs 1 against both
        sides. So two coins choose the law, and within a rung all whole numbers are alike. Everything is drawn whatever
        the coins say.
        """
        exact = check_integers(exact)
        if exact.shape != (2,):
            raise ValueError("a ladder needs a value and the width of its first rung")
        value, width = (index(number) for number in exact.tolist())
        if width < 0:
            raise ValueError("the width of a rung cannot be negative")
        flat, level = self._shape(width)
        stays = bernoulli.bernoulli(partial(self._stay_chance, flat, level), 1, bits=bits)[0]
        early = bernoulli.bernoulli(partial(self._flat_share, flat, level), 1, bits=bits)[0]
        near, far = Geometric(scale=1 / self.decay, folded=False).magnitudes(bits.words(2), bits=bits)
        rung = 1 + int(near) if early else level + 2 + int(near) + int(far)
        before = self._reach(rung - 1, flat, level)
        within = uniform.whole_below(self._reach(rung, flat, level) - before, 1, bits=bits)[0]
        distance = before + 1 + int(within)
        negative = bits.words(1)[0] & np.uint64(1)
        return (value if stays else value - distance if negative else value + distance), self.event()

    def rung(self, distance: int, width: int) -> int:
        """The rung of a distance: the first that reaches so far. Slow, for tests and tables."""
        shape, rung = self._shape(width), 0
        while self._reach(rung, *shape) < abs(distance):
            rung += 1
        return rung

    def mass_bounds(self, distance: int, width: int, *, digits: int = 60) -> enclosure.Interval:
        """P(value + distance), between two Fractions; absolute, so not for very far ones."""
        stays = self._stay_chance(*self._shape(width), digits)
        weight = enclosure.exp_minus(self.rung(distance, width) * self.decay, digits=digits)
        return weight[0] * stays[0], weight[1] * stays[1]

    def half_width(self, law: DiscreteLaplace | DiscreteGaussian, confidence: Fraction) -> int:
        """So far from the value the noise is at most, with this confidence, where `law` drew the width of the floor.

        Guarantee: over both draws, that of the noisy width and that of the ladder, and for every exact width.
        """
        return math.ceil(_floors(self.decay, self.step, self.least, law, confidence) * self.floor)

    def _shape(self, width: int) -> tuple[int, int]:
        """The width of the first rungs, and K; K at least -1, where the first rungs are wider than the floor."""
        level = (self.floor - width) // self.step
        return self.floor + self.step * max(0, -1 - level), max(-1, level)

    def _reach(self, rung: int, flat: int, level: int) -> int:
        """The largest distance in the rungs up to this one."""
        beyond = max(0, rung - level - 1)
        return flat * rung + self.step * (beyond * (beyond + 1) // 2)

    def _later(self, level: int, digits: int) -> enclosure.Interval:
        """step g^(K + 1) (1 + q), beside `flat`: what the widening of rungs weighs, over q."""
        q = _powers(self.decay, digits)
        power = enclosure.exp_minus((level + 1) * self.decay, digits=digits + _GUARD)
        return self.step * power[0] * (1 + q[0]), self.step * power[1] * (1 + q[1])

    def _stay_chance(self, flat: int, level: int, digits: int) -> enclosure.Interval:
        """The chance of the value itself: 1 / (1 + 2 q (flat + later))."""
        q, later = _powers(self.decay, digits), self._later(level, digits)
        low, high = (1 / (1 + 2 * q[end] * (flat + later[end])) for end in (1, 0))
        return low, high

    def _flat_share(self, flat: int, level: int, digits: int) -> enclosure.Interval:
        """The share of the law 1 + G in what is not the value."""
        low, high = self._later(level, digits)
        return flat / (flat + high), flat / (flat + low)


#: What counts are climbed by; those of before ladders had floors are still read.
AnyLadder = Ladder | FlooredLadder


@lru_cache(maxsize=64)
def _powers(decay: Fraction, digits: int) -> enclosure.Interval:
    """q = g / (1 - g), g = exp(-decay)."""
    low, high = enclosure.exp_minus(decay, digits=digits + _GUARD)
    return low / (1 - low), high / (1 - high)


@lru_cache(maxsize=256)  # a count and a ratio of it are told of the same ladder
def _floors(
    decay: Fraction, step: int, least: int, law: DiscreteLaplace | DiscreteGaussian, confidence: Fraction
) -> float:
    """How many floors the half width is: the fewest for which noise of both draws goes further with at most the doubt.

    Because: docs/proofs/ladders.md. The chance to go beyond is bounded by a number that falls with the floor and with
    K, so by its value at the least floor and at the K that a piece of the width's noise leaves at the worst.
    """
    doubt = float(error_probability(confidence)) * (1 - _ROUNDED)
    most = law.half_width(1 - _UNSEEN * error_probability(confidence))
    ends = sorted({most * piece // _PIECES for piece in range(_PIECES + 1)})
    tails = [float(law.tail(end)) / 2 for end in ends]
    chance = _ChanceBeyond(decay=float(decay), step=step, floor=least)

    def is_enough(parts: int) -> bool:
        floors = parts / _PARTS
        beyond = [chance.of(floors, (least - end) // step) for end in (0, *ends[1:])]
        steps = zip([*beyond[1:], 1.0], beyond, tails, strict=True)
        return beyond[0] + sum((one - other) * tail for one, other, tail in steps) <= doubt

    high = _PARTS
    while not is_enough(high):
        high *= 2
    low = high // 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low / _PARTS


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChanceBeyond:
    """No less than the chance that a ladder goes further than so many floors, at this floor or a larger one."""

    decay: float
    step: int
    floor: int

    def of(self, floors: float, level: int) -> float:
        """With K at least `level`. It falls with all three."""
        flat, first = self.floor + self.step * max(0, -1 - level), max(-1, level) + 1
        distance = floors * self.floor
        rung, part = self._place(distance, flat, first)
        weight = (1 - part) * self._beyond(rung, first) + part * self._beyond(rung + 1, first)
        return min(1.0, weight)

    def _place(self, distance: float, flat: int, first: int) -> tuple[int, float]:
        """The rungs that a distance covers, and the part of the next."""
        if distance <= first * flat:
            return int(distance // flat), distance % flat / flat
        rest, half = distance - first * flat, flat + self.step / 2
        later = int((math.sqrt(half**2 + 2 * self.step * rest) - half) / self.step)
        later = max(0, later - 1)
        while (reach := flat * later + self.step * later * (later + 1) / 2) + flat + self.step * (later + 1) <= rest:
            later += 1
        return first + later, max(0.0, rest - reach) / (flat + self.step * (later + 1))

    def _beyond(self, rung: int, first: int) -> float:
        """What the rungs beyond this one weigh, over what `floor` weighs at the least."""
        q = 1 / math.expm1(min(self.decay, _FAR))
        if rung <= first:
            later = math.exp(-first * self.decay) * (1 + q)
            return math.exp(-rung * self.decay) + self.step * later / self.floor
        return math.exp(-rung * self.decay) * (1 + self.step * (1 + q + rung - first) / self.floor)
