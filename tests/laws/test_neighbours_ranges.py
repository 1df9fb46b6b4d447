"""Ranges of some rows, by groups: on every engine a person moves what is measured no further than the strategy says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.accounting.region import Region
from discreet.answers.reconcile.table_readers import with_groups
from discreet.answers.row_condition import condition_statement, row_condition
from discreet.engines.engine import TableLocations
from discreet.mechanisms.strategy.strategy import IdentityStrategy, MatrixStrategy, ProductStrategy, StackStrategy
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Cells
from discreet.plan.relation import scans
from discreet.schema.project_file import read_table
from discreet.sql.catalog import CatalogTable
from discreet.sql.query_parser import parse_query
from discreet.tables.ranges.range_groups import group_axes
from discreet.tables.ranges.ruler import ruler_of
from engines.conformance.fixtures import _started, light_ground
from laws.neighbours import Declared, norms
from laws.worlds import POPULATION, Source, table_of

__all__ = ["_started", "light_ground"]

COLUMNS = {
    "age": {"type": "integer", "low": 0, "high": 11},
    "sex": {"type": "category", "values": ["F", "M"], "closed": True, "constant": True},
    "ward": {"type": "category", "values": ["x", "y"]},
}
SCHEMA = read_table(
    "visits", {"source": "visits.csv", "columns": COLUMNS, "person": "who", "rows_per_person": 3}
).schema
OTHERS = [(str(place % 13), "FM"[place % 2], ["x", "y", ""][place % 3], f"p{place % 40}") for place in range(90)]
#: One person: many rows, in one cell, in several, and in both groups of a column that is declared not to change.
UNITS = {
    "one cell": [("7", "F", "x", "her")] * 9,
    "several cells": [(str(age), "F", ward, "her") for age, ward in [(1, "x"), (7, "y"), (11, ""), (4, "x"), (2, "y")]],
    "changing": [("3", "F", "x", "her"), ("3", "M", "x", "her"), ("9", "M", "y", "her")],
}
CONDITIONS = [None, "ward = 'x'", "sex = 'F' and age between 2 and 9", "ward is null or age > 4"]
INNER = [IdentityStrategy(12), LevelStrategy(12, ((1, 2), (4, 3))), MatrixStrategy(np.tri(12, dtype=np.int64))]


def catalog():
    return {"visits": CatalogTable(schema=SCHEMA, population=POPULATION)}


def counts(declared, condition, by):
    """The exact counts of a release's cells, as the step of a program takes them, and the region it charges."""
    query = parse_query(condition_statement("visits", condition or "true"), catalog())
    rows = row_condition(query, condition or "true")
    ruler = ruler_of(SCHEMA.column("age"))
    axes = (*group_axes(by, SCHEMA, beside=ruler), ruler.axis())
    cells = Cells(plan=rows.plan, axes=axes, statistics=(RowCount(),))
    tables = TableLocations(files=dict.fromkeys(scans(rows.plan), declared.files["visits"]), publics={})
    (exact,) = declared.engine.count(cells, Region.whole(), tables=tables).exact_values
    return exact, rows.region, [axis.size for axis in axes[:-1]]


def source(rows):
    return {"visits": Source(table=table_of(SCHEMA), names=("age", "sex", "ward", "who"), rows=tuple(rows))}


@pytest.fixture(scope="module")
def declared(light_ground):
    made = {name: Declared.make(source([*OTHERS, *rows]), light_ground) for name, rows in {**UNITS, "none": []}.items()}
    yield made
    for each in made.values():
        each.forget()


def check(declared, wrap):
    """Every unit, condition, grouping and strategy; how often a bound was attained."""
    attained = 0
    for condition in CONDITIONS:
        for by in ((), ("sex",), ("ward", "sex")):
            less, region, groups = counts(declared["none"], condition, by)
            for name in UNITS:
                whole, _, _ = counts(declared[name], condition, by)
                inside = any(record in region for record in declared[name].records("visits", ("her",)))
                for inner in INNER:
                    strategy = wrap(groups, inner)
                    moved = norms(strategy.apply(whole), strategy.apply(less))
                    moves = strategy.sensitivity(SCHEMA.unit.rows)
                    assert moves.l1 == inner.sensitivity(SCHEMA.unit.rows).l1, "groups cost something"
                    assert moved["l1"] <= moves.l1 and moved["l2_squared"] <= moves.l2_squared
                    assert inside or not moved["l0"], "a person outside the region changed a number"
                    attained += moved["l1"] == moves.l1
    return attained


def test_a_person_moves_ranges_by_groups_no_further_than_one_group(declared):
    assert check(declared, with_groups) > 10


def test_groups_that_share_rows_are_caught(declared):
    """Planted: the whole beside its groups, at the price of the groups."""

    def with_total(groups, inner):
        apart = with_groups(groups, inner)
        if not groups:
            return apart
        ones = [MatrixStrategy(np.ones((1, size), dtype=np.int64)) for size in groups]
        both = StackStrategy((apart, ProductStrategy((*ones, inner))))
        object.__setattr__(both, "sensitivity", apart.sensitivity)
        return both

    with pytest.raises(AssertionError):
        check(declared, with_total)


def test_rows_beyond_the_limit_would_be_caught(declared, monkeypatch):
    """Planted: noise for one row of a person who has three."""
    unit = replace(SCHEMA.unit, rows=1) if hasattr(SCHEMA.unit, "rows") else SCHEMA.unit
    monkeypatch.setitem(globals(), "SCHEMA", replace(SCHEMA, unit=unit))
    with pytest.raises(AssertionError):
        check(declared, with_groups)
