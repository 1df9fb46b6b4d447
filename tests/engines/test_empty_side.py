"""A join on the person does the same work for everybody else, whether or not one person is on its other side.

DuckDB's own profile tells how many rows the scans brought out: no clock.
"""

import json

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.region import Region
from discreet.engines import duckdb as module
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import TableLocations
from discreet.plan.cells import Cells
from discreet.schema.column import NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from discreet.sql.catalog import CatalogTable
from discreet.sql.dialect import DuckDBDialect
from discreet.sql.emitter import Emitter
from discreet.sql.query_parser import parse_query
from discreet.sql.sql_writer import SqlWriter
from engines.persons_tables import KEY, TAG_KEY

ROWS = 30_000
COLUMNS = (
    NumberColumn(name="age", type="integer", low=0, high=120),
    NumberColumn(name="cost", type="integer", low=0, high=999),
)
SCHEMA = Schema(table="visits", columns=COLUMNS, unit=PrivacyUnit(person=("pid",), rows=3))
QUESTION = (
    "SELECT sum(a.cost) FROM visits a JOIN (SELECT pid, cost FROM visits WHERE age = 120) b ON a.pid = b.pid "
    "WHERE (a.cost * a.age + a.cost) % 77 <> 78"
)


def scanned(folder, *, target):
    """The rows that all scans of a question brought out, with and without one person of that age."""
    rows = {
        "pid": [0, *range(1, ROWS)],
        "age": [120 if target else 5, *(place % 90 for place in range(1, ROWS))],
        "cost": [place % 999 for place in range(ROWS)],
    }
    pq.write_table(pa.table(rows), folder / "visits.parquet")
    engine = DuckDBEngine(threads=1)
    place = engine.place(f"made-{target}{engine.ending}", folder=folder)
    table = Table(schema=SCHEMA, source="visits.parquet", population="people", budget=None)
    engine.declare(table, folder=folder, target=place, key=KEY, tag_key=TAG_KEY)
    asked = parse_query(QUESTION, {"visits": CatalogTable(schema=SCHEMA, population="people")})
    cells = Cells(plan=asked.inquiry.plan, axes=(), statistics=asked.inquiry.statistics)
    names = module._DuckDBTableNames(tables=TableLocations(files=dict.fromkeys(asked.tables, place)))
    sql = SqlWriter(emitter=Emitter(dialect=DuckDBDialect()), names=names.names()).count(cells, Region.whole())
    connection = module._connect((str(place.parent), str(folder)), threads=1, memory_mb=512)
    [(_, told)] = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {sql}", names.files).fetchall()
    connection.close()
    found = []

    def walk(node):
        if node.get("type") == "TABLE_SCAN":
            found.append(node["intermediate_rows"])
        for child in node.get("children", []):
            walk(child)

    walk({"children": json.loads(told)["operator"]})
    return sum(found)


def test_an_empty_side_saves_nobody_elses_work(tmp_path):
    whole, less = (scanned(tmp_path, target=target) for target in (True, False))
    assert whole >= ROWS / 2, "the profile shows no scan"
    assert 0 <= whole - less <= 10
