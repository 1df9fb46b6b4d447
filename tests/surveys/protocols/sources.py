"""Sources of bits for tests that must not flake. Never a source for a person's answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Fixed:
    """The same words in every run."""

    def __init__(self, number: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(number))

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._generator.integers(0, 1 << 64, size=count, dtype=np.uint64)


def zipf(distinct: int, n: int, number: int) -> NDArray[np.int64]:
    """Codes of n people's words, a few of them frequent."""
    shares = 1 / np.arange(1, distinct + 1) ** 1.1
    return np.random.Generator(np.random.PCG64(number)).choice(distinct, size=n, p=shares / shares.sum())
