"""Small things whose loss would change an answer or a bound: each was planted as a bug, and is caught here."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import Refused
from discreet.plan.formula import evaluate
from sql.test_read import reading


def inner(expression):
    """The code that a subquery computes for each person."""
    asked = reading(f"select count(*) from (select id, {expression} as x from visits group by id) group by x")
    return asked.keys[0].typed.expression


def test_what_is_computed_for_a_person_knows_its_bounds():
    assert (inner("count(*)").low, inner("count(*)").high) == (1, 3)
    assert inner("count(*) filter (where age > 3)").low == 0
    assert inner("count(age)").low == 0
    assert (inner("sum(age)").low, inner("sum(age)").high) == (0, 360)
    assert (inner("sum(age - 60)").low, inner("sum(age - 60)").high) == (-180, 180)
    assert inner("count(distinct age)").high == 3


def test_what_is_computed_of_no_rows_is_null():
    assert not inner("max(case when smoker then 1 else 0 end)").null
    for name in ("sum", "min", "max", "avg"):
        assert inner(f"{name}(case when sex = 'F' then 1 else 0 end) filter (where age > 3)").null


def test_where_an_outer_join_finds_nobody_there_is_no_person_and_no_value():
    joined = "from visits v {} join stays s on v.id = s.id"
    assert reading(f"select count(distinct s.id) {joined.format('')}")
    with pytest.raises(Refused, match="no declared column"):
        reading(f"select count(distinct s.id) {joined.format('left')}")
    assert reading("select count(*) from visits v left join stays s on v.id = s.id group by days").keys[0].axis.null
    public = "select count(*) from patients {} join wards using (sex) group by ward"
    assert not reading(public.format("")).keys[0].axis.null
    assert reading(public.format("left")).keys[0].axis.null


def test_the_order_within_a_quantile():
    asked = reading(
        "select percentile_cont(0.9) within group (order by age), "
        "percentile_cont(0.9) within group (order by age desc), quantile(cost, 0) from patients"
    )
    fractions = [found.fraction for found in asked.inquiry.quantiles]
    assert fractions == [Fraction(9, 10), Fraction(1, 10), Fraction(1, 10**6)]


def test_order_by_says_which_way_and_where_nulls_go():
    text = "select sex, smoker, count(*) n from patients group by sex, smoker order by smoker nulls first, n desc, sex"
    asked = reading(f"{text} limit 3 offset 2")
    assert [(part.output, part.descending, part.nulls_first) for part in asked.order] == [
        (1, False, True),
        (2, True, False),
        (0, False, False),
    ]
    assert (asked.limit, asked.offset) == (3, 2)


def test_spreads_of_a_population_and_of_a_sample():
    """Two rows, 1 apart: their variance is a quarter, and of a sample a half."""
    for text, expected in {
        "var_pop(age)": 0.25,
        "variance(age)": 0.5,
        "var_samp(age)": 0.5,
        "stddev_pop(age)": 0.5,
        "stddev(age)": 0.5**0.5,
        "covar_pop(age, age)": 0.25,
        "covar_samp(age, age)": 0.5,
    }.items():
        asked = reading(f"select {text} from patients")
        values = [
            np.array([2 if type(each).__name__ == "RowCount" else _total(each)]) for each in asked.inquiry.statistics
        ]
        assert evaluate(asked.outputs[0].formula, values) == pytest.approx(expected), text


def _total(statistic):
    """The sum over the rows 60 and 61, of an expression that is centred at 60."""
    squared = type(statistic.of).__name__ == "Times"
    return (0 + 1 if squared else 60 + 61 - 2 * statistic.centre) // statistic.grain


def test_rollup_has_the_total_and_cube_every_choice():
    sets = reading("select count(*) from patients group by rollup (sex, smoker)").sets
    assert sets == ((0, 1), (0,), ())
    assert len(reading("select count(*) from patients group by cube (sex, smoker, disease)").sets) == 8


def test_having_between_and_not():
    text = "select sex, count(*) from patients group by sex having not count(*) between 3 and 5 or count(*) is null"
    having = reading(text).having
    assert evaluate(having, [np.array([2, 3, 5, 6])]).tolist() == [1, 0, 0, 1]
