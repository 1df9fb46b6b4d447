"""A small nation for tests: people in blocks of counties of states, and a public list of the places."""

import csv

import numpy as np

import discreet

STATES = {"AA": ["a1", "a2", "a3"], "BB": ["b1", "b2"]}
PLACES = [
    (state, county, f"{state}{county}{number}")
    for state, counties in STATES.items()
    for county in counties
    for number in range(4)
]
BLOCKS = [block for _, _, block in PLACES]

DECLARED = """
[tables.people]
source = "people.csv"
budget = {budget}
{extra}
[tables.people.columns.block]
type = "category"
values = [{blocks}]
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
[tables.people.columns.age]
type = "integer"
low = 0
high = 99
edges = [0, 15, 65, 99]
[tables.people.columns.work]
type = "boolean"
closed = true
[tables.places]
source = "places.csv"
public = true
[tables.places.columns.state]
type = "text"
[tables.places.columns.county]
type = "text"
[tables.places.columns.block]
type = "text"
"""

PLAN = """
table = "people"
attributes = ["sex", "age"]
[hierarchy]
column = "block"
levels = ["state", "county", "block"]
from = "places"
root = "nation"
"""


def people(count=600):
    """Rows that are the same every time: some without a place, some of no age, no child that works."""
    found = []
    for number in range(count):
        block = BLOCKS[(number * number) % len(BLOCKS)] if number % 31 else ""
        age = number * 7 % 100
        found.append([block, "FM"[number % 2], age if number % 17 else "", str(age > 15 and number % 3 == 0).lower()])
    return found


#: What lets every level of `block` have exact totals.
EXACT = 'invariants = ["block"]\n'


def make(folder, *, rows=None, budget="{ epsilon = 9.0, delta = 1e-6 }", extra="", person=False):
    """The project, with nothing spent; with `person` a fifth column says whose row it is."""
    discreet.init(folder)
    rows = people() if rows is None else rows
    header = ["block", "sex", "age", "work", *(["who"] if person else [])]
    _write(folder / "people.csv", header, rows)
    _write(folder / "places.csv", ["state", "county", "block"], PLACES)
    blocks = ", ".join(f'"{block}"' for block in BLOCKS)
    text = (folder / "discreet.toml").read_text()
    text += DECLARED.replace("{budget}", budget).replace("{blocks}", blocks).replace("{extra}", extra)
    (folder / "discreet.toml").write_text(text)
    return discreet.open(folder)


def plan(folder, text=PLAN):
    path = folder / "plan.toml"
    path.write_text(text)
    return path


def exact_table(rows):
    """People by state, county, block, sex and age bin, counted in plain Python."""
    where = {block: (state, county, block) for state, county, block in PLACES}
    found = {}
    for block, sex, age, *_ in rows:
        bin_ = None if age == "" else int(np.searchsorted([15, 65], int(age), side="right"))
        key = (*where.get(block, (None, None, None)), sex, bin_)
        found[key] = found.get(key, 0) + 1
    return found


def _write(path, header, rows):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)
