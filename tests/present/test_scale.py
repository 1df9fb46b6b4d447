"""Places and round numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from discreet.present.charts.scale import Scale, check_finite, span, ticks, widen_to_round

numbers = some.floats(-1e300, 1e300, allow_nan=False)


def test_ends_of_a_scale_are_the_ends_of_the_drawing():
    scale = Scale(low=-50, high=150, start=300, end=100)
    assert [scale.at(value) for value in (-50, 0, 50, 150)] == [300, 250, 200, 100]


@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 1), (math.nan, 1), (0, math.inf)])
def test_no_scale_without_width(low, high):
    with pytest.raises(ValueError, match="a scale cannot go"):
        Scale(low=low, high=high, start=0, end=1)


def test_the_widest_scale_there_is():
    largest = 1.7e308
    scale = Scale(low=-largest, high=largest, start=0, end=400)
    assert (scale.at(-largest), scale.at(0), scale.at(largest)) == (0, 200, 400)
    found = ticks(-largest, largest)
    assert 3 <= len(found) <= 7 and all(math.isfinite(value) for value, _ in found)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="not a number"):
        check_finite(value, of="a bar")


@given(numbers, numbers, some.integers(3, 8))
def test_ticks_are_few_in_order_and_within(low, high, about):
    low, high = span([low, high], zero=False)
    found = [value for value, _ in ticks(low, high, about=about)]
    assert found == sorted(set(found))
    assert all(low <= value <= high for value in found)
    assert len(found) <= about + 1


@given(some.integers(-(10**9), 10**9), some.integers(1, 10**9))
def test_round_ends_hold_the_data_and_are_not_far(low, wide):
    ends = widen_to_round((float(low), float(low + wide)))
    assert ends[0] <= low and ends[1] >= low + wide
    assert ends[1] - ends[0] <= 2.01 * wide
    assert len(ticks(*ends)) >= 3


def test_ticks_are_round_and_exactly_so():
    assert [value for value, _ in ticks(0, 0.7)] == [0, 0.2, 0.4, 0.6]
    assert [said for _, said in ticks(0, 12_345)] == ["0", "5,000", "10,000"]
    assert [said for _, said in ticks(0, 1e300)] == ["0", "2e+299", "4e+299", "6e+299", "8e+299", "1e+300"]
    assert [said for _, said in ticks(0, 1e-9)][1] == "2e-10"
    assert "-0" not in [said for _, said in ticks(-1, 1)]


def test_a_span_is_never_without_width():
    assert span([0, 0, 0], zero=True) == (0, 1)
    assert span([None, None], zero=False) == (0, 1)
    low, high = span([-7], zero=False)
    assert low < -7 < high
    assert span([-3, 5], zero=True) == (-3, 5)
