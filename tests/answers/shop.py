"""A project with orders of customers, their payments, order lines and a public list of cities, for tests."""

import csv
import random
from pathlib import Path

import discreet

TOML = """
[populations.customers]
budget = { epsilon = 900000, delta = 1e-6 }

[tables.orders]
source = "orders.csv"
population = "customers"
person = "customer"
rows_per_person = ROWS
[tables.orders.columns]
id = { type = "integer" }
city = { type = "category", values = ["bonn", "trier", "ulm"] }
sex = { type = "category", values = ["F", "M"], closed = true, constant = true }
amount = { type = "decimal", low = 0, high = 500, step = 0.01 }
items = { type = "integer", low = 0, high = 20 }
paid = { type = "boolean" }
day = { type = "date", low = 2025-01-01, high = 2025-12-31 }
note = { type = "text" }

[tables.payments]
source = "payments.csv"
population = "customers"
person = "customer"
rows_per_person = 3
[tables.payments.columns]
fee = { type = "integer", low = 0, high = 9 }

[tables.lines]
source = "lines.csv"
population = "customers"
person = { through = "orders", on = "id" }
rows_per_person = 40
[tables.lines.columns]
weight = { type = "integer", low = 0, high = 50 }

[tables.cities]
source = "cities.csv"
public = true
[tables.cities.columns]
name = { type = "text" }
state = { type = "text" }
people = { type = "integer" }

[tables.people]
source = "people.csv"
budget = { epsilon = 900000, delta = 1e-6 }
[tables.people.columns]
age = { type = "integer", low = 0, high = 99 }
city = { type = "category", values = ["bonn", "trier", "ulm"] }
word = { type = "text" }
"""


def write(path: Path, names: list[str], rows: list[tuple]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])


def make(folder: Path, *, rows_per_person: int = 20, customers: int = 120):
    """The project; its data are made from a fixed seed, and every value fits its declaration."""
    draw = random.Random(7)
    orders, payments, lines = [], [], []
    for customer in range(customers):
        sex = draw.choice("FM")
        for _ in range(draw.randint(1, 6)):
            id_ = len(orders)
            city = draw.choice(["bonn", "trier", "ulm", ""])
            amount = "" if draw.random() < 0.05 else f"{draw.uniform(0, 500):.2f}"
            day = f"2025-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}"
            paid = draw.choice(["true", "false", ""])
            note = draw.choice(["urgent", "Urgent", "late", "gift"])
            orders.append((f"c{customer}", id_, city, sex, amount, draw.randint(0, 20), paid, day, note))
            lines += [(id_, draw.randint(0, 50)) for _ in range(draw.randint(0, 3))]
        payments += [(f"c{customer}", draw.randint(0, 9)) for _ in range(draw.randint(0, 3))]
    names = ["customer", "id", "city", "sex", "amount", "items", "paid", "day", "note"]
    write(folder / "orders.csv", names, orders)
    write(folder / "payments.csv", ["customer", "fee"], payments)
    write(folder / "lines.csv", ["id", "weight"], lines)
    write(
        folder / "cities.csv",
        ["name", "state", "people"],
        [("bonn", "nw", 3), ("trier", "rp", 1), ("ulm", "bw", 1), ("ulm", "by", 2)],
    )
    people = [
        (draw.randint(0, 99), draw.choice(["bonn", "trier", "ulm"]), draw.choice(["yes", "no"])) for _ in range(400)
    ]
    write(folder / "people.csv", ["age", "city", "word"], people)
    (folder / "discreet.toml").write_text(TOML.replace("ROWS", str(rows_per_person)))
    return discreet.init(folder)
