"""Two harmless counts and a subtraction give a person away, and how that is defeated.

By hand first: everybody who is ill, everybody but one, subtract. Exact answers name the secret. Under Discreet both
answers carry noise, and the budget counts them as the two different questions that they are, so that more pairs to
average are not to be had. Then the same attack on a thousand people at once, held against what the guarantee allows.
"""

import csv
import os
import random
import tempfile
from pathlib import Path

import discreet
from discreet.lab.attacks import differencing

DECLARED = """
[tables.staff]
source = "staff.csv"
budget = { epsilon = 1 }
columns.room = { type = "integer", low = 1, high = 500 }
columns.ill = { type = "boolean" }
"""
EVERYBODY = "SELECT count(*) FROM staff WHERE ill"
ALL_BUT_ONE = "SELECT count(*) FROM staff WHERE ill AND room <> 12"


def main(scratch: Path) -> None:
    chance = random.Random(3)  # made-up people may be seeded; noise never is
    people = [(room, chance.random() < 0.3) for room in range(1, 501)]
    exactly = sum(ill for _, ill in people) - sum(ill for room, ill in people if room != 12)
    print("exact answers: the person in room 12 is", "ill" if exactly else "well")

    folder = scratch / "office"
    folder.mkdir()
    with (folder / "staff.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("room", "ill"), *people])
    (folder / "discreet.toml").write_text(DECLARED)
    office = discreet.init(folder)
    answers = [office.sql(question).ask(epsilon=0.5).to_data() for question in (EVERYBODY, ALL_BUT_ONE)]
    with_them, without = (answer["rows"][0][0] for answer in answers)
    print("noisy answers: the difference is", with_them - without, "where it should be 0 or 1")
    try:
        office.sql("SELECT count(*) FROM staff WHERE ill AND room > 12").ask(epsilon=0.5)
    except discreet.BudgetExceeded:
        print("a third question: refused")

    found = differencing.attack(epsilon=1, targets=1000)
    for server in found.details["servers"]:
        print(f"{server['server']}: {server['success']:.1%} of 1,000 guessed right")
    print(f"the most that epsilon 1 allows anybody: {found.bound:.1%}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DISCREET_STATE"] = f"{scratch}/state"  # a throwaway project leaves nothing behind
        main(Path(scratch))
