"""Ladders with a floor: their law against the bound between neighbours, draws against the law, intervals over both draws."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.special import chdtrc

from discreet.accounting import events
from discreet.errors import UsageError
from discreet.mechanisms import floored_ladder
from discreet.mechanisms.bits import system
from discreet.mechanisms.floored_ladder import FlooredLadder
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.source import FixedBits
from tiers import size

LEAST_P = 1e-8
N = size(1_200, 5_000)
CONFIDENCE = Fraction(95, 100)


@cache
def rungs(floor, width, step, reach, *, widens=True):
    """The rung of each distance from 0 to `reach`, laid side by side, as the proof says it."""
    level = (floor - width) // step
    found, u = [0], 1
    while len(found) <= reach:
        found += [u] * (floor + step * max(0, u - 1 - level) * widens)
        u += 1
    return np.array(found[: reach + 1])


@cache
def law(ladder, width, reach=4_000):
    """P(value + d) for d = 0 .. reach, in float64, and the sum of weights. What lies further is below 1e-12."""
    weights = np.exp(-float(ladder.decay) * rungs(ladder.floor, width, ladder.step, reach))
    total = 2 * weights.sum() - 1
    return weights / total


def worst_loss(ladder, one, other, *, reach=300, widens=True):
    """The largest ln P(r) / P'(r), over outputs r: by rungs and by both sums of weights."""
    decay, far = float(ladder.decay), 3_000
    (value, width, floor), (other_value, other_width, other_floor) = one, other
    here = rungs(floor, width, ladder.step, far, widens=widens)
    there = rungs(other_floor, other_width, ladder.step, far, widens=widens)
    sums = [2 * np.exp(-decay * each).sum() - 1 for each in (here, there)]
    places = np.arange(-reach, reach + 1)
    gap = (there[np.abs(places - other_value)] - here[np.abs(places - value)]).max()
    return float(decay * gap + math.log(sums[1] / sums[0]))


def neighbours(ladder, widths):
    """All that a ladder allows between neighbours: its floor is public, so it is the same for both."""
    for width, other in itertools.product(widths, repeat=2):
        if abs(width - other) <= ladder.step:
            for shift in {0, 1, min(width, other), -min(width, other)}:
                if abs(shift) <= min(width, other):
                    yield (0, width, ladder.floor), (shift, other, ladder.floor)


@pytest.mark.thin(6)
@pytest.mark.parametrize("floor", [0, 1, 5])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(8)], ids=str)
def test_neighbours_differ_by_at_most_epsilon(epsilon, step, floor):
    ladder = FlooredLadder.of(epsilon, step=step, is_pure=True).above(floor)
    around = {0, 1, *range(max(0, ladder.floor - 5), ladder.floor + 8)}
    losses = [worst_loss(ladder, *pair) for pair in neighbours(ladder, sorted(around))]
    assert max(losses) <= float(epsilon) + 1e-9
    assert max(losses) > float(ladder.decay) + 1e-6  # one rung, and the sum of weights beside


@pytest.mark.parametrize("step", [1, 2])
def test_the_range_of_the_loss_is_twice_the_decay(step):
    """What zCDP of decay^2 / 2 rests on: the largest minus the smallest logarithm of a ratio."""
    ladder = FlooredLadder.of(Fraction(1), step=step, is_pure=False)
    assert ladder.decay == 1 and events.loss(ladder.event()).rho == Fraction(1, 2)
    for one, other in neighbours(ladder, range(ladder.floor - 3, ladder.floor + 5)):
        assert worst_loss(ladder, one, other) + worst_loss(ladder, other, one) <= 2 * float(ladder.decay) + 1e-9


