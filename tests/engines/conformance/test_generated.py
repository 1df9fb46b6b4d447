"""Generated tables and questions: what is stored, what the owner is told and every cell, as the reference has them.

DuckDB and PostgreSQL take them one by one; for Spark many small tables are the columns of one.
"""

import math
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from discreet.accounting.region import Region
from discreet.engines.engine import TableLocations
from discreet.plan.relation import scans
from discreet.schema.column import TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql.group_keys import declared_axis
from engines.asking import region
from engines.conformance.agreeing import Declaration, agree
from engines.conformance.grounds import typed
from engines.persons_tables import File
from engines.tables import questions, tables
from tiers import fuzzed, size


def declaration(rows):
    names = tuple(column.name for column in rows.schema.columns)
    return Declaration(schema=rows.schema, file=File(names=names, rows=rows.rows, types=rows.types))


def check(reference, ground, made: Declaration, asked):
    """The table on both, and all its cells."""
    places = dict(zip((reference, ground), agree(reference, ground, made), strict=True))
    for cells in asked:
        said = []
        for each, place in places.items():
            where = TableLocations(files=dict.fromkeys(scans(cells.plan), place))
            within = region(cells) if each is ground else Region.whole()
            said.append([int(one) for one in each.engine.count(cells, within, tables=where).exact_values[0]])
        assert said[0] == said[1], cells
    if asked:
        _coded(places, ground, made.schema, asked[0])


def _coded(places, ground, schema, cells):
    """The same rows as numbers of cells."""
    axes = tuple(axis for column in schema.columns if (axis := declared_axis(column)) and axis.size < 5000)[:3]
    said = []
    for each, place in places.items() if axes else ():
        where = TableLocations(files=dict.fromkeys(scans(cells.plan), place))
        within = region(cells) if each is ground else Region.whole()
        found = each.engine.coded(cells.plan, axes, within, tables=where)
        few = tuple(range(len(axes)))[: 2 if math.prod(axis.size for axis in axes) > 10**6 else 3]
        said.append([found.count(places).tolist() for places in ((), few[:1], few)])
    assert not axes or said[0] == said[1], axes


@given(data=st.data(), table=tables())
@settings(max_examples=size(4, 40), deadline=None, suppress_health_check=list(HealthCheck))
def test_small_tables(reference, quick_ground, data, table):
    small(reference, quick_ground, data, table)


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@given(data=st.data(), table=tables())
@settings(max_examples=fuzzed(5000), deadline=None, suppress_health_check=list(HealthCheck))
def test_small_tables_at_length(reference, quick_ground, data, table):
    small(reference, quick_ground, data, table)


def small(reference, ground, data, table):
    made = declaration(table)
    if not made.gap(ground):
        check(reference, ground, made, [data.draw(questions(table.schema)) for _ in range(4)])


@pytest.mark.deep
@pytest.mark.thin(1)
@pytest.mark.parametrize("number", range(2))
def test_many_tables_side_by_side(reference, light_ground, number):
    many(reference, light_ground, number)


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("number", range(2, 100))
def test_many_tables_side_by_side_at_length(reference, light_ground, number):
    many(reference, light_ground, number)


def many(reference, ground, number):
    made = beside(drawn(tables(), 12, number), ground)
    check(reference, ground, made, drawn(questions(made.schema), 12, number))


def drawn(strategy, size, number):
    """So many examples, always the same ones."""
    found = []

    @seed(number)
    @settings(
        max_examples=3 * size, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def draw(example):
        found.append(example)

    draw()
    return found[-size:]  # the first ones are the simplest


def beside(found, ground) -> Declaration:
    """Tables as the columns of one; rows that are missing are NULL."""
    names, columns, types, cells = set(), [], [], []
    for table in found:
        file = typed(declaration(table).file)
        if ground.gap(file):
            continue
        for place, column in enumerate(table.schema.columns):
            name = column.name if column.name.lower() not in names else f"{column.name} {len(names)}"
            names.add(name.lower())
            columns.append(replace(column, name=name))
            types.append(file.types[place])
            cells.append([row[place] for row in file.rows])
    size = max(map(len, cells))
    padded = [[*these, *[None] * (size - len(these))] for these in cells]
    return Declaration(
        schema=Schema(table="people", columns=tuple(columns), unit=PrivacyUnit()),
        file=File(names=tuple(column.name for column in columns), rows=tuple(zip(*padded, strict=True)), types=tuple(types)),
    )  # fmt: skip


def test_a_table_without_rows_and_one_of_nothing_but_null(reference, light_ground):
    for rows in ((), ((None,),)):
        file = File(names=("x",), rows=rows, types=(pa.string(),))
        schema = Schema(table="people", columns=(TextColumn(name="x"),), unit=PrivacyUnit())
        agree(reference, light_ground, Declaration(schema=schema, file=file))
