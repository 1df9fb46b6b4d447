"""A table of visits that lies in PostgreSQL or in a lake, for tests of whole paths."""

from datetime import date, timedelta

import pyarrow as pa

from engines.postgres import server as postgres
from engines.spark import server as spark

SEXES, WARDS = ("F", "M"), ("cardio", "maternity", "surgery")
TYPES = {"pid": pa.string(), "sex": pa.string(), "ward": pa.string(), "age": pa.int64(), "stay": pa.int64(), "day": pa.date32(), "note": pa.string()}  # fmt: skip
#: Chances that noise reaches 1 are below one in a million million, in all cells together.
LARGE = ("--epsilon", "200")

DECLARED = """
[tables.visits]
source = {source}
engine = "{engine}"
budget = {{ epsilon = 1000000, delta = 1e-6 }}
person = "pid"
rows_per_person = 3
[tables.visits.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
constant = true
[tables.visits.columns.ward]
type = "category"
values = ["cardio", "maternity", "surgery"]
[tables.visits.columns.age]
type = "integer"
low = 0
high = 99
bins = 10
[tables.visits.columns.stay]
type = "integer"
[tables.visits.columns.day]
type = "date"
low = 2020-01-01
high = 2020-12-31
[tables.visits.columns.note]
type = "text"
[tables.regions]
source = {regions}
engine = "{engine}"
public = true
[tables.regions.columns.ward]
type = "text"
[tables.regions.columns.floor]
type = "text"
"""
PLAN = """
table = "visits"
attributes = ["sex"]
[hierarchy]
column = "ward"
levels = ["floor", "ward"]
from = "regions"
root = "house"
"""


def visits(people: int = 150) -> list[dict[str, object]]:
    """Persons with one to three rows, none of which is truncated; somebody's ward is not known."""
    return [
        {
            "pid": f"p{person}", "sex": SEXES[person % 2], "ward": (*WARDS, None)[(person + turn) % 4], "age": (person * 7 + turn) % 100, "stay": 1 + person % 9,
            "day": date(2020, 1, 1) + timedelta(days=person % 300), "note": "flu" if person % 3 else "mumps",
        }
        for person in range(people)
        for turn in range(1 + person % 3)
    ]  # fmt: skip


REGIONS = [
    {"ward": "cardio", "floor": "low"},
    {"ward": "maternity", "floor": "high"},
    {"ward": "surgery", "floor": "high"},
]


class Postgres:
    """A server, and tables on it."""

    name = "postgres"
    lost = "SELECT pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid())"

    def __init__(self, folder):
        self.address = postgres.started()
        self.folder = folder

    def lay(self, rows, name, types=TYPES):
        """Rows as a source, in the place of an older one."""
        kept = {column: type_ for column, type_ in types.items() if column in rows[0]}
        return postgres.load(self.address, pa.Table.from_pylist(rows, schema=pa.schema(kept)), name=f"cli_{name}")

    def remove(self, name):
        postgres.execute(self.address, f"DROP TABLE public.cli_{name}")

    def drop_declared(self):
        postgres.execute(self.address, "DROP SCHEMA discreet CASCADE")


class Spark:
    """A lake of this machine."""

    name = "spark"

    def __init__(self, folder):
        spark.start(spark.engine())
        self.address = spark.ADDRESS
        self.folder = folder

    def lay(self, rows, name, types=TYPES):
        kept = {column: type_ for column, type_ in types.items() if column in rows[0]}
        self.remove(name)
        spark.load(pa.Table.from_pylist(rows, schema=pa.schema(kept)), self.folder, name)
        return f"{name}/*.parquet"

    def remove(self, name):
        for file in (self.folder / name).glob("*"):
            file.unlink()
        if (self.folder / name).exists():
            (self.folder / name).rmdir()
