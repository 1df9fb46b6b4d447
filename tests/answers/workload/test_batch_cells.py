"""Batches cut into cells: each number of each statement is exactly the sum of its cells, whatever the rows."""

import numpy as np
import pytest

from answers.reconcile.worlds import DOMAIN, NOT_BOXES, World, _cell, _term, asked, exact_cells
from discreet.answers.reconcile import exact_region as exactly_module
from discreet.answers.workload import batch_cells
from discreet.answers.workload.batch_cells import MOST_CELLS, MOST_PLACES, cut_cells
from discreet.inference.reconcile import ColumnDomains
from discreet.plan import predicate as predicates
from discreet.schema.project_file import read_table
from discreet.sql.catalog import CatalogTable
from discreet.sql.query_parser import parse_query
from tiers import size


def exact_grid(grid, records):
    """What an engine would count in the cells of a grid over a declared table, record by record."""
    counts = np.zeros(grid.size, dtype=np.int64)
    for record in records:
        counts[_cell(grid.axes, record)] += _term(grid.statistic, record)
    return counts


def wrong_numbers(queries, records, cut):
    """How many numbers there are, and how many are not the sum of their cells."""
    seen, wrong = 0, 0
    for grid in cut.grids:
        counts = exact_grid(grid, records)
        for number in grid.numbers:
            expected = exact_cells(queries[number.statement].inquiry, number.place, number.index, records)[number.cell]
            seen, wrong = seen + 1, wrong + bool(counts[number.cells].sum() != expected)
    return seen, wrong


def is_complete(queries, cut):
    """Is every number of every statement in one grid, or else the statement measured by itself?"""
    named = sorted((n.statement, n.place, n.index, n.cell) for grid in cut.grids for n in grid.numbers)
    wished = sorted(
        (statement, place, index, cell)
        for statement, query in enumerate(queries)
        if statement not in cut.alone
        for place, axes in enumerate(query.inquiry.sets)
        for index in range(len(query.inquiry.statistics))
        for cell in range(int(np.prod([axis.size for axis in axes], dtype=int)))
    )
    return named == wished


@pytest.mark.thin(5)
@pytest.mark.parametrize("seed", range(size(12, 60)))
def test_numbers_are_sums_of_their_cells(seed):
    world = World(seed)
    queries = [world.question() for _ in range(12)]
    cut = cut_cells(queries, DOMAIN)
    seen, wrong = wrong_numbers(queries, world.records, cut)
    assert is_complete(queries, cut) and seen and not wrong


@pytest.mark.parametrize(
    ("module", "name", "bug"),
    [
        pytest.param(batch_cells, "exact_region", predicates.region, id="the wider region that prices a question"),
        pytest.param(
            batch_cells,
            "box_places",
            lambda columns, boxes, known=batch_cells.box_places: known(columns, list(boxes)[:1]),
            id="one box of several",
        ),
        pytest.param(
            exactly_module,
            "_region",
            lambda boxes: exactly_module.Region(tuple(boxes)[:1]),
            id="one case of OR",
        ),
    ],
)
def test_planted_bugs_are_caught(monkeypatch, module, name, bug):
    monkeypatch.setattr(module, name, bug)

    def wrong(seed):
        world = World(seed)
        queries = [*(world.question() for _ in range(12)), *map(asked, NOT_BOXES)]
        return wrong_numbers(queries, world.records, cut_cells(queries, DOMAIN))[1]

    assert any(map(wrong, range(12)))


@pytest.mark.parametrize("where", NOT_BOXES)
def test_what_is_no_box_is_measured_by_itself(where):
    assert cut_cells([asked(where)], DOMAIN).alone == (0,)


NUMBERS = {f"c{place}": {"type": "integer", "low": 0, "high": 9_999} for place in range(5)}
WIDE = read_table("w", {"source": "w.csv", "columns": NUMBERS}).schema
CATALOG = {"w": CatalogTable(schema=WIDE, version=1, population="w")}


def boxes(count, columns, seed):
    draw = np.random.default_rng(seed)
    texts = []
    for _ in range(count):
        ends = [sorted(draw.integers(0, 10_000, 2).tolist()) for _ in range(columns)]
        texts.append(" and ".join(f"c{place} between {low} and {high}" for place, (low, high) in enumerate(ends)))
    return [parse_query(f"select count(*) from w where {text}", CATALOG) for text in texts]


def test_boxes_of_many_columns_do_not_explode():
    queries = boxes(60, 5, 1)
    cut = cut_cells(queries, ColumnDomains.of(WIDE.columns))
    assert is_complete(queries, cut) and len(cut.grids) > 1
    assert all(grid.size <= MOST_CELLS for grid in cut.grids)
    assert all(grid.size * len(grid.numbers) <= MOST_PLACES for grid in cut.grids)


def test_columns_apart_are_grids_apart_where_they_are_too_many():
    texts = [f"c{place} < {cut}" for place in range(3) for cut in range(50, 9_999, 70)]
    queries = [parse_query(f"select count(*) from w where {text}", CATALOG) for text in texts]
    cut = cut_cells(queries, ColumnDomains.of(WIDE.columns))
    assert not cut.alone and is_complete(queries, cut)
    assert sorted(len(grid.axes) for grid in cut.grids) == [1, 2]


def test_one_relation_and_one_statistic_make_one_grid():
    queries = [asked("a > 1"), asked("b = 'x'"), asked(what="sum(a)"), asked("ok", what="sum(a)"), asked(by="a, b")]
    cut = cut_cells(queries, DOMAIN)
    assert [{number.statement for number in grid.numbers} for grid in cut.grids] == [{0, 1, 4}, {2, 3}]
