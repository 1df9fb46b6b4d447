"""Rows with their persons on every engine, and the tables that are made of them: what one person moves, exactly."""

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from itertools import combinations
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from discreet.accounting.region import Region
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import EngineFailure, TableLocations
from discreet.kernel import person_table
from discreet.kernel.person_table import (
    RECORD_MOVES,
    WEIGHT,
    PersonColumn,
    record_rows,
    sort_rows,
    step_moves,
    step_rows,
)
from discreet.plan.cells import Axis
from discreet.plan.relation import Scan
from discreet.schema.column import CategoryColumn, MomentColumn, NumberColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql.group_keys import axis_of
from discreet.sql.typed_expression import column_expression
from engines.conformance.agreeing import Declaration
from engines.conformance.grounds import Disk
from engines.persons_tables import File

ROWS = 6
FIRST = date(2024, 1, 1)
LOW = (FIRST - date(1970, 1, 1)).days
KIND = CategoryColumn(name="kind", values=("a", "b", "c"))
SIZE = NumberColumn(name="size", type="integer", low=0, high=3)
DAY = MomentColumn(name="day", type="date", low=LOW, high=LOW + 30)
END = MomentColumn(name="end", type="date", low=LOW, high=LOW + 40)
SCAN = Scan(table="visits", version=1)
AXES = tuple(axis_of(column_expression(column)) for column in (KIND, SIZE))
CODES = tuple(column_expression(column).expression for column in (DAY, END))
GAP = Axis(of=CODES[0], edges=(0, 1, 3, 10, 31), null=True, labels=())
AFTER = Axis(of=CODES[1], edges=(-9, 0, 1, 5, 41), null=True, labels=())
NUMBER = Axis(of=AXES[1].of, edges=(1, 2, 3, 5, 7), null=False, labels=())

RECORDS = [
    *(PersonColumn(of="row", axis=axis) for axis in AXES),
    PersonColumn(of="rows", axis=NUMBER),
    PersonColumn(of="after", axis=AFTER, code=1),
]
STEPS = [
    *RECORDS,
    *(PersonColumn(of="previous", axis=axis) for axis in AXES),
    PersonColumn(of="gap", axis=GAP),
    PersonColumn(of="previous_after", axis=AFTER, code=1),
]


def visits(random, persons):
    """Rows of so many persons, some of whom have more than the limit; equal rows and equal days among them."""
    rows = []
    for person in range(persons):
        for _ in range(random.choice([1, 2, 2, 3, 6, 9])):
            day = random.choice([None, *(FIRST + timedelta(days=random.randrange(4)) for _ in range(5))])
            end = random.choice([None, FIRST + timedelta(days=random.randrange(9))])
            rows.append((f"p{person}", random.choice("abc"), random.choice([None, 0, 1, 3]), day, end))
    return rows


def declaration(rows):
    schema = Schema(table="visits", columns=(KIND, SIZE, DAY, END), unit=PrivacyUnit(person=("who",), rows=ROWS))
    types = (pa.string(), pa.string(), pa.int64(), pa.date32(), pa.date32())
    return Declaration(
        schema=schema, file=File(names=("who", "kind", "size", "day", "end"), rows=tuple(rows), types=types)
    )


def read(ground, rows):
    _, place = declaration(rows).declare(ground)
    tables = TableLocations(files={SCAN: place})
    return ground.engine.person_rows(SCAN, AXES, CODES, Region.whole(), tables=tables)


def by_person(found):
    """The persons' rows, as a multiset of multisets: numbers are names."""
    rows = {}
    columns = [*found.exact_columns, *found.exact_codes]
    for place, person in enumerate(found.exact_persons.tolist()):
        rows.setdefault(person, []).append(tuple(int(column[place]) for column in columns))
    return Counter(tuple(sorted(own)) for own in rows.values())


def test_every_engine_reads_the_same_rows_of_the_same_persons(quick_ground, reference):
    rows = visits(Random(1), 30)
    found = by_person(read(quick_ground, rows))
    assert found == by_person(read(reference, rows))
    assert sum(found.values()) == 30 and max(len(own) for own in found) == ROWS


def test_nobody_has_no_rows(quick_ground):
    found = read(quick_ground, [])
    assert not len(found.exact_persons)
    rows = sort_rows(found, AXES)
    assert record_rows(rows, RECORDS).count((0, 1)).sum() == step_rows(rows, STEPS).count((0, 1)).sum() == 0
    assert not rows.is_changing(rows.codes[0]).any()


