"""Numbers told as a place in a window: the piecewise mechanism, square wave and hybrid, in whole numbers.

Outputs are 0 .. last. A code's window is `wide` outputs, and moves by `slide` outputs with each code, from the first
output for code 0 to the last one for the largest. A report lies in the window, each of its outputs as likely as the
next, or with probability `out` outside, each of those as likely as the next.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import bytes_needed, bytes_to_numbers, numbers_to_bytes
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.estimate import Estimate
from discreet.surveys.protocols.grid_numbers import FINE_PLANES, Duchi, MeanRandomizer, too_fine
from discreet.surveys.protocols.option_checks import check_whole, non_default
from discreet.surveys.protocols.randomizer import Reports

#: Outputs outside a window, at least: so fine that the window's width can be near its best.
_FINENESS = 1 << 20
#: Up to this epsilon Duchi's bit has less variance than any mixture with piecewise (Wang and others, 2019).
_DUCHI_ALONE = Fraction(61, 100)


class WindowRandomizer(MeanRandomizer):
    """A report is more likely inside the window of its number than outside.

    Guarantee: epsilon-differentially private for each report.
    Because: every output has one of two probabilities, (1 - out) / wide inside the window of a number and
        out / (steps slide) outside; epsilon is the logarithm of their ratio, and `out` is the least number
        of 256^-planes for which that is at most what was asked for.
    Draws: first a flip of the coin `out`; then, on tails, a whole number below `wide`, the place in the window; on
        heads, a whole number below steps * slide, the place among the outputs outside, in their order.
    """

    __slots__ = ("_unusual", "gain", "offset", "out", "slide", "wide")

    #: An output is offset + gain * code in the mean.
    offset: Fraction
    gain: Fraction

    def __init__(
        self,
        *,
        low: object,
        high: object,
        step: object,
        epsilon: object,
        slide: int | None = None,
        planes: int = FINE_PLANES,
    ) -> None:
        self._declare(low, high, step)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        usual = -(-_FINENESS // self.steps)
        self.slide = usual if slide is None else check_whole(slide, name="slide", low=1, high=_FINENESS)
        self._unusual = non_default(slide=(self.slide, usual), planes=(planes, FINE_PLANES))
        self.wide = max(1, round(self.outside * self._share(self.requested_epsilon)))
        chance = 1 / (1 + coins.likelihood_bound(self.requested_epsilon) * self.wide / self.outside)
        self.out = Coin(heads=coins.heads_for(chance, planes=planes), planes=planes)
        inside, outside = self.levels
        if inside <= outside:
            raise too_fine(self.requested_epsilon)
        self.epsilon = coins.cost(inside / outside, self.requested_epsilon)
        self.width = bytes_needed(self.outputs - 1)
        self._measure()

    @abstractmethod
    def _share(self, epsilon: Fraction) -> Fraction:
        """The best window's width for an epsilon, in parts of the way that it moves."""

    @property
    def outside(self) -> int:
        """How many outputs lie outside a window."""
        return self.steps * self.slide

    @property
    def outputs(self) -> int:
        return self.outside + self.wide

    @property
    def levels(self) -> tuple[Fraction, Fraction]:
        """The probability of each output inside the window, and of each outside."""
        return (1 - self.out.chance) / self.wide, self.out.chance / self.outside

    def _measure(self) -> None:
        """The mean and the second moment of an output, given code i, from sums over all outputs and over a window.

        All outputs have `outside`, those of the window inside - outside on top. With middle = i slide + (wide - 1) / 2
        the window's outputs sum to wide * middle and their squares to wide * (middle^2 + (wide^2 - 1) / 12).
        """
        inside, outside = self.levels
        many, wide, excess = self.outputs, self.wide, (inside - outside) * self.wide
        half = Fraction(wide - 1, 2)
        self.gain = excess * self.slide
        self.offset = outside * Fraction(many * (many - 1), 2) + excess * half
        start = self.offset / self.gain
        constant = outside * Fraction((many - 1) * many * (2 * many - 1), 6)
        constant += excess * (half**2 + Fraction(wide**2 - 1, 12))
        self.spread = (
            constant / self.gain**2 - start**2,
            2 * half / self.gain - 2 * start,
            1 / excess - 1,
        )
        self.extent = -start, (many - 1) / self.gain - start

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        return numbers_to_bytes(self.draw_outputs(codes, bits=bits), self.width)

    def draw_outputs(self, codes: NDArray[np.int64], *, bits: Bits) -> NDArray[np.int64]:
        """An output for each code."""
        out = self.out.flips(codes.size, bits=bits)
        start = codes * self.slide
        far, near = np.flatnonzero(out), np.flatnonzero(~out)
        outputs = np.empty(codes.size, dtype=np.int64)
        outputs[near] = start[near] + uniform.whole_below(self.wide, near.size, bits=bits)
        place = uniform.whole_below(self.outside, far.size, bits=bits)
        outputs[far] = place + self.wide * (place >= start[far])
        return outputs

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray(bytes_to_numbers(reports) < self.outputs)

    def guesses(self, reports: Reports) -> NDArray[np.float64]:
        return self.guesses_of(bytes_to_numbers(reports))

    def guesses_of(self, outputs: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray((outputs - float(self.offset)) / float(self.gain))

    def options(self) -> dict[str, Any]:
        return {**super().options(), **self._unusual}

    def numbers(self) -> dict[str, Any]:
        return {
            "steps": self.steps,
            "wide": self.wide,
            "slide": self.slide,
            "out": self.out.heads,
            "planes": self.out.planes,
        }


class Piecewise(WindowRandomizer):
    """The window whose mean has the least variance in the worst case: its width is e^(-epsilon/2) of its way.

    That is the piecewise mechanism of Wang and others (2019), where a window of C - 1 moves by C + 1 and
    C = (e^(epsilon/2) + 1) / (e^(epsilon/2) - 1), in whole numbers.
    """

    __slots__ = ()

    protocol = "piecewise"

    def _share(self, epsilon: Fraction) -> Fraction:
        return exact.exp(-epsilon / 2, up=False)


class SquareWave(WindowRandomizer):
    """A window chosen to estimate the whole distribution, not only the mean.

    Its width, in parts of its way, is 2b of Li and others (2020), which makes the most of the mutual
    information. `estimate` gives the unbiased mean; `distribution` the likeliest distribution.
    """

    __slots__ = ()

    protocol = "square-wave"

    def _share(self, epsilon: Fraction) -> Fraction:
        return _most_informative(epsilon)

    def distribution(
        self,
        reports: Reports | Sequence[bytes],
        *,
        bins: int | None = None,
        smooth: bool = False,
        rounds: int = 10_000,
    ) -> Estimate:
        """The likeliest distribution over `bins` pieces of the grid, by expectation maximisation.

        It is neither unbiased nor has it an interval: an estimate that says `made="em"`, or `made="em-smooth"` where
        each round also averages neighbours (1, 2, 1): that helps where there are many bins and few reports, and
        flattens true peaks where there are not.
        """
        report_matrix = self.matrix(reports)
        if not len(report_matrix):
            raise UsageError("There are no reports yet, so there is no distribution.")
        edges = self._bins(bins or min(self.steps + 1, 256))
        cuts = np.unique(np.linspace(0, self.outputs, 2 * edges.size).astype(np.int64))
        seen = np.histogram(bytes_to_numbers(report_matrix), bins=cuts)[0].astype(np.float64)
        gain = 1e-3 * float(
            coins.likelihood_bound(self.requested_epsilon)
        )  # as Li and others stop: further rounds fit the noise
        shares = maximum_likelihood(self.blur(edges, cuts), seen, smooth=smooth, gain=gain, rounds=rounds)
        size = edges.size - 1
        return Estimate(
            labels=tuple(self._label(int(edges[k]), int(edges[k + 1]) - 1) for k in range(size)),
            n=len(report_matrix),
            counts=shares * len(report_matrix),
            variances=np.full(size, np.nan),
            reach=float(len(report_matrix)),  # nothing smaller is proved
            made="em-smooth" if smooth else "em",
        )

    def _bins(self, bins: int) -> NDArray[np.int64]:
        """The first code of each bin, and the end."""
        if not 2 <= bins <= min(self.steps + 1, 4096):
            raise UsageError(f"The grid can be divided into 2 to {min(self.steps + 1, 4096):,} bins.")
        return np.arange(bins + 1, dtype=np.int64) * (self.steps + 1) // bins

    def _label(self, first: int, last: int) -> str:
        ends = (exact.show(self.low + code * self.step, digits=12) for code in (first, last))
        return "..".join(ends) if last > first else next(ends)

    def blur(self, edges: NDArray[np.int64], cuts: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(output in [cuts_j, cuts_j+1) | code in [edges_k, edges_k+1), all its codes alike): rows j, columns k."""
        inside, outside = self.levels
        # Of the window that starts at s, clip(x - s, 0, wide) outputs lie below x: a difference of two ramps.
        below = _ramps(cuts[:, None], edges, self.slide) - _ramps(cuts[:, None] - self.wide, edges, self.slide)
        shared = np.diff(np.diff(below, axis=0), axis=1) / np.diff(edges)
        return np.asarray(float(outside) * np.diff(cuts)[:, None] + float(inside - outside) * shared)


class Hybrid(MeanRandomizer):
    """A coin chooses between piecewise and Duchi's bit, so that the variance is the same for all numbers.

    Guarantee: epsilon-differentially private for each report.
    Because: the coin does not depend on the answer, the report says how it fell, and either way the report is
        epsilon-differentially private.
    Draws: first a flip of the coin `pieces`; then, on heads, those of piecewise; on tails, those of Duchi.
    A report is a whole number: piecewise's output, or its number of outputs plus Duchi's bit.
    """

    __slots__ = ("bit", "pieces", "window")

    protocol = "hybrid"

    def __init__(
        self,
        *,
        low: object,
        high: object,
        step: object,
        epsilon: object,
        slide: int | None = None,
        planes: int = FINE_PLANES,
    ) -> None:
        self._declare(low, high, step)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        grid: dict[str, Any] = {
            "low": self.low,
            "high": self.high,
            "step": self.step,
            "epsilon": self.requested_epsilon,
        }
        self.window = Piecewise(**grid, slide=slide, planes=planes)
        self.bit = Duchi(**grid, planes=planes)
        chance = (
            Fraction(0)
            if self.requested_epsilon <= _DUCHI_ALONE
            else 1 - exact.exp(-self.requested_epsilon / 2, up=True)
        )
        self.pieces = Coin(heads=coins.heads_for(chance, planes=planes), planes=planes)
        self.epsilon = max(self.bit.epsilon, self.window.epsilon) if chance else self.bit.epsilon
        self.width = bytes_needed(self.window.outputs + 1)
        heads, tails = self.pieces.chance, 1 - self.pieces.chance
        one, two, three = (
            heads * curve + tails * line for curve, line in zip(self.window.spread, self.bit.spread, strict=True)
        )
        self.spread = one, two, three  # both guesses are unbiased, so their variances mix
        ends = [*self.bit.extent, *(self.window.extent if chance else ())]
        self.extent = min(ends), max(ends)

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        heads = self.pieces.flips(codes.size, bits=bits)
        wide, narrow = np.flatnonzero(heads), np.flatnonzero(~heads)
        outputs = np.empty(codes.size, dtype=np.int64)
        outputs[wide] = self.window.draw_outputs(codes[wide], bits=bits)
        outputs[narrow] = self.bit.reports(codes[narrow], bits=bits)[:, 0] + np.int64(self.window.outputs)
        return numbers_to_bytes(outputs, self.width)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        outputs = bytes_to_numbers(reports)
        least = 0 if self.pieces.heads else self.window.outputs
        return np.asarray((least <= outputs) & (outputs < self.window.outputs + 2))

    def guesses(self, reports: Reports) -> NDArray[np.float64]:
        outputs = bytes_to_numbers(reports)
        bit = outputs - self.window.outputs
        ends = np.array([float(end) for end in self.bit.extent])
        return np.asarray(np.where(bit < 0, self.window.guesses_of(outputs), ends[np.maximum(bit, 0)]))

    def options(self) -> dict[str, Any]:
        return self.window.options()

    def numbers(self) -> dict[str, Any]:
        return {
            "steps": self.steps,
            "pieces": self.pieces.heads,
            "planes": self.pieces.planes,
            "window": self.window.numbers(),
            "bit": self.bit.numbers(),
        }


def maximum_likelihood(
    blur: NDArray[np.float64], seen: NDArray[np.float64], *, smooth: bool, gain: float, rounds: int
) -> NDArray[np.float64]:
    """The shares whose blurred image makes what was seen likeliest; they are never negative and sum to 1.

    Without `smooth` no round makes it less likely. It stops when a round moves the log-likelihood by less than `gain`.
    """
    shares = np.full(blur.shape[1], 1 / blur.shape[1])
    before = -np.inf
    for _ in range(rounds):
        image = blur @ shares
        likelihood = float(seen @ np.log(image))
        if abs(likelihood - before) < gain:
            break
        before = likelihood
        shares *= blur.T @ (seen / image)
        if smooth and shares.size > 2:
            padded = np.pad(shares, 1, mode="edge")
            shares = padded[:-2] + 2 * padded[1:-1] + padded[2:]
        shares /= shares.sum()
    return shares


def _ramps(cuts: NDArray[np.int64], edges: NDArray[np.int64], slide: int) -> NDArray[np.int64]:
    """The sum of max(cut - i slide, 0) over the codes i below each edge."""
    many = np.minimum(edges, np.maximum(-(-cuts // slide), 0))
    return np.asarray(many * cuts - slide * (many * (many - 1) // 2))


def _most_informative(epsilon: Fraction) -> Fraction:
    """2b = (epsilon e^epsilon - e^epsilon + 1) / (e^epsilon (e^epsilon - 1 - epsilon))."""
    power = exact.exp(epsilon, up=True)
    return (epsilon * power - power + 1) / (power * (power - 1 - epsilon))
