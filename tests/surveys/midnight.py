"""Tests that donate several times in one day of UTC do not begin just before its end."""

from __future__ import annotations

import time

DAY_S = 86_400
#: No such test takes longer.
SPARE_S = 120


def stay_within_a_day() -> None:
    """Wait for the next day where this one is nearly over."""
    if (left_s := DAY_S - time.time() % DAY_S) < SPARE_S:
        time.sleep(left_s + 1)
