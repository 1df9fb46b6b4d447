"""How often the interval of a local estimate holds the truth: exact sums over the law of what is counted, no sampling.

The laws here are made by multiplying polynomials, nowhere by Fourier sums: they share nothing with `support_law.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.estimate import Estimate
from discreet.surveys.protocols.hadamard import HadamardResponse
from discreet.surveys.protocols.several_questions import scale_estimate_to_all
from discreet.surveys.protocols.support_law import SupportLaw

Floats = NDArray[np.float64]

#: Ends are quotients of floats, and so is the truth.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Intervals:
    """The estimate and the interval of each outcome, as shares."""

    shares: Floats
    low: Floats
    high: Floats

    def hold(self, law: Floats, truth: float) -> float:
        """The chance to hold the truth, where outcomes have this law."""
        inside = (self.low <= truth + _ROUNDING) & (truth - _ROUNDING <= self.high)
        return float(law @ inside)

    def width(self, law: Floats) -> float:
        """The mean width."""
        return float(law @ (self.high - self.low))

    @property
    def hold_their_own(self) -> bool:
        return bool(np.all((self.low <= self.shares) & (self.shares <= self.high)))


def intervals(made: ChoiceRandomizer, n: int, confidence: float, people: int | None = None) -> Intervals:
    """For each number of reports that support a choice, from 0 to n; about `people` of whom n were drawn."""
    one = made.from_supports(np.zeros(len(made.choices), dtype=np.int64), n)
    own, other = (float(chance) for chance in made.chances)
    seen = np.arange(n + 1)
    law = replace(one.law, counted=seen, extra=np.zeros(n + 1))
    return _shown(one, (seen - n * other) / (own - other), law, confidence, people)


def hadamard_intervals(made: HadamardResponse, n: int, confidence: float) -> tuple[Intervals, Floats, Floats]:
    """For each number of reports in a choice's set and of reports beside it in its block."""
    one = made.from_supports(np.zeros((2, len(made.choices)), dtype=np.int64), n)
    inside, beside = (each.ravel() for each in np.indices((n + 1, n + 1)))
    kept = inside + beside <= n
    inside, beside = inside[kept], beside[kept]
    block = one.law.block and replace(one.law.block, counted=inside + beside)
    law = replace(one.law, counted=inside - beside, block=block)
    return _shown(one, (inside - beside) / float(made.gap), law, confidence, None), inside, beside


def _shown(one: Estimate, counts: Floats, law: SupportLaw, confidence: float, people: int | None) -> Intervals:
    """As if there were a choice for each outcome."""
    labels, variances = tuple(map(str, range(counts.size))), np.zeros(counts.size)
    found = replace(one, labels=labels, counts=counts, variances=variances, law=law)
    about = found if people is None else scale_estimate_to_all(found, people)
    low, high = np.array(list(about.interval(confidence).values())).T
    return Intervals(np.array(list(about.shares.values())), low, high)


# Laws


def binomial(many: int, chance: float) -> Floats:
    """All probabilities, by logarithms."""
    places = np.arange(many + 1)
    if chance in (0.0, 1.0):
        return (places == many * chance).astype(np.float64)
    tops = math.lgamma(many + 1)
    logs = [tops - math.lgamma(k + 1) - math.lgamma(many - k + 1) for k in range(many + 1)]
    return np.asarray(np.exp(np.array(logs) + places * math.log(chance) + (many - places) * math.log1p(-chance)))


def support_law(made: ChoiceRandomizer, n: int, truth: int) -> Floats:
    """How many of n reports support a choice that so many hold."""
    own, other = (float(chance) for chance in made.chances)
    return np.convolve(binomial(truth, own), binomial(n - truth, other))


def drawn_law(made: ChoiceRandomizer, people: int, truth: int, drawn: int) -> Floats:
    """The same of `drawn` reports, where so many of `people` hold it and a random part of them was asked."""
    total, found = math.comb(people, drawn), np.zeros(drawn + 1)
    for among in range(max(0, drawn - people + truth), min(truth, drawn) + 1):
        chance = math.comb(truth, among) * math.comb(people - truth, drawn - among) / total
        found += chance * support_law(made, drawn, among)
    return found


def hadamard_law(made: HadamardResponse, n: int, truth: int, beside: int) -> Floats:
    """The chance of each number of reports in a choice's set and beside it, where so many hold it, and others of its
    block are held by `beside`."""
    high, low = (float(level) * made.length / 2 for level in made._levels)
    middle = (high + low) / 2
    law = np.ones((1, 1))
    for many, inside, out in ((truth, high, low), (beside, middle, middle), (n - truth - beside, low, low)):
        law = _convolved(law, _trinomial(many, inside, out))
    return law


def _trinomial(many: int, one: float, two: float) -> Floats:
    found = np.zeros((many + 1, many + 1))
    rest = min(two / (1 - one), 1.0) if one < 1 else 0.0
    for first, chance in enumerate(binomial(many, one).tolist()):
        found[first, : many - first + 1] = chance * binomial(many - first, rest)
    return found


def _convolved(left: Floats, right: Floats) -> Floats:
    found = np.zeros((left.shape[0] + right.shape[0] - 1, left.shape[1] + right.shape[1] - 1))
    for row, column in zip(*np.nonzero(left > 1e-16), strict=True):
        found[row : row + right.shape[0], column : column + right.shape[1]] += left[row, column] * right
    return found
