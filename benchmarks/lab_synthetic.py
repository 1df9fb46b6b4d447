"""Attacks on synthetic data: CPU seconds, and what they see. Called by bench_lab.py."""

from time import process_time

import numpy as np
import pyarrow as pa

from discreet.lab.attacks.synthetic import code_tables, density_ratio, distances, inference, multivariate, univariate
from discreet.lab.worlds.town import town


def tables():
    """12,000 people, as many others, 12 columns; the synthetic table is a copy."""
    everybody = town(24_000)
    chance = np.random.default_rng(1)
    for name, values in (("pet", 2), ("shop", 5), ("rooms", 50), ("metres", 100_000)):
        everybody = everybody.append_column(name, pa.array(chance.integers(0, values, 24_000)))
    return everybody.slice(0, 12_000), everybody.slice(12_000)


def figures() -> list[tuple[str, float, float]]:
    """What, seen, limit."""
    original, control = tables()
    start = process_time()
    held = code_tables(original, original, control)
    found = [("synthetic: code 36,000 rows x 12 columns, CPU s", process_time() - start, 1.0)]
    for word, attack, limit in (
        ("singling out, 500 on several columns (anonymeter 18.2)", multivariate, 1.0),
        ("singling out, 500 on one column (anonymeter 1.3)", univariate, 0.5),
        ("attribute inference, 500 targets", inference, 2.0),
        ("membership by density ratio, 500 targets", density_ratio, 5.0),
        ("nearest records, 500 pairs", distances, 2.0),
    ):
        start = process_time()
        evidence = attack(held)
        found.append((f"synthetic: {word}, CPU s", process_time() - start, limit))
        found.append((f"synthetic: {word}, missed on a copy", 1 - evidence.success, 0.05))
    return found


if __name__ == "__main__":
    for what, seen, limit in figures():
        print(f"{what:80} {seen:8.3f} {limit:8.3f}")
