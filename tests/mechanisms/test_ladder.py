"""The ladder: its law against the bound between neighbours in exact arithmetic, and draws against its law."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.special import chdtrc

from discreet import exact as rounding
from discreet.accounting import events
from discreet.errors import UsageError
from discreet.mechanisms import enclosure
from discreet.mechanisms.bits import system
from discreet.mechanisms.ladder import Ladder
from noise.source import FixedBits
from tiers import size

LEAST_P = 1e-8
N = size(1_700, 5_000)


@cache
def rungs(first, step, reach):
    """The rung of each distance from 0 to `reach`, written down once more: laid side by side. None: no rung is there."""
    found, u, width = [0], 1, first
    while len(found) <= reach and (width or u == 1):
        found += [u] * width
        u, width = u + 1, width + step
    return (found + [None] * reach)[: reach + 1]


def on_grid(low, high):
    """An interval on a grid of 10^-40, outward: Fractions of one denominator stay short when they are added."""
    return Fraction(math.floor(low * 10**40), 10**40), Fraction(math.ceil(high * 10**40), 10**40)


@cache
def weight(u, epsilon):
    return on_grid(*enclosure.exp_minus(u * epsilon / 2, digits=45))


@cache
def total(first, step, epsilon):
    """The sum of all weights, between two Fractions. Rungs beyond exp(-75) are within the slack."""
    low = high = Fraction(1)
    for u in range(1, math.ceil(150 / epsilon) + 2):
        width = 2 * (first + step * (u - 1))
        low, high = low + width * weight(u, epsilon)[0], high + width * weight(u, epsilon)[1]
    return low, high + Fraction(1, 10**20)


@cache
def law(distance, first, *, step, epsilon, reach=4000):
    """P(value + distance), between two Fractions."""
    low, high = weight(rungs(first, step, reach)[abs(distance)], epsilon)
    least, most = total(first, step, epsilon)
    return on_grid(low / most, high / least)


def worst_ratio(one, other, *, step, epsilon, reach=300):
    """The largest P(r) / P'(r) over outputs r up to `reach`, no less than it is. P' without such an output: infinity.

    P(r) / P'(r) is exp((u' - u) epsilon / 2) times the ratio of the sums, so the largest u' - u decides.
    """
    (value, first), (other_value, other_first) = one, other
    here, there = (rungs(width, step, 2 * reach) for width in (first, other_first))
    places = [(here[abs(r - value)], there[abs(r - other_value)]) for r in range(-reach, reach + 1)]
    places = [(u, other_u) for u, other_u in places if u is not None]
    if any(other_u is None for _, other_u in places):
        return math.inf
    gap = max(other_u - u for u, other_u in places)
    sums = total(other_first, step, epsilon)[1] / total(first, step, epsilon)[0]
    return rounding.exp(gap * epsilon / 2, up=True) * sums


def neighbours(step, firsts=range(6)):
    """All that `Ladder` allows between neighbours, for narrow rungs."""
    for first, other in itertools.product(firsts, repeat=2):
        if abs(first - other) <= step:
            for shift in range(-min(first, other), min(first, other) + 1):
                yield (0, first), (shift, other)


@pytest.mark.thin(3)
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(5)], ids=str)
def test_neighbours_differ_by_at_most_epsilon(step, epsilon):
    most = rounding.exp(epsilon, up=True) * (1 + Fraction(1, 10**15))
    half = rounding.exp(epsilon / 2, up=False)
    ratios = [worst_ratio(*pair, step=step, epsilon=epsilon) for pair in neighbours(step)]
    assert max(ratios) <= most
    assert max(ratios) > half  # one rung up, and a larger sum beside


@pytest.mark.parametrize("step", [1, 2])
def test_the_range_of_the_loss_is_epsilon(step):
    """What zCDP of epsilon^2 / 8 rests on: the largest minus the smallest logarithm of a ratio."""
    epsilon = Fraction(1)
    most = rounding.exp(epsilon, up=True) * (1 + Fraction(1, 10**15))
    for one, other in neighbours(step, range(4)):
        there = worst_ratio(one, other, step=step, epsilon=epsilon)
        assert there * worst_ratio(other, one, step=step, epsilon=epsilon) <= most


class TestMutants:
    """What breaks the bound, seen by the same check."""

    EPSILON = Fraction(1)
    MOST = rounding.exp(EPSILON, up=True) * 2

    def ratio(self, one, other, step):
        return max(worst_ratio(*pair, step=step, epsilon=self.EPSILON) for pair in ((one, other), (other, one)))

    def test_rungs_that_do_not_widen(self):
        """Step 0: the further out, the more rungs lie between neighbours."""
        assert self.ratio((0, 1), (0, 2), step=0) > self.MOST

    def test_rungs_that_widen_too_slowly(self):
        """The first rung may move by one step, not by several."""
        assert self.ratio((0, 1), (0, 7), step=1) > rounding.exp(self.EPSILON, up=True)

    def test_a_value_that_moves_further_than_the_first_rungs(self):
        assert self.ratio((0, 1), (4, 1), step=1) > rounding.exp(self.EPSILON, up=True)

    def test_a_value_that_moves_further_than_the_narrower_first_rung(self):
        """The local sensitivity of one side is not enough: the loss keeps below epsilon, but its range does not."""
        one, other = (0, 2), (2, 1)
        there, back = (worst_ratio(*pair, step=1, epsilon=self.EPSILON) for pair in ((one, other), (other, one)))
        assert there * back > rounding.exp(self.EPSILON * Fraction(14, 10), up=True)

    def test_no_rungs_at_all(self):
        """Laplace noise on the scale of the local sensitivity: where that is 0 the value is told."""
        assert self.ratio((0, 0), (0, 1), step=0) == math.inf


@pytest.mark.thin(5)
@pytest.mark.parametrize("step", [1, 2, 5])
@pytest.mark.parametrize("first", [0, 1, 7])
def test_masses_are_those_of_the_law(first, step):
    epsilon = Fraction(3, 2)
    ladder = Ladder(epsilon=epsilon, step=step)
    for distance in range(-40, 41):
        least, most = ladder.mass_bounds(distance, first)
        low, high = law(distance, first, step=step, epsilon=epsilon)
        assert least <= high and low <= most and most - least < Fraction(1, 10**20)
    for rung in range(12):
        reach = ladder.reach(rung, first)
        masses = [law(d, first, step=step, epsilon=epsilon) for d in range(-reach, reach + 1)]
        if rung:
            assert 1 - sum(high for _, high in masses) <= ladder.tail(rung, first)
            assert ladder.tail(rung, first) < 1 - sum(low for low, _ in masses) + Fraction(1, 10**12)
    assert ladder.tail(0, first) == 1


def test_the_rung_of_a_distance():
    ladder = Ladder(epsilon=Fraction(1), step=2)
    assert [ladder.rung(d, 3) for d in range(-4, 17)] == [2, 1, 1, 1, 0] + [1] * 3 + [2] * 5 + [3] * 7 + [4]
    assert [ladder.rung(d, 0) for d in range(8)] == [0, 2, 2, 3, 3, 3, 3, 4]
    assert [len(list(group)) for _, group in itertools.groupby(ladder.rung(d, 3) for d in range(36))] == [
        1,
        3,
        5,
        7,
        9,
        11,
    ]


def p_value(drawn, first, *, step, epsilon):
    """Pearson's chi-square over the whole numbers that are likely, and the rest on either side."""
    chance = [float(law(d, first, step=step, epsilon=epsilon)[0]) for d in range(400)]
    most = max(d for d in range(400) if chance[d] * N > 12)
    beyond = (1 - chance[0] - 2 * sum(chance[1 : most + 1])) / 2
    expected = N * np.array([beyond, *(chance[abs(d)] for d in range(-most, most + 1)), beyond])
    counts = np.bincount(np.clip(np.array(drawn) + most + 1, 0, expected.size - 1), minlength=expected.size)
    return chdtrc(expected.size - 1, ((counts - expected) ** 2 / expected).sum())


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("epsilon", "first", "step"),
    [
        (Fraction(1), 0, 1),
        (Fraction(1), 4, 1),
        (Fraction(1), 3, 2),  # both laws that are mixed weigh much, and `step` decides how much
        (Fraction(3), 10, 2),
        (Fraction(2), 0, 2),
        (Fraction(7, 10), 1, 1),
    ],
    ids=str,
)
def test_draws_follow_the_law(epsilon, first, step):
    ladder, bits = Ladder(epsilon=epsilon, step=step), FixedBits(first + step)
    drawn = [ladder.choose(np.array([100, first]), bits=bits)[0] - 100 for _ in range(N)]
    assert p_value(drawn, first, step=step, epsilon=epsilon) > LEAST_P
    assert p_value(drawn, first, step=step, epsilon=epsilon * Fraction(5, 4)) < LEAST_P
    assert p_value(drawn, first, step=step, epsilon=epsilon * Fraction(4, 5)) < LEAST_P
    assert p_value(drawn, first + 3, step=step, epsilon=epsilon) < LEAST_P


