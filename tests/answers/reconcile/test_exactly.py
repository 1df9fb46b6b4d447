"""Regions of reconcile are exactly what a question counts, record by record; or there is none."""

import itertools
import random

import pytest

from answers.reconcile.worlds import CATALOG, CONDITIONS, DOMAIN, GROUPS, NOT_BOXES, RECORDS, asked, predicate
from discreet.accounting.region import MOST_BOXES, NOT_NULL, Box, Region, ValueSet, hull
from discreet.answers.reconcile.exact_region import cells_of, exact_region, rows_of
from discreet.plan import predicate as predicates
from discreet.plan.evaluate import holds, value
from discreet.plan.expressions import Test
from discreet.plan.predicate import Every, Member, Some
from discreet.plan.query_sensitivity import narrowed_region
from discreet.sql.query_parser import parse_query
from tiers import size


def wrong(regions, conditions=(*CONDITIONS, *NOT_BOXES)):
    """The conditions of which a region is told that holds another record than the condition does."""
    found = []
    for where in conditions:
        condition = predicate(where)
        region = None if condition is None else regions(condition)
        if region is not None and any((record in region) != holds(condition, record) for record in RECORDS):
            found.append(where)
    return found


def test_every_region_is_what_its_condition_says():
    assert wrong(exact_region) == []


def test_boxes_are_found_where_there_are_some():
    conditions = [predicate(where) for where in CONDITIONS]
    told = [exact_region(condition) is not None for condition in conditions if condition is not None]
    assert all(told) and len(told) > 40


@pytest.mark.parametrize("where", NOT_BOXES)
def test_what_is_no_box_is_not_told(where):
    assert exact_region(predicate(where)) is None
    assert exact_region(predicate(f"({where}) or a = 1")) is None
    assert exact_region(predicate(f"({where}) and a = 1")) is None


def without_null(condition):
    """A mutant: forgets NULL."""
    found = exact_region(condition)
    cut = [Box({name: side & NOT_NULL for name, side in box.sides.items()}) for box in found.boxes] if found else []
    return found and Region.of(cut)


def one_box(condition):
    """A mutant: a hull around several boxes."""
    found = exact_region(condition)
    return found if found is None or len(found.boxes) < 2 else Region((hull(found.boxes),))


@pytest.mark.parametrize(
    "mutant",
    [predicates.region, lambda condition: narrowed_region(condition, frozenset({"sex"})), without_null, one_box],
    ids=["region", "narrowed", "without_null", "one_box"],
)
def test_mutants_are_caught(mutant):
    """The region of a price, that of a table of persons, one without NULL, and a hull: none will do."""
    assert wrong(mutant)


def random_predicate(draw, depth):
    if depth == 0 or draw.random() < 0.2:
        name, codes = draw.choice([("a", range(4)), ("b", range(3)), ("sex", range(2)), ("ok", range(2))])
        picked = [code for code in codes if draw.random() < 0.5]
        null = ValueSet((), null=draw.random() < 0.5)
        return Member(name, ValueSet.of(picked) | null)
    kind = draw.choice([Every, Some])
    return kind(tuple(random_predicate(draw, depth - 1) for _ in range(draw.randint(0, 3))))


def test_every_small_tree_is_exact():
    draw, told = random.Random(5), 0
    records = [record for record in RECORDS if record["t"] is None]
    for _ in range(size(150, 400)):
        condition = random_predicate(draw, 3)
        region = exact_region(condition)
        told += region is not None
        assert region is None or all((record in region) == holds(condition, record) for record in records)
    assert told > size(135, 370)


def test_too_many_boxes_are_none():
    boxes = tuple(Member("wide", ValueSet.of([2 * number])) for number in range(3))
    many = Some(tuple(Every((Member("wide", ValueSet.of([n])), Member("open", ValueSet.of([n])))) for n in range(65)))
    assert exact_region(many) is None and len(exact_region(Some(many.parts[:MOST_BOXES])).boxes) == MOST_BOXES
    assert exact_region(Every((many, boxes[0]))) is None
    assert predicates.region(many).boxes != ()  # which a price widens


def axes_wrong(cells):
    """The keys of which a cell is told that holds other records than those with its value."""
    found = []
    for by in GROUPS[1:]:
        for axis in asked(by=by).inquiry.sets[0]:
            regions = cells(axis, DOMAIN.columns)
            assert regions is not None and len(regions) == axis.size
            for record in RECORDS:
                code = value(axis.of, record)
                inside = [number for number, region in enumerate(regions) if record in region]
                ends = list(itertools.pairwise(axis.edges))
                place = (
                    axis.size - 1
                    if code is None
                    else next(n for n, (low, high) in enumerate(ends) if low <= code < high)
                )
                if inside != [place]:
                    found.append(by)
                    break
    return found


def test_every_record_is_in_the_cell_of_its_key():
    assert axes_wrong(cells_of) == []


def test_a_forgotten_null_group_is_caught():
    def without(axis, domains):
        found = cells_of(axis, domains)
        return (*found[:-1], Region(())) if axis.null else found

    assert axes_wrong(without)


def test_an_axis_over_several_columns_is_none():
    (axis,) = asked(by="a + case when ok then 1 else 0 end").inquiry.sets[0]
    assert isinstance(predicates.within(axis.of, ValueSet.of([1])), Test) and cells_of(axis, DOMAIN.columns) is None


def test_joins_and_persons_are_no_rows():
    plan = parse_query("select count(*) from t1 where a = 1", CATALOG).inquiry.plan
    assert rows_of(plan) == Region((Box({"a": ValueSet.of([1])}),))
    from discreet.plan.relation import Filter, PerPerson, Scan

    assert rows_of(Scan(table="t1", version=1, roster=True)) is None
    assert rows_of(PerPerson(source=plan, keys=(), values=())) is None
    assert rows_of(Filter(source=PerPerson(source=plan, keys=(), values=()), where=predicate("a = 1"))) is None
