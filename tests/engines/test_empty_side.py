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
from discreet.mechanisms.weighted_threshold import key_weights
from discreet.plan.cells import Cells
from discreet.schema.column import NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from discreet.sql import sql_writer
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
    TextColumn(name="note"),
)
SCHEMA = Schema(table="visits", columns=COLUMNS, unit=PrivacyUnit(person=("pid",), rows=3))
QUESTION = (
    "SELECT sum(a.cost) FROM visits a JOIN (SELECT pid, cost FROM visits WHERE age = 120) b ON a.pid = b.pid "
    "WHERE (a.cost * a.age + a.cost) % 77 <> 78"
)


#: Some are younger and some are older: no statistic of the file tells that nobody is of this age.
KEYS = "SELECT note, count(*) FROM visits WHERE age BETWEEN 60 AND 61 GROUP BY note"


def profile(folder, text, *, target, age=120):
    """What DuckDB tells of a question's scans, with and without one person of that age."""
    rows = {
        "pid": [0, *range(1, ROWS)],
        "age": [age if target else 5, *(place % 90 + 2 * (place % 90 in (60, 61)) for place in range(1, ROWS))],
        "cost": [place % 999 for place in range(ROWS)],
        "note": [f"note {place % 7}" for place in range(ROWS)],
    }
    pq.write_table(pa.table(rows), folder / "visits.parquet")
    engine = DuckDBEngine(threads=1)
    place = engine.place(f"made-{target}{engine.ending}", folder=folder)
    table = Table(schema=SCHEMA, source="visits.parquet", population="people", budget=None)
    engine.declare(table, folder=folder, target=place, key=KEY, tag_key=TAG_KEY)
    asked = parse_query(text, {"visits": CatalogTable(schema=SCHEMA, population="people")})
    cells = Cells(plan=asked.inquiry.plan, axes=(), statistics=asked.inquiry.statistics)
    names = module._DuckDBTableNames(tables=TableLocations(files=dict.fromkeys(asked.tables, place)))
    writer, inquiry = SqlWriter(emitter=Emitter(dialect=DuckDBDialect()), names=names.names()), asked.inquiry
    sql = (
        writer.keys(inquiry.plan, inquiry.keys, Region.whole(), persons=True, weights=key_weights(3))
        if inquiry.keys
        else writer.count(cells, Region.whole())
    )
    connection = module._connect((str(place.parent), str(folder)), threads=1, memory_mb=512)
    [(_, told)] = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {sql}", names.files).fetchall()
    connection.close()
    found = []

    def walk(node):
        if node.get("type") == "TABLE_SCAN":
            found.append(node)
        for child in node.get("children", []):
            walk(child)

    walk({"children": json.loads(told)["operator"]})
    return found


def scanned(folder, *, target):
    """The rows that all scans brought out."""
    return sum(node["intermediate_rows"] for node in profile(folder, QUESTION, target=target))


def test_an_empty_side_saves_nobody_elses_work(tmp_path):
    whole, less = (scanned(tmp_path, target=target) for target in (True, False))
    assert whole >= ROWS / 2, "the profile shows no scan"
    assert 0 <= whole - less <= 10


def test_nobodys_keys_are_looked_for_as_often(tmp_path):
    """The rows are read once for the numbers of keys, and once for each part of the persons."""
    for target in (True, False):
        scans = profile(tmp_path, KEYS, target=target, age=60)
        assert [node["row_groups_scanned"] for node in scans] == [1] * (1 + sql_writer._PARTS)