@pytest.mark.parametrize(("first", "step"), [(10**6, 1), (3, 2)])
def test_a_small_epsilon_and_wide_rungs(first, step):
    """In the far rungs too: shares of draws beyond rungs are those of the tail (a binomial, at seven deviations)."""
    ladder, bits, draws = Ladder(epsilon=Fraction(1, 50), step=step), FixedBits(5), size(1_000, 3_000)
    drawn = [ladder.choose(np.array([0, first]), bits=bits)[0] for _ in range(draws)]
    for rung in (20, 100, 200, 400):
        chance = float(ladder.tail(rung, first))
        beyond = sum(abs(value) > ladder.reach(rung, first) for value in drawn)
        assert abs(beyond - draws * chance) < 7 * math.sqrt(draws * chance * (1 - chance)) + 1
    assert abs(sum(value > 0 for value in drawn) - draws / 2) < 7 * math.sqrt(draws) / 2


def test_every_draw_takes_about_as_many_bits_whatever_the_widths():
    """The work of a draw tells nothing of `first`, but for how often a uniform number is drawn again."""
    ladder = Ladder(epsilon=Fraction(1, 10), step=1)
    taken = {}
    for first in (0, 3, 10**6):
        bits = FixedBits(1)
        for _ in range(200):
            ladder.choose(np.array([0, first]), bits=bits)
        taken[first] = bits.taken / 200
    assert all(6 <= words < 7.5 for words in taken.values())


