"""Numbers on a declared grid, and the mean of them: what the protocols have in common, and one bit (Duchi).

A number is a whole number of steps above `low`, its *code*. Each protocol gives a report an unbiased
guess of its code, so the mean of the guesses is an unbiased mean.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.estimate import Mean, VarianceCurve
from discreet.surveys.protocols.option_checks import non_default
from discreet.surveys.protocols.randomizer import Randomizer, Reports, Values

#: A grid has at most so many steps.
MOST_STEPS = 1 << 20
#: Coins of numbers are cut finer than others, in 2^-48: a million steps share one coin's range.
FINE_PLANES = 6
#: More digits after the point than this are a typing error.
_DIGITS = 40
#: What may stand around a number.
_SPACES = " \t\n\r\f\v"


class GridRandomizer(Randomizer):
    """A randomizer for a number from `low` to `high`, in steps of `step`.

    A number between two points of the grid is rounded to the nearer one (halves up); a number outside the
    bounds is refused. (Rounding depends on nothing but the answer itself, so it costs nothing.)
    """

    __slots__ = ("high", "low", "step", "steps")

    low: Fraction
    high: Fraction
    step: Fraction
    #: How many steps there are from low to high.
    steps: int

    def _declare(self, low: object, high: object, step: object) -> None:
        self.low, self.high = exact.number(low, name="low"), exact.number(high, name="high")
        self.step = exact.number(step, name="step")
        if self.step <= 0 or self.low >= self.high:
            raise UsageError("A number needs low < high and a step above 0.")
        steps = (self.high - self.low) / self.step
        if steps.denominator != 1 or steps > MOST_STEPS:
            raise UsageError(
                f"The range from {exact.show(self.low)} to {exact.show(self.high)} must be a whole number of steps, "
                f"at most {MOST_STEPS:,}; with steps of {exact.show(self.step)} it is {exact.show(steps)}.",
                hint="choose a coarser step: the noise is much wider than a thousandth of the range anyway",
            )
        self.steps = int(steps)
        for number in (self.low, self.high, self.step):
            decimal(number)  # what no decimal can say is refused now

    def codes(self, values: Values) -> NDArray[np.int64]:
        """Each number's place on the grid: the nearest, halves up, exactly (a float is what its repr says)."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
            return self._codes_of(values.ravel()) if values.size else np.empty(0, dtype=np.int64)
        return np.fromiter((self.code(value) for value in values), dtype=np.int64, count=len(values))

    def code(self, value: object) -> int:
        """One number's place on the grid."""
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, str) and plain.strip(_SPACES) != plain.strip():
            raise self._outside()  # other languages know other spaces
        try:
            number = exact.number(plain, name="an answer")
        except UsageError:
            raise self._outside() from None
        if not self.low <= number <= self.high:
            raise self._outside()
        return math.floor((number - self.low) / self.step + Fraction(1, 2))

    def _codes_of(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """In float64; where that is too near to a half to tell, exactly."""
        if not np.isfinite(values).all():
            raise self._outside()
        for end in (values.min(), values.max()):
            self.code(end)
        near = (values.astype(np.float64) - float(self.low)) / float(self.step) + 0.5
        codes: NDArray[np.int64] = np.floor(near).astype(np.int64)
        # Six roundings of at most 2^-53, each relative to no more than twice the larger bound.
        margin = 2.0**-48 * (1 + float(max(abs(self.low), abs(self.high)) / self.step))
        doubtful = np.flatnonzero(np.abs(near - np.rint(near)) <= margin)
        if doubtful.size:
            distinct, place = np.unique(values[doubtful], return_inverse=True)
            codes[doubtful] = self.codes(distinct.tolist())[place]
        return codes

    def _outside(self) -> UsageError:
        return UsageError(f"An answer must be a number from {exact.show(self.low)} to {exact.show(self.high)}.")

    def check(self, values: Values) -> None:
        self.codes(values)

    def canonical(self, value: Any) -> str:
        return f"code {int(self.codes([value])[0])}"

    def draw_reports(self, values: Values, *, bits: Bits) -> Reports:
        return self.reports(self.codes(values), bits=bits)

    @abstractmethod
    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        """A report for each code."""

    def options(self) -> dict[str, Any]:
        return {"low": decimal(self.low), "high": decimal(self.high), "step": decimal(self.step)}


class MeanRandomizer(GridRandomizer):
    """One whose reports give the mean: each is an unbiased guess of its code."""

    __slots__ = ("extent", "spread")

    #: a, b, c: a guess of code i has the variance a + b i + c i^2, exactly.
    spread: tuple[Fraction, Fraction, Fraction]
    #: The least and the largest guess that a report can give.
    extent: tuple[Fraction, Fraction]

    @abstractmethod
    def guesses(self, reports: Reports) -> NDArray[np.float64]:
        """What each (valid) report alone says about its code: unbiased, and far outside the grid as a rule."""

    def estimate(self, reports: Reports | Sequence[bytes]) -> Mean:
        """The mean of the respondents' numbers (as rounded to the grid): unbiased.

        Its variance is the largest that the coins can have with people whose mean is the estimated one.
        """
        report_matrix = self.matrix(reports)
        return self.from_sum(float(self.guesses(report_matrix).sum()), len(report_matrix))

    def from_sum(self, guesses: float, n: int) -> Mean:
        """The same from a sum of guesses that was kept as reports came in."""
        if n < 1:
            raise UsageError("There are no reports yet, so there is no mean.")
        mean, step = guesses / n, float(self.step)
        least, most = self.extent
        return Mean(
            n=n,
            value=float(self.low) + step * mean,
            variance=step**2 * self.largest_variance(min(max(mean, 0.0), float(self.steps))) / n,
            reach=step * float(most - least) / n,
            bounds=(float(self.low), float(self.high)),
            score=self._score(n),
        )

    def _score(self, n: int) -> VarianceCurve:
        """`largest_variance` as a function of the mean, in units of the number and above `low`."""
        constant, linear, square = (float(term) for term in self.spread)
        if square > 0:
            linear, square = linear + square * self.steps, 0.0
        step = float(self.step)
        return VarianceCurve(
            constant=step**2 * constant / n,
            linear=step * linear / n,
            square=square / n,
            grain=step * float(self.grain) / n,
        )

    @property
    def grain(self) -> Fraction:
        """How far one report's coins can move the sum of guesses."""
        least, most = self.extent
        return most - least

    def variance_at(self, code: float) -> float:
        """The variance of a guess of this code, in squared steps."""
        constant, linear, square = (float(term) for term in self.spread)
        return constant + code * (linear + code * square)

    def largest_variance(self, mean: float) -> float:
        """The largest variance that a guess can have, averaged over any people whose mean code is `mean`.

        Because: the variance is a quadratic in the code. If it bends down, all people at the mean have the
            most; if it bends up, people at the two ends do (the least concave function above a convex one
            on an interval is its chord).
        """
        if self.spread[2] <= 0:
            return self.variance_at(mean)
        share = mean / self.steps
        return (1 - share) * self.variance_at(0) + share * self.variance_at(self.steps)


class Duchi(MeanRandomizer):
    """Report one bit: 1 with a probability that rises with the number, in equal steps from `first` to 1 - `first`.

    Guarantee: epsilon-differentially private for each report.
    Because: code i says 1 with probability (first + i slope) / sides, and first + steps * slope = sides - first;
        so either bit is at most (sides - first) / first times as likely for one number as for another.
    Draws: one flip, of the coin with first + i slope heads.

    >>> height = Duchi(low="0.5", high="2.5", step="0.01", epsilon=1)
    >>> len(height.randomize("1.83"))                                    # on the device
    1
    """

    __slots__ = ("first", "planes", "slope")

    protocol = "duchi"

    def __init__(self, *, low: object, high: object, step: object, epsilon: object, planes: int = FINE_PLANES) -> None:
        self._declare(low, high, step)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        least = coins.heads_for(1 / (1 + coins.likelihood_bound(self.requested_epsilon)), planes=planes)
        self.planes, sides = planes, int(256**planes)
        # The whole range must be a whole number of steps, and even: sides is, and what is left is halved.
        slope = (sides - 2 * least) // self.steps
        self.slope = slope - slope * self.steps % 2
        if self.slope < 1:
            raise too_fine(self.requested_epsilon)
        self.first = (sides - self.steps * self.slope) // 2
        self.epsilon = coins.cost(Fraction(sides - self.first, self.first), self.requested_epsilon)
        self.width = 1
        self._measure(sides)

    def _measure(self, sides: int) -> None:
        """A bit B is guessed as (B sides - first) / slope, whose variance is that of B times (sides / slope)^2."""
        self.extent = Fraction(-self.first, self.slope), Fraction(sides - self.first, self.slope)
        self.spread = (
            Fraction(self.first * (sides - self.first), self.slope**2),
            Fraction(sides - 2 * self.first, self.slope),
            Fraction(-1),
        )

    def heads(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many heads the coin of each code has."""
        return self.first + codes * self.slope

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        fallen = coins.flips_of(self.heads(codes), planes=self.planes, bits=bits)
        return fallen.astype(np.uint8).reshape(-1, 1)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray(reports[:, 0] <= 1)

    def guesses(self, reports: Reports) -> NDArray[np.float64]:
        return np.array([float(end) for end in self.extent])[reports[:, 0]]

    def options(self) -> dict[str, Any]:
        return {**super().options(), **non_default(planes=(self.planes, FINE_PLANES))}

    def numbers(self) -> dict[str, Any]:
        return {"steps": self.steps, "first": self.first, "slope": self.slope, "planes": self.planes}


def too_fine(epsilon: Fraction) -> UsageError:
    """No coin is fair enough."""
    return UsageError(
        f"For epsilon {exact.show(epsilon)} this grid is too fine: all numbers would get the same coin.",
        hint="choose a coarser step or a larger epsilon",
    )


def decimal(value: Fraction) -> str:
    """A Fraction as the decimal text that it is."""
    places = next((places for places in range(_DIGITS + 1) if 10**places % value.denominator == 0), None)
    if places is None:
        raise UsageError(f"low, high and step must be decimals; {exact.show(value)} (rounded) is not.")
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    text = f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}" if places else digits
    return f"-{text}" if value < 0 else text
