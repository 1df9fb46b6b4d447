"""People rebuilt from tables that name nobody, and what noise does about it. (Needs `discreet[lab]`: a solver.)

Three colleagues; an office published counts, means and a median, and left out what was about fewer than three. Each
number rules people out; together they leave one way it can be. Then the well-known block of seven, and the same
tables with noise: an attacker who knows everybody but one is held to what epsilon allows.
"""

import tempfile
from pathlib import Path

from discreet.lab.attacks import census

PUBLISHED = """
title = "the pay of three colleagues"
people = 3
columns.pay = { low = 20, high = 120 }
columns.role = { values = ["nurse", "doctor"] }
rounding = { mean = 0.1 }

[[statistics]]
name = "all"
count = 3
median = 40
mean = 50
[[statistics]]
name = "nurses"
where = { role = "nurse" }
count = 2
mean = 35
[[statistics]]
name = "high pay"
where = { pay = { low = 60 } }
suppressed = true
"""


def main(scratch: Path) -> None:
    path = scratch / "published.toml"
    path.write_text(PUBLISHED)
    found = census.attack(census.read(path))
    print("colleagues:", found.details["solutions"], "way it can be")
    for person in found.details["certain"]["people"]:
        print(f"  a {person['role']} with {person['pay']}")

    block = census.seven_people()
    print("seven people, exact tables:", census.attack(block).details["solutions"], "way it can be")
    print("without one of the tables:", census.attack(block, without=["3B"]).details["solutions"], "ways")

    noisy = census.attack(block, epsilon=1, most=100)
    bare = noisy.details["without_noise"]["newcomers_named"]
    print(f"a newcomer is named {noisy.success:.1%} of the time with noise for epsilon 1, {bare:.1%} without it")
    print(f"guessing: {noisy.chance:.2%}; the most that epsilon 1 allows: {noisy.bound:.2%}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(scratch))
