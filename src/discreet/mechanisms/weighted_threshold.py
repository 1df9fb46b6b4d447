"""Finding group keys where a person has many: each person's weight is split over that person's keys.

A person with m keys adds about 1 / sqrt(m) to each of them, so that the weights of all keys together move by at most 1
in Euclidean length, however many keys there are. A key shows if its weight with Gaussian noise reaches a threshold.
Proof: docs/proofs/groups.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import events
from discreet.accounting.zcdp_conversion import epsilon_from_rho, rho_from_epsilon
from discreet.errors import UsageError
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.integer_arrays import Integers, check_integers

#: The whole weight of one person: weights are whole numbers.
UNIT = 2**20

#: Numbers of keys up to this have weights of their own; beyond it, four for each doubling.
_ALONE = 8
_STEPS = 4

#: delta is stored for ever; twenty digits of it, rounded up, are enough, and 1e-40 is little enough.
_SHORT = Context(prec=20, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_LEAST = Fraction(1, 10**40)
#: A delta may be rounded up in its last digits, and no further.
_CLOSE = 1 + Fraction(1, 10**15)


@lru_cache(maxsize=64)
def key_weights(keys_per_person: int) -> tuple[tuple[int, int], ...]:
    """Pairs of a number of keys and a weight: who has at most so many keys, and more than the pair before says, adds
    this weight to each of them.

    Guarantee: m keys of the weight w that a person with m keys has: m w^2 <= UNIT^2.
    Because: w = floor(UNIT / sqrt(end)) for an end that is at least m.

    >>> key_weights(3), len(key_weights(365)), key_weights(365)[-1]
    (((1, 1048576), (2, 741455), (3, 605395)), 31, (365, 54884))
    """
    ends = list(range(1, min(_ALONE, keys_per_person) + 1))
    place = 1
    while ends[-1] < keys_per_person:
        ends.append(min(keys_per_person, max(ends[-1] + 1, round(_ALONE * 2 ** (place / _STEPS)))))
        place += 1
    return tuple((end, math.isqrt(UNIT**2 // end)) for end in ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedThreshold:
    """Gaussian noise on each key's weight; keys below `threshold` stay hidden. Weights are in parts of `UNIT`.

    Guarantee: (epsilon, delta)-differentially private, if one person is in at most `keys_per_person` keys; and
        zCDP with rho = UNIT^2 / (2 sigma^2) but for a part of weight delta of each law. Where `epsilon` is None, only
        the second.
    Because: the weights of keys that exist without the person move by at most UNIT in Euclidean length, and noise on
        them is rho-zCDP, which is (epsilon, noise_delta)-DP; that any key shows which the person alone brings has the
        chance delta - noise_delta at most. Together as for `KeyThreshold`. docs/proofs/groups.md has it at length.

    >>> found = WeightedThreshold.within(epsilon=Fraction(1), delta=Fraction(1, 10**6), keys_per_person=365)
    >>> found.persons_needed(1), found.persons_needed(100), found.persons_needed(365)
    (28, 290, 532)
    """

    noise: DiscreteGaussian
    keys_per_person: int
    threshold: int
    epsilon: Fraction | None
    delta: Fraction
    noise_delta: Fraction

    def __post_init__(self) -> None:
        if self.keys_per_person < 1 or self.threshold <= UNIT or not 0 < self.delta < 1:
            raise ValueError(f"not a threshold of weights: {self}")
        if not is_covered(self.event(), keys_per_person=self.keys_per_person, threshold=self.threshold):
            raise ValueError(f"delta does not cover this threshold: {self}")

    @staticmethod
    def within(
        *, epsilon: Fraction, delta: Fraction, keys_per_person: int, gaussian: bool = False
    ) -> WeightedThreshold | None:
        """The least threshold at a price: epsilon and delta, or, if `gaussian`, rho = epsilon^2 / 2 and delta.

        None where epsilon is too small for noise of this kind.
        """
        of_keys = delta if gaussian else delta / 2
        rho = epsilon**2 / 2 if gaussian else rho_from_epsilon(epsilon, delta - of_keys)
        if rho <= 0:
            return None
        try:
            noise = DiscreteGaussian(sigma2=UNIT**2 / (2 * rho))
        except UsageError:
            return None
        threshold = _near_threshold(noise, keys_per_person, float(of_keys))
        while (chance := delta_of(noise, keys_per_person=keys_per_person, threshold=threshold)) > of_keys:
            threshold += UNIT // 256
        noise_delta = Fraction(0) if gaussian else delta - of_keys
        paid = noise_delta + chance
        return WeightedThreshold(
            noise=noise,
            keys_per_person=keys_per_person,
            threshold=threshold,
            epsilon=None if gaussian else epsilon,
            delta=Fraction(_SHORT.divide(Decimal(paid.numerator), Decimal(paid.denominator))),
            noise_delta=noise_delta,
        )

    @property
    def weights(self) -> tuple[tuple[int, int], ...]:
        """What a person adds to a key, by how many keys that person has."""
        return key_weights(self.keys_per_person)

    def persons_needed(self, keys: int) -> int:
        """How many persons show a key as often as not, if each of them has so many keys."""
        return -(-self.threshold // next(weight for end, weight in self.weights if keys <= end))

    def event(self) -> events.WeightedThresholdEvent:
        """What it costs."""
        return events.WeightedThresholdEvent(
            sigma2=self.noise.sigma2,
            l2_squared=UNIT**2,
            epsilon=self.epsilon,
            delta=self.delta,
            noise_delta=self.noise_delta,
        )

    def discover(self, exact_weights: Integers, *, bits: Bits) -> tuple[NDArray[np.int64], Integers, events.Event]:
        """The positions of the keys that show, their noisy weights, and what that costs.

        A key without any person does not exist and is passed over. The caller has sorted the keys.
        """
        exact_weights = check_integers(exact_weights)
        existing = np.flatnonzero(exact_weights >= 1)
        noisy, _ = self.noise.add_noise(exact_weights[existing], l2_squared=UNIT**2, bits=bits)
        shown = np.flatnonzero(noisy >= self.threshold)
        return existing[shown], noisy[shown], self.event()


@lru_cache(maxsize=256)
def delta_of(noise: DiscreteGaussian, *, keys_per_person: int, threshold: int) -> Fraction:
    """At least the chance that any key shows which exists through one person alone, however many keys that person has.

    Of m keys each of weight w one shows with the chance P(X >= threshold - w), and m is at most the end of its weight.
    """
    chances = (
        end * noise.tail(threshold - weight - 1) / 2  # P(X >= k) is half of P(|X| > k - 1)
        for end, weight in key_weights(keys_per_person)
    )
    return min(Fraction(1), max(max(chances), _LEAST))


def is_covered(event: events.WeightedThresholdEvent, *, keys_per_person: int, threshold: int) -> bool:
    """Whether the loss of an event is that of this threshold."""
    if event.l2_squared != UNIT**2 or threshold <= UNIT:
        return False
    chance = delta_of(DiscreteGaussian(sigma2=event.sigma2), keys_per_person=keys_per_person, threshold=threshold)
    if not chance <= event.delta - event.noise_delta <= chance * _CLOSE:
        return False
    rho = event.l2_squared / (2 * event.sigma2)
    return event.epsilon is None or epsilon_from_rho(rho, event.noise_delta) <= event.epsilon


def _near_threshold(noise: DiscreteGaussian, keys_per_person: int, delta: float) -> int:
    """About the least threshold, by the continuous law in floats."""
    root = math.sqrt(2 * float(noise.sigma2))

    def chance(threshold: int) -> float:
        return max(
            end * math.erfc((threshold - weight - 0.5) / root) / 2 for end, weight in key_weights(keys_per_person)
        )

    low, high = UNIT + 1, UNIT + 2 + math.ceil(22 * root)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) <= delta else (middle + 1, high)
    return low
