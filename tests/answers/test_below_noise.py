"""Numbers below the noise are counted by vectors; the rule for one number is the yardstick."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.answers import answer_release, column_numbers
from discreet.answers.column_numbers import ColumnNumbers
from discreet.release import ReleaseColumn

NUMBERS = (-math.inf, -7.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 7.0, math.inf, math.nan)
COLUMNS = (
    ReleaseColumn(name="n", kind="noisy"),
    ReleaseColumn(name="n", kind="noisy", least=0),
    ReleaseColumn(name="n", kind="noisy", bounds=(-1, 3)),
    ReleaseColumn(name="n", kind="derived", bounds=(-1.0, 3.0)),
    ReleaseColumn(name="n", kind="derived", bounds=("a", "b"), least=0),
)


def as_cell(number: float) -> float | None:
    return None if math.isnan(number) else number


def check_rule() -> None:
    """Every number with every two ends, each judged by itself and all at once."""
    cases = list(itertools.product(NUMBERS[1:-2] + NUMBERS[-1:], NUMBERS, NUMBERS))
    values, lows, highs = np.array(cases).T
    for column in COLUMNS:
        alone = []
        for value, low, high in cases:
            endless = math.isnan(low) or math.isnan(high) or low == -math.inf or high == math.inf
            alone.append(column.is_below_noise(as_cell(value), None if endless else (low, high)))
        together = ColumnNumbers(values=values, lows=lows, highs=highs).below_noise(column)
        assert together.tolist() == alone


def test_all_at_once_is_each_by_itself():
    check_rule()


def test_the_check_sees_an_interval_without_an_end_taken_for_one(monkeypatch):
    monkeypatch.setattr(column_numbers, "endless_intervals", lambda lows, highs: np.isnan(lows) | np.isnan(highs))
    with pytest.raises(AssertionError):
        check_rule()


QUERIES = (
    "select city, sex, count(*) n from orders group by cube(city, sex)",
    "select sex, count(*) n, avg(amount) a, sum(amount) * 2 s from orders group by sex having count(*) > -1000 order by a",
    "select city, median(amount) m, count(*) n from orders group by city",
    "select sex, count(*) - lag(count(*)) over (order by sex) d from orders group by sex",
    "select count(*) n from orders where city = 'bonn'",
)


@pytest.mark.parametrize("text", QUERIES)
def test_a_release_counts_the_same(shop, text, monkeypatch):
    counts = []
    count = answer_release._count_below_noise

    def both(reading, release):
        counts.append((count(reading, release), release.count_below_noise()))
        return counts[-1][0]

    monkeypatch.setattr("discreet.answers.answer_release._count_below_noise", both)
    for epsilon in (Fraction(1, 1000), 1):
        shop.sql(text).ask(epsilon=epsilon, fresh=True)
    assert counts and all(one == other for one, other in counts)


def test_no_interval_is_built_to_count(shop, monkeypatch):
    monkeypatch.setattr("discreet.answers.refine.AnswerReading.intervals", None)
    shop.sql("select city, count(*) n, avg(amount) a from orders group by city").ask(epsilon=1)
