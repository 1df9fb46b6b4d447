"""Tables to find bounds of: a folder, a declaration with much left out, and noise from a fixed source."""

import csv
from datetime import date, timedelta

import numpy as np

import discreet
from discreet.kernel.curator import Curator
from noise.source import FixedBits

NAMES = ["id", "cost", "day", "at", "city", "age", "seen"]
COLUMNS = """
[tables.visits.columns.cost]
type = "decimal"  # in euros
[tables.visits.columns.day]
type = "date"
[tables.visits.columns.at]
type = "timestamp"
[tables.visits.columns.city]
type = "text"
[tables.visits.columns.age]
type = "integer"
low = 0
high = 120
[tables.visits.columns.seen]
type = "boolean"
"""


def sizes(persons, *, seed=1):
    """How many rows each person has: everybody one, and nine times as many go to few. The cube makes the skew."""
    more = np.random.default_rng(seed).random(9 * persons) ** 3 * persons
    return 1 + np.bincount(more.astype(np.int64), minlength=persons)


def rows_of(counts, *, seed=2):
    """Rows of persons: costs around 150 with a tail, four years of days, three large cities and many small ones."""
    generator = np.random.default_rng(seed)
    found = []
    for person, count in enumerate(counts):
        for _ in range(count):
            day = date(2020, 1, 1) + timedelta(days=int(generator.integers(0, 1461)))
            city = ["Oslo", "Paris", "Rome", f"village {generator.integers(10**6)}", ""][generator.integers(5)]
            cost = f"{np.exp(generator.normal(5, 1)):.2f}"
            found.append([f"p{person}", cost, day, f"{day} 12:00:00", city, int(generator.integers(0, 130)), "true"])
    return found


def write_rows(path, rows, names=NAMES):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])


def make(
    folder, rows, *, person=True, extra="", columns=COLUMNS, budget="{ epsilon = 100.0, delta = 1e-5 }", bits=None
):
    """A project with one declared table. `bits`: the number of a fixed source of noise."""
    discreet.init(folder)
    write_rows(folder / "visits.csv", rows)
    head = (folder / "discreet.toml").read_text()
    text = f'{head}\n# the visits\n[tables.visits]\nsource = "visits.csv"\nbudget = {budget}\n'
    text += ('person = "id"\n' if person else "") + f"{extra}\n{columns}"
    (folder / "discreet.toml").write_text(text)
    return fixed(discreet.open(folder), bits)


def fixed(project, bits):
    """The same project, with noise from a fixed source."""
    if bits is not None:
        made = project.curator
        project.__dict__["curator"] = Curator(
            ledger=made.ledger, engine=made.engine, folder=made.folder, _bits=FixedBits(bits)
        )
    return project
