"""Tables of counts for `./do bench best`: shapes like those of DPBench (4,096 cells), made up, always the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

CELLS = 4096


def shapes(rows: int) -> Iterator[tuple[str, np.ndarray]]:
    """A name, and counts of `rows` rows in 4,096 cells: spread by a law, then drawn."""
    generator = np.random.default_rng(20261118)
    places = np.arange(CELLS)
    laws = {
        "one hump": np.exp(-(((places - 900) / 300) ** 2)),
        "two humps on a floor": 0.1 + np.exp(-(((places - 900) / 80) ** 2)) + np.exp(-(((places - 3000) / 400) ** 2)),
        "even": np.ones(CELLS),
        "2% of the cells, heavy tail": generator.pareto(1.0, CELLS) * (generator.random(CELLS) < 0.02),
        "10% of the cells, even": 1.0 * (generator.random(CELLS) < 0.1),
        "heavy tail": generator.pareto(1.1, CELLS) + 0.05,
        "powers of two": 0.5 ** (places // 256),
        "spikes at round numbers": np.where(places % 64 == 0, 40.0, 1.0) * np.exp(-places / 1500),
    }
    for name, law in laws.items():
        yield name, generator.multinomial(rows, law / law.sum())
