"""Finding group keys: a key shows if its noisy number of distinct persons reaches a threshold.

The keys themselves are private: a key that exists through one person alone must hardly ever show.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray

from discreet import exact as rounding
from discreet.accounting import events
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.integer_arrays import Integers, check_integers
from discreet.mechanisms.laplace import DiscreteLaplace

_FLOOR = Context(prec=150, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
#: delta is stored for ever; twenty digits of it, rounded up, are enough, and 1e-40 is little enough.
_SHORT = Context(prec=20, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_LEAST = Fraction(1, 10**40)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyThreshold:
    """Noise on each key's number of distinct persons; keys below `threshold` stay hidden.

    Guarantee: (keys_per_person / scale, delta)-differentially private, if one person is in at most
        `keys_per_person` keys; delta is `delta_of` these numbers.
    Because: let a person be added, in j keys that are new and in up to keys_per_person - j others.
        On the others it is discrete Laplace noise on counts that move by 1 each. A new key has
        count 1 and shows with chance p; that any shows has chance 1 - (1 - p)^j, largest at
        j = keys_per_person. Call it E. Where E does not happen the output is as without the new
        keys. So P(with) <= P(E) + P(without) exp(epsilon); and P(with) >= (1 - P(E)) P(others), so
        P(without) - exp(epsilon) P(with) <= P(without) P(E). Both are at most delta.

    >>> noise = DiscreteLaplace(scale=Fraction(2))
    >>> threshold, delta = threshold_for(noise, keys_per_person=3, delta=Fraction(1, 10**6))
    >>> threshold, rounding.show(delta, up=True)
    (30, '9.41808e-07')
    """

    noise: DiscreteLaplace
    keys_per_person: int
    threshold: int

    def __post_init__(self) -> None:
        if self.keys_per_person < 1 or self.threshold < 2:
            raise ValueError(f"not a threshold: {self}")

    def event(self) -> events.ThresholdEvent:
        """What it costs. The counts move by keys_per_person in total (l1)."""
        delta = delta_of(self.noise, keys_per_person=self.keys_per_person, threshold=self.threshold)
        return events.ThresholdEvent(scale=self.noise.scale, l1=self.keys_per_person, delta=delta)

    def discover(self, exact_persons: Integers, *, bits: Bits) -> tuple[NDArray[np.int64], Integers, events.Event]:
        """The positions of the keys that show, their noisy numbers of persons, and what that costs.

        `exact_persons` counts the distinct persons of each key that exists; a key without any
        person does not exist and is passed over. The caller has sorted the keys, so that a
        position tells nothing else.
        """
        event = self.event()
        exact_persons = check_integers(exact_persons)
        existing = np.flatnonzero(exact_persons >= 1)
        noisy, _ = self.noise.add_noise(exact_persons[existing], l1=self.keys_per_person, bits=bits)
        shown = np.flatnonzero(noisy >= self.threshold)
        return existing[shown], noisy[shown], event


def most_common(places: NDArray[np.int64], noisy: Integers, *, most: int) -> tuple[NDArray[np.int64], Integers]:
    """No more keys than an answer has room for: those with the largest noisy numbers, in their own order."""
    if len(places) <= most:
        return places, noisy
    kept = np.sort(np.argsort(-noisy, kind="stable")[:most])
    return places[kept], noisy[kept]


def delta_of(noise: DiscreteLaplace, *, keys_per_person: int, threshold: int) -> Fraction:
    """The chance that any of `keys_per_person` keys of one person shows: 1 - (1 - p)^keys, rounded up.

    p = P(1 + X >= threshold) = r^(threshold - 1) / (1 + r) with r = exp(-1/scale).
    """
    chance = noise.tail(threshold - 2) / 2  # P(X >= m) is half of P(|X| > m - 1)
    hidden = _power_down(
        _FLOOR.divide(Decimal((1 - chance).numerator), Decimal((1 - chance).denominator)), keys_per_person
    )
    delta = max(min(1 - Fraction(hidden), keys_per_person * chance), _LEAST)
    return Fraction(_SHORT.divide(Decimal(delta.numerator), Decimal(delta.denominator)))


def threshold_for(noise: DiscreteLaplace, *, keys_per_person: int, delta: Fraction) -> tuple[int, Fraction]:
    """The least threshold whose delta is at most `delta`, and its delta."""
    if not 0 < delta < 1 or keys_per_person < 1:
        raise ValueError(f"a threshold needs 0 < delta < 1 and keys per person >= 1, got {delta} and {keys_per_person}")
    # p <= r^(threshold - 1), and delta_of <= keys p: from this threshold on it holds.
    low, high = 2, 3 + ceil(noise.scale * max(Fraction(0), rounding.ln(keys_per_person / delta, up=True)))
    while low < high:
        middle = (low + high) // 2
        if delta_of(noise, keys_per_person=keys_per_person, threshold=middle) <= delta:
            high = middle
        else:
            low = middle + 1
    return low, delta_of(noise, keys_per_person=keys_per_person, threshold=low)


def _power_down(base: Decimal, power: int) -> Decimal:
    """At most base^power, for 0 <= base <= 1, by squaring, each product rounded down."""
    product = Decimal(1)
    while power:
        if power & 1:
            product = _FLOOR.multiply(product, base)
        base = _FLOOR.multiply(base, base)
        power >>= 1
    return product
