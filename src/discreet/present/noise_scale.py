"""How far an axis reaches: numbers above their noise set it; of the others it shows what has room there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

#: By what share of what is above the noise an interval below it may lengthen the axis on each side.
_SHARE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyExtent:
    """From where to where a number is drawn with its noise interval, and half the width of that, 0 without one."""

    low: float
    high: float
    half: float = 0.0
    below_noise: bool = False


def axis_reach(extents: Iterable[NoisyExtent], *, zero: bool = True) -> tuple[float, float]:
    """The ends of an axis, with zero on it where that is wanted.

    All that is above the noise lies on it. What is below the noise lengthens it by a quarter at most, or as far as
    twice the noise of the others lies from zero: groups with the same noise are all drawn whole. Where nothing is above
    the noise, the half of the numbers with the least noise stands for it.

    >>> tall = [NoisyExtent(low=90, high=110, half=10) for _ in range(5)]
    >>> axis_reach([*tall, NoisyExtent(low=-5000, high=5000, half=5000, below_noise=True)])
    (0.0, 110.0)
    >>> axis_reach([*tall, NoisyExtent(low=-12, high=8, half=10, below_noise=True)])
    (-12.0, 110.0)
    """
    every = list(extents)
    if not every:
        return 0.0, 0.0
    leading = [each for each in every if not each.below_noise]
    if not leading:
        halves = sorted(each.half for each in every)
        leading = [each for each in every if each.half <= halves[(len(halves) - 1) // 2]]
    start = [0.0] if zero else []
    low, high = float(min(start + [each.low for each in leading])), float(max(start + [each.high for each in leading]))
    widest = max(each.half for each in leading)
    quarter = high / _SHARE - low / _SHARE
    least = min(low - quarter, -2 * widest if zero else low - widest)
    most = max(high + quarter, 2 * widest if zero else high + widest)
    return (
        float(min([low, *(each.low for each in every if each.low >= least)])),
        float(max([high, *(each.high for each in every if each.high <= most)])),
    )