@pytest.mark.thin(2)
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("epsilon", [Fraction(1, 3), Fraction(2)], ids=str)
def test_half_widths_hold_for_every_first_rung(step, epsilon):
    ladder, confidence = Ladder(epsilon=epsilon, step=step), Fraction(9, 10)
    for most in (0, 1, 5, 9):
        width = ladder.half_width(confidence, most=most)
        for first in range(most + 1):
            inside = sum(law(d, first, step=step, epsilon=epsilon)[0] * (1 if d == 0 else 2) for d in range(width + 1))
            assert inside >= confidence
    exact_width = ladder.half_width(confidence, most=200, least=200)
    assert exact_width <= ladder.half_width(confidence, most=200) <= 1.2 * exact_width
    before = ladder.rung(exact_width, 200) - 1
    assert ladder.tail(before, 200) > 1 - confidence


def test_half_widths_look_at_both_ends_of_a_range():
    """A narrower first rung makes more rungs likely, so the widest one alone says too little."""
    ladder, confidence = Ladder(epsilon=Fraction(1, 50), step=1), Fraction(9, 10)
    needed = [next(u for u in range(1000) if ladder.tail(u, first) <= 1 - confidence) for first in (0, 1)]
    assert needed[0] > needed[1]
    assert ladder.half_width(confidence, most=1) == ladder.reach(needed[0], 1)


def test_the_price():
    ladder = Ladder(epsilon=Fraction(1), step=2)
    assert ladder.event() == events.ExponentialEvent(epsilon=Fraction(1))
    assert ladder.choose(np.array([5, 1]), bits=system())[1] == ladder.event()
    assert events.loss(ladder.event()).rho == Fraction(1, 8)


def test_values_of_any_size():
    ladder = Ladder(epsilon=Fraction(1), step=1)
    noisy, _ = ladder.choose(np.array([10**30, 4], dtype=object), bits=FixedBits(1))
    assert isinstance(noisy, int)
    assert abs(noisy - 10**30) < 10**4
    certain = Ladder(epsilon=Fraction(10**6), step=1)
    assert [certain.choose(np.array([7, first]), bits=FixedBits(2))[0] for first in (0, 10**9)] == [7, 7]


@pytest.mark.parametrize(("epsilon", "step"), [(Fraction(0), 1), (Fraction(-1), 1), (Fraction(1), 0), (1.0, 1)])
def test_what_is_no_ladder(epsilon, step):
    with pytest.raises(ValueError):
        Ladder(epsilon=epsilon, step=step)


def test_an_epsilon_that_says_nothing():
    with pytest.raises(UsageError, match="at least 2e-7"):
        Ladder(epsilon=Fraction(1, 10**8), step=1)
    Ladder(epsilon=Fraction(2, 10**7), step=1).choose(np.array([0, 5]), bits=FixedBits(1))


@pytest.mark.parametrize("exact", [np.array([1]), np.array([1, -1]), np.array([[1, 2]])], ids=str)
def test_exact_values_that_are_refused(exact):
    with pytest.raises(ValueError):
        Ladder(epsilon=Fraction(1), step=1).choose(exact, bits=FixedBits(1))


def test_floats_are_no_values():
    with pytest.raises(TypeError):
        Ladder(epsilon=Fraction(1), step=1).choose(np.array([1.0, 2.0]), bits=FixedBits(1))


def test_ends_of_a_range_that_make_no_sense():
    with pytest.raises(ValueError):
        Ladder(epsilon=Fraction(1), step=1).half_width(Fraction(9, 10), most=3, least=4)
