"""What is lost in its noise: by one rule, whether it is a count, an average, a quantile or what is computed from them."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answers.answer_columns import columns_of
from discreet.answers.refine import AnswerReading
from discreet.bundle.card_page import card_cell
from discreet.bundle.sheet import Sheet
from discreet.bundle.sheet_chart import chart_of
from discreet.cli.terminal import marked_cells
from discreet.console.pages.release_view import page_sheet
from discreet.kernel.measurement import Measurement, NoisyCells
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan import formula
from discreet.release import ReleaseColumn, is_below_noise

CONFIDENCE = Fraction(95, 100)
LAW = DiscreteLaplace(scale=Fraction(10))
WIDTH = LAW.half_width(Fraction(99, 100))


@pytest.mark.parametrize(
    ("cell", "ends", "bounds", "lost"),
    [
        (10, (0, 20), None, True),
        (11, (0, 20), None, False),
        (0, (0, 0), None, False),  # as good as exact
        (-11, (-21, -1), None, False),
        (110.0, (0.0, 110.0), (0.0, 110.0), True),  # an average of which nothing is known
        (110.0, (0.0, 110.0), None, False),
        (60.0, (0.0, 110.0), (0.0, 110.0), True),
        (60.0, (55.0, 65.0), (0.0, 110.0), False),
        (60.0, (0.1, 110.0), (0.0, 110.0), False),
        (None, (0.0, 1.0), (0.0, 9.0), True),
        (5, None, None, True),
        ("2026-01-05", None, None, False),
        ("2026-01-05", ("2026-01-01", "2026-01-09"), None, False),
        ("2026-01-05", ("2026-01-01", "2026-12-31"), ("2026-01-01", "2026-12-31"), True),
        ("2026-01-05", ("2026-01-01", "2026-01-09"), ("2026-01-01", "2026-12-31"), False),
    ],
)
def test_the_rule(cell, ends, bounds, lost):
    assert is_below_noise(cell, ends, bounds) == lost


@pytest.mark.parametrize(
    ("ends", "lost"), [((-21, -1), True), ((-20.5, -0.5), True), ((-21, 5), True), ((1, 21), False)]
)
def test_a_count_below_zero_says_about_zero(ends, lost):
    """All of its interval is below 0, where no count is. Of a column that may be negative it is a number like others."""
    cell = sum(ends) / 2
    assert is_below_noise(cell, ends, least=0) == lost
    assert is_below_noise(cell, ends) == (ends == (-21, 5))


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("count(*)", 0),
        ("2.5 * count(*)", 0),
        ("count(distinct city)", 0),
        ("sum(items)", 0),
        ("count(*) / count(items)", 0),
        ("sum(items - 30)", None),
        ("-count(*)", None),
        ("count(*) - count(items)", None),
        ("count(*) - 5", None),
        ("avg(items)", None),  # it has bounds
    ],
)
def test_which_columns_are_never_negative(shop, text, least):
    (column,) = columns_of(shop.sql(f"select {text} as x from orders").query)
    assert column.least == least and ("least" in column.to_data()) == (least is not None)
    assert ReleaseColumn.from_data(json.loads(json.dumps(column.to_data()))) == column


def test_every_surface_marks_a_count_below_zero(shop):
    """The terminal, the warning, a notebook, the console, a bundle's page and chart."""
    found = shop.sql("select city, count(*) as n from orders group by city").ask(epsilon=1)
    width = found.plus_minus()
    low = replace(
        found,
        rows=(*found.rows[1:], ("nowhere", -width - 2)),
        read_intervals=lambda _: (*found.intervals[1:], (None, (-2 * width - 2, -2))),
    )
    others = sum(found.is_below_noise(row, 1) for row in range(1, len(found)))
    assert low.is_below_noise(len(low) - 1, 1) and low.count_below_noise()[0] == others + 1
    assert marked_cells(low)[1][-1][1].endswith(" ~")
    high = replace(
        low,
        rows=(*found.rows[1:], ("nowhere", 9 * width)),
        read_intervals=lambda _: (*found.intervals[1:], (None, (8 * width, 9 * width))),
    )
    assert low._repr_html_().count("discreet-drowned") > high._repr_html_().count("discreet-drowned")
    assert page_sheet(low.to_data())["cells"][-1][1]["drowned"]
    told = Sheet.from_data(Sheet.of(low.columns, low.rows, low.intervals).to_data())
    assert "drowned" in card_cell(told, len(low) - 1, 1).class_
    assert "(below the noise)" in chart_of(told, title="T")


