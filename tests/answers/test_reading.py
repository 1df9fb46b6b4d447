"""Readings of noise that is known: weights of several measurements, and which numbers are marked as no more than noise."""

from dataclasses import replace
from fractions import Fraction

import pytest

from answers.shop import make
from discreet.answers.refine import AnswerReading
from discreet.kernel.measurement import Measurement, NoisyCells
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.release import is_below_noise

CONFIDENCE = Fraction(95, 100)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        shop = make(tmp_path_factory.mktemp("shop"))
        yield shop.sql("select city, count(*) as n from orders group by city").query


def measured(values, law, *, id_="r-1") -> Measurement:
    part = NoisyCells(place=0, statistics=(0,), noisy_values=(tuple(values),), laws=(law,))
    return Measurement(id=id_, text="", parts=(part,), event=law.event(**{_size(law): 1}))


def _size(law):
    return "l1" if isinstance(law, DiscreteLaplace) else "l2_squared"


LAWS = [
    [DiscreteLaplace(scale=Fraction(40)), DiscreteLaplace(scale=Fraction(10))],
    [DiscreteLaplace(scale=Fraction(3)), DiscreteGaussian(sigma2=Fraction(400)), DiscreteLaplace(scale=Fraction(9))],
]


@pytest.mark.parametrize("laws", LAWS)
def test_measurements_are_weighed_by_inverse_variance(asked, laws):
    """The mean of the least variance: an exact number counts for more, and every measurement for something."""
    draws = [measured([1000 * (turn + 1)] * 4, law, id_=f"r-{turn}") for turn, law in enumerate(laws)]
    reading = AnswerReading(query=asked, measurement=draws[0], others=tuple(draws[1:]))
    inverse = [1 / law.variance() for law in laws]
    mean = sum(1000 * (turn + 1) * part for turn, part in enumerate(inverse)) / sum(inverse)
    assert reading.blocks[0].values[0].tolist() == pytest.approx([mean] * 4, rel=1e-3)
    assert float(reading.variance()) == pytest.approx(1 / sum(inverse), rel=1e-3)
    assert reading.variance() < min(law.variance() for law in laws)
    low, high = reading.intervals(CONFIDENCE)[0][1]
    assert (high - low) / 2 < min(law.half_width(CONFIDENCE) for law in laws)
    assert (low + high) / 2 == pytest.approx(mean, rel=1e-3)


def test_several_measurements_are_read_by_what_was_measured(asked):
    """A measurement of more, or of the same in another order, gives its own part of the mean."""
    law = DiscreteLaplace(scale=Fraction(10))
    one, two = measured([100] * 4, law), measured([200] * 4, law)
    (part,) = two.parts
    more = replace(part, statistics=(1, 0), noisy_values=((9999,) * 4, (200,) * 4), laws=(law, law))
    reading = AnswerReading(query=asked, measurement=one, others=(replace(two, parts=(more,)),))
    assert reading.blocks[0].values[0].tolist() == [150] * 4
    elsewhere = replace(two, parts=(replace(part, place=1),))
    assert AnswerReading(query=asked, measurement=one, others=(elsewhere,)).blocks[0].values[0].tolist() == [100] * 4


def told(reading, confidence):
    """The numbers, and where the exact ones lie."""
    return [(row[1], ends[1]) for row, ends in zip(reading.rows, reading.intervals(confidence), strict=True)]


def test_numbers_no_larger_than_their_noise_are_marked(asked):
    law = DiscreteLaplace(scale=Fraction(10))
    width = law.half_width(CONFIDENCE)
    reading = AnswerReading(query=asked, measurement=measured([0, width, width + 1, -width - 1], law))
    assert [is_below_noise(*pair) for pair in told(reading, CONFIDENCE)] == [True, True, False, False]
    assert [ends[1] for ends in reading.intervals(CONFIDENCE)] == [
        (value - width, value + width) for value in (0, width, width + 1, -width - 1)
    ]
    assert all(is_below_noise(*pair) for pair in told(reading, Fraction(999, 1000)))


def test_an_interval_is_as_wide_as_the_law_of_its_noise(asked):
    """Exactly: one step less would miss more often than it says."""
    for law in (DiscreteLaplace(scale=Fraction(10)), DiscreteGaussian(sigma2=Fraction(100))):
        for confidence in (Fraction(1, 2), CONFIDENCE, Fraction(999, 1000)):
            reading = AnswerReading(query=asked, measurement=measured([500] * 4, law))
            low, high = reading.intervals(confidence)[0][1]
            half = (high - low) // 2
            assert law.tail(half) <= 1 - confidence < law.tail(half - 1)


@pytest.mark.thin(1)
@pytest.mark.parametrize("shown", ["city", "upper(city) as u, city", "city, upper(city) as u"])
def test_two_keys_of_the_same_values_differ_in_no_row(shown, asked, tmp_path_factory, monkeypatch):
    """Nobody has one city in capital letters and another one as it is: such pairs were rows of noise alone."""
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
    shop = make(tmp_path_factory.mktemp("shop"))
    text = f"select {shown}, count(*) as n from orders group by upper(city), city order by n desc"
    rows = shop.sql(text).ask(epsilon=1000).rows
    keys = [row[:-1] for row in rows]
    assert (
        len(set(keys))
        == len(rows)
        == len(shop.sql("select city, count(*) from orders group by city").ask(epsilon=9).rows)
    )
    assert all(len({None if key is None else key.lower() for key in row}) == 1 for row in keys)
