"""How far the noise of one report can stray, whatever its respondent's answer is: what holds for sums of few reports.

A normal law is a limit for many reports. The tails here are bounds for any number of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.grid_numbers import MeanRandomizer
from discreet.surveys.protocols.hadamard import HadamardResponse
from discreet.surveys.protocols.laplace_record import LaplaceRecord
from discreet.surveys.protocols.local_hash import FastHashing
from discreet.surveys.protocols.randomizer import Randomizer


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportNoise:
    """What one report adds to an estimate, times the number of reports, less its mean: a variable X.

    Guarantee: log E exp(u X) <= variance u^2 / 2 / (1 - scale |u|) for |u| < 1 / scale, for every answer; and
        <= width^2 u^2 / 8 where there is a width.
    Because: see `report_noise`; the second is Hoeffding's lemma for a variable in an interval of this width.
    """

    variance: float
    scale: float
    width: float | None
    #: How far the true answers of two people can be apart: 1 for a share.
    answers: float

    def half_width(self, *, squares: float, largest: float, answer_squares: float, doubt: float) -> float:
        """How far a sum of a_i X_i strays with at most this probability, to either side taken together.

        `squares`: the sum of a_i^2, or a bound; `largest`: the largest |a_i|. `answer_squares`: the same as `squares`
        for answers that are drawn, too, each within an interval of length `answers`; 0 where answers are as they are.

        Because: log E exp(u sum) <= u^2 V / 2 / (1 - u scale largest), V = variance squares + answers^2 / 4
            answer_squares, so each side is exceeded by sqrt(2 V L) + scale largest L with at most e^-L (Bernstein's
            inequality); or, where there is a width, by sqrt(2 V L) with V from width^2 / 4 (Hoeffding's). Neither
            looks at a report, so the narrower of the two holds as well.

        >>> coin = ReportNoise(variance=0.25, scale=1 / 3, width=1.0, answers=1.0)
        >>> round(coin.half_width(squares=100.0, largest=1.0, answer_squares=0.0, doubt=0.05), 3)
        13.581
        """
        log = math.log(2 / doubt)
        drawn = self.answers**2 / 4 * answer_squares
        bernstein = math.sqrt(2 * (self.variance * squares + drawn) * log) + self.scale * largest * log
        if self.width is None:
            return bernstein
        return min(bernstein, math.sqrt(2 * (self.width**2 / 4 * squares + drawn) * log))


def report_noise(randomizer: Randomizer) -> ReportNoise | None:
    """The noise of one report; None where an estimate is no sum of one term for each report.

    Guarantee: that of `ReportNoise`, for each choice and each true answer.
    Because: a variable of variance v within b of its mean has log E exp(u X) <= v u^2 / 2 / (1 - b |u| / 3). Terms
        are 1 / (p - q) with a probability p or q, else 0 (`ChoiceRandomizer`); 1, 0 or -1 times 1 / gap, and not 0 with
        at most the probability of the own block (`HadamardResponse`); or a guess within `extent` whose variance is a
        quadratic in the code (`MeanRandomizer`). Discrete Laplace noise of scale s has E exp(u X) =
        1 / (1 - v (cosh u - 1)) with v (cosh(1/s) - 1) = 1. (cosh u - 1) / u^2 rises, so this is at most
        1 / (1 - u^2 s^2), the continuous law's, whose logarithm is at most u^2 s^2 / (1 - |u| s). (Noise beyond 40
        scales is cut: once in 10^17 reports.)
    """
    if isinstance(randomizer, FastHashing):
        return None  # reports share hash functions: they are not independent
    if isinstance(randomizer, HadamardResponse):
        in_block, width = 2 * float(randomizer.chances[1]), 2 / float(randomizer.gap)
        return ReportNoise(variance=in_block * width**2 / 4, scale=width / 3, width=width, answers=1.0)
    if isinstance(randomizer, ChoiceRandomizer):
        own, other = (float(chance) for chance in randomizer.chances)
        width = 1 / (own - other)
        largest = max(own * (1 - own), other * (1 - other))
        return ReportNoise(variance=largest * width**2, scale=width / 3, width=width, answers=1.0)
    if isinstance(randomizer, LaplaceRecord):
        scale = float(randomizer.noise.scale * randomizer.step)
        return ReportNoise(variance=2 * scale**2, scale=scale, width=None, answers=_range(randomizer))
    if isinstance(randomizer, MeanRandomizer):
        step, (least, most) = float(randomizer.step), randomizer.extent
        width = step * float(most - least)
        largest = step**2 * _largest_variance(randomizer)
        return ReportNoise(variance=largest, scale=width / 3, width=width, answers=_range(randomizer))
    return None


def _range(randomizer: MeanRandomizer) -> float:
    return float(randomizer.high - randomizer.low)


def _largest_variance(randomizer: MeanRandomizer) -> float:
    """Of any code, in squared steps: at an end of the grid, or where the quadratic is highest."""
    _, linear, square = (float(term) for term in randomizer.spread)
    codes = [0.0, float(randomizer.steps)]
    if square < 0:
        codes.append(min(max(-linear / (2 * square), 0.0), float(randomizer.steps)))
    return max(randomizer.variance_at(code) for code in codes)
