"""Numbers with no more digits than the noise leaves meaningful."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Digits of the half width that a value is shown to.
_DIGITS = 2


def meaningful(values: ArrayLike, half_widths: ArrayLike) -> NDArray[np.float64]:
    """Each value rounded to the second digit of its half width; to two digits of its own where that is infinite.

    A half width of 0 (no noise) leaves the value as it is, and so does NaN. Numbers give an array of one.

    >>> meaningful([1234.5678, 1234.5678, 0.123456, 7.0], [0.5, 123.4, 0.0012, 0.0]).tolist()
    [1234.57, 1230.0, 0.1235, 7.0]
    """
    value, width = np.broadcast_arrays(np.asarray(values, np.float64), np.asarray(half_widths, np.float64))
    size = np.where(np.isinf(width), value, width)
    known = np.isfinite(value) & np.isfinite(size) & (size != 0)
    powers = np.full(value.shape, np.iinfo(np.int64).max)
    powers[known] = _DIGITS - 1 - np.floor(np.log10(np.abs(size[known]))).astype(np.int64)
    found = value.copy()
    for digits in np.unique(powers[known]).tolist():
        chosen = powers == digits
        found[chosen] = _to(value[chosen], digits)
    return found + 0.0  # no minus zero


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
        found = meaningful(values, (highs - lows) / 2)
    return np.asarray(np.clip(found, lows, highs) + 0.0, dtype=np.float64)


def meaningful_whole(values: NDArray[Any], half_width: int) -> NDArray[Any]:
    """Whole numbers, of any size, rounded to the second digit of their half width.

    >>> meaningful_whole(np.array([1234567, -85]), 4321).tolist()
    [1234600, -100]
    """
    unit = whole_unit(half_width)
    if unit == 1:
        return values
    if values.dtype != object and np.abs(values).max(initial=0) > 2**62:
        values = values.astype(object)
    return np.asarray((values + unit // 2) // unit * unit)


def whole_unit(half_width: int) -> int:
    """What a whole number is rounded to: two digits of its half width are left.

    >>> [whole_unit(width) for width in (0, 7, 99, 100, 4321)]
    [1, 1, 1, 10, 100]
    """
    return int(10 ** max(0, len(str(half_width)) - _DIGITS))
