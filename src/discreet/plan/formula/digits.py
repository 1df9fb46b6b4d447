"""Numbers with no more digits than the noise leaves meaningful.

Guarantee: rounding moves a number by at most a twentieth of its half width, a quantile by at most a 200th of the way to
    the nearer end of its interval (beyond 2^49, by that and by what floats miss). So the root mean
    square error of a count or a sum grows by less than a ninth, whatever is counted.
Because: the unit u of the second digit of w is w / 10 or less, and rounding moves by u / 2 or less. Root mean squares
    obey the triangle inequality, and w / 20 is at most 0.107 standard deviations: at 95%, w is 1.96 of them for
    Gaussian noise and ln 20 / sqrt 2 = 2.12 for Laplace noise. That would be noise which knows where the units begin.
Seen, and not proved: over a unit, a fifth of its standard deviation, noise is nearly even. What rounding adds is nearly
    independent of it, with a variance of u^2 / 12, and the error grew by less than 0.2% at all widths that were tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Digits of the half width that a value is shown to.
_DIGITS = 2

#: A quantile's interval is bought apart from it, and reaches some 25 times as far, in ranks, as the quantile is off in
#: the mean; on one side it may reach to a far bound. So the nearer end counts, by so many digits more.
_MORE = 1

#: Larger whole numbers are rounded as such: floats, multiplied and divided, would miss them.
_LARGE = 2**49


def meaningful(values: ArrayLike, half_widths: ArrayLike) -> NDArray[np.float64]:
    """Each value rounded to the second digit of its half width; to two digits of its own where that is infinite.

    A half width of 0 (no noise) leaves the value as it is, and so does NaN. Numbers give an array of one.

    >>> meaningful([1234.5678, 1234.5678, 0.123456, 7.0], [0.5, 123.4, 0.0012, 0.0]).tolist()
    [1234.57, 1230.0, 0.1235, 7.0]
    """
    value, width = np.broadcast_arrays(np.asarray(values, np.float64), np.asarray(half_widths, np.float64))
    size = np.where(np.isinf(width), value, width)
    is_roundable = np.isfinite(value) & np.isfinite(size) & (size != 0)
    powers = np.full(value.shape, np.iinfo(np.int64).max)
    powers[is_roundable] = _DIGITS - 1 - np.floor(np.log10(np.abs(size[is_roundable]))).astype(np.int64)
    rounded = value.copy()
    for digits in _distinct(powers[is_roundable]):
        chosen = powers == digits
        rounded[chosen] = _to(value[chosen], digits)
    return rounded + 0.0  # no minus zero


def _distinct(powers: NDArray[np.int64]) -> list[int]:
    """The distinct ones of some powers, a few hundred at most, in order: `np.unique` would sort all of them."""
    if not powers.size:
        return []
    least = int(powers.min())
    return list((np.flatnonzero(np.bincount(powers - least)) + least).tolist())


def _to(value: NDArray[Any], digits: int) -> NDArray[np.float64]:
    """Rounded to `digits` decimals; negative ones are tens, hundreds."""
    if digits > 300:
        return value
    if digits < 0:
        power = 10.0**-digits
        return np.asarray(np.round(value / power) * power)
    return np.asarray(np.round(value * 10.0**digits) / 10.0**digits)


def meaningful_within(values: NDArray[Any], lows: NDArray[Any], highs: NDArray[Any]) -> NDArray[np.float64]:
    """`meaningful` by half of what lies between two ends, and still between them.

    >>> meaningful_within(np.array([1234.5678, 0.96]), np.array([1200.0, 0.5]), np.array([1269.0, 0.96])).tolist()
    [1235.0, 0.96]
    """
    with np.errstate(invalid="ignore"):  # no end on either side
        rounded = meaningful(values, (highs - lows) / 2)
    return np.asarray(np.clip(rounded, lows, highs) + 0.0, dtype=np.float64)


def meaningful_quantiles(values: Sequence[Any], lows: Sequence[Any], highs: Sequence[Any]) -> list[Any]:
    """Each value rounded to the third digit of its distance from the nearer of two ends; one of them stays as it is.

    Whole numbers stay whole, whatever their size, and none leaves its interval.

    >>> meaningful_quantiles([783.25, 612.25, 612.0], [0.0, 300.0, 612.0], [4095.0, 250000.0, 4095.0])
    [783.0, 612.0, 612.0]
    >>> meaningful_quantiles([783.25, 2**60 + 44, 2**60 + 5007], [0.0, 2**60 + 31, 2**60], [4095.0, 2**60 + 60, 2**61])
    [783.0, 1152921504606847020, 1152921504606851980]
    """
    quantiles, below, above = (np.array(each, dtype=np.float64) for each in (values, lows, highs))
    rounded = meaningful(quantiles, np.minimum(quantiles - below, above - quantiles) / 10**_MORE)
    return [
        min(max(_whole(old, new, min(old - low, high - old)) if isinstance(old, int) else new, low), high)
        for old, new, low, high in zip(values, rounded.tolist(), lows, highs, strict=True)
    ]


def _whole(value: int, rounded: float, distance: float) -> int:
    if abs(value) <= _LARGE:
        return round(rounded)
    width = int(distance) // 10**_MORE
    return int(meaningful_whole(np.array([value], dtype=object), width)[0])


def meaningful_whole(values: NDArray[Any], half_width: int) -> NDArray[Any]:
    """Whole numbers, of any size, rounded to the second digit of their half width.

    What lies half way goes to the even side: upwards always, numbers would be half of one too large in the mean, and
    their sums by half of one for each.

    >>> meaningful_whole(np.array([1234567, -85, 1250, 1350]), 4321).tolist()
    [1234600, -100, 1200, 1400]
    """
    unit = whole_unit(half_width)
    if unit == 1:
        return values
    if values.dtype != object and np.abs(values).max(initial=0) > 2**62:
        values = values.astype(object)
    whole, rest = values // unit, values % unit
    return np.asarray((whole + (2 * rest + whole % 2 > unit)) * unit)


def whole_unit(half_width: int) -> int:
    """What a whole number is rounded to: two digits of its half width are left.

    >>> [whole_unit(width) for width in (0, 7, 99, 100, 4321)]
    [1, 1, 1, 10, 100]
    """
    return int(10 ** max(0, len(str(half_width)) - _DIGITS))
