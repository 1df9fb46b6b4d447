"""Numbers for files: without the digits that their noise makes meaningless."""

from __future__ import annotations

import math


def round_to_noise(value: float, low: float, high: float) -> tuple[float, float, float]:
    """A number and its interval, to three digits of the half width, and never coarser than whole ones.

    The ends are rounded outward, so that the interval holds what it held.

    >>> round_to_noise(123.456789, 111.1111, 135.8025)
    (123.5, 111.1, 135.9)
    >>> round_to_noise(7, 1.23456, 12.76544)
    (7, 1.23, 12.77)
    """
    width = (high - low) / 2
    if width <= 0:
        return value, low, high
    digits = max(0, 2 - math.floor(math.log10(width)))
    unit = 10**digits
    shown = value if isinstance(value, int) else round(value, digits)
    return shown, round(math.floor(low * unit) / unit, digits), round(math.ceil(high * unit) / unit, digits)
