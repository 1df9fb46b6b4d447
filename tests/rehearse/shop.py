"""A shop for rehearsals: a declaration without any data behind it, but for one public table."""

import discreet

DECLARED = """
[populations.them]
budget = { epsilon = 50, delta = 1e-6 }
[tables.people]
source = "people.csv"
population = "them"
person = "id"
[tables.people.columns.sex]
type = "category"
values = ["F", "M"]
constant = true
[tables.people.columns.region]
type = "text"
[tables.people.columns.member]
type = "boolean"
[tables.orders]
source = "orders.csv"
population = "them"
person = "id"
rows_per_person = 5
[tables.orders.columns.cost]
type = "decimal"
low = 0
high = 100
step = 0.01
[tables.orders.columns.day]
type = "date"
low = 2025-01-01
high = 2025-12-31
[tables.orders.columns.at]
type = "timestamp"
low = 2025-01-01
high = 2025-12-31
[tables.lines]
source = "lines.csv"
population = "them"
person = { through = "orders", on = "order_id" }
rows_per_person = 10
[tables.lines.columns.price]
type = "integer"
low = 0
high = 50
bins = 5
[tables.lines.columns.count]
type = "integer"
[tables.regions]
source = "regions.csv"
public = true
[tables.regions.columns.region]
type = "text"
[tables.regions.columns.name]
type = "text"
"""


def shop(folder):
    discreet.init(folder)
    (folder / "regions.csv").write_text("region,name\nnorth,N\nsouth,S\n")
    file = folder / "discreet.toml"
    file.write_text(file.read_text() + DECLARED)
    return discreet.open(folder)
