"""From noisy numbers to estimates with intervals. Post-processing: pure, free, and the same every time.

Every interval is at 95%. Counts, the curve of degrees and ratios keep that by proof; assortativity, which is no ratio
of two numbers, by simulating the known noise, and by a test of how often it covers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.measurement import Law
from discreet.mechanisms.floored_ladder import AnyLadder, FlooredLadder
from discreet.mechanisms.ladder import Ladder
from discreet.mechanisms.ladder_plan import AnyPlan, LadderPlan

CONFIDENCE = Fraction(95, 100)

#: More digits than these are told only where both ends of an interval are near enough for them.
_DIGITS = 4

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphEstimate:
    """A number and its interval. `exact`: it is public, and has no noise."""

    value: float
    interval: tuple[float, float]
    exact: bool = False

    def __post_init__(self) -> None:
        if not self.interval[0] <= self.value <= self.interval[1]:
            raise ValueError(f"an estimate is outside its interval: {self}")

    def to_data(self) -> dict[str, Any]:
        estimate_data: dict[str, Any] = {"value": self.value, "interval": list(self.interval)}
        return estimate_data | ({"exact": True} if self.exact else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class DegreeCurve:
    """How many nodes have at least so many edges, for rising numbers of edges: falling, and in a band.

    The whole curve lies inside the band at once, with the confidence of the release.
    """

    at_least: tuple[int, ...]
    values: tuple[float, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]

    def to_data(self) -> dict[str, Any]:
        bands = [list(pair) for pair in zip(self.lows, self.highs, strict=True)]
        return {"at_least": list(self.at_least), "nodes": list(self.values), "intervals": bands}


def public_number(value: int) -> GraphEstimate:
    """A public number."""
    return GraphEstimate(value=value, interval=(value, value), exact=True)


def within(value: int, half_width: int, *, most: int | None = None) -> GraphEstimate:
    """A count: at least 0, at most `most`, and as far from the noisy number as the noise may be.

    Guarantee: the exact count is inside whenever the noise is at most `half_width`.
    Because: it is then in the interval before that is cut to where every count lies.

    >>> within(-3, 10)
    GraphEstimate(value=0, interval=(0, 7), exact=False)
    """
    ends = [_cut(number, most) for number in (value - half_width, value, value + half_width)]
    return GraphEstimate(value=ends[1], interval=(ends[0], ends[2]))


def at_most(estimate: GraphEstimate, most: int) -> GraphEstimate:
    """A count that public facts keep at or below `most`.

    Guarantee: the exact count is inside whenever it was before. Because: it is no larger than `most`.
    """
    low, high = estimate.interval
    return GraphEstimate(
        value=min(estimate.value, most), interval=(min(low, most), min(high, most)), exact=estimate.exact
    )


def _cut(number: int, most: int | None) -> int:
    return max(0, number if most is None else min(number, most))


def estimate_count(
    noisy: int, law: Law, *, most: int | None = None, confidence: Fraction = CONFIDENCE
) -> GraphEstimate:
    """A count under noise of a law."""
    return within(noisy, law.half_width(confidence), most=most)


def estimate_ladder_count(
    noisy: int,
    noisy_width: int,
    law: Law,
    ladder: AnyLadder,
    *,
    plan: AnyPlan,
    widest: int | None = None,
    most: int | None = None,
    confidence: Fraction = CONFIDENCE,
) -> GraphEstimate:
    """A count that a ladder drew, its first rung's width being measured under `law`, and no more than `widest`.

    most: what public facts keep the count at or below.

    Guarantee: the exact count is inside with at least this confidence.
    Because: a tenth of the doubt is that the width is larger than is said here (one side of the law's interval with
        twice that doubt), the rest that the ladder goes beyond its half width for every width up to it. A ladder with a
        floor, or the plan that it follows from, says how far both draws go.
    """
    if isinstance(plan, LadderPlan) and isinstance(ladder, FlooredLadder):
        return within(noisy, plan.half_width(ladder.floor, law, confidence), most=most)
    if isinstance(ladder, FlooredLadder):
        return within(noisy, ladder.half_width(law, confidence), most=most)
    doubt = 1 - confidence
    width = max(0, noisy_width + law.half_width(1 - doubt / 5))
    if widest is not None:
        width = min(width, max(0, widest))
    return within(noisy, _reach(ladder, 1 - doubt * Fraction(9, 10), width), most=most)


@lru_cache(maxsize=256)  # a count and a ratio of it are told of the same ladder
def _reach(ladder: Ladder, confidence: Fraction, most: int) -> int:
    return ladder.half_width(confidence, most=most)


def ratio(
    top: GraphEstimate, bottom: GraphEstimate, *, times: float = 1.0, least: float = 1.0, most: float | None = None
) -> GraphEstimate:
    """`times` top / bottom, of two estimates that hold at once; the exact bottom is `least` at least.

    Guarantee: inside whenever both exact numbers are inside their intervals, so by the sum of their doubts.
    """
    bottoms = [max(least, number) for number in (bottom.interval[0], bottom.value, bottom.interval[1])]
    ratios = [
        times * number / part
        for number, part in zip((top.interval[0], top.value, top.interval[1]), bottoms[::-1], strict=True)
    ]
    low, value, high = (each if most is None else min(each, most) for each in ratios)
    return rounded(value, low, high)


def rounded(value: float, low: float, high: float) -> GraphEstimate:
    """An estimate without digits that its noise makes meaningless; the interval is rounded outwards.

    The nearer end of the interval says which those are: the other may be far away, and leave nothing of the value.

    >>> rounded(0.123456, 0.1, 0.15)
    GraphEstimate(value=0.123, interval=(0.1, 0.15), exact=False)
    >>> rounded(7.288, 2.063, 2258.0)
    GraphEstimate(value=7.3, interval=(2.0, 2258.0), exact=False)
    """
    sides = sorted(side for side in (value - low, high - value) if side > 0)
    if not sides:
        return GraphEstimate(value=value, interval=(value, value))
    step = _step(sides[0], 2)
    if value:  # an end that all but touches the value asks for no more digits than these
        step = max(step, min(_step(sides[-1], 2), _step(abs(value), _DIGITS)))
    ends = (math.floor(low / step + 1e-9), round(value / step), math.ceil(high / step - 1e-9))
    digits = max(0, -round(math.log10(step)))
    lowest, shown, highest = (round(end * step, digits) for end in ends)
    return GraphEstimate(value=min(max(shown, lowest), highest), interval=(lowest, highest))


def _step(number: float, digits: int) -> float:
    """What the last of so many digits of a number counts."""
    return float(10.0 ** (math.floor(math.log10(number)) - digits + 1))


def curve(noisy: NDArray[Any], law: Law, thresholds: tuple[int, ...], *, nodes: int | None) -> DegreeCurve:
    """A falling curve between 0 and the number of nodes, nearest to noisy numbers, and a band around it.

    Guarantee: with at least 95% all exact numbers lie inside the band at once.
    Because: with a doubt of 5% over all entries together no noise goes beyond its half width. Then, since the exact
        curve falls, each entry is at least all later low ends and at most all earlier high ends.
    """
    width = law.half_width(1 - (1 - CONFIDENCE) / len(thresholds))
    numbers = [int(number) for number in noisy.tolist()]
    lows = np.maximum.accumulate([_cut(number - width, nodes) for number in numbers[::-1]])[::-1]
    highs = np.minimum.accumulate([_cut(number + width, nodes) for number in numbers])
    # Where noise went beyond all bounds the two may cross: then each takes the other's place, and both still fall.
    lows, highs = np.minimum(lows, highs), np.maximum(lows, highs)
    values = np.clip(nearest_falling(np.array(numbers, dtype=np.float64)), lows, highs)
    return DegreeCurve(
        at_least=thresholds,
        values=tuple(float(value) for value in values),
        lows=tuple(int(low) for low in lows),
        highs=tuple(int(high) for high in highs),
    )


def nearest_falling(numbers: Floats) -> Floats:
    """The nearest numbers that never rise: least squares, by pooling neighbours that do.

    >>> nearest_falling(np.array([5.0, 1.0, 3.0, 0.0])).tolist()
    [5.0, 2.0, 2.0, 0.0]
    """
    pools: list[tuple[float, int]] = []
    for number in numbers.tolist():
        total, count = number, 1
        while pools and pools[-1][0] * count < total * pools[-1][1]:
            before, size = pools.pop()
            total, count = total + before, count + size
        pools.append((total, count))
    return np.concatenate([np.full(count, total / count) for total, count in pools])