def read(shop, text, *values):
    """A reading of statistics that were drawn so, one group each."""
    asked = shop.sql(text).query
    part = NoisyCells(
        place=0, statistics=tuple(range(len(values))), noisy_values=tuple(map(tuple, values)), laws=(LAW,) * len(values)
    )
    return AnswerReading(query=asked, measurement=Measurement(id="r-1", text="", parts=(part,), event=LAW.event(l1=1)))


AVERAGE = "select city, avg(items) as a, count(*) as n from orders group by city"


def shown(reading, place):
    """Of each group: whether the number is lost, and its interval."""
    bounds = columns_of(reading.query)[place].bounds
    rows, intervals = reading.rows, reading.intervals(CONFIDENCE)
    return [
        (is_below_noise(row[place], ends[place], bounds), ends[place])
        for row, ends in zip(rows, intervals, strict=True)
    ]


def test_an_average_of_perhaps_nobody_is_not_shown(shop):
    """Where the number of rows is no larger than its noise the interval is all that is declared, whatever the sum says."""
    asked = shop.sql(AVERAGE).query
    (count,) = formula.numbers_of_rows(asked.outputs[1].formula)
    total = next(iter(formula.cells(asked.outputs[1].formula) - {count}))
    others = len(asked.inquiry.statistics)
    values = [[1000] * 4 for _ in range(others)]
    values[count] = [WIDTH, WIDTH + 1, 1000, -5]
    values[total] = [300, 300, 2000, 300]  # a sum that would speak for itself
    reading = read(shop, AVERAGE, *values)
    found = shown(reading, 1)
    assert [row[1] is None for row in reading.rows] == [lost for lost, _ in found] == [True, False, False, True]
    assert found[0][1] == found[3][1] == (0.0, 20.0) == columns_of(asked)[1].bounds
    assert found[1][1][0] > 0.0


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("select avg(items) from orders", (0.0, 20.0)),
        ("select 2 * avg(items) + 1 from orders", (1.0, 41.0)),
        ("select stddev_pop(items) from orders", (0.0, 10.0)),
        ("select count(*) from orders", None),
        ("select sum(items) from orders", None),
        ("select median(items) from orders", (0, 20)),
        ("select min(day) from orders", ("2025-01-01", "2025-12-31")),
    ],
)
def test_bounds_are_what_is_declared(shop, text, bounds):
    (column,) = columns_of(shop.sql(text).query)
    assert column.bounds == bounds
    assert ReleaseColumn.from_data(json.loads(json.dumps(column.to_data()))) == column
    assert ("bounds" in column.to_data()) == (bounds is not None)


def test_a_release_warns_of_what_is_grey(shop):
    """The warning counts the very cells that every table and chart shows in grey."""
    for epsilon in ("0.002", "900"):
        release = shop.sql(AVERAGE).ask(epsilon=epsilon, fresh=True)
        lost = sum(release.is_below_noise(row, place) for row in range(len(release)) for place in (1, 2))
        hidden = sum(row[place] is None for row in release.rows for place in (1, 2))
        assert release.count_below_noise() == (lost - hidden, hidden, 2 * len(release))
        grey = f"{lost - hidden} of 8 numbers {'is' if lost - hidden == 1 else 'are'} below the noise"
        dashes = f"{hidden} of 8 numbers {'is' if hidden == 1 else 'are'} not shown (–): the noise is too large"
        assert any(grey in each for each in release.warnings) == (lost > hidden)
        assert any(dashes in each for each in release.warnings) == (hidden > 0)
        assert (lost > 0) == (epsilon == "0.002")