class TestMutants:
    """What breaks the bound, seen by the same check."""

    LADDER = FlooredLadder.of(Fraction(1), step=1, is_pure=True)

    def test_rungs_without_a_floor(self):
        """As wide as the exact width and no wider: then the sum of weights moves by too much beside the decay."""
        pair = (0, 2, 2), (1, 1, 1)
        assert max(worst_loss(self.LADDER, *pair), worst_loss(self.LADDER, *pair[::-1])) > 1.1

    def test_rungs_that_do_not_widen(self):
        """Beyond the floor each rung must be a step wider, or a wide one moves the rungs of far outputs by several."""
        loss = worst_loss(self.LADDER, (0, 40, self.LADDER.floor), (40, 40, self.LADDER.floor), widens=False)
        assert loss > 3

    def test_the_sum_of_weights_left_out(self):
        """A decay of all of epsilon: where the width is above the floor it loses more."""
        greedy = replace(self.LADDER, decay=Fraction(1))
        pairs = neighbours(greedy, range(greedy.floor, greedy.floor + 4))
        assert max(worst_loss(greedy, *pair) for pair in pairs) > 1.05

    def test_a_width_that_moves_by_two_steps(self):
        pair = (0, self.LADDER.floor + 20, self.LADDER.floor), (20, self.LADDER.floor + 16, self.LADDER.floor)
        assert max(worst_loss(self.LADDER, *pair), worst_loss(self.LADDER, *pair[::-1])) > 1

    def test_an_interval_that_forgets_a_width_measured_too_small(self, monkeypatch):
        """As if the noisy width were never below the exact one: it holds too seldom."""
        whole = floored_ladder._ChanceBeyond.of
        monkeypatch.setattr(
            floored_ladder._ChanceBeyond,
            "of",
            lambda self, floors, level: whole(self, floors, max(level, self.floor // self.step)),
        )
        floored_ladder._floors.cache_clear()
        try:
            assert min(coverage(1, width) for width in (10, 30)) < 0.95
        finally:
            floored_ladder._floors.cache_clear()


@pytest.mark.thin(4)
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("width", [0, 7, 12, 13, 19])
def test_masses_are_those_of_the_law(width, step):
    ladder = FlooredLadder.of(Fraction(3, 4), step=step, is_pure=True).above(4)
    chances = law(ladder, width)
    for distance in range(-60, 61):
        low, high = ladder.mass_bounds(distance, width)
        assert float(low) == pytest.approx(chances[abs(distance)], rel=1e-9) and high - low < Fraction(1, 10**20)


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("epsilon", "width", "floor", "step"),
    [
        (Fraction(1), 0, 0, 1),
        (Fraction(1), 6, 0, 1),  # as wide as the floor: every further rung is a step wider
        (Fraction(2), 12, 1, 2),  # wider than the floor
        (Fraction(3, 2), 3, 2, 1),
        (Fraction(3), 1, 0, 2),
    ],
    ids=str,
)
def test_draws_follow_the_law(epsilon, width, floor, step):
    ladder, bits = FlooredLadder.of(epsilon, step=step, is_pure=True).above(floor), FixedBits(width + step)
    drawn = [ladder.choose(np.array([100, width]), bits=bits)[0] - 100 for _ in range(N)]
    assert p_value(drawn, ladder, width) > LEAST_P
    assert p_value(drawn, replace(ladder, decay=ladder.decay * Fraction(5, 4)), width) < LEAST_P
    assert p_value(drawn, replace(ladder, floor=ladder.floor + 9), width) < LEAST_P
    assert p_value(drawn, ladder, width + ladder.floor + 5 * step) < LEAST_P


def p_value(drawn, ladder, width):
    """Pearson's chi-square over the whole numbers that are likely, and the rest on either side."""
    chance = law(ladder, width)[:400]
    most = int(np.flatnonzero(chance * N > 12).max())
    beyond = (1 - chance[0] - 2 * chance[1 : most + 1].sum()) / 2
    expected = N * np.array([beyond, *(chance[abs(d)] for d in range(-most, most + 1)), beyond])
    counts = np.bincount(np.clip(np.array(drawn) + most + 1, 0, expected.size - 1), minlength=expected.size)
    return chdtrc(expected.size - 1, ((counts - expected) ** 2 / expected).sum())


def coverage(step, width, *, epsilon=Fraction(1), noise=None):
    """How often the interval holds, over both draws, by summation: of the noisy width, and of the ladder."""
    share = epsilon * Fraction(4, 5)
    ladder = FlooredLadder.of(share, step=step, is_pure=True)
    noise = noise or DiscreteLaplace(scale=Fraction(step) / (epsilon - share))
    held = 0.0
    for noisy in range(width - 60 * step, width + 60 * step):
        here = ladder.above(noisy)
        chances = law(here, width)
        held += noise.mass(noisy - width) * (2 * chances[: here.half_width(noise, CONFIDENCE) + 1].sum() - chances[0])
    return held


@pytest.mark.thin(5)
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("width", [0, 1, 3, 8, 15, 40])
def test_intervals_hold_over_both_draws(width, step):
    assert 0.95 <= coverage(step, width) < 0.995


@pytest.mark.deep
@pytest.mark.parametrize("width", [0, 5, 30])
def test_intervals_hold_where_the_width_has_gaussian_noise(width):
    assert 0.95 <= coverage(1, width, noise=DiscreteGaussian(sigma2=Fraction(30))) < 0.999


@pytest.mark.parametrize("step", [1, 2])
def test_the_chance_to_go_beyond_falls(step):
    """With the distance, with K and with the floor: by which the worst of each is enough."""
    levels, floors = range(-9, 12), [Fraction(number, 8) for number in range(1, 60)]
    for floor in (6, 13, 40):
        chance = floored_ladder._ChanceBeyond(decay=0.4, step=step, floor=floor)
        wider = floored_ladder._ChanceBeyond(decay=0.4, step=step, floor=floor + 1)
        table = np.array([[chance.of(float(far), level) for far in floors] for level in levels])
        assert (np.diff(table, axis=0) <= 1e-12).all() and (np.diff(table, axis=1) <= 1e-12).all()
        assert all(
            wider.of(float(far), level) <= chance.of(float(far), level) + 1e-12 for level in levels for far in floors
        )


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("width", [0, 4, 9, 14, 20])
def test_the_chance_to_go_beyond_is_no_less_than_it_is(width, step):
    ladder = FlooredLadder.of(Fraction(1, 2), step=step, is_pure=True)
    chance = floored_ladder._ChanceBeyond(decay=float(ladder.decay), step=step, floor=ladder.floor)
    chances = law(ladder, width)
    for distance in range(1, 150):
        beyond = 1 - (2 * chances[: distance + 1].sum() - chances[0])
        said = chance.of(distance / ladder.floor, (ladder.floor - width) // step)
        assert beyond - 1e-9 <= said <= 1.8 * beyond + 0.3


def test_every_draw_takes_about_as_many_bits_whatever_the_widths():
    ladder = FlooredLadder.of(Fraction(1, 10), step=1, is_pure=True)
    taken = {}
    for width in (0, 3, 10**6):
        bits = FixedBits(1)
        for _ in range(200):
            ladder.choose(np.array([0, width]), bits=bits)
        taken[width] = bits.taken / 200
    assert all(6 <= words < 7.5 for words in taken.values())


def test_the_price():
    ladder = FlooredLadder.of(Fraction(1), step=2, is_pure=True).above(100)
    assert ladder.event() == events.LadderEvent(decay=Fraction(5, 6), step=2, floor=12)
    assert ladder.choose(np.array([5, 1]), bits=system())[1] == ladder.event()
    assert Fraction(96, 100) < events.loss(ladder.event()).epsilon <= 1  # those of before were charged as 1
    assert events.loss(ladder.event()).rho == Fraction(25, 72)


def test_public_nodes_keep_the_floor_low():
    ladder = FlooredLadder.of(Fraction(1), step=1, is_pure=True)
    assert [ladder.above(noisy, widest).floor for noisy, widest in ((50, None), (50, 7), (3, 7), (-9, 7))] == [
        56,
        13,
        9,
        6,
    ]


def test_values_of_any_size_and_a_great_epsilon():
    ladder = FlooredLadder.of(Fraction(1), step=1, is_pure=True)
    noisy, _ = ladder.choose(np.array([10**30, 4], dtype=object), bits=FixedBits(1))
    assert isinstance(noisy, int) and abs(noisy - 10**30) < 10**4
    certain = FlooredLadder.of(Fraction(10**6), step=1, is_pure=True)
    assert [certain.choose(np.array([7, width]), bits=FixedBits(2))[0] for width in (0, 10**9)] == [7, 7]
    assert certain.half_width(DiscreteLaplace(scale=Fraction(1, 1000)), CONFIDENCE) <= 1


@pytest.mark.parametrize(
    "changed", [{"decay": Fraction(0)}, {"decay": 1.0}, {"step": 0}, {"floor": 5}, {"step": 7}], ids=str
)
def test_what_is_no_ladder(changed):
    with pytest.raises(ValueError):
        replace(FlooredLadder.of(Fraction(1), step=1, is_pure=True), **changed)


@pytest.mark.parametrize("event", [(Fraction(0), 1, 6), (Fraction(1), 0, 6), (Fraction(1), 7, 6)], ids=str)
def test_what_is_no_event(event):
    decay, step, floor = event
    with pytest.raises(ValueError):
        events.LadderEvent(decay=decay, step=step, floor=floor)


def test_an_epsilon_that_says_nothing():
    with pytest.raises(UsageError, match="at least 1e-7"):
        FlooredLadder.of(Fraction(1, 10**8), step=1, is_pure=True)


@pytest.mark.parametrize("exact", [np.array([1]), np.array([1, -1]), np.array([[1, 2]])], ids=str)
def test_exact_values_that_are_refused(exact):
    with pytest.raises(ValueError):
        FlooredLadder.of(Fraction(1), step=1, is_pure=True).choose(exact, bits=FixedBits(1))


def test_rungs_of_distances():
    ladder = FlooredLadder.of(Fraction(2), step=1, is_pure=True).above(1)  # 4 wide
    assert ladder.floor == 4
    assert [ladder.rung(d, 2) for d in range(21)] == rungs(4, 2, 1, 20).tolist()
