"""The ladder (Zhang and others 2015): a noisy number whose noise follows how far this very number could move.

The local sensitivity of a number, how far it moves from here, may not set the scale of noise: it tells of data itself.
A ladder has rungs around the exact value. The first rung is as wide as the number could move from here at most, each
further one `step` wider, as that bound moves by at most `step` itself; and whole numbers are chosen by their
rung alone. docs/proofs/graphs.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable
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
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.integer_arrays import Integers, check_integers
from discreet.mechanisms.laplace import error_probability

#: Digits beyond those asked for: chances stay that close where exp(-epsilon / 2) is near 1, or rungs are wide.
_GUARD = 40


def check_ladder(epsilon: Fraction, step: int) -> None:
    """Refuse what no ladder can be drawn with."""
    if not isinstance(epsilon, Fraction) or epsilon <= 0 or step < 1:
        raise ValueError(f"a ladder needs epsilon > 0 and step >= 1, got {epsilon} and {step}")
    if 2 / epsilon > geometric.MOST_SCALE:
        raise UsageError(
            f"epsilon {rounding.show(epsilon)} is too small for this statistic; it must be at least 2e-7",
            hint="ask with another epsilon",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """P(value + d) proportional to exp(-epsilon u / 2), where u is the rung of the distance |d|.

    Rung 0 is the value itself; rung u >= 1 has first + step (u - 1) whole numbers on each side.

    Guarantee: epsilon-differentially private, and (epsilon^2 / 8)-zCDP, if between neighbours the value moves by at
        most the smaller of their two `first`, and `first` by at most `step`.
    Because: the rung of any whole number then moves by at most 1; this is the exponential mechanism with minus
        the rung as its score, over all whole numbers. `choose` draws from exactly this law.

    >>> Ladder(epsilon=Fraction(1), step=1).half_width(Fraction(95, 100), most=10)
    108
    """

    epsilon: Fraction
    step: int

    def __post_init__(self) -> None:
        check_ladder(self.epsilon, self.step)

    def event(self) -> events.ExponentialEvent:
        return events.ExponentialEvent(epsilon=self.epsilon)

    def choose(self, exact: Integers, *, bits: Bits) -> tuple[int, events.Event]:
        """A noisy value for `exact` = [value, first], and what it costs.

        Because: with g = exp(-epsilon / 2) and q = g / (1 - g), the rungs u >= 1 of one side weigh
        (first + step (u - 1)) g^u: two laws mixed. first g^u is that of u = 1 + G, of weight first q in all, and
        step (u - 1) g^u that of u = 2 + G + G', of weight step q^2, with G, G' geometric. Rung 0 weighs 1 against
        both sides. So two coins choose the law, and within a rung all whole numbers are alike. Everything is drawn
        whatever the coins say: the work tells nothing of `first`.
        """
        exact = check_integers(exact)
        if exact.shape != (2,):
            raise ValueError("a ladder needs a value and the width of its first rung")
        value, first = (index(number) for number in exact.tolist())
        if first < 0:
            raise ValueError("the width of a rung cannot be negative")
        stays = bernoulli.bernoulli(partial(self._stay_chance, first), 1, bits=bits)[0]
        narrow = bernoulli.bernoulli(partial(self._narrow_share, first), 1, bits=bits)[0]
        near, far = Geometric(scale=2 / self.epsilon, folded=False).magnitudes(bits.words(2), bits=bits)
        rung = 1 + int(near) if narrow else 2 + int(near) + int(far)
        within = uniform.whole_below(first + self.step * (rung - 1), 1, bits=bits)[0]
        distance = self.reach(rung - 1, first) + 1 + int(within)
        negative = bits.words(1)[0] & np.uint64(1)
        return (value if stays else value - distance if negative else value + distance), self.event()

    def reach(self, rung: int, first: int) -> int:
        """The largest distance in the rungs up to this one."""
        return first * rung + self.step * (rung * (rung - 1) // 2)

    def rung(self, distance: int, first: int) -> int:
        """The rung of a distance: the first that reaches so far."""
        return _least(lambda rung: self.reach(rung, first) >= abs(distance))

    def mass_bounds(self, distance: int, first: int, *, digits: int = 60) -> enclosure.Interval:
        """P(value + distance), between two Fractions; absolute, so not for very far ones."""
        stays = self._stay_chance(first, digits)
        weight = enclosure.exp_minus(self.rung(distance, first) * self.epsilon / 2, digits=digits)
        return weight[0] * stays[0], weight[1] * stays[1]

    def tail(self, rung: int, first: int) -> Fraction:
        """At least the chance of a rung beyond this one, and no more than rounding above it.

        It is 2 g^u (first q + step (q^2 / g + (u - 1) q)) / (1 + 2 q (first + step q)) for u >= 1.
        """
        if rung < 1:
            return Fraction(1)
        g, q = _powers(self.epsilon, _GUARD)
        power = rounding.exp(-rung * self.epsilon / 2, up=True)
        # q^2 / g = q / (1 - g)
        weight = first * q[1] + self.step * (q[1] / (1 - g[1]) + (rung - 1) * q[1])
        return min(Fraction(1), 2 * power * weight / (1 + 2 * q[0] * (first + self.step * q[0])))

    def half_width(self, confidence: Fraction, *, most: int, least: int = 0) -> int:
        """So far from the value the noise is at most, with this confidence, for every `first` from `least` to `most`.

        Because: the chance of a rung beyond u is (a + b first) / (c + d first), which is monotone in `first`: between
        two widths it is largest at one of them. And no rung up to u reaches further than with the larger one. The
        widths are taken by halves, so that narrow rungs, more of which are likely, do not widen what wide ones reach.
        """
        doubt = error_probability(confidence)
        if not 0 <= least <= most:
            raise ValueError(f"no width is between {least} and {most}")
        width, high = 0, most
        while True:
            low = max(least, high // 2)
            rung = _least(partial(self._within, doubt, low, high))
            width = max(width, self.reach(rung, high))
            if low == least:
                return width
            high = low

    def _within(self, doubt: Fraction, low: int, high: int, rung: int) -> bool:
        """Whether further rungs have a chance of at most `doubt`, for every `first` from `low` to `high`."""
        return max(self.tail(rung, low), self.tail(rung, high)) <= doubt

    def _stay_chance(self, first: int, digits: int) -> enclosure.Interval:
        """The chance of the value itself: 1 / (1 + 2 q (first + step q)), which falls with q."""
        low, high = (1 / (1 + 2 * q * (first + self.step * q)) for q in _powers(self.epsilon, digits)[1])
        return high, low

    def _narrow_share(self, first: int, digits: int) -> enclosure.Interval:
        """The share of the law 1 + G in what is not the value: first / (first + step q), which falls with q."""
        if first == 0:
            return Fraction(0), Fraction(0)
        low, high = (first / (first + self.step * q) for q in _powers(self.epsilon, digits)[1])
        return high, low


@lru_cache(maxsize=64)
def _powers(epsilon: Fraction, digits: int) -> tuple[enclosure.Interval, enclosure.Interval]:
    """g = exp(-epsilon / 2) and q = g / (1 - g)."""
    low, high = enclosure.exp_minus(epsilon / 2, digits=digits + _GUARD)
    return (low, high), (low / (1 - low), high / (1 - high))


def _least(holds: Callable[[int], bool]) -> int:
    """The least whole number from 0 on that something holds for, which then holds for all after it."""
    high = 1
    while not holds(high):
        high *= 2
    low = 0
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
