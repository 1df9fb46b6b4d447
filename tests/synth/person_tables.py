"""A small table of persons with several rows each, in which rows depend on the person and on the row before."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np

from synth.worlds import open_project

KINDS = ("a", "b", "c")
COLUMNS = {
    "id": None,
    "sex": 'type = "category"\nvalues = ["F", "M"]',
    "day": 'type = "date"\nlow = 2024-01-01\nhigh = 2025-12-31',
    "end": 'type = "date"\nlow = 2024-01-01\nhigh = 2026-01-31',
    "kind": 'type = "category"\nvalues = ["a", "b", "c"]',
    "size": 'type = "integer"\nlow = 0\nhigh = 9',
}
SMALL = {name: COLUMNS[name] for name in ("id", "sex", "day", "kind")}
TABLE = 'person = "id"\nrows_per_person = 8'


def person_lines(persons=600, seed=7):
    """Men come more often; who comes with `a` comes with `a` again, and soon."""
    chance = np.random.default_rng(seed)
    lines = []
    for person in range(persons):
        sex = "FM"[person % 2]
        day, kind = date(2024, 1, 1) + timedelta(days=int(chance.integers(300))), int(chance.integers(3))
        for turn in range(1 + int(chance.integers(2 if sex == "F" else 6))):
            if turn:
                day += timedelta(days=int(chance.integers(1, 10 if kind == 0 else 80)))
                kind = kind if chance.random() < 0.8 else int(chance.integers(3))
            end = day + timedelta(days=int(chance.integers(3)))
            lines.append(f"p{person},{sex},{day},{end},{KINDS[kind]},{int(chance.integers(10))}")
    chance.shuffle(lines)
    return lines


def small_project(folder, persons):
    """Fewer columns and persons, for what does not depend on them."""
    lines = [",".join(line.split(",")[place] for place in (0, 1, 2, 4)) for line in person_lines(persons)]
    return person_project(folder, lines, columns=SMALL)


def person_project(folder, lines=None, *, columns=COLUMNS, table=TABLE, **more):
    return open_project(folder, columns, person_lines() if lines is None else lines, table=table, **more)


def histories(rows):
    """The rows of an Arrow table, person by person."""
    found = {}
    for row in rows.to_pylist():
        found.setdefault(row["id"], []).append(row)
    return list(found.values())
