"""A ladder before its floor is known: which floor and which decay follow from a noisy width, and how far both draws go.

The floor is public once the width is measured, and the higher it is, the less the sum of all weights can change. So the
decay is the largest that epsilon allows at this very floor. docs/proofs/ladders.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import ladder_epsilon
from discreet.mechanisms.floored_ladder import FlooredLadder
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.ladder import Ladder, check_ladder
from discreet.mechanisms.laplace import DiscreteLaplace, error_probability

#: The least floor, and what is added to a noisy width, are so many steps over epsilon: measured by
#: benchmarks/graph_ladders.py for widths of 2 to 60, not on a network.
_LEAST, _MARGIN = 7, 4

#: Decays are so many parts of epsilon.
_PARTS = 1024

#: A half width is so many floors over the decay, in such parts; the noise of the width is cut into so many pieces.
_SIXTEENTHS = 16
_PIECES = 128

#: What float64 may have rounded away, and what is left to widths that no piece reaches.
_ROUNDED = 1e-9
_UNSEEN = Fraction(1, 10_000)

#: Beyond this a decay leaves nothing, and float64 no number.
_FAR = 600.0

#: Wider than any width.
_WIDEST = 1 << 60

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderPlan:
    """What a ladder may lose: epsilon; or, where rho is what is paid, epsilon^2 / 2 of it. Its floor comes later.

    Guarantee: `above` gives a ladder that loses no more, whatever the noisy width is.
    Because: its decay is chosen by the loss of its own event, at its own floor.

    >>> plan = LadderPlan(epsilon=Fraction(4, 5), step=1, is_pure=True)
    >>> [(ladder.floor, ladder.decay) for ladder in (plan.above(-3), plan.above(9), plan.above(1000))]
    [(9, Fraction(181, 256)), (14, Fraction(471, 640)), (1005, Fraction(511, 640))]
    """

    epsilon: Fraction
    step: int
    is_pure: bool

    def __post_init__(self) -> None:
        check_ladder(self.epsilon, self.step)

    @property
    def least(self) -> int:
        """No floor is lower."""
        return max(self.step, math.ceil(_LEAST * self.step / self.epsilon))

    @property
    def margin(self) -> int:
        """What the floor has beyond a noisy width."""
        return math.ceil(_MARGIN * self.step / self.epsilon)

    def above(self, noisy_width: int, widest: int | None = None) -> FlooredLadder:
        """The ladder that follows from a noisy width. widest: what public facts keep the width below."""
        width = noisy_width if widest is None else min(noisy_width, widest)
        floor = max(self.least, width + self.margin)
        return FlooredLadder(decay=self.decay(floor), step=self.step, least=floor, floor=floor)

    def decay(self, floor: int) -> Fraction:
        """The largest decay that loses no more than epsilon at this floor. It rises with the floor."""
        return _decay(self.epsilon, self.step, floor) if self.is_pure else self.epsilon

    def half_width(self, floor: int, law: DiscreteLaplace | DiscreteGaussian, confidence: Fraction) -> int:
        """So far from the value the noise is at most, with this confidence, if `law` drew the width of the floor.

        Guarantee: over both draws, that of the noisy width and that of the ladder, and for every exact width.
        """
        return math.ceil(_factor(self, law, confidence) * floor / self.decay(floor))


#: What a ladder is before any width is measured: those of before are still read.
AnyPlan = Ladder | FlooredLadder | LadderPlan


@lru_cache(maxsize=4096)
def _decay(epsilon: Fraction, step: int, floor: int) -> Fraction:
    """Half of epsilon is always allowed: then the sum of weights changes by no more than one rung does."""
    low, high = _PARTS // 2, _PARTS - 1
    while low < high:
        middle = (low + high + 1) // 2
        allowed = ladder_epsilon(epsilon * middle / _PARTS, step, floor) <= epsilon
        low, high = (middle, high) if allowed else (low, middle - 1)
    return epsilon * low / _PARTS


@lru_cache(maxsize=256)  # a count and a ratio of it are told of the same ladder
def _factor(plan: LadderPlan, law: DiscreteLaplace | DiscreteGaussian, confidence: Fraction) -> Fraction:
    """The least t for which noise of both draws goes beyond t floor / decay with at most the doubt.

    Because: docs/proofs/ladders.md. The chance to go beyond is bounded by a number that falls with the floor and with
    K. So each piece of the width's noise, and each range of exact widths, is counted at its worst end.
    """
    doubt = float(error_probability(confidence)) * (1 - _ROUNDED)
    most = law.half_width(1 - _UNSEEN * error_probability(confidence))
    ends = sorted({most * piece // _PIECES for piece in range(_PIECES + 1)})
    tails = np.array([float(law.tail(end)) / 2 for end in ends])
    low, high = _width_ranges(plan.least, most)
    worst = WorstChance.of(plan, low[:, None], high[:, None], -np.array(ends)[None, :])

    def is_enough(parts: int) -> bool:
        beyond = worst.beyond(parts / _SIXTEENTHS)
        rises = np.diff(beyond, axis=1, append=1.0)
        return bool((beyond[:, 0] + rises @ tails).max() <= doubt)

    above = _SIXTEENTHS
    while not is_enough(above):
        above *= 2
    below = above // 2
    while below < above:
        middle = (below + above) // 2
        below, above = (below, middle) if is_enough(middle) else (middle + 1, above)
    return Fraction(below, _SIXTEENTHS)


def _width_ranges(least: int, most: int) -> tuple[Numbers, Numbers]:
    """Ranges of exact widths that cover all of them: narrow where the noise of the width matters, then ever wider."""
    starts, width = [0], max(1, least // 8)
    while starts[-1] < 12 * least + 2 * most:
        starts.append(starts[-1] + (width if starts[-1] < 4 * least else max(width, starts[-1] // 4)))
    return np.array(starts), np.array([*(start - 1 for start in starts[1:]), _WIDEST])


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstChance:
    """No less than the chance that a ladder goes beyond t floor / decay, for floors and K no lower than these."""

    step: int
    epsilon: float
    floor: Floats
    decay: Floats
    level: Floats

    @staticmethod
    def of(plan: LadderPlan, low: Numbers, high: Numbers, noise: Numbers) -> WorstChance:
        """For exact widths from `low` to `high`, and a noisy width that is off by `noise` or more."""
        floor = np.maximum(plan.least, low + noise + plan.margin)
        level = np.maximum(plan.least - high, noise + plan.margin) // plan.step
        some = np.unique(floor)
        some = some[:: max(1, some.size // _PIECES)]  # of a lower floor the decay is lower, and the chance larger
        decays = np.array([float(plan.decay(each)) for each in some.tolist()])
        return WorstChance(
            step=plan.step,
            epsilon=float(plan.epsilon),
            floor=floor.astype(np.float64),
            decay=decays[np.searchsorted(some, floor, side="right") - 1],
            level=level.astype(np.float64),
        )

    def beyond(self, factor: float) -> Floats:
        """It falls with the factor, with the floor, and with K."""
        step, floor, decay = self.step, self.floor, np.minimum(self.decay, _FAR)
        q, flat_rungs = 1 / np.expm1(decay), np.maximum(self.level + 1, 0)
        flat = floor + step * np.maximum(0, -1 - self.level)
        half = flat + step / 2
        rest = np.maximum(0, floor * (factor - decay * flat_rungs) - step * self.epsilon / 8)
        later = (np.sqrt(half**2 + 2 * step / decay * rest) - half) / step  # rungs beyond those that are alike
        logarithm = log_specht(self.epsilon)
        within = np.exp(np.minimum(logarithm - factor, 0.0)) + step * np.exp(-decay * flat_rungs) * (1 + q) / floor
        widening = 1 + step * (q + 1 + np.maximum(later, 0.25)) / floor
        outside = np.exp(np.minimum(logarithm - decay * (flat_rungs + later), 0.0)) * widening
        return np.asarray(np.minimum(1.0, np.where(factor <= decay * flat_rungs, within, outside)))


def log_specht(decay: float) -> float:
    """The logarithm of the most by which a chord of exp(-decay u) between whole u lies above it. Rises with decay."""
    fall = -math.expm1(-decay)
    part = (1 - fall / decay) / fall
    return math.log(fall / decay) + decay * part + 1e-12
