"""A town of people with eight columns that hang together, for attacks on synthetic data.

Generated, and seeded: nobody lives there, so the randomness protects nobody.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

WARDS = ("north", "south", "east", "west", "harbour")
SCHOOLS = ("primary", "secondary", "college", "university")
TRADES = ("care", "crafts", "office", "retail", "school", "transport")
ILLNESSES = ("none", "asthma", "diabetes", "heart", "rare")

#: What an owner would declare of it: facts that everybody knows, none read from the rows.
COLUMNS = f"""
[tables.town.columns.age]
type = "integer"
low = 18
high = 90
bins = 12
[tables.town.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
[tables.town.columns.ward]
type = "category"
values = {list(WARDS)!r}
[tables.town.columns.school]
type = "category"
values = {list(SCHOOLS)!r}
[tables.town.columns.trade]
type = "category"
values = {list(TRADES)!r}
[tables.town.columns.hours]
type = "integer"
low = 0
high = 80
bins = 8
[tables.town.columns.income]
type = "integer"
low = 0
high = 200000
bins = 16
[tables.town.columns.illness]
type = "category"
values = {list(ILLNESSES)!r}
"""


def town(people: int, *, seed: int = 2026) -> pa.Table:
    """So many people; the same ones every time."""
    chance = np.random.default_rng(seed)
    age = np.clip(chance.gamma(6.0, 8.0, people) + 10, 18, 90).astype(int)
    school = np.clip(chance.normal(1.6, 0.9, people) - (age > 60) * 0.5, 0, 3.49).round().astype(int)
    trade = (school + chance.integers(0, 4, people)) % len(TRADES)
    hours = np.where(age > 66, chance.integers(0, 12, people), np.clip(chance.normal(36, 9, people), 0, 80)).astype(int)
    income = 900 * hours * np.exp(0.25 * school + chance.normal(-0.35, 0.4, people))
    ill = chance.random(people) * (1.25 - age / 120)
    illness = np.select([ill > 0.35, ill > 0.2, ill > 0.1, ill > 0.012], [0, 1, 2, 3], 4)
    return pa.table(
        {
            "age": age,
            "sex": np.where(chance.random(people) < 0.51, "F", "M"),
            "ward": np.array(WARDS)[chance.choice(len(WARDS), people, p=[0.3, 0.25, 0.2, 0.18, 0.07])],
            "school": np.array(SCHOOLS)[school],
            "trade": np.array(TRADES)[trade],
            "hours": hours,
            "income": np.clip(income.round(-2), 0, 200_000).astype(int),
            "illness": np.array(ILLNESSES)[illness],
        }
    )


def jittered(table: pa.Table, *, seed: int = 2027) -> pa.Table:
    """A bad generator: each row is a real one in which one cell came from somebody else."""
    chance = np.random.default_rng(seed)
    rows, columns = table.num_rows, table.num_columns
    changed = chance.integers(0, columns, rows)
    jittered_columns = {}
    for place, name in enumerate(table.column_names):
        own = np.arange(rows)
        mine = changed == place
        own[mine] = chance.integers(0, rows, int(mine.sum()))
        jittered_columns[name] = table[name].take(pa.array(own))
    return pa.table(jittered_columns)


def independent_columns(table: pa.Table, *, seed: int = 2028) -> pa.Table:
    """A generator that cannot remember anybody: each column drawn for itself, from other people than the original's."""
    chance = np.random.default_rng(seed)
    return pa.table(
        {name: table[name].take(pa.array(chance.permutation(table.num_rows))) for name in table.column_names}
    )
