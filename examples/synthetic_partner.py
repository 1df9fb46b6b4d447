"""A file for a partner: rows that nobody lived, from a model that was paid for once.

The owner fits a model and saves it; it holds noisy numbers and public facts. The partner loads it without a project
and without a budget, samples as many rows as they like, and reads what these rows are good for, and what not.
"""

import csv
import os
import random
import tempfile
from pathlib import Path

import discreet
from discreet.synth.inspect import inspect_model
from discreet.synth.model import Model

DECLARED = """
[tables.customers]
source = "customers.csv"
budget = { epsilon = 2 }
columns.age = { type = "integer", low = 18, high = 97, bins = 8 }
columns.plan = { type = "category", values = ["basic", "family", "student"], closed = true }
columns.left = { type = "boolean", closed = true }
"""


def owner(scratch: Path) -> Path:
    chance = random.Random(9)  # made-up people may be seeded; noise never is
    rows = []
    for _ in range(10_000):
        age = chance.randrange(18, 98)
        plan = "student" if age < 28 and chance.random() < 0.8 else chance.choice(["basic", "family"])
        rows.append((age, plan, chance.random() < (0.4 if plan == "student" else 0.1)))
    folder = scratch / "shop"
    folder.mkdir()
    with (folder / "customers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "plan", "left"), *rows])
    (folder / "discreet.toml").write_text(DECLARED)
    discreet.init(folder).synthesize("customers", epsilon=1, model="mst").save(scratch / "model.json")
    return scratch / "model.json"


def partner(path: Path) -> None:
    model = Model.load(path)
    rows = model.sample(20_000).to_pandas()  # free: as many as you like
    print(rows.head(3).to_string(index=False))
    print("students who left:", round(rows.left[rows.plan == "student"].mean(), 3))
    print("others who left:", round(rows.left[rows.plan != "student"].mean(), 3))
    students = model.sample(1000, given={"plan": "student"}).to_pandas()
    print("half of the students are younger than", students.age.median())
    print(*inspect_model(model).lines(), sep="\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DISCREET_STATE"] = f"{scratch}/state"  # a throwaway project leaves nothing behind
        partner(owner(Path(scratch)))
