"""Cells: axes cover the declared values once each, and equal questions have equal hashes."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.region import ValueSet
from discreet.errors import Refused
from discreet.plan.cell_statistics import DistinctCount, PersonCount, RowCount, Sum
from discreet.plan.cells import MOST_VALUES, Axis, Cells
from discreet.plan.expressions import Code
from discreet.plan.inquiry import Inquiry, Quantile
from discreet.plan.predicate import TRUE, Member
from discreet.plan.relation import Filter, Scan
from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.sql.group_keys import declared_axis, quantile_axis
from discreet.sql.typed_expression import column_expression
from engines.asking import width_axis
from tiers import examples

SEX = CategoryColumn(name="sex", values=("F", "M"), closed=True)
AGE = NumberColumn(name="age", type="integer", low=0, high=99)
CODE = Code("age", 0, 99, null=True)


def inquiry(where=TRUE, *axes, table="people", version=1, statistics=(RowCount(),), **more):
    scan = Scan(table=table, version=version)
    plan = scan if where == TRUE else Filter(source=scan, where=where)
    return Inquiry(plan=plan, sets=(axes,), statistics=statistics, **more)


def test_axes_by_single_values():
    sex = declared_axis(SEX)
    assert (sex.edges, sex.null, sex.labels) == ((0, 1, 2), False, ("F", "M"))
    assert declared_axis(CategoryColumn(name="x", values=("a",))).labels == ("a", None)
    assert declared_axis(BooleanColumn(name="x")).labels == (False, True, None)
    assert declared_axis(BooleanColumn(name="x", closed=True)).size == 2
    ages = declared_axis(AGE)
    assert (ages.size, ages.labels[:2], ages.labels[-1]) == (101, (0, 1), None)
    assert declared_axis(MomentColumn(name="x", type="date", low=0, high=1)).labels == (
        "1970-01-01",
        "1970-01-02",
        None,
    )


def test_axes_by_bins():
    cost = NumberColumn(name="x", type="decimal", step=Fraction("0.5"), low=0, high=20, edges=(0, 10, 21))
    assert declared_axis(cost).labels == ("[0, 5)", "[5, 10]", None)
    assert declared_axis(cost).edges == (0, 10, 21)


@pytest.mark.parametrize(
    "column",
    [
        TextColumn(name="x"),
        NumberColumn(name="x", type="integer"),
        NumberColumn(name="x", type="integer", low=0),
        MomentColumn(name="x", type="timestamp", low=0, high=10**9),
        NumberColumn(name="x", type="integer", low=1, high=MOST_VALUES + 1),
    ],
)
def test_what_is_no_known_key(column):
    assert declared_axis(column) is None


def test_the_most_values():
    assert declared_axis(NumberColumn(name="x", type="integer", low=0, high=MOST_VALUES - 1)).size == MOST_VALUES + 1
    assert declared_axis(NumberColumn(name="x", type="integer", low=0, high=MOST_VALUES)) is None


@given(low=st.integers(-200, 200), size=st.integers(0, 300), width=st.integers(1, 90))
def test_every_value_has_its_multiple(low, size, width):
    """The cell of a value is the one labelled floor(value / width) * width, and no cell is empty by design."""
    column = NumberColumn(name="x", type="integer", low=low, high=low + size)
    found = width_axis(column, width)
    for value in range(low, low + size + 1):
        place = value // width - found.edges[0]
        assert found.labels[place] == value // width * width
    assert len(found.labels) == found.size == (low + size) // width - low // width + 2


@given(low=st.integers(-(10**9), 10**9), size=st.integers(1, 10**7))
def test_quantile_bins_cover_every_value_once(low, size):
    found = quantile_axis(column_expression(NumberColumn(name="x", type="integer", low=low, high=low + size - 1)))
    assert (found.edges[0], found.edges[-1]) == (low, low + size)
    assert list(found.edges) == sorted(set(found.edges))
    assert found.size == min(size, 4096)


def test_too_many_cells_are_refused_before_data():
    wide = NumberColumn(name="x", type="integer", low=0, high=9_998)
    axes = declared_axis(wide), declared_axis(replace(wide, name="y"))
    with pytest.raises(Refused, match="100,000,000 cells"):
        inquiry(TRUE, *axes)
    with pytest.raises(ValueError, match="more cells"):  # what tables count at once has a limit of its own
        Cells(plan=Scan(table="t", version=1), axes=(*axes, declared_axis(SEX)), statistics=(RowCount(),))
    quantile = Quantile(axis=quantile_axis(column_expression(wide)), fraction=Fraction(1, 2))
    with pytest.raises(Refused, match="cells"):
        inquiry(TRUE, axes[0], statistics=(), quantiles=(quantile,))


def test_equal_questions_have_equal_hashes():
    sex = declared_axis(SEX)
    near = Member("age", ValueSet.interval(3, 9))
    first = inquiry(near, sex)
    again = inquiry(Member("age", ValueSet.of(range(3, 9))), replace(sex, labels=("a", "b")))
    assert first.question() == again.question()
    half = Quantile(axis=Axis(of=CODE, edges=(0, 50, 100), null=False, labels=()), fraction=Fraction(1, 2))
    others = [
        inquiry(Member("age", ValueSet.interval(3, 10)), sex),
        inquiry(Member("age", ValueSet(((3, 9),), null=True)), sex),
        inquiry(Member("aged", ValueSet.interval(3, 9)), sex),
        inquiry(near),
        inquiry(near, replace(sex, null=True)),
        inquiry(near, sex, table="others"),
        inquiry(near, sex, version=2),
        inquiry(Member("age", ValueSet.of(["3", "9"])), sex),
        inquiry(near, sex, statistics=(PersonCount(),)),
        inquiry(near, sex, statistics=(RowCount(where=near),)),
        inquiry(near, sex, statistics=(Sum(of=CODE),)),
        inquiry(near, sex, statistics=(Sum(of=CODE, centre=50),)),
        inquiry(near, sex, statistics=(Sum(of=CODE, grain=2),)),
        inquiry(near, sex, statistics=(DistinctCount(of=CODE),)),
        inquiry(near, sex, quantiles=(half,)),
        inquiry(near, sex, quantiles=(replace(half, fraction=Fraction(1, 3)),)),
        inquiry(near, sex, keys=(CODE,)),
        inquiry(near, sex, keys=(CODE,), top=3),
    ]
    assert len({found.question() for found in [first, *others]}) == len(others) + 1


@given(values=st.lists(st.text(max_size=3), min_size=1, max_size=4))
@settings(max_examples=examples(100))
def test_hashes_of_any_text(values):
    one, two = (inquiry(Member("t", ValueSet.of(found))) for found in (values, [*reversed(values), values[0]]))
    assert one.question() == two.question()
