"""One release answers every interval, prefix and quantile of a column, for ever.

A noisy count of each interval would cost again and again. `ranges` measures sums that are planned so that all
intervals come out well, is charged once, and says beforehand, for nothing, how exact it will be.
"""

import csv
import os
import random
import tempfile
from pathlib import Path

import discreet

DECLARED = """
[tables.patients]
source = "patients.csv"
budget = { epsilon = 1 }
columns.age = { type = "integer", low = 0, high = 127 }
"""
ASKED = [(0, 17), (18, 64), (65, 127), (30, 45), (31, 44), (50, 50)]


def main(scratch: Path) -> None:
    chance = random.Random(7)  # made-up people may be seeded; noise never is
    ages = [min(120, int(abs(chance.gauss(40, 22)))) for _ in range(20_000)]
    folder = scratch / "clinic"
    folder.mkdir()
    with (folder / "patients.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age",), *((age,) for age in ages)])
    (folder / "discreet.toml").write_text(DECLARED)
    clinic = discreet.init(folder)

    plan = clinic.plan_ranges("patients", "age", epsilon=0.5).to_data()
    print(f"planned, free: intervals are off by about {plan['expected_rmse']:.1f} rows")
    found = clinic.ranges("patients", "age", epsilon=0.5)  # charged once
    for (first, last), each in zip(ASKED, found.intervals(ASKED), strict=True):
        exactly = sum(first <= age <= last for age in ages)
        low, high = each.interval
        print(f"{first:3} to {last:3}: {each.value:8.1f} ({low:.0f} to {high:.0f}), exactly {exactly}")
    for fraction in ("0.1", "0.5", "0.9"):
        quantile = found.quantile(fraction)
        exactly = sorted(ages)[int(float(fraction) * len(ages))]
        print(f"quantile {fraction}: {quantile.value} {quantile.interval}, exactly {exactly}")

    later = discreet.open(folder).ranges("patients", "age")  # another day, another program: read back
    print("another interval, later:", later.between(70, 79).value, "and it cost nothing:", later.cached)
    print(clinic.budget())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DISCREET_STATE"] = f"{scratch}/state"  # a throwaway project leaves nothing behind
        main(Path(scratch))
