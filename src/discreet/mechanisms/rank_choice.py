"""A private limit: the first of several candidates beyond which few enough rows lie.

A *rank* is counted from the far end: how many rows lie beyond a candidate. Asking for a quantile by its distance
from a rank makes all empty bins beyond the data equally good, of which there are many; here they are
public dislikes that grow with the distance, so that a limit is hardly ever absurd.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from operator import index
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import events
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.integer_arrays import Integers, check_integers

#: Dislikes are rounded down to this part of what one row weighs.
_FINE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RankChoice:
    """One bin of a histogram, so that few rows lie in the bins after it:

        P(i) proportional to exp(-epsilon / rows * max(0, beyond(i) - fraction * n - spare) - dislikes[i])

    beyond(i): the rows in the bins after bin i; n: all rows.
    fraction, spare: how many rows may lie beyond at no loss, as a share of all rows and on top of it.
    dislikes: public, one for each bin, in nats; rising, so that of two limits that are good enough the nearer wins.
    rows: how many rows one unit has at most.
    descending: the bins are gone through from the last to the first; for a limit below.

    Guarantee: epsilon-differentially private, and (epsilon^2 / 8)-zCDP.
    Because: write q = a / b for the fraction. A row more moves b * (beyond(i) - q n - spare) by b - a where it lies
        beyond bin i and by -a elsewhere, so its positive part by something between the two; so minus twice it, with
        (b - 2 a) n added to every score, moves by at most b. What is added to all scores alike, and what is public,
        changes neither the law nor how far scores move. So it is the exponential mechanism on scores that
        a unit moves by at most rows * b, and exp(epsilon * score / (2 * rows * b)) is the law above. A
        score that moved both up and down by so much would pay twice for it; these move one way.

    >>> choice = RankChoice(dislikes=(Fraction(0), Fraction(1), Fraction(2)), spare=2, epsilon=Fraction(1, 2))
    >>> loss = events.loss(choice.event())
    >>> loss.epsilon, loss.rho
    (Fraction(1, 2), Fraction(1, 32))
    >>> [round(chance, 3) for chance in choice.chances(np.array([80, 18, 3]))]  # 21, 3 and no rows lie beyond
    [0.0, 0.622, 0.377]
    """

    #: A limit is one choice, so that no interval around it is bought.
    confidence: ClassVar[Fraction] = Fraction(0)

    dislikes: tuple[Fraction, ...]
    fraction: Fraction = Fraction(0)
    spare: int
    rows: int = 1
    epsilon: Fraction
    descending: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.fraction, Fraction) or not 0 <= self.fraction < 1:
            raise ValueError(f"the share of rows beyond a limit must be a Fraction in [0, 1), got {self.fraction}")
        if not self.dislikes or min(self.dislikes) < 0 or self.spare < 0 or self.rows < 1:
            raise ValueError(f"not a valid choice of a limit: {self}")
        self.event()  # refuses an epsilon that makes no sense

    @property
    def bins(self) -> int:
        return len(self.dislikes)

    @property
    def mechanism(self) -> ExponentialMechanism:
        """The exponential mechanism that it is."""
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=self.rows * self.fraction.denominator * _FINE)

    def event(self) -> events.ExponentialEvent:
        """What it costs, in any number of groups that share no row."""
        return self.mechanism.event()

    def choose(self, exact_counts: Integers, *, bits: Bits) -> tuple[NDArray[np.int64], events.Event]:
        """A bin for each group, three times over as if it were an interval, and what that costs.

        `exact_counts` has a line of bins for each group; the lines count different rows.
        """
        lines = check_integers(exact_counts)
        if lines.ndim != 2 or lines.shape[1] != self.bins:
            raise ValueError(f"each group needs one row of {self.bins} bins")
        chosen = [self.mechanism.choose(self.scores(line), bits=bits)[0] for line in lines]
        return np.repeat(np.array(chosen, dtype=np.int64), 3).reshape(-1, 3), self.event()

    def scores(self, exact_line: Integers) -> Integers:
        """The score of each bin, in whole numbers: _FINE times those of the proof, less the dislikes."""
        a, b = self.fraction.numerator, self.fraction.denominator
        counts = [index(count) for count in exact_line.tolist()]
        total = sum(counts)
        per_nat = 2 * self.rows * b * _FINE / self.epsilon
        places = range(self.bins - 1, -1, -1) if self.descending else range(self.bins)
        scores: NDArray[np.object_] = np.empty(self.bins, dtype=object)
        beyond = total
        for dislike, place in zip(self.dislikes, places, strict=True):
            beyond -= counts[place]
            excess = max(0, b * (beyond - self.spare) - a * total)
            scores[place] = -2 * _FINE * excess - floor(dislike * per_nat)
        return scores

    def chances(self, exact_line: Integers) -> list[float]:
        """P(i) of each bin, in float64: for documents and tests."""
        return [float(low + high) / 2 for low, high in self.mechanism.probabilities(self.scores(exact_line))]
