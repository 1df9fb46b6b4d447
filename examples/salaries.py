"""What do people earn? Averages and quantiles of a table in which a person has many rows.

The unit that is protected is the person, with all of their payments: `person` and `rows_per_person` say so, and what
one of them has beyond that is left out. Bounds are declared, never read from the data: the largest salary is a secret.
"""

import csv
import os
import random
import tempfile
from pathlib import Path

import discreet

DECLARED = """
[tables.payments]
source = "payments.csv"
person = "employee"
rows_per_person = 12
budget = { epsilon = 4 }
columns.team = { type = "category", values = ["care", "office", "research"], closed = true }
columns.pay = { type = "integer", low = 0, high = 10000 }
"""
BY_TEAM = """
SELECT team, avg(pay) AS mean, count(DISTINCT employee) AS people FROM payments GROUP BY team"""
A_YEAR = """
SELECT avg(total) AS a_year, count(*) AS people
FROM (SELECT employee, sum(pay) AS total FROM payments GROUP BY employee)"""
QUANTILES = """
SELECT quantile(pay, 0.1) AS tenth, median(pay) AS middle, quantile(pay, 0.9) AS ninetieth FROM payments"""


def main(scratch: Path) -> None:
    chance = random.Random(2)  # made-up people may be seeded; noise never is
    level = {"care": 3000, "office": 3500, "research": 4500}
    rows = []
    for number in range(8000):
        team, own = chance.choice(list(level)), chance.lognormvariate(0, 0.3)
        months = 40 if number == 0 else 12  # one has far too many: only 12 of those count
        rows += [(f"e{number}", team, round(level[team] * own + chance.gauss(0, 50))) for _ in range(months)]
    folder = scratch / "firm"
    folder.mkdir()
    with (folder / "payments.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("employee", "team", "pay"), *rows])
    (folder / "discreet.toml").write_text(DECLARED)
    firm = discreet.init(folder)
    for question in (BY_TEAM, A_YEAR, QUANTILES):
        print(firm.sql(question).ask(epsilon=1), end="\n\n")
    print(firm.budget())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DISCREET_STATE"] = f"{scratch}/state"  # a throwaway project leaves nothing behind
        main(Path(scratch))
