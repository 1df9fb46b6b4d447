"""Randomized response: an answer that is randomized before it leaves the respondent's device."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet import exact as rounding
from discreet.accounting import events
from discreet.mechanisms import bernoulli, bounds, uniform
from discreet.mechanisms.bits import Bits

#: ln 3, rounded up.
_LN_3 = Fraction(rounding.units_up(rounding.ln(Fraction(3), up=True), 10**18), 10**18)
_MOST_CHOICES = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse:
    """k-ary randomized response: the truth with probability e^epsilon / (e^epsilon + k - 1), else
    one of the other k - 1 choices, each with the same probability.

    Guarantee: epsilon-differentially private for each respondent, whoever collects the answers.
    Because: the truth is e^epsilon times as likely as any other answer, so that two truths make an
        answer more likely by at most that factor. The probability is irrational and is not rounded:
        the coin is flipped by drawing bits until they decide (bernoulli.computable).
    """

    epsilon: Fraction
    choices: int

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0 or not 2 <= self.choices <= _MOST_CHOICES:
            raise ValueError(f"not a randomized response: {self}")

    def event(self) -> events.Response:
        """What it costs each respondent."""
        return events.Response(epsilon=self.epsilon, choices=self.choices)

    def randomize(self, codes: NDArray[np.int64], *, bits: Bits) -> tuple[NDArray[np.int64], events.Event]:
        """A randomized answer for each code in 0 .. choices - 1, and what that costs each respondent."""
        codes = _codes(codes, self.choices)
        lies = bernoulli.computable(self.lie_bounds, codes.size, bits=bits)
        steps = 1 + uniform.whole_below(self.choices - 1, codes.size, bits=bits)
        return np.where(lies, (codes + steps) % self.choices, codes), self.event()

    def lie_bounds(self, digits: int) -> bounds.Interval:
        """The probability of any answer but the truth: w / (1 + w) with w = (k - 1) e^-epsilon."""
        low, high = ((self.choices - 1) * end for end in bounds.exp_minus(self.epsilon, digits=digits + 10))
        return low / (1 + low), high / (1 + high)

    def law(self, *, digits: int = 50) -> tuple[bounds.Interval, bounds.Interval]:
        """The probabilities of the truth, and of each other choice, between two Fractions."""
        low, high = self.lie_bounds(digits)
        return (1 - high, 1 - low), (low / (self.choices - 1), high / (self.choices - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoCoins:
    """The two fair coins: heads on the first, tell the truth; else answer as the second one falls.

    Guarantee: (ln 3)-differentially private for each respondent.
    Because: yes is said with probability 3/4 where it is true and 1/4 where it is not.
    """

    def event(self) -> events.Response:
        """What it costs each respondent: ln 3, rounded up."""
        return events.Response(epsilon=_LN_3, choices=2)

    def randomize(self, codes: NDArray[np.int64], *, bits: Bits) -> tuple[NDArray[np.int64], events.Event]:
        """A randomized answer for each code (0 or 1), and what that costs each respondent."""
        codes = _codes(codes, 2)
        words = bits.words(codes.size).view(np.int64)
        return np.where(words & 1 == 1, codes, words >> 1 & 1), self.event()

    def law(self) -> tuple[Fraction, Fraction]:
        """The probabilities of the truth, and of the other answer."""
        return Fraction(3, 4), Fraction(1, 4)


def _codes(codes: NDArray[np.int64], choices: int) -> NDArray[np.int64]:
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise TypeError("answers are coded as a vector of whole numbers")
    if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < choices:
        raise ValueError(f"answers are coded 0 to {choices - 1}")
    return codes.astype(np.int64)
