"""The exact law of what is counted for a choice, and the numbers of holders that a count does not contradict.

Intervals from a normal law fail where few people answered or where epsilon is large: the noise is then a handful of
rare coins. Here the tails are summed, to 1e-6, at the same price for a hundred reports as for a hundred million.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]
Complexes = NDArray[np.complex128]

#: What a sum of tails may be off by: it is always counted in favour of a number of holders.
SLACK = 1e-6
#: Minus the logarithm of what each part of the sum may be off by: 1e-7, a few times.
_LEFT_OUT = 16.1
#: The part of alpha that is spent on how many hold any choice of a block.
_ON_THE_BLOCK = 0.05
#: Cells at a time: rows times frequencies.
_CELLS = 1 << 19


@dataclass(frozen=True, slots=True, kw_only=True)
class CountStep:
    """What one report adds to a count: 1 with probability `up`, -1 with probability `down`, or nothing."""

    up: float
    down: float = 0.0

    @property
    def mean(self) -> float:
        return self.up - self.down

    @property
    def variance(self) -> float:
        return self.up + self.down - self.mean**2

    def at(self, angles: Floats) -> Complexes:
        """The mean of exp(i angle step)."""
        turn = np.exp(1j * angles) - 1
        return np.asarray(1 + self.up * turn + self.down * np.conj(turn) if self.down else 1 + self.up * turn)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SupportLaw:
    """What was counted for each choice, and its law where c of `people` hold the choice, for any c.

    A holder's report adds `own` to the count, any other report `other`. Of the people a random `drawn` sent a report
    (all, where `drawn` is `people`). Where `block` is there, it is the law of how many reports fall into the choice's
    block; only people of that block add `other`, the rest add `far`. `extra` is a variance on top, for noise whose law
    is not known: it enters as the difference of two Poisson variables.

    Guarantee: an interval holds the true c with at least its confidence, whatever c, n and epsilon are, where there is
        neither `block` nor `extra`.
    Because: a c is left out where P_c(count this large) or P_c(count this small) is at most (1 - confidence) / 2, and
        the true c is left out on either side with at most that probability. A holder's report is stochastically larger
        than another's, so both tails are monotone in c, and bisection finds the ends.
    With a block, a part of alpha bounds how many people belong to it from above. Two more people in it make either tail
    larger, one more may not: where nearly every report is in its own block, sums of an even and of an odd number of
    steps lie on different numbers. So the larger tail of the bound and of one fewer counts; tests sum the coverage
    exactly.
    """

    counted: Wholes
    people: int
    drawn: int
    own: CountStep
    other: CountStep
    extra: Floats | float = 0.0
    block: SupportLaw | None = None
    far: CountStep | None = None

    def about(self, people: int) -> SupportLaw:
        """The same about more people, of whom those that it was about are a random part."""
        block = None if self.block is None else self.block.about(people)
        return replace(self, people=people, block=block)

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """For each choice the least and the largest number of holders that is not contradicted."""
        if not self.drawn:
            return np.zeros(self.counted.size), np.full(self.counted.size, float(self.people))
        rows, place = self._distinct()
        low, high = rows._ends(1 - confidence)
        return low[place].astype(np.float64), high[place].astype(np.float64)

    def _distinct(self) -> tuple[SupportLaw, NDArray[np.intp]]:
        """Each different row once: choices are many, and counts as a rule few."""
        extra = np.broadcast_to(self.extra, self.counted.shape)
        inside = self.counted if self.block is None else self.block.counted
        _, first, place = np.unique(
            np.stack([self.counted, inside, extra]), axis=1, return_index=True, return_inverse=True
        )
        block = None if self.block is None else replace(self.block, counted=inside[first])
        distinct_law = replace(self, counted=self.counted[first], extra=extra[first], block=block)
        return distinct_law, place.reshape(-1)

    def _ends(self, alpha: float) -> tuple[Wholes, Wholes]:
        most, tail = np.full(self.counted.size, self.people), alpha / 2
        if self.block is not None:
            part = alpha * _ON_THE_BLOCK
            most, tail = self.block._last(most, part), (alpha - part) / 2
        return self._first(most, tail), self._last(most, tail)

    def _first(self, most: Wholes, tail: float) -> Wholes:
        """The least c with P_c(as many or more) > tail; `most` where none has it."""
        return np.minimum(self._falls_below(self.counted - 1, most, 1 - tail + SLACK, np.minimum), most)

    def _last(self, most: Wholes, tail: float) -> Wholes:
        """The largest c with P_c(as many or fewer) > tail; 0 where none has it."""
        return np.maximum(self._falls_below(self.counted, most, tail - SLACK, np.maximum) - 1, 0)

    def _falls_below(self, counts: Wholes, most: Wholes, level: float, worse: np.ufunc) -> Wholes:
        """The least c up to `most` with P_c(count or fewer) < level, else one more than `most`.

        `worse`: of two probabilities the one that keeps c in the interval.

        By bisection of 0 to `most` + 1, after a few steps of growing width around where a normal law has its end.
        """
        low, high = np.zeros_like(most), most + 1
        guess, stride = self._normal(counts, most, NormalDist().inv_cdf(min(max(level, SLACK), 1 - SLACK)))
        while (open_ := np.flatnonzero(low < high)).size:
            middle = np.where(guess >= 0, np.clip(guess, low, high - 1), (low + high) // 2)[open_]
            below = self._below(open_, middle, counts[open_], most[open_], worse) < level
            high[open_[below]] = middle[below]
            low[open_[~below]] = middle[~below] + 1
            # The next try is a stride further; from the first one that overshoots on, the middle.
            guess, stride = np.where(guess < 0, -1, np.where(low > guess, low + stride, high - stride)), 4 * stride
            guess = np.where((low < guess) & (guess < high), guess, -1)
        return low

    def _normal(self, counts: Wholes, most: Wholes, wide: float) -> tuple[Wholes, Wholes]:
        """About where P_c(count or fewer) crosses a level of so many standard deviations, and a stride to look by."""
        gap = (self.own.mean - self.other.mean) * self.drawn / self.people
        none = self._sum(np.arange(most.size), np.zeros_like(most), most)
        best = np.clip((counts - none.moments[0]) / gap, 0, most).astype(np.int64)
        spread = np.sqrt(self._sum(np.arange(most.size), best, most).moments[1]) / gap
        guess = np.clip(best - wide * spread, 0, most).astype(np.int64)
        return guess, np.maximum(spread / 16, 1).astype(np.int64)

    def _below(
        self, rows: NDArray[np.intp], holders: Wholes, counts: Wholes, most: Wholes, worse: np.ufunc = np.minimum
    ) -> Floats:
        """P(count or fewer) in each of these rows; with a block, the worse one of `most` people and of one fewer."""
        below = self._sum(rows, holders, most).below(counts)
        if self.block is None:
            return below
        fewer = self._sum(rows, holders, np.maximum(most - 1, holders)).below(counts)
        return np.asarray(worse(below, fewer))

    def _sum(self, rows: NDArray[np.intp], holders: Wholes, most: Wholes) -> _StepSum:
        """The law where there are so many holders, and so many people in the block."""
        extra = np.broadcast_to(self.extra, self.counted.shape)[rows]
        crowds = [(self.own, holders), (self.other, most - holders)]
        if self.far is not None:
            crowds.append((self.far, self.people - most))
        return _StepSum(crowds=crowds, people=self.people, drawn=self.drawn, extra=extra)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _StepSum:
    """The sum of the steps of `drawn` people out of crowds whose sizes are given row by row.

    Because: on a window of M whole numbers outside of which the sum has next to no mass, probabilities are a discrete
        Fourier sum of the characteristic function, and their sum up to a count is one, too. Of a sum of variance v
        that function is at most exp(-v (1 - cos angle)), so that some twenty frequencies are enough; where steps go up
        and down, those near pi count as well as those near 0.
    """

    crowds: list[tuple[CountStep, Wholes]]
    people: int
    drawn: int
    extra: Floats

    def below(self, counts: Wholes) -> Floats:
        mean, variance = self.moments
        reach = _window(variance)
        start, size = np.floor(mean - reach), 2 * np.ceil(reach) + 3
        kept = np.clip(counts - start + 1, 0, size)
        two_sided = any(step.down for step, _ in self.crowds)
        probabilities = np.empty(counts.size)
        band = _band(variance / 2 if two_sided else variance, size)
        rows = max(1, _CELLS // (int(band.max()) * (2 if two_sided else 1) * self._around[1].size))
        for begin in range(0, counts.size, rows):
            some = slice(begin, begin + rows)
            numbers = _frequencies(band[some], size[some], two_sided)
            angles = 2 * np.pi * numbers / size[some, None]
            turned = self._characteristic(some, angles, mean[some] / max(self.drawn, 1), start[some])
            turned *= -np.expm1(-1j * angles * kept[some, None]) / -np.expm1(-1j * np.where(numbers, angles, 1.0))
            probabilities[some] = (kept[some] + 2 * np.where(numbers, turned.real, 0.0).sum(axis=1)) / size[some]
        return np.where(kept <= 0, 0.0, np.where(kept >= size, 1.0, probabilities))

    @property
    def moments(self) -> tuple[Floats, Floats]:
        """The mean and the variance of the sum; a random part of the people varies by who is in it."""
        shares = [(step, many / self.people) for step, many in self.crowds]
        mean = np.sum([share * step.mean for step, share in shares], axis=0)
        inner = np.sum([share * step.variance for step, share in shares], axis=0)
        between = np.sum([share * (step.mean - mean) ** 2 for step, share in shares], axis=0)
        chosen = (self.people - self.drawn) / max(self.people - 1, 1)
        return self.drawn * mean, self.drawn * (inner + chosen * between) + self.extra

    @property
    def _around(self) -> tuple[float, Floats]:
        """The angles by which the number of people drawn is held at `drawn`, and that number's share of all."""
        share = self.drawn / self.people
        if self.drawn == self.people:
            return share, np.zeros(1)
        variance = np.array([self.people * share * (1 - share)])
        size = 2 * np.ceil(_window(variance)) + 3
        band = int(_band(variance, size)[0])
        return share, 2 * np.pi * np.arange(-band, band + 1) / size

    def _characteristic(self, rows: slice, angles: Floats, slope: Floats, start: Floats) -> Complexes:
        """The mean of exp(i angle (sum - start)), given that so many were drawn."""
        fixed = -1j * angles * start[:, None] - self.extra[rows, None] * (1 - np.cos(angles))
        steps = [(step.at(angles), many[rows, None]) for step, many in self.crowds]
        share, around = self._around
        if around.size == 1:
            return np.asarray(np.exp(fixed + sum(many * _log(turned) for turned, many in steps)))
        # The largest terms are where the number drawn turns against the sum.
        against = -1j * slope[:, None] * angles
        steps = [(share * np.exp(against) * turned, many) for turned, many in steps]
        total = np.zeros(angles.shape, dtype=np.complex128)
        for offset in around.tolist():
            terms = sum(many * _log(1 - share + np.exp(1j * offset) * turned) for turned, many in steps)
            total += np.exp(terms - 1j * offset * self.drawn)
        whole = self.people * np.log(1 - share + share * np.exp(1j * around)) - 1j * around * self.drawn
        return np.asarray(np.exp(fixed - against * self.drawn) * total / np.exp(whole).real.sum())


