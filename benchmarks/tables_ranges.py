"""Ranges through the public path: a release of a million cells, and an adaptive partition beside the fixed strategy."""

from __future__ import annotations

import math
import os
import tempfile
import time
from pathlib import Path

import numpy as np

import discreet

CELLS = 1024
DRAWS = 5


def project(folder: Path, counts: np.ndarray):
    values = np.repeat(np.arange(len(counts)), counts)
    (folder / "t.csv").write_text("x\n" + "\n".join(map(str, values.tolist())) + "\n")
    (folder / "discreet.toml").write_text(
        f'[tables.t]\nsource = "t.csv"\nbudget = {{ epsilon = 10000 }}\n[tables.t.columns.x]\n'
        f'type = "integer"\nlow = 0\nhigh = {len(counts) - 1}\n'
    )
    os.environ["DISCREET_STATE"] = tempfile.mkdtemp()
    discreet.init(folder)
    found = discreet.open(folder)
    found.refresh("t")
    return found


def error(cells: np.ndarray, truth: np.ndarray) -> float:
    """The root mean square error over all ranges."""
    gaps = np.concatenate([[0.0], np.cumsum(cells - truth)])
    size = len(gaps)
    return math.sqrt((size * (gaps**2).sum() - gaps.sum() ** 2) / (size * (size - 1) / 2))


def worlds() -> dict[str, np.ndarray]:
    """Columns of a thousand cells: spikes among nothing, steps, a bell, and roughness."""
    generator = np.random.default_rng(1)
    hours = np.zeros(CELLS, dtype=np.int64)
    hours[generator.choice(CELLS, 60, replace=False)] = generator.integers(10, 2000, 60)
    bell = np.histogram(generator.normal(400, 120, 10_000), bins=CELLS, range=(0, CELLS))[0]
    return {
        "60 spikes": hours,
        "16 steps": np.repeat(generator.integers(0, 200, 16), 64),
        "bell, 10,000 rows": bell,
        "rough, 350,000 rows": generator.multinomial(350_000, generator.dirichlet(np.full(CELLS, 0.3))),
    }


def adaptive() -> None:
    print("| 1,024 cells, all ranges | epsilon | fixed, promised | adaptive, measured | ratio | said |")
    print("|---|---|---|---|---|---|")
    for name, counts in worlds().items():
        with tempfile.TemporaryDirectory() as folder:
            found = project(Path(folder), counts)
            for epsilon in ("1", "0.1"):
                fixed = found.plan_ranges("t", "x", epsilon=epsilon).expected_rmse
                made = [found.ranges("t", "x", epsilon=epsilon, strategy="adaptive", fresh=True) for _ in range(DRAWS)]
                seen = math.sqrt(np.mean([error(each.cells, counts) ** 2 for each in made]))
                print(f"| {name} | {epsilon} | {fixed:.1f} | {seen:.1f} | {seen / fixed:.2f} | {made[0].words} |")


def million() -> None:
    generator = np.random.default_rng(2)
    counts = np.bincount(
        np.minimum(generator.exponential(100_000, 300_000).astype(np.int64), 2**20 - 1), minlength=2**20
    )
    print("\n| 2^20 cells, 300,000 rows, epsilon 1, whole path | CPU s |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        found = project(Path(folder), counts)
        start = time.process_time()
        made = found.ranges("t", "x", epsilon=1)
        print(f"| plan, charge, count, noise, store, read back | {time.process_time() - start:.2f} |")
        start = time.process_time()
        seen = error(made.cells, counts)
        print(f"| least squares | {time.process_time() - start:.2f} |")
        start = time.process_time()
        made.quantile(0.5)
        print(f"| the median, with its interval | {time.process_time() - start:.2f} |")
        print(
            f"| root mean square error over all ranges: promised {made.expected_rmse:.2f}, of this draw {seen:.2f} | |"
        )


if __name__ == "__main__":
    adaptive()
    million()
