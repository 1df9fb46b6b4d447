"""An interval for a ratio of two noisy numbers, by inverting a test (Fieller 1940).

For the exact A and B and their ratio a, A - a B is 0. So the noisy A - a B is noise alone, of a known
law, and stays within a known width with the wanted confidence. The ratios for which it does form the
interval: {a : |A - a B| <= width(a)}. That holds the exact ratio with exactly that confidence,
however small B is; where the noise leaves B in doubt it is unbounded, as it must be.

Ratios are directions: a = v / u stands for |u A - v B| <= width(u, v). The width is computed in a fan
of directions, and between two of them taken as the straight line between theirs. For even, log-concave
noise it is a norm in (u, v), so that the line is never below it (the convexity of floating bodies).
Discrete noise deviates from that by its grain, for which the caller adds a step. Between the directions
it misses at most 1.02 times as often as it says, at scales below 6 (summed in tests/plan/test_formula.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The angle between two directions is at most this: the straight line is then half a hundredth too wide at most.
_ANGLE = math.pi / 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Fan:
    """Directions (u, v), u >= 0, from ratio `low` to ratio `high`, and the width of the noise of u A - v B in each."""

    low: float
    high: float
    u: Floats
    v: Floats
    widths: Floats


def fan(
    low: float,
    high: float,
    *,
    deviations: tuple[float, float],
    widths: Callable[[Floats, Floats], Floats],
) -> Fan:
    """Directions between two ratios, which may be infinite; evenly spread when A and B are in units of their noise."""
    first, last = deviations
    start, stop = math.atan(low * last / first), math.atan(high * last / first)
    angles = np.linspace(start, stop, max(1, math.ceil((stop - start) / _ANGLE)) + 1)
    u = np.where(np.abs(angles) == math.pi / 2, 0.0, np.cos(angles)) / first
    v = np.sin(angles) / last
    return Fan(low=low, high=high, u=u, v=v, widths=widths(u, v))


def enclose(above: Floats, below: Floats, fan: Fan) -> tuple[Floats, Floats]:
    """For each pair of noisy numbers, the least and the largest ratio that the test does not reject.

    Where it rejects all (the noise was larger than the confidence allows for, or bounds cut the set
    off) `above` is moved to where the nearest bound fits it best: there is no better knowledge.
    """
    if not fan.widths.any():
        return _exact(above, below, fan)
    low, high, empty = _edges(above, below, fan)
    if empty.any():
        lanes = np.flatnonzero(empty)
        low[lanes], high[lanes], _ = _edges(_moved(above[lanes], below[lanes], fan), below[lanes], fan)
    return low, high


def _exact(above: Floats, below: Floats, fan: Fan) -> tuple[Floats, Floats]:
    """The ratio itself, where there is no noise; anything where both numbers are of nothing."""
    divisor = np.where(below == 0, 1.0, below)
    ratio = np.clip(above / divisor, fan.low, fan.high)
    return np.where(below == 0, fan.low, ratio), np.where(below == 0, fan.high, ratio)


def _edges(above: Floats, below: Floats, fan: Fan) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    high, nothing = _last(above, below, fan.u, fan.v, fan.widths, fan.high)
    low, also_nothing = _last(above, below, fan.u[::-1], fan.v[::-1], fan.widths[::-1], fan.low)
    return np.clip(low, fan.low, fan.high), np.clip(high, fan.low, fan.high), nothing | also_nothing


def _last(
    above: Floats, below: Floats, u: Floats, v: Floats, widths: Floats, end: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """The last ratio that is not rejected, on the way to the last direction; and whether there is none.

    Where the last direction itself is rejected, on one side, the directions rejected on that side are a
    run that ends with it: u A - v B - width is concave in (u, v). So their number says where it begins.
    """
    ratios = np.full(above.shape, end)
    distance = u[-1] * above - v[-1] * below
    lanes = np.flatnonzero(np.abs(distance) > widths[-1])
    side = np.sign(distance[lanes])
    a, b = side * above[lanes], side * below[lanes]
    rejected, left, right = np.ones(lanes.size, np.int64), np.empty(lanes.size), np.empty(lanes.size)
    for place in range(u.size - 1):
        np.multiply(a, u[place], out=left)
        np.multiply(b, v[place], out=right)
        rejected += np.subtract(left, right, out=left) > widths[place]
    nothing = np.zeros(above.shape, np.bool_)
    nothing[lanes] = rejected == u.size
    ratios[lanes] = _crossing(a, b, (u, v, widths), np.maximum(u.size - rejected, 1))
    return ratios, nothing


def _crossing(a: Floats, b: Floats, fan: tuple[Floats, Floats, Floats], after: NDArray[np.int64]) -> Floats:
    """The ratio at which the test begins to reject, between direction after - 1 and direction `after`."""
    before = after - 1
    (u, u_after), (v, v_after), (width, width_after) = ((side.take(before), side.take(after)) for side in fan)
    kept = np.minimum(u * a - v * b - width, 0.0)
    rejected = np.maximum(u_after * a - v_after * b - width_after, 1e-300)
    part = kept / (kept - rejected)
    with np.errstate(over="ignore"):  # beyond all floats is infinite
        return np.asarray((v + part * (v_after - v)) / np.maximum(u + part * (u_after - u), 1e-300))


def _moved(above: Floats, below: Floats, fan: Fan) -> Floats:
    """`above` as it would be at the bound that is nearest to not being rejected."""
    excess = [np.abs(fan.u[end] * above - fan.v[end] * below) - fan.widths[end] for end in (0, -1)]
    return np.where(excess[0] < excess[1], fan.low * below, fan.high * below)