def _window(variance: Floats) -> Floats:
    """How far a sum of independent steps, each within 2 of its mean, strays with a chance of 1e-7 (Bernstein)."""
    return np.asarray(_LEFT_OUT * 2 / 3 + np.sqrt((_LEFT_OUT * 2 / 3) ** 2 + 2 * _LEFT_OUT * variance))


def _band(variance: Floats, size: Floats) -> Wholes:
    """Up to which frequency of a window of this (odd) size a characteristic function is more than 1e-7."""
    angle = np.arccos(np.maximum(1 - _LEFT_OUT / np.maximum(variance, 1e-9), -1.0))
    return np.minimum(np.ceil(angle * size / (2 * np.pi)), (size - 1) / 2).astype(np.int64)


def _frequencies(band: Wholes, size: Floats, two_sided: bool) -> Floats:
    """The numbers of the frequencies to be summed, row by row; 0 stands for none."""
    numbers = np.arange(1.0, int(band.max()) + 1)
    low = np.where(numbers <= band[:, None], numbers, 0.0)
    if not two_sided:
        return low
    high = (size[:, None] + 1) / 2 - numbers
    return np.hstack([low, np.where((numbers <= band[:, None]) & (high > band[:, None]), high, 0.0)])


def _log(values: Complexes) -> Complexes:
    """A logarithm that is finite where a step cancels itself out."""
    return np.asarray(np.log(values + 1e-300))
