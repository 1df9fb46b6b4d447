"""The sum of many independent draws of one noise: what a sum over groups is wrong by."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.mechanisms.noise_combination import CombinedNoise, NoiseLaw
from discreet.mechanisms.weighted_sum import half_width


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedNoise:
    """The law of the sum of `draws` independent draws of a law.

    >>> from discreet.mechanisms.laplace import DiscreteLaplace
    >>> RepeatedNoise(law=DiscreteLaplace(scale=Fraction(10)), draws=100).half_width(Fraction(95, 100)) < 279
    True
    """

    law: NoiseLaw | CombinedNoise
    draws: int

    def __post_init__(self) -> None:
        if self.draws < 0:
            raise ValueError("a number of draws is at least 0")

    def variance(self) -> float:
        return self.draws * float(self.law.variance())

    def half_width(self, confidence: Fraction) -> float:
        """A width that the sum stays within with this confidence."""
        if self.draws == 1:
            return float(self.law.half_width(confidence))
        parts = self.law.parts if isinstance(self.law, CombinedNoise) else ((Fraction(1), self.law),)
        return half_width([(float(weight), law, self.draws) for weight, law in parts], confidence)
