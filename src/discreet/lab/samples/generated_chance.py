"""The chance that sample tables are generated with: seeded, so that everybody has the same rows.

Nobody is in these tables, so it protects nobody; noise is drawn elsewhere and never seeded. Everything comes from one
function whose numbers Python promises to keep from release to release, and from whole additions and comparisons.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

Value = TypeVar("Value")

#: Generated data is public, so it may be seeded; noise never is.
SEED = 2026


class GeneratedChance:
    """Chance for one sample, by its name."""

    def __init__(self, sample: str) -> None:
        self._uniform = random.Random(f"{SEED} {sample}").random  # noqa: S311 - sample data, not noise

    def below(self, limit: int) -> int:
        """A whole number from 0 to below a limit, each as likely."""
        return int(self._uniform() * limit)

    def between(self, low: int, high: int) -> int:
        """A whole number in these bounds, each as likely."""
        return low + self.below(high - low + 1)

    def is_true(self, share: float) -> bool:
        """True in this share of all cases."""
        return self._uniform() < share

    def pick(self, values: Sequence[Value]) -> Value:
        """One of the values, each as likely."""
        return values[self.below(len(values))]

    def weighted(self, values: Sequence[Value], weights: Sequence[int]) -> Value:
        """One of the values, as often as its weight says."""
        ends = list(accumulate(weights))
        place = self.below(ends[-1])
        return values[next(number for number, end in enumerate(ends) if place < end)]

    def near(self, middle: int, spread: int, *, low: int, high: int) -> int:
        """A whole number near the middle, rarely twice the spread away from it, moved into the bounds."""
        drawn = middle + round((sum(self._uniform() for _ in range(12)) - 6) * spread)
        return min(high, max(low, drawn))
