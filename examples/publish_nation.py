"""Tables of a nation as a statistics office publishes them: whole numbers that add up from the block to the nation.

One charge for all levels. Beside every count stand the unbiased estimate that it was made of and an interval for the
exact number: publish the counts, compute with the estimates.
"""

import csv
import os
import random
import tempfile
from pathlib import Path

import discreet

DECLARED = """
[tables.people]
source = "people.csv"
budget = { epsilon = 2 }
columns.block = { type = "text" }
columns.sex = { type = "category", values = ["F", "M"], closed = true }
columns.age = { type = "integer", low = 0, high = 99, edges = [0, 18, 65, 99] }
[tables.places]
source = "places.csv"
public = true
columns = { state = { type = "text" }, county = { type = "text" }, block = { type = "text" } }
"""
PLACES = {"column": "block", "levels": ["state", "county", "block"], "from": "places", "root": "nation"}
PLAN = {"table": "people", "attributes": ["sex", "age"], "hierarchy": {**PLACES, "elsewhere": False}}


def main(scratch: Path) -> None:
    chance = random.Random(8)  # made-up people may be seeded; noise never is
    places = [
        (state, f"{state}{county}", f"{state}{county}-{n}") for state in "NS" for county in "123" for n in "12345"
    ]
    people = [(chance.choice(places)[2], chance.choice("FM"), chance.randrange(100)) for _ in range(30_000)]
    folder = scratch / "nation"
    folder.mkdir()
    for name, heads, rows in (("places", "state county block", places), ("people", "block sex age", people)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([heads.split(), *rows])
    (folder / "discreet.toml").write_text(DECLARED)
    nation = discreet.init(folder)

    made = nation.publish(PLAN, epsilon=1, to=scratch / "published")
    for level in made.levels:
        totals, cells = made.totals(level).to_pylist(), made.table(level).to_pylist()
        added = sum(row["count"] for row in totals), sum(row["count"] for row in cells)
        print(f"{level}: {len(totals)} places, {len(cells)} cells; they add up to {added[0]} and {added[1]}")
    north, exactly = made.totals("state").to_pylist()[0], sum(block.startswith("N") for block, _, _ in people)
    print(f"state N: {north['count']}, from {north['low']:.0f} to {north['high']:.0f}, exactly {exactly}")
    print("files:", ", ".join(sorted(path.name for path in (scratch / "published").iterdir())))
    print("the same plan again is free:", nation.publish(PLAN, epsilon=1).cached)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["DISCREET_STATE"] = f"{scratch}/state"  # a throwaway project leaves nothing behind
        main(Path(scratch))
