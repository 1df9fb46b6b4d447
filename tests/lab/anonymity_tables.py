"""Tables for the tests of anonymity, and what pycanon 1.3.5 says of them (run once, in an environment of its own)."""

import random

import pyarrow as pa

QUASI = ("zip", "age", "sex")
#: (rows, ages, seed): k and, for sensitive columns, l, l by entropy (pycanon cuts its decimals off) and t.
PYCANON = {
    (400, 6, 1): {
        "k": 2,
        "wage": (2, 1, 0.20478723404255336),
        "weight": (2, 1, 0.25580434782608685),
        "illness": (1, 1, 0.6025),
        "wage+weight+illness": (1, 1, 0.6025),
    },
    (3000, 12, 2): {
        "k": 16,
        "wage": (8, 5, 0.15829649965682918),
        "weight": (15, 14, 0.13408603842874958),
        "illness": (3, 1, 0.42724999999999996),
        "wage+weight+illness": (3, 1, 0.42724999999999996),
    },
    (1500, 60, 3): {
        "k": 1,
        "wage": (1, 1, 0.6544964539007093),
        "weight": (1, 1, 0.5030225225225228),
        "illness": (1, 1, 0.8886666666666667),
        "wage+weight+illness": (1, 1, 0.8886666666666667),
    },
}


def people(rows, ages, seed):
    generator = random.Random(seed)
    illnesses = ["angina", "flu", "gout", "measles", "mumps"]
    found = {"zip": [], "age": [], "sex": [], "wage": [], "weight": [], "illness": []}
    for _ in range(rows):
        area, age = int(generator.random() * 4), int(generator.random() * ages)
        found["zip"].append(f"1300{area}")
        found["age"].append(20 + age)
        found["sex"].append("FM"[int(generator.random() * 2)])
        found["wage"].append(1000 * int(generator.random() ** 2 * 12) + 100 * area)
        found["weight"].append(50 + int(generator.random() * 300) / 4)
        found["illness"].append(illnesses[int(generator.random() ** (1 + area) * 5)])
    return pa.table(found)


def holes(rows, seed):
    """A small table with NULL in every column."""
    generator = random.Random(seed)

    def some(values):
        return [
            None if generator.random() < 0.1 else values[int(generator.random() * len(values))] for _ in range(rows)
        ]

    return pa.table(
        {
            "city": pa.array(some(["Bonn", "Rome", "Oslo", "Kyiv", "Bern", "Lima"]), pa.string()),
            "age": pa.array(some(list(range(20, 60))), pa.int64()),
            "sex": pa.array(some(["F", "M"]), pa.string()),
            "wage": pa.array(some([10.5, 20.0, 30.25, 70.0]), pa.float64()),
            "ill": pa.array(some(["flu", "gout", "mumps"]), pa.string()),
        }
    )
