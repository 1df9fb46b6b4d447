"""Worlds of the first pages: a town's clinic where people come more than once, and who knows whom."""

import csv
import random
from pathlib import Path

#: Generated data is public, so it may be seeded; noise never is.
SEED = 11
PATIENTS = 2_000


def town(folder: Path) -> None:
    """visits.csv (patient_id,ward,cost), where most come once and a few very often; friends.csv (from,to)."""
    chance = random.Random(SEED)
    patients = [f"p{number}" for number in range(PATIENTS)]
    visits = []
    for patient in patients:
        for _ in range(min(60, int(chance.paretovariate(1.2)))):
            visits.append([patient, chance.choice(["east", "north", "west"]), chance.randrange(20, 900)])
    _write(folder / "visits.csv", ["patient_id", "ward", "cost"], visits)
    pairs = {tuple(sorted(chance.sample(patients, 2))) for _ in range(5_000)}
    _write(folder / "friends.csv", ["from", "to"], [list(pair) for pair in sorted(pairs)])


def _write(path: Path, heading: list[str], rows: list[list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(heading)
        writer.writerows(rows)
