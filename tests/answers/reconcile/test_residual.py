"""A width buys what is missing: the combination's error is as stated, and the cheapest that is within it."""

from fractions import Fraction

import numpy as np
import pytest

from answers.reconcile.worlds import World, asked, exact_cells, measurement
from discreet.answers.query_quote import QueryWish
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate, EstimatedCell
from discreet.answers.reconcile.missing_precision import combine_with_measurement
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.weighted_sum import half_width
from discreet.plan.price import price
from noise.source import FixedBits

DRAWS = 40_000
NINETY_FIVE = Fraction(95, 100)


def known(*scales):
    """A number that is told as the mean of several."""
    laws = [DiscreteLaplace(scale=Fraction(scale)) for scale in scales]
    variance = sum(law.variance() for law in laws) / len(laws) ** 2
    return EstimatedCell(
        value=0.0,
        variance=float(variance),
        parts=tuple((1 / len(laws), law, 1) for law in laws),
        releases=tuple(f"r-{place}" for place in range(len(laws))),
    )


@pytest.mark.parametrize(
    ("cell", "law"),
    [
        (known(10), DiscreteLaplace(scale=Fraction(10))),
        (known(10), DiscreteLaplace(scale=Fraction(40))),
        (known(30, 20), DiscreteLaplace(scale=Fraction(5))),
        (known(*[12] * 9), DiscreteGaussian(sigma2=Fraction(50))),
    ],
)
def test_the_combination_errs_as_stated(cell, law):
    old = sum(weight * own.draw(DRAWS, bits=FixedBits(place)) for place, (weight, own, _) in enumerate(cell.parts))
    new = law.draw(DRAWS, bits=FixedBits(99))
    share = float(law.variance()) / (cell.variance + float(law.variance()))
    both = cell.with_another(0.0, law, "r-new")
    error = share * old + (1 - share) * new
    assert np.mean(error**2) == pytest.approx(both.variance, rel=0.07)
    assert both.variance < min(cell.variance, float(law.variance())) and both.releases[-1] == "r-new"
    width = half_width(both.parts, NINETY_FIVE)
    assert 0.944 < np.mean(np.abs(error) <= width) < 0.961
    # A width that is stated a twentieth too narrow does not pass.
    assert np.mean(np.abs(error) <= 0.95 * width) < 0.944


def told(question, cell):
    return EarlierEstimate(query=question, cells={(0, 0): (cell,)})


def test_more_is_never_wider_and_the_width_is_met():
    question, before = asked(), told(asked(), known(10, 10))
    widths = []
    for each in (1, 2, 5, 10, 20, 50, 100):
        at = price(question.inquiry, question.reach, needs={}, epsilon=Fraction(each, 100))
        (law,) = at.steps[0].laws
        widths.append(Fraction(half_width(before.cells[0, 0][0].parts_with(law), NINETY_FIVE)))
        assert before.meets_width_with(at, widths[-1], NINETY_FIVE)
        assert not before.meets_width_with(at, widths[-1] * Fraction(99, 100), NINETY_FIVE)
    assert widths == sorted(widths, reverse=True) and widths[0] <= before.widest(NINETY_FIVE) * Fraction(102, 100)


def test_what_was_promised_is_kept():
    """The whole history's least squares are given where they are within the width, else just the two."""
    world, question = World(1), asked()
    before = told(question, known(10))
    new = measurement(question, world.records, name="r-new", scale=Fraction(10))
    (exact,) = exact_cells(question.inquiry, 0, 0, world.records)
    narrow, wide = told(question, known(1)), told(question, known(1000))
    wish = QueryWish(within=Fraction(30))
    assert combine_with_measurement(before, new, narrow, wish) is narrow
    assert (
        combine_with_measurement(before, new, wide, QueryWish(within=Fraction(1))) is None
    )  # the measurement by itself, then
    for after in (wide, None):
        both = combine_with_measurement(before, new, after, wish)
        assert both.cells[0, 0][0].value == pytest.approx(exact / 2)
        assert both.releases == ("r-0", "r-new")


def test_exact_enough_is_judged_cell_by_cell():
    question = asked(by="sex")
    at = price(question.inquiry, question.reach, needs={}, epsilon=Fraction(1, 10))
    good, bad = known(9), known(11)
    assert EarlierEstimate(query=question, cells={(0, 0): (good, good)}).as_exact_as(at)
    assert not EarlierEstimate(query=question, cells={(0, 0): (good, bad)}).as_exact_as(at)
    assert EarlierEstimate(query=question, cells={(0, 0): (good, bad)}).widest(NINETY_FIVE) == half_width(
        bad.parts, NINETY_FIVE
    )
