"""Worlds of the lab's pages: files of "your own", smaller than the worlds that the attacks generate for themselves."""

from __future__ import annotations

import random
from pathlib import Path


def patients_of_the_lab(folder: Path) -> None:
    """patients.csv, with an illness that somebody may have."""
    chance = random.Random(21)
    rows = [f"{chance.randrange(100)},{chance.choice(['flu', 'mumps', 'none'])}\n" for _ in range(4000)]
    (folder / "patients.csv").write_text("age,illness\n" + "".join(rows))


def state_of_the_lab(folder: Path) -> None:
    """stays.csv without names, voters.csv with them; everybody.csv, of which published.csv is a sample."""
    import pyarrow.csv

    from discreet.lab.worlds.state import make_state

    state = make_state(20_000)
    tables = {"stays": state.hospital, "voters": state.voters, "everybody": state.people}
    tables["published"] = state.people.take(random.Random(22).sample(range(state.people.num_rows), 500))
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")


def wards(folder: Path) -> None:
    """people.csv of a ward, villages.csv, and two anonymous releases about people who are known."""
    import pyarrow.csv

    from discreet.lab.anonymize import anonymize
    from discreet.lab.worlds import wards as made

    first, second, known = made.hospitals(1500, 300)
    tables = {"people": made.patients(), "villages": made.villages(), "known": known}
    for name, table in (("a", first), ("b", second)):
        tables[name] = anonymize(table, quasi=made.QUASI, sensitive=[made.SENSITIVE], k=4).table
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")


def films_of_the_lab(folder: Path) -> None:
    """ratings.csv, and what somebody knows of some who rated."""
    chance = random.Random(23)
    rated = [
        (user, item, chance.randrange(1, 6), chance.randrange(700))
        for user in range(600)
        for item in chance.sample(range(400), 30)
    ]
    lines = [f"u{user},f{item},{stars},{day}\n" for user, item, stars, day in rated]
    (folder / "ratings.csv").write_text("user,item,stars,day\n" + "".join(lines))
    known = [row for row in rated if row[0] < 40 and chance.random() < 0.3]
    lines = [f"w{user},f{item},{stars},{day},u{user}\n" for user, item, stars, day in known]
    (folder / "known.csv").write_text("user,item,stars,day,record\n" + "".join(lines))


def town_of_the_lab(folder: Path) -> None:
    """original.csv, heldout.csv of the same town, and synthetic.csv, which remembers the first."""
    import pyarrow.csv

    from discreet.lab.worlds.town import jittered, town

    people = town(600)
    tables = {"original": people.slice(0, 300), "heldout": people.slice(300)}
    tables["synthetic"] = jittered(tables["original"])
    for name, table in tables.items():
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
