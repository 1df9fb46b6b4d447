"""A cell of a table as text: a number with its noise."""

from __future__ import annotations

import math

#: Stands for a number that the noise hides.
DASH = "–"


def format_with_noise(cell: float, low: float, high: float) -> str:
    """A number and its noise in two digits: `1230 ± 120`, or `5.02 (4.9 to 5.3)` where it leans.

    The number is shown as it is: it has no more digits than mean something. What rounding it moved is no leaning.
    """
    if isinstance(cell, int) and isinstance(low, int) and isinstance(high, int):
        half = -((low - high) // 2)
        unit = 10 ** max(0, len(str(half)) - 2)
        even = abs((high - cell) - (cell - low)) <= unit
        return f"{cell} ± {-(-half // unit) * unit}" if even else f"{cell} ({low} to {high})"
    width = (high - low) / 2
    if width <= 0:
        return f"{cell:g} ± 0"
    digits = 1 - math.floor(math.log10(width))
    places, step = max(0, digits), 10.0**-digits
    number = f"{cell:.{places}f}"
    number = number if float(number) == cell else f"{cell:.15g}"
    if abs((high - cell) - (cell - low)) <= max(width / 50, 1.001 * step):
        return f"{number} ± {math.ceil(width / step - 1e-9) * step:.{places}f}"
    return f"{number} ({math.floor(low / step) * step:.{places}f} to {math.ceil(high / step) * step:.{places}f})"
