"""A share that lies between two ends, as people read it."""

from __future__ import annotations

import math


def share_text(share: tuple[float, float]) -> str:
    """A share as an interval, rounded outwards, with no more digits than its width leaves.

    >>> share_text((0.6145, 0.7134)), share_text((0.66449, 0.66632)), share_text((0.0, 0.0))
    ('61% to 72%', '66.4% to 66.7%', '0%')
    """
    low, high = share
    digits = 0 if high - low >= 0.02 or low == high else 1
    unit = 10.0 ** -(digits + 2)
    ends = math.floor(low / unit + 1e-9) * unit, math.ceil(high / unit - 1e-9) * unit
    low_text, high_text = (f"{end:.{digits}%}" for end in ends)
    return low_text if low_text == high_text else f"{low_text} to {high_text}"