def marginals(found):
    """All marginals of up to two columns of records and of steps, and who changes."""
    rows = sort_rows(found, AXES)
    records, steps = record_rows(rows, RECORDS), step_rows(rows, STEPS)
    for size in (1, 2):
        for own in combinations(range(len(RECORDS)), size):
            yield "records", records.count(own)
        for own in combinations(range(len(STEPS)), size):
            yield "steps", steps.count(own)
    for values in (*rows.columns.values(), *rows.codes):
        yield "changes", np.array([int(rows.is_changing(values).sum())])
    yield "changes", np.array([int(rows.has_earlier(1).sum())])


def moved(ground, random):
    """By how much all marginals move when a person goes, and the rows of the others come in another order."""
    rows = visits(random, 8)
    gone = random.choice(rows)[0]
    others = [row for row in rows if row[0] != gone]
    random.shuffle(others)
    bounds = {"records": RECORD_MOVES, "steps": step_moves(ROWS)}
    far = Counter()
    for (kind, one), (_, two) in zip(marginals(read(ground, rows)), marginals(read(ground, others)), strict=True):
        difference = np.abs(one - two)
        if kind == "changes":
            assert difference.max() <= 1
            continue
        bound = bounds[kind]
        assert (difference > 0).sum() <= bound.l0 and difference.max(initial=0) <= bound.linf
        assert difference.sum() <= bound.l1 and int((difference.astype(object) ** 2).sum()) <= bound.l2_squared
        far[kind] = max(far[kind], int(difference.sum()))
    return far


def moved_most(ground):
    far = Counter()
    for seed in range(6):
        far |= moved(ground, Random(seed))
    return far


def test_a_person_moves_records_by_one_and_steps_by_their_weight(quick_ground):
    """Exactly, on the real engines; and the bounds are attained."""
    assert moved_most(quick_ground) == {"records": RECORD_MOVES.l1, "steps": WEIGHT}


def test_a_gap_is_never_negative_and_the_first_row_is_the_earliest(quick_ground):
    rows = sort_rows(read(quick_ground, visits(Random(3), 40)), AXES)
    days = np.where(rows.codes[0] == person_table.NULL_CODE, 10**9, rows.codes[0])
    for start, count in zip(rows.starts, rows.counts, strict=True):
        own = days[start : start + count]
        assert (np.diff(own) >= 0).all()


def no_weights(monkeypatch):
    """Every step weighs as much as all of a person's may."""
    monkeypatch.setattr(
        person_table.WeightedSteps,
        "_count_marginal",
        lambda self, places: (
            np.bincount(
                np.ravel_multi_index(
                    [self.exact_columns[place] for place in places], [self.sizes[place] for place in places]
                ),
                minlength=int(np.prod([self.sizes[place] for place in places])),
            )
            * WEIGHT
        ),
    )


def order_of_the_source(monkeypatch):
    """The first row is the one that an engine happens to read first."""
    monkeypatch.setattr(np, "lexsort", lambda keys: np.argsort(keys[-1], kind="stable"))


def steps_between_persons(monkeypatch):
    """The first row of a person follows the last one of another."""
    known = person_table.step_rows

    def step_rows(rows, columns):
        one = person_table.SortedRows(rows.columns, rows.codes, rows.starts[:1], np.array([rows.counts.sum()]))
        return known(one, columns)

    monkeypatch.setitem(globals(), "step_rows", step_rows)


@pytest.mark.parametrize("plant", [no_weights, order_of_the_source, steps_between_persons])
def test_planted_faults_are_seen(tmp_path, quick_files, monkeypatch, plant):
    """On DuckDB: the reference stores rows in an order of its own."""
    plant(monkeypatch)
    engine = DuckDBEngine(threads=1)
    with pytest.raises(AssertionError):
        moved_most(Disk(name="duckdb", engine=engine, folder=tmp_path))
    engine.close()


def test_spark_gives_no_rows():
    from discreet.engines.spark.spark_engine import SparkEngine

    with pytest.raises(EngineFailure):
        SparkEngine.person_rows(None, SCAN, AXES, CODES, Region.whole(), tables=replace(TableLocations(files={})))
