"""Noise on the record itself: a number with discrete Laplace noise, as in the lecture's example of heights."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.mechanisms.bits import Bits
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import bytes_needed, bytes_to_numbers, numbers_to_bytes
from discreet.surveys.protocols.grid_numbers import MeanRandomizer
from discreet.surveys.protocols.randomizer import Reports

#: Noise of more than so many scales, which comes once in 10^17 reports, is told as so many: else one liar
#: could send any number.
_FAR = 40


class LaplaceRecord(MeanRandomizer):
    """The number plus discrete Laplace noise on its grid, of scale steps / epsilon.

    Guarantee: epsilon-differentially private for each report.
    Because: two numbers are at most `steps` steps apart, so this is the discrete Laplace mechanism with l1 = steps
        (mechanisms/laplace.py, docs/proofs/sampling.md); that far noise is cut at `far` steps beyond the bounds
        looks at nothing but the noisy number.
    Draws: those of `DiscreteLaplace.draw`, from a real number and not from the three coins of the other protocols. A
        browser draws from the same law in another way: by mechanisms/reference_sampler.py, byte for byte.
    Unbiased but for the cut, which moves a mean by less than e^-40 scales.
    """

    __slots__ = ("far", "noise")

    protocol = "laplace"

    def __init__(self, *, low: object, high: object, step: object, epsilon: object) -> None:
        self._declare(low, high, step)
        self.requested_epsilon = self.epsilon = coins.check_epsilon(epsilon)
        self.noise = DiscreteLaplace(scale=self.steps / self.requested_epsilon)
        self.far = math.ceil(_FAR * self.noise.scale)
        self.width = bytes_needed(self.steps + 2 * self.far)
        self.spread = Fraction(self.noise.variance()), Fraction(0), Fraction(0)
        self.extent = Fraction(-self.far), Fraction(self.steps + self.far)

    @property
    def grain(self) -> Fraction:
        """Noise has no largest value: two scales make up for its tails, longer than a normal law's, for few people."""
        return Fraction(2 * self.noise.scale)

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        noisy = codes + self.noise.draw(codes.size, bits=bits)
        return numbers_to_bytes(np.clip(noisy, -self.far, self.steps + self.far) + self.far, self.width)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray(bytes_to_numbers(reports) <= self.steps + 2 * self.far)

    def guesses(self, reports: Reports) -> NDArray[np.float64]:
        return (bytes_to_numbers(reports) - self.far).astype(np.float64)

    def numbers(self) -> dict[str, Any]:
        return {"steps": self.steps, "scale": exact.write(self.noise.scale), "far": self.far}
