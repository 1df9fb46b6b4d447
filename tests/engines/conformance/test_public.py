"""Public tables on every engine: read as they are, with the columns of their source where none are declared."""

from datetime import date

import pyarrow as pa

from discreet.engines.public_table_loader import load_public_table
from discreet.schema.column import CategoryColumn, MomentColumn, NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from engines.persons_tables import File

PLACES = File(
    names=("block", "State", "weight", "people", "since"),
    rows=(
        ("b1", "NA", 0.00375, 12, date(2020, 1, 2)),
        ("b2", "CA", 2.5, 7, None),
        ("-", "CA", None, 9, date(2021, 3, 4)),
    ),
    types=(pa.string(), pa.string(), pa.float64(), pa.int64(), pa.date32()),
)


def test_columns_that_are_not_declared_come_from_the_source(any_ground):
    source = any_ground.lay(PLACES, "places")
    schema = Schema(table="places", columns=(), unit=PrivacyUnit())
    table = Table(schema=schema, source=source, public=True, population="places", budget=None)
    found = load_public_table(table, folder=any_ground.folder, engine=any_ground.engine)
    assert [(column.name, type(column)) for column in found.columns] == [
        ("block", CategoryColumn),
        ("State", CategoryColumn),
        ("weight", NumberColumn),
        ("people", NumberColumn),
        ("since", MomentColumn),
    ]
    rows = sorted(zip(*(found.labels(column) for column in found.columns), strict=True), key=lambda row: row[3])
    assert rows == [
        ("b2", "CA", 2.5, 7, None),
        ("-", "CA", None, 9, "2021-03-04"),
        ("b1", "NA", 0.00375, 12, "2020-01-02"),
    ]
