"""The most common keys of an unknown set, whatever the number of keys that one person is in.

After the limited-domain top-k of Durfee and Rogers (2019), by exact choices, with a proof of its own:
docs/proofs/topk.md. The candidates are the keys with the most persons and a *stop*, whose score is a
public margin above the first key that is left out. A key that exists through one person alone can beat
the stop with probability delta only.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil
from operator import index

import numpy as np
from numpy.typing import NDArray

from discreet import exact as rounding
from discreet.accounting import events
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.integer_arrays import Integers, check_integers
from discreet.mechanisms.laplace import MOST_SCALE, DiscreteLaplace, error_probability
from discreet.mechanisms.threshold import threshold_for

#: How many keys are candidates, unless told. More of them lower the stop, and cost the logarithm of their number.
CANDIDATES = 1000

#: delta is stored for ever; twenty digits of it, rounded up, are enough, and 1e-40 is little enough.
_SHORT = Context(prec=20, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)
_LEAST = Fraction(1, 10**40)
#: A lead of more than exp(10000) is counted as that.
_FAR = Fraction(10**4)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopKChoice:
    """Up to `k` keys, the most common first, by choices of `epsilon` each.

    candidates: how many keys are looked at, those with the most persons.
    margin: how many persons the stop stands above the first key that is not a candidate.
    keys_per_person: in how many keys a person is at most; None where nothing is known.

    Guarantee: (k epsilon, delta)-differentially private under adding or removing one person, and
        (k epsilon^2 / 8)-zCDP but for a part of weight delta of each law; delta is `delta_of` these
        numbers. Under changing one person 2 k epsilon, four times that zCDP, and 2 delta.
    Because: a person moves each count by 0 or 1, all in one direction, so the weights exp(epsilon *
        count) and that of the stop each grow by a factor within [1, exp(epsilon)], and so does their
        sum: a choice loses epsilon where the candidates are the same. Keys that are candidates with the
        person or without, but not both, have at most the count of the first key left out, plus one;
        to beat the stop all together they have the chance delta. Counted to the stop they, too, grow
        by a factor within [1, exp(epsilon)]. docs/proofs/topk.md has it at length.

    >>> mechanism = TopKChoice.within(k=10, epsilon=Fraction(1), delta=Fraction(1, 10**6), keys_per_person=50)
    >>> mechanism.margin, events.loss(mechanism.event()).epsilon
    (179, Fraction(1, 1))
    """

    k: int
    epsilon: Fraction
    margin: int
    candidates: int = CANDIDATES
    keys_per_person: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.candidates or self.margin < 1:
            raise ValueError(f"not a valid choice of the most common keys: {self}")
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            raise ValueError(f"a choice needs epsilon > 0, got {self.epsilon}")
        if self.keys_per_person is not None and self.keys_per_person < 1:
            raise ValueError("a person must be able to be in at least one key")

    @staticmethod
    def within(
        *,
        k: int,
        epsilon: Fraction,
        delta: Fraction,
        keys_per_person: int | None = None,
        candidates: int = CANDIDATES,
    ) -> TopKChoice:
        """The choice that costs `epsilon` in all, with the least margin whose delta is at most `delta`."""
        if k < 1 or epsilon <= 0 or not 0 < delta < 1:
            raise ValueError(f"k, epsilon and delta are needed, got {k}, {epsilon}, {delta}")
        candidates = max(k, candidates)
        each, strangers = epsilon / k, _strangers(candidates, keys_per_person)
        # delta_of is at most `delta` exactly when exp(each * (margin - 1)) >= strangers (1 - delta) / delta, and, by
        # its second part, exp(each * (margin - 2)) >= strangers (1 - 2 delta) / (2 delta).
        joining, changing = strangers * (1 - delta) / delta, strangers * (1 - 2 * delta) / (2 * delta)
        margin = max(
            less + (ceil(rounding.ln(ratio, up=True) / each) if ratio > 1 else 0)
            for less, ratio in ((1, joining), (2, changing))
        )
        while margin > 1 and delta_of(each, margin=margin - 1, strangers=strangers) <= delta:
            margin -= 1
        return TopKChoice(k=k, epsilon=each, margin=margin, candidates=candidates, keys_per_person=keys_per_person)

    def event(self) -> events.TopKEvent:
        """What it costs, however many keys it finds."""
        strangers = _strangers(self.candidates, self.keys_per_person)
        delta = delta_of(self.epsilon, margin=self.margin, strangers=strangers)
        return events.TopKEvent(choices=self.k, epsilon=self.epsilon, delta=delta)

    def choose(self, exact_persons: Integers, *, bits: Bits) -> tuple[NDArray[np.int64], events.Event]:
        """The positions of the chosen keys, in the order of their choice, and what that costs.

        `exact_persons` counts the distinct persons of each key that exists; a key without any person
        does not exist and is passed over. The caller has sorted the keys by what they are. Of keys
        with the same count the earlier is the candidate: an order that the data have no say in.

        Fewer than `k` are found where the stop was chosen before. A place that no key takes is a
        candidate of count 0 that stands for the stop, so that a new key replaces something.
        """
        event, choice = self.event(), ExponentialMechanism(epsilon=self.epsilon, sensitivity=1)
        positions, scores = self._candidates(check_integers(exact_persons))
        chosen: list[int] = []
        while len(chosen) < self.k:
            taken, _ = choice.choose(scores, bits=bits)
            if taken >= positions.size:
                break
            chosen.append(int(positions[taken]))
            left = np.arange(scores.size) != taken
            positions, scores = positions[left[: positions.size]], scores[left]
        return np.array(chosen, dtype=np.int64), event

    def _candidates(self, exact_persons: Integers) -> tuple[NDArray[np.int64], Integers]:
        """The candidates' positions; and their scores, followed by those that stand for the stop.

        A score is twice the count: a person moves 2 * count - (all persons) by 1 up or down, and what is
        subtracted from all scores alike does not matter. So a choice of sensitivity 1 has the weights
        exp(epsilon * count).
        """
        existing = np.flatnonzero(exact_persons >= 1)
        order = existing[np.argsort(-exact_persons[existing], kind="stable")]
        counts = [index(count) for count in exact_persons[order[: self.candidates + 1]].tolist()]
        left_out = counts.pop() if len(counts) > self.candidates else 0
        stops = [left_out + self.margin] + [0] * (self.candidates - len(counts))
        scores = np.array([2 * count for count in counts + stops], dtype=object)
        return order[: self.candidates], scores.astype(np.int64) if max(scores) < 1 << 62 else scores

    def slack(self, confidence: Fraction) -> int:
        """With this confidence no chosen key has this many persons fewer than one that it was preferred to.

        Because: candidates that lie d below the best are chosen, all together, with at most
        (candidates) exp(-epsilon d); and there are k choices.
        """
        ratio = self.k * self.candidates / error_probability(confidence)
        return ceil(rounding.ln(ratio, up=True) / self.epsilon)


def _strangers(candidates: int, keys_per_person: int | None) -> int:
    """How many candidates one person can replace."""
    return candidates if keys_per_person is None else min(candidates, keys_per_person)


def delta_of(epsilon: Fraction, *, margin: int, strangers: int) -> Fraction:
    """The delta of a choice, rounded up: where a person joins or leaves, and twice it where one is changed.

    The first is `joining_delta`. The second, s / (s + exp(epsilon (margin - 2))), is more than twice the first where
    exp(epsilon) > 2; half of it is delta then, because exact totals count delta twice (docs/proofs/topk.md).
    """
    return max(
        joining_delta(epsilon, margin=margin, strangers=strangers), _beaten(epsilon, margin - 2, strangers, times=2)
    )


def joining_delta(epsilon: Fraction, *, margin: int, strangers: int) -> Fraction:
    """The chance that one of s `strangers` beats the stop: s / (s + exp(epsilon (margin - 1))), rounded up.

    It is attained: on an empty table, by a person in `strangers` keys.
    """
    return _beaten(epsilon, margin - 1, strangers)


def _beaten(epsilon: Fraction, lead: int, strangers: int, *, times: int = 1) -> Fraction:
    """The chance that strangers beat a stop that is so many persons ahead, over `times`, as it is stored.

    A negative lead is counted as none: half of that is then no more than the delta of one person more.
    """
    weight = rounding.exp(min(epsilon * max(lead, 0), _FAR), up=False)
    chance = max(strangers / (strangers + weight) / times, _LEAST)
    return Fraction(_SHORT.divide(Decimal(chance.numerator), Decimal(chance.denominator)))


def topk_is_cheaper(*, keys_per_person: int, k: int, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether choosing the `k` most common keys shows rarer keys than a threshold does, at the same price.

    The criterion: how many persons a key needs to show as often as not. At a threshold that is the
    threshold; in a choice it is the margin (above the first key that is left out, which few keys miss).
    The one grows with keys_per_person / epsilon, the other with k / epsilon.

    >>> price = {"epsilon": Fraction(1), "delta": Fraction(1, 10**6)}
    >>> [topk_is_cheaper(keys_per_person=keys, k=10, **price) for keys in (1, 10, 20, 1000)]
    [False, False, True, True]
    """
    scale = keys_per_person / epsilon
    if scale > MOST_SCALE:
        return True
    threshold, _ = threshold_for(DiscreteLaplace(scale=scale), keys_per_person=keys_per_person, delta=delta)
    return TopKChoice.within(k=k, epsilon=epsilon, delta=delta, keys_per_person=keys_per_person).margin < threshold
