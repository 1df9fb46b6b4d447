"""A clinic counts its patients: noise with its size, repeats for nothing, and a budget that refuses.

`explain` prices a question and is free. `ask` pays, and every number says how wrong its noise may have made it. The
same question in other words is the stored answer. Women and men are different people: the second question is free.
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
columns.age = { type = "integer", low = 0, high = 110 }
columns.sex = { type = "category", values = ["F", "M"], closed = true }
columns.disease = { type = "category", values = ["allergy", "flu", "mumps"], closed = true }
"""


def patients() -> list[tuple[int, str, str]]:
    chance = random.Random(1)  # made-up people may be seeded; noise never is
    ill = chance.choices(["allergy", "flu", "mumps"], [30, 65, 5], k=10_000)
    return [(chance.randrange(100), chance.choice("FM"), disease) for disease in ill]


def main(scratch: Path) -> None:
    folder, people = scratch / "clinic", patients()
    folder.mkdir()
    with (folder / "patients.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "sex", "disease"), *people])
    (folder / "discreet.toml").write_text(DECLARED)
    clinic = discreet.init(folder)

    question = clinic.sql("SELECT disease, count(*) AS n FROM patients GROUP BY disease")
    print("price:", question.explain(epsilon=0.5)["cost"]["epsilon"])
    answer = question.ask(epsilon=0.5)
    for (disease, n), (_, interval) in zip(answer, answer.interval(0.95), strict=True):
        print(f"{disease:8} {n:5} in {interval}, exactly {sum(row[2] == disease for row in people)}")

    again = clinic.sql("select p.disease, COUNT(*) as patients from patients p group by 1").ask(epsilon=0.5)
    print("repeat: stored", again.cached, "and the same", again.rows == answer.rows)
    for sex in "FM":
        clinic.sql(f"SELECT count(*) FROM patients WHERE sex = '{sex}' AND age > 64").ask(epsilon=0.2)
        print(f"after asking about {sex}:", clinic.budget())
    try:
        clinic.sql("SELECT avg(age) FROM patients").ask(epsilon=0.5)
    except discreet.BudgetExceeded as refused:
        print("refused:", refused)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DISCREET_STATE"] = f"{scratch}/state"  # a throwaway project leaves nothing behind
        main(Path(scratch))
