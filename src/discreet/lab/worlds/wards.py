"""Generated patients for attacks on anonymized tables. The seeds are fixed: nobody real is in them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

QUASI = ("zip", "age", "sex")
SENSITIVE = "condition"
CONDITIONS = ("angina", "asthma", "cancer", "diabetes", "flu", "fracture", "gout", "measles", "migraine", "mumps")


def patients(count: int = 6_000, *, seed: int = 1) -> pa.Table:
    """Patients whose condition has much to do with where they live, how old they are and their sex: 19 in 20 of a
    neighbourhood, decade and sex have the one that is common there."""
    random = np.random.default_rng(seed)
    area, age = random.integers(0, 24, count), random.integers(18, 90, count)
    sex = random.integers(0, 2, count)
    common = random.integers(0, len(CONDITIONS), (24, 10, 2))[area, age // 10, sex]
    condition = np.where(random.random(count) < 0.95, common, random.integers(0, len(CONDITIONS), count))
    return pa.table(_public(area, age, sex) | {SENSITIVE: np.array(CONDITIONS)[condition]})


def hospitals(count: int = 4_000, both: int = 1_000, *, seed: int = 2) -> tuple[pa.Table, pa.Table, pa.Table]:
    """The patients of two hospitals, and those who went to both with the same diagnosis, one of 150 codes."""
    random = np.random.default_rng(seed)
    total = 2 * count - both
    frequent = 1 / (np.arange(150) + 10.0)
    codes = random.choice(150, size=total, p=frequent / frequent.sum())
    public = _public(random.integers(0, 24, total), random.integers(18, 90, total), random.integers(0, 2, total))
    everybody = pa.table(public | {SENSITIVE: np.array([f"D{code:03d}" for code in range(150)])[codes]})
    return everybody.slice(0, count), everybody.slice(count - both), everybody.slice(count - both, both)


def villages(count: int = 300, *, seed: int = 3) -> pa.Table:
    """Villages with two to four nurses and six to fourteen others. Where an infection reached nurses, most have it."""
    random = np.random.default_rng(seed)
    rows: dict[str, list[str]] = {"village": [], "job": [], "test": []}
    for village in range(count):
        reached = random.random() < 0.3
        for job, people, risk in (
            ("nurse", random.integers(2, 5), 0.9 if reached else 0.02),
            ("other", random.integers(6, 15), 0.03),
        ):
            ill = random.random(people) < risk
            rows["village"] += [f"village {village:03d}"] * len(ill)
            rows["job"] += [job] * len(ill)
            rows["test"] += ["positive" if one else "negative" for one in ill]
    return pa.table(rows)


def _public(area: np.ndarray, age: np.ndarray, sex: np.ndarray) -> dict[str, object]:
    """What neighbours know."""
    return {
        "zip": np.array([f"13{place:02d}{place % 7}" for place in range(24)])[area],
        "age": age,
        "sex": np.array(["F", "M"])[sex],
    }
