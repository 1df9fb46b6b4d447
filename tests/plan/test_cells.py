"""Cells: axes cover the declared values once each, and equal questions have equal hashes."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.region import Allowed
from discreet.errors import Refused
from discreet.plan.cells import MOST_VALUES, Axis, Cells, Filter, Scan, axis, width_axis
from discreet.plan.predicate import TRUE, Member
from discreet.plan.stability import sensitivity
from discreet.schema.column import Boolean, Category, Moment, Number, Text
from discreet.schema.unit import PrivacyUnit

SEX = Category(name="sex", values=("F", "M"), closed=True)
AGE = Number(name="age", type="integer", low=0, high=99)


def asked(where=TRUE, *axes, table="people"):
    return Cells(plan=Filter(source=Scan(table=table), where=where), axes=axes)


def test_axes_by_single_values():
    assert axis(SEX) == Axis(column="sex", edges=(0, 1, 2), null=False, labels=("F", "M"))
    assert axis(Category(name="x", values=("a",))).labels == ("a", None)
    assert axis(Boolean(name="x")).labels == (False, True, None)
    assert axis(Boolean(name="x", closed=True)).size == 2
    ages = axis(AGE)
    assert (ages.size, ages.labels[:2], ages.labels[-1]) == (101, (0, 1), None)
    assert axis(Moment(name="x", type="date", low=0, high=1)).labels == ("1970-01-01", "1970-01-02", None)


def test_axes_by_bins():
    cost = Number(name="x", type="decimal", step=Fraction("0.5"), low=0, high=20, edges=(0, 10, 21))
    assert axis(cost).labels == ("[0, 5)", "[5, 10]", None)
    assert axis(cost).edges == (0, 10, 21)


@pytest.mark.parametrize(
    "column",
    [
        Text(name="x"),
        Number(name="x", type="integer"),
        Number(name="x", type="integer", low=0),
        Moment(name="x", type="timestamp", low=0, high=10**9),
        Number(name="x", type="integer", low=1, high=MOST_VALUES + 1),
    ],
)
def test_what_is_no_known_key(column):
    assert axis(column) is None


def test_the_most_values():
    assert axis(Number(name="x", type="integer", low=0, high=MOST_VALUES - 1)).size == MOST_VALUES + 1
    assert axis(Number(name="x", type="integer", low=0, high=MOST_VALUES)) is None


@given(low=st.integers(-200, 200), size=st.integers(0, 300), width=st.integers(1, 90))
def test_every_value_has_its_multiple(low, size, width):
    """The cell of a value is the one labelled floor(value / width) * width, and no cell is empty by design."""
    column = Number(name="x", type="integer", low=low, high=low + size)
    found = width_axis(column, width)
    for value in range(low, low + size + 1):
        place = next(place for place, edge in enumerate(found.edges[1:]) if value < edge)
        assert found.edges[0] <= value
        assert found.labels[place] == value // width * width
    assert len(found.labels) == found.size
    assert found.edges[1] > low
    assert found.edges[-2] <= low + size


def test_widths_that_are_none():
    assert width_axis(Number(name="x", type="integer", low=0), 10) is None
    assert width_axis(AGE, 0) is None
    assert width_axis(Number(name="x", type="integer", low=0, high=10**9), 1) is None


def test_too_many_cells_are_refused_before_data():
    wide = Number(name="x", type="integer", low=0, high=9_998)
    other = replace(wide, name="y")
    with pytest.raises(Refused, match="100,000,000 cells"):
        asked(TRUE, axis(wide), axis(other))


def test_axes_come_in_one_order():
    with pytest.raises(ValueError, match="out of order"):
        asked(TRUE, axis(SEX), axis(AGE))
    assert asked(TRUE, axis(AGE), axis(SEX)).shape == (101, 2)


def test_equal_questions_have_equal_hashes():
    first = asked(Member("age", Allowed.interval(3, 9)), axis(SEX))
    again = asked(Member("age", Allowed.of(range(3, 9))), replace(axis(SEX), labels=("a", "b")))
    assert first.question() == again.question()
    others = [
        asked(Member("age", Allowed.interval(3, 10)), axis(SEX)),
        asked(Member("age", Allowed(((3, 9),), null=True)), axis(SEX)),
        asked(Member("aged", Allowed.interval(3, 9)), axis(SEX)),
        asked(Member("age", Allowed.interval(3, 9))),
        asked(Member("age", Allowed.interval(3, 9)), replace(axis(SEX), null=True)),
        asked(Member("age", Allowed.interval(3, 9)), axis(SEX), table="others"),
        asked(Member("age", Allowed.of(["3", "9"])), axis(SEX)),
    ]
    assert len({cells.question() for cells in [first, *others]}) == len(others) + 1


@given(values=st.lists(st.text(max_size=3), min_size=1, max_size=4))
@settings(max_examples=100)
def test_hashes_of_any_text(values):
    one, two = (asked(Member("t", Allowed.of(found))) for found in (values, [*reversed(values), values[0]]))
    assert one.question() == two.question()


def test_sensitivity_is_one_and_persons_are_refused():
    for cells in (asked(), asked(TRUE, axis(AGE), axis(SEX))):
        found = sensitivity(cells, PrivacyUnit())
        assert (found.l0, found.l1, found.l2_squared, found.linf) == (1, 1, 1, 1)
        assert len(found.because) == 3
    with pytest.raises(Refused, match="persons with many rows"):
        sensitivity(asked(), PrivacyUnit(person=("id",), rows=3))
