"""Columns are valid from birth, and their codes and labels are each other's inverse."""

from datetime import UTC, date, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import SchemaError
from discreet.schema.column import (
    MOST_CODE,
    BooleanColumn,
    CategoryColumn,
    MomentColumn,
    NumberColumn,
    TextColumn,
    domain,
    moment_code,
    nullable,
    type_name,
)

WRONG = [
    (lambda: NumberColumn(name="x", type="decimal", step=Fraction(0)), "step must be above 0"),
    (lambda: NumberColumn(name="x", type="decimal", step=Fraction(-1)), "step must be above 0"),
    (lambda: NumberColumn(name="x", type="integer", step=Fraction(1, 2)), "integers have a step of 1"),
    (lambda: NumberColumn(name="x", type="decimal", step=Fraction(1, 3)), "round decimal number"),
    (lambda: NumberColumn(name="x", type="decimal", step=Fraction("1e-13")), "round decimal number"),
    (lambda: NumberColumn(name="x", type="decimal", step=Fraction("1e13")), "round decimal number"),
    (lambda: NumberColumn(name="x", type="decimal", step=Fraction("0.123456")), "round decimal number"),
    (lambda: NumberColumn(name="x", type="integer", low=2, high=1), "low is above high"),
    (lambda: NumberColumn(name="x", type="integer", low=0, high=MOST_CODE + 1), "too large for sums"),
    (lambda: NumberColumn(name="x", type="integer", low=-MOST_CODE - 1), "too large for sums"),
    (lambda: NumberColumn(name="x", type="integer", edges=(0, 1)), "bins need low and high"),
    (lambda: NumberColumn(name="x", type="integer", low=0, high=9, edges=()), "edges must rise"),
    (lambda: NumberColumn(name="x", type="integer", low=0, high=9, edges=(0, 9)), "edges must rise"),
    (lambda: NumberColumn(name="x", type="integer", low=0, high=9, edges=(1, 10)), "edges must rise"),
    (lambda: NumberColumn(name="x", type="integer", low=0, high=9, edges=(0, 5, 5, 10)), "edges must rise"),
    (lambda: MomentColumn(name="x", type="date", low=0, high=9, edges=(0, 7, 6, 10)), "edges must rise"),
    (lambda: CategoryColumn(name="x", values=()), "at least one value"),
    (lambda: CategoryColumn(name="x", values=("a", "a")), "listed twice"),
    (lambda: CategoryColumn(name="x", values=("a",), other="b"), "'b' is not in values"),
]


@pytest.mark.parametrize(("build", "sentence"), WRONG)
def test_a_wrong_column_is_never_born(build, sentence):
    with pytest.raises(SchemaError) as caught:
        build()
    assert sentence in str(caught.value)
    assert "'x'" in str(caught.value)


def test_bounds_too_large_for_sums_say_a_step_where_there_can_be_one():
    with pytest.raises(SchemaError) as caught:
        NumberColumn(name="x", type="integer", low=0, high=MOST_CODE + 1)
    assert caught.value.hint == 'narrower bounds, or type = "decimal" and a step above 1'
    with pytest.raises(SchemaError) as caught:
        NumberColumn(name="x", type="decimal", low=0, high=MOST_CODE + 1)
    assert caught.value.hint == "narrower bounds, or a larger step"


@pytest.mark.parametrize("step", ["0.01", "0.25", "1", "5", "1000", "1e-12", "1e12", "0.12345", "12345"])
def test_round_steps(step):
    assert NumberColumn(name="x", type="decimal", step=Fraction(step)).step == Fraction(step)


def test_domains():
    assert domain(NumberColumn(name="x", type="integer", low=-1, high=3)) == (-1, 4)
    assert domain(NumberColumn(name="x", type="integer", low=-1)) is None
    assert domain(MomentColumn(name="x", type="date", high=3)) is None
    assert domain(BooleanColumn(name="x")) == (0, 2)
    assert domain(CategoryColumn(name="x", values=("a", "b", "c"))) == (0, 3)
    assert domain(TextColumn(name="x")) is None


def test_what_may_be_null():
    assert nullable(NumberColumn(name="x", type="integer", low=0, high=1))
    assert nullable(BooleanColumn(name="x"))
    assert not nullable(BooleanColumn(name="x", closed=True))
    assert not nullable(CategoryColumn(name="x", values=("a",), closed=True))
    assert nullable(TextColumn(name="x"))


def test_type_names():
    columns = [
        NumberColumn(name="x", type="decimal"),
        MomentColumn(name="x", type="date"),
        BooleanColumn(name="x"),
        TextColumn(name="x"),
    ]
    assert [type_name(column) for column in columns] == ["decimal", "date", "boolean", "text"]
    assert type_name(CategoryColumn(name="x", values=("a",))) == "category"


def test_labels():
    assert NumberColumn(name="x", type="decimal", step=Fraction("0.01")).label(1234) == 12.34
    assert NumberColumn(name="x", type="decimal", step=Fraction("0.25")).label(8) == 2
    assert MomentColumn(name="x", type="date").label(-1) == "1969-12-31"
    assert MomentColumn(name="x", type="timestamp").label(1_500_000) == "1970-01-01 00:00:01.500000"
    assert BooleanColumn(name="x").label(1) is True
    assert CategoryColumn(name="x", values=("a", "b")).label(1) == "b"


@given(moment=st.datetimes())
def test_timestamps_and_their_labels(moment):
    code = moment_code(moment, "timestamp")
    column = MomentColumn(name="x", type="timestamp")
    assert moment_code(column.label(int(code)), "timestamp") == code
    assert moment_code(moment.isoformat(), "timestamp") == code


@given(day=st.dates())
def test_dates_and_their_labels(day):
    code = moment_code(day, "date")
    assert code.denominator == 1
    assert MomentColumn(name="x", type="date").label(int(code)) == day.isoformat()
    assert moment_code(day, "timestamp") == code * 86_400_000_000


def test_moments_in_other_zones_are_utc():
    east = datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert moment_code(east, "timestamp") == 0
    assert moment_code("1970-01-01T02:00:00+02:00", "timestamp") == 0
    assert moment_code(datetime(1970, 1, 1, 12, tzinfo=UTC), "date") == Fraction(1, 2)


@pytest.mark.parametrize("value", ["", "yesterday", "2020-02-30", 5, None, True, "0001-01-01T00:00:00+14:00"])
def test_what_is_no_moment(value):
    with pytest.raises(ValueError):
        moment_code(value, "date")


def test_dates_are_not_datetimes_by_mistake():
    assert moment_code(date(1970, 1, 2), "date") == 1
