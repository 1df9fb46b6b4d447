"""Choosing one candidate by its score: the exponential mechanism and permute-and-flip.

Scores are integers, with a sensitivity: how far one person can move any one of them. Both
mechanisms know candidate i by x_i = (best score - score_i) * epsilon / (2 * sensitivity) only,
flip coins of bias exp(-x_i), and flip them exactly; a gap of 10^9 neither underflows nor fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import index

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import events
from discreet.mechanisms import bernoulli, enclosure, uniform
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.integer_arrays import Integers, check_integers

#: At least so many candidates are tried at a time.
_FEWEST_TRIALS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism:
    """The exponential mechanism: P(i) proportional to exp(epsilon * score_i / (2 * sensitivity)).

    Guarantee: epsilon-differentially private, and (epsilon^2 / 8)-zCDP, if one person moves each
        score by at most `sensitivity`.
    Because: weights and their sum each move by a factor of at most exp(epsilon / 2); the loss
        ranges over an interval of length epsilon (Cesar and Rogers 2021). `choose` draws from
        exactly this law.
    """

    epsilon: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        _check(self.epsilon, self.sensitivity)

    def event(self) -> events.ExponentialEvent:
        return events.ExponentialEvent(epsilon=self.epsilon)

    def choose(self, scores: Integers, *, bits: Bits) -> tuple[int, events.Event]:
        """The index of the chosen candidate, and what the choice costs.

        Because: a candidate is picked uniformly and kept with probability exp(-x_i), else all
        begins anew; so it is kept in the end with probability proportional to exp(-x_i). The best
        one is always kept when picked: n picks at once succeed with probability above 1 - exp(-1/2).
        """
        gaps, rate = _gaps(scores), self.epsilon / (2 * self.sensitivity)
        mask = np.uint64((1 << (gaps.size - 1).bit_length()) - 1)
        while True:
            picked = (bits.words(max(_FEWEST_TRIALS, gaps.size)) & mask).view(np.int64)
            picked = picked[picked < gaps.size]
            kept = picked[bernoulli.exp_minus(gaps[picked], rate, bits=bits)]
            if kept.size:
                return int(kept[0]), self.event()

    def probabilities(self, scores: Integers) -> list[enclosure.Interval]:
        """P(i) for each candidate, between two Fractions. For few candidates: it is exact, and slow."""
        weights = _weights(_gaps(scores), self.epsilon / (2 * self.sensitivity))
        least, most = (sum((weight[end] for weight in weights), Fraction(0)) for end in (0, 1))
        return [(low / most, min(Fraction(1), high / least)) for low, high in weights]


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlipMechanism:
    """Permute-and-flip (McKenna and Sheldon 2020): in random order, keep the first whose coin shows heads.

    Guarantee: epsilon-differentially private, and (epsilon^2 / 2)-zCDP, if one person moves each
        score by at most `sensitivity`. Its expected score is never below the exponential mechanism's.
    Because: theorem 1 of the paper; a coin shows heads with probability exp(-x_i), exactly.
    """

    epsilon: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        _check(self.epsilon, self.sensitivity)

    def event(self) -> events.PermuteAndFlipEvent:
        return events.PermuteAndFlipEvent(epsilon=self.epsilon)

    def choose(self, scores: Integers, *, bits: Bits) -> tuple[int, events.Event]:
        """The index of the chosen candidate, and what the choice costs.

        Because: the order is independent of the coins, so the first heads in it is uniform among
        all heads. All coins are flipped at once and one of the heads is picked; the best
        candidate's coin always shows heads.
        """
        gaps, rate = _gaps(scores), self.epsilon / (2 * self.sensitivity)
        heads = np.flatnonzero(bernoulli.exp_minus(gaps, rate, bits=bits))
        return int(heads[uniform.whole_below(heads.size, 1, bits=bits)[0]]), self.event()

    def probabilities(self, scores: Integers) -> list[enclosure.Interval]:
        """P(i) for each candidate, between two Fractions. For few candidates: it is exact, and slow.

        P(i) rises with the bias of coin i and falls with every other bias, which gives the bounds.
        """
        weights = _weights(_gaps(scores), self.epsilon / (2 * self.sensitivity))
        intervals = []
        for own, (low, high) in enumerate(weights):
            others = weights[:own] + weights[own + 1 :]
            intervals.append(
                (
                    _first_heads(low, [most for _, most in others]),
                    _first_heads(high, [least for least, _ in others]),
                )
            )
        return intervals


def _first_heads(own: Fraction, others: list[Fraction]) -> Fraction:
    """The chance that a coin of bias `own` shows heads and is first in order among all heads.

    With m other heads it is first with probability 1 / (m + 1).
    """
    heads = [Fraction(1)]  # heads[m]: the chance of m heads among the coins so far
    for chance in others:
        padded = [Fraction(0), *heads, Fraction(0)]
        heads = [fewer * chance + same * (1 - chance) for fewer, same in pairwise(padded)]
    return own * sum((part / (m + 1) for m, part in enumerate(heads)), Fraction(0))


def _check(epsilon: Fraction, sensitivity: int) -> None:
    if not isinstance(epsilon, Fraction) or epsilon <= 0 or sensitivity < 1:
        raise ValueError(f"a choice needs epsilon > 0 and sensitivity >= 1, got {epsilon} and {sensitivity}")


def _gaps(scores: Integers) -> Integers:
    """best - score for each candidate, exactly: as int64 where they fit, else as Python ints."""
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError("a choice needs a vector of at least one score")
    scores = check_integers(scores)
    best, worst = index(scores.max()), index(scores.min())
    if scores.dtype == np.int64 and best - worst < 1 << 63:
        return np.int64(best) - scores
    gaps: NDArray[np.object_] = np.empty(scores.size, dtype=object)
    gaps[:] = [best - index(score) for score in scores.tolist()]
    return gaps


def _weights(gaps: Integers, rate: Fraction) -> list[enclosure.Interval]:
    """exp(-x_i), to 60 digits."""
    return [enclosure.exp_minus(int(gap) * rate, digits=60) for gap in gaps]
