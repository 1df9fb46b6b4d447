"""The nearest counts that could be true: none negative with a known total, or never falling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def norm_sub(counts: Floats, total: float) -> Floats:
    """The nearest vector to `counts` that is nowhere negative and sums to `total` >= 0."""
    ordered = np.sort(counts)[::-1]
    over = (np.cumsum(ordered) - total) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(ordered > over)
    return np.asarray(np.maximum(counts - over[kept[-1] if kept.size else 0], 0.0))


def isotonic(counts: Floats, *, rising: bool = True) -> Floats:
    """The nearest vector that never falls (or never rises): neighbours that disagree are averaged."""
    blocks: list[tuple[float, int]] = []
    for value in (counts if rising else counts[::-1]).tolist():
        mean, size = value, 1
        while blocks and blocks[-1][0] > mean:
            other, many = blocks.pop()
            mean, size = (mean * size + other * many) / (size + many), size + many
        blocks.append((mean, size))
    levels = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    return levels if rising else levels[::-1]
