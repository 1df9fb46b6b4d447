"""Noise on the record itself: a number with discrete Laplace noise, as in the lecture's example of heights."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.local import coins
from discreet.local.choices import whole_bytes, whole_numbers, width_of
from discreet.local.numbers import Numbers
from discreet.local.randomizer import Reports
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.laplace import DiscreteLaplace

#: Noise of more than so many scales, which comes once in 10^17 reports, is told as so many: else one liar
#: could send any number.
_FAR = 40


class LaplaceRecord(Numbers):
    """The number plus discrete Laplace noise on its grid, of scale steps / epsilon.

    Guarantee: epsilon-differentially private for each report.
    Because: two numbers are at most `steps` steps apart, so this is the discrete Laplace mechanism with l1 = steps
        (mechanisms/laplace.py, docs/proofs/sampling.md); that far noise is cut at `far` steps beyond the bounds
        looks at nothing but the noisy number.
    Draws: those of `DiscreteLaplace.draw`, from a real number and not from the three coins of the other protocols:
        a browser does not do this one.
    Unbiased but for the cut, which moves a mean by less than e^-40 scales.
    """

    __slots__ = ("far", "noise")

    protocol = "laplace"

    def __init__(self, *, low: object, high: object, step: object, epsilon: object) -> None:
        self._declare(low, high, step)
        self.asked = self.epsilon = coins.asked(epsilon)
        self.noise = DiscreteLaplace(scale=self.steps / self.asked)
        self.far = math.ceil(_FAR * self.noise.scale)
        self.width = width_of(self.steps + 2 * self.far)
        self.spread = Fraction(self.noise.variance()), Fraction(0), Fraction(0)
        self.extent = Fraction(-self.far), Fraction(self.steps + self.far)

    @property
    def grain(self) -> Fraction:
        """Noise has no largest value: two scales make up for its tails, longer than a normal law's, for few people."""
        return Fraction(2 * self.noise.scale)

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        noisy = codes + self.noise.draw(codes.size, bits=bits)
        return whole_bytes(np.clip(noisy, -self.far, self.steps + self.far) + self.far, self.width)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray(whole_numbers(reports) <= self.steps + 2 * self.far)

    def guesses(self, reports: Reports) -> NDArray[np.float64]:
        return (whole_numbers(reports) - self.far).astype(np.float64)

    def numbers(self) -> dict[str, Any]:
        return {"steps": self.steps, "scale": exact.write(self.noise.scale), "far": self.far}
