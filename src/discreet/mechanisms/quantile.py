"""A private quantile: a bin of an exact histogram, with an interval around it, by the exponential mechanism or by
permute-and-flip.

A *rank* is a number of rows counted from the lowest value; bin i holds the ranks from below(i), the
rows in the bins before it, to below(i + 1). The q-quantile of n rows lies at rank q n. Ranks are
counted in b-ths of a row, for q = a / b, so that everything is whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from operator import index

import numpy as np
from numpy.typing import NDArray

from discreet import exact as rounding
from discreet.accounting import events
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.exponential import ExponentialMechanism, PermuteAndFlipMechanism
from discreet.mechanisms.integer_arrays import Integers, check_integers
from discreet.mechanisms.laplace import error_probability

#: What is certainly below this is computed in int64, the rest in Python's integers.
_WIDE = 1 << 62

#: How a bin is chosen.
BinMechanism = ExponentialMechanism | PermuteAndFlipMechanism


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileChoice:
    """Three bins in each group of rows: below, at and above the quantile.

    bins: how many there are, in the order of their values.
    rows: how many rows one unit has at most, in all groups together.
    epsilon: for the whole choice; `share` of it for the estimate, the rest in halves for the ends. With all of it for
        the estimate there is no interval.
    confidence: that the ends enclose the quantile of a group, whatever its rows are; 0 if there are none.
    flips: by permute-and-flip, which is nearer at the same epsilon, and costs more zCDP.

    Guarantee: epsilon-differentially private in all, for any number of groups that share no row;
        as zCDP the sum of e^2 / 8 over the three parts e of epsilon, or of e^2 / 2 by permute-and-flip.
    Because: a bin's score is minus the distance of a target rank to the ranks of the bin, and one row
        moves it by at most max(a, b - a) b-ths (`scores`). The choices in several groups are one
        choice of a tuple of bins, whose score is the sum; a unit's rows move the sum by at most
        rows * max(a, b - a), however they are spread. Choices by permute-and-flip in several groups are choices of
        smaller epsilons that add up. docs/proofs/quantiles.md has it at length.

    >>> choice = QuantileChoice(fraction=Fraction(1, 2), bins=100, rows=1, epsilon=Fraction(1))
    >>> loss = events.loss(choice.event())
    >>> loss.epsilon, loss.rho
    (Fraction(1, 1), Fraction(3, 64))
    >>> round(float(choice.plus_minus()), 1)  # the estimate is off by so many ranks at most, at 95%
    15.1
    """

    fraction: Fraction
    bins: int
    rows: int
    epsilon: Fraction
    confidence: Fraction = Fraction(95, 100)
    share: Fraction = Fraction(1, 2)
    flips: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.fraction, Fraction) or not 0 <= self.fraction <= 1:
            raise ValueError(f"a quantile needs a Fraction from 0 to 1, got {self.fraction}")
        if self.bins < 1 or self.rows < 1 or not 0 < self.share <= 1 or (self.share == 1 and self.confidence):
            raise ValueError(f"not a valid choice of a quantile: {self}")
        if self.has_interval:
            error_probability(self.confidence)
        self.event()  # refuses an epsilon that makes no sense

    @property
    def has_interval(self) -> bool:
        """Whether the ends of an interval are chosen."""
        return self.share < 1

    @property
    def step(self) -> int:
        """How far one row moves a score at most, in b-ths of a rank: max(a, b - a)."""
        return max(self.fraction.numerator, self.fraction.denominator - self.fraction.numerator)

    @property
    def estimate(self) -> BinMechanism:
        """The choice of the estimate."""
        return self._choice(self.epsilon * self.share)

    @property
    def end(self) -> BinMechanism:
        """The choice of one end of the interval."""
        return self._choice(self.epsilon * (1 - self.share) / 2)

    def _choice(self, epsilon: Fraction) -> BinMechanism:
        kind = PermuteAndFlipMechanism if self.flips else ExponentialMechanism
        return kind(epsilon=epsilon, sensitivity=self.rows * self.step)

    def event(self) -> events.ComposedEvent:
        """What it costs, in any number of groups that share no row."""
        ends = (self.end.event(), self.end.event()) if self.has_interval else ()
        return events.ComposedEvent(events=(self.estimate.event(), *ends))

    def choose(self, exact_counts: Integers, *, bits: Bits) -> tuple[NDArray[np.int64], events.Event]:
        """Three bins (low, estimate, high) for each group, and what that costs.

        `exact_counts` has a line of bins for each group; the lines count different rows.

        The three are drawn apart; where they come out of order the interval is widened, which reads
        nothing but the bins drawn. Without an interval all three are the estimate.
        """
        event = self.event()
        lines = check_integers(exact_counts)
        if lines.ndim != 2 or lines.shape[1] != self.bins:
            raise ValueError(f"each group needs one row of {self.bins} bins")
        drawn = np.array([self._drawn(line, bits) for line in lines], dtype=np.int64).reshape(-1, 3)
        ordered = np.column_stack([drawn.min(axis=1), drawn[:, 1], drawn.max(axis=1)])
        return ordered, event

    def _drawn(self, exact_line: Integers, bits: Bits) -> list[int]:
        if not self.has_interval:
            return [self.estimate.choose(self.scores(exact_line, 0), bits=bits)[0]] * 3
        margin = self.margin
        targets = ((self.end, -margin), (self.estimate, 0), (self.end, margin))
        return [choice.choose(self.scores(exact_line, shift), bits=bits)[0] for choice, shift in targets]

    def scores(self, exact_line: Integers, shift: int) -> Integers:
        """Minus the distance from the rank a n + shift to each bin's ranks, all in b-ths of a row.

        The first bin holds every rank below its own as well, the last every rank above.

        Guarantee: one row more or less moves no score by more than `step`.
        Because: the distance is max(0, b below(i) - a n - shift, a n + shift - b below(i + 1)). A row
            in a bin before i moves the two terms by b - a and a - b, one in bin i by -a and a - b, one
            in a bin after i by -a and a; and a maximum moves no further than its terms do.
        """
        a, b = self.fraction.numerator, self.fraction.denominator
        total = index(exact_line.sum())
        if b * total + abs(shift) >= _WIDE:
            exact_line = np.array([index(count) for count in exact_line.tolist()], dtype=object)
        reached = b * np.cumsum(exact_line)
        distance = np.zeros_like(reached)
        target = a * total + shift
        distance[1:] = np.maximum(distance[1:], reached[:-1] - target)
        distance[:-1] = np.maximum(distance[:-1], target - reached[:-1])
        scores: Integers = -distance
        return scores

    @property
    def margin(self) -> int:
        """How far the targets of the two ends lie from a n, in b-ths of a rank.

        Guarantee: in a group of n >= 1 rows the low end lies above row floor(q (n - 1)), counted from 0,
            with probability at most (1 - confidence) / 2, and the high end below row ceil(q (n - 1))
            likewise. Every usual quantile (continuous, discrete, nearest, lower, higher) lies between
            these two rows.
        Because: let the low end be a bin above the one of row f = floor(q (n - 1)). Then at least f + 1
            rows lie below it, and f + 1 > q n - q; so it is more than margin - a away from the target,
            while some bin, and none above row f, is 0 away. All bins above row f together are
            chosen with at most w / (1 + w), w = (bins - 1) exp(-(margin - a) epsilon / (2 sensitivity)).
            By permute-and-flip with at most w: a bin is kept only if its coin shows heads.
            The high end is the same with b - a in the place of a.
        """
        return self.step + ceil(self._reach(self.end, (1 - self.confidence) / 2))

    def _reach(self, choice: BinMechanism, miss: Fraction) -> Fraction:
        """The bins that are farther than this from the target, in b-ths, are chosen with at most `miss` in all."""
        others = (self.bins - 1) * (1 if self.flips else 1 - miss) / miss
        rate = choice.epsilon / (2 * choice.sensitivity)
        return rounding.ln(others, up=True) / rate if others > 1 else Fraction(0)

    def plus_minus(self, confidence: Fraction = Fraction(95, 100)) -> Fraction:
        """With this confidence the quantile's rank is no more than so many rows outside the estimated bin."""
        miss = error_probability(confidence)
        return self._reach(self.estimate, miss) / self.fraction.denominator

    def widest(self, confidence: Fraction | None = None) -> Fraction:
        """With this confidence, each for itself, an end's bin holds ranks within so many rows of the quantile's."""
        miss = error_probability(self.confidence if confidence is None else confidence)
        return (self.margin + self._reach(self.end, miss)) / self.fraction.denominator
