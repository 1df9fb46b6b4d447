"""Shapes of values: what a code weighs, drawn only where it may be, and in that proportion."""

from __future__ import annotations

import tracemalloc
from datetime import date

import numpy as np
import pytest

from discreet.synth.value_shapes import GRAINS, HOUR, DayShape, DigitShape, TimeShape, day_classes, digit_classes


def digits(**heavy):
    weights = np.full(200, 0.2)
    for name, weight in heavy.items():
        weights[int(name[1:])] = weight
    return DigitShape(weights=(weights,))


def days(seed=3):
    generator = np.random.default_rng(seed)
    return DayShape(weights=(generator.random(7), generator.random(33), generator.random(13)))


def weights_of(shape, codes):
    if isinstance(shape, DigitShape):
        return shape.weights[0][digit_classes(codes)]
    weekday, monthday, month = day_classes(codes)
    return shape.weights[0][weekday] * shape.weights[1][monthday] * shape.weights[2][month]


def test_days_have_the_classes_of_the_calendar():
    """Before 1970, on both sides of leap days, and after more than 400 years, when it repeats."""
    first, last = date(1, 1, 1).toordinal(), date(9999, 12, 30).toordinal()
    ordinals = [*range(first, last, 997), *(date(year, 2, 26).toordinal() + day for year in (1600, 1900, 2000, 2100, 2400) for day in range(5))]  # fmt: skip
    weekdays, monthdays, months = day_classes(np.array(ordinals) - date(1970, 1, 1).toordinal())
    for ordinal, *classes in zip(ordinals, weekdays, monthdays, months, strict=True):
        own, next_day = date.fromordinal(ordinal), date.fromordinal(ordinal + 1)
        assert classes == [own.weekday(), 32 if next_day.day == 1 else own.day, own.month]


@pytest.mark.parametrize("shape", [digits(c99=8.0, c100=30.0, c150=5.0), days()])
def test_codes_are_drawn_by_their_weights(shape):
    """Intervals on both sides of 0, narrow ones and one of a single code; masses are sums of weights."""
    lows, highs = np.array([-250, -3, 0, 95, 9990, 40]), np.array([-40, 4, 1, 310, 10_120, 41])
    masses = [weights_of(shape, np.arange(low, high)).sum() for low, high in zip(lows, highs, strict=True)]
    assert shape.mass(lows, highs) == pytest.approx(masses)
    generator = np.random.default_rng(1)
    for low, high in zip(lows, highs, strict=True):
        drawn = shape.draw(np.full(60_000, low), np.full(60_000, high), generator)
        assert drawn.min() >= low and drawn.max() < high
        expected = weights_of(shape, np.arange(low, high))
        share = np.bincount(drawn - low, minlength=high - low) / 60_000
        assert np.abs(share - expected / expected.sum()).max() < 0.02


def test_where_all_weights_are_0_codes_lie_evenly():
    nothing = DigitShape(weights=(np.zeros(200),))
    drawn = nothing.draw(np.full(5000, 10), np.full(5000, 20), np.random.default_rng(0))
    assert set(drawn.tolist()) == set(range(10, 20))
    none = DayShape(weights=(np.zeros(7), np.ones(33), np.ones(13)))
    assert set(none.draw(np.full(900, -2), np.full(900, 2), np.random.default_rng(0)).tolist()) == {-2, -1, 0, 1}


def test_no_rows_are_no_codes():
    empty = np.zeros(0, dtype=np.int64)
    for shape in (digits(), days(), TimeShape(weights=tuple(np.ones(size) for size in TimeShape.sizes))):
        assert len(shape.draw(empty, empty, np.random.default_rng(0))) == 0
        assert len(shape.mass(empty, empty)) == 0


def test_times_have_hours_and_grains():
    hours, grains = np.zeros(24), np.zeros(len(GRAINS))
    hours[[9, 23]] = 3.0, 1.0
    grains[2] = 1.0  # five minutes
    shape = TimeShape(weights=(np.ones(7), np.ones(33), np.ones(13), hours, grains))
    low, high = -3 * 24 * HOUR + 5, 9 * HOUR + 7 * 60_000_000
    drawn = shape.draw(np.full(20_000, low), np.full(20_000, high), np.random.default_rng(2))
    assert drawn.min() >= low and drawn.max() < high
    assert set((drawn // HOUR % 24).tolist()) == {9, 23}
    assert ((drawn % GRAINS[2] == 0) & (drawn % GRAINS[1] != 0)).mean() > 0.97  # but where an interval ends too soon
    whole = shape.mass(np.array([0]), np.array([24 * HOUR]))
    assert whole == pytest.approx(4.0 * HOUR)


def test_even_times_are_even():
    shape = TimeShape(weights=tuple(np.ones(size) for size in TimeShape.sizes))
    drawn = shape.draw(np.full(50_000, -HOUR), np.full(50_000, 3 * HOUR), np.random.default_rng(2))
    assert np.histogram(drawn, bins=8, range=(-HOUR, 3 * HOUR))[0] == pytest.approx(np.full(8, 6250), rel=0.1)
    assert (drawn % 1000 != 0).mean() > 0.99


def test_an_instant_in_the_year_9999_takes_no_memory():
    """Hours over 8,000 years were listed one by one: 1.6 GB for two rows."""
    shape = TimeShape(weights=tuple(np.ones(size) for size in TimeShape.sizes))
    lows = np.array([946_684_800, 253_402_300_000], dtype=np.int64) * 10**6
    highs = lows + np.array([10, 3]) * HOUR
    tracemalloc.start()
    drawn, mass = shape.draw(lows, highs, np.random.default_rng(1)), shape.mass(lows, highs)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (lows <= drawn).all() and (drawn < highs).all() and mass.tolist() == [10 * HOUR, 3 * HOUR]
    assert most < 2**20
