"""Ladders whose decay follows from their floor: the bound between neighbours, the charge, intervals over both draws."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from discreet.accounting import events
from discreet.errors import UsageError
from discreet.mechanisms import ladder_plan
from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.ladder_plan import LadderPlan, WorstChance
from discreet.mechanisms.laplace import DiscreteLaplace
from mechanisms.test_floored_ladder import law, neighbours, worst_loss
from tiers import size

CONFIDENCE = Fraction(95, 100)


def worst_at(ladder):
    """The largest loss between all kinds of neighbours, near the floor and far from it."""
    around = {0, 1, ladder.floor // 2, *range(max(0, ladder.floor - 4), ladder.floor + 6), 2 * ladder.floor}
    return max(worst_loss(ladder, *pair) for pair in neighbours(ladder, sorted(around)))


@pytest.mark.thin(6)
@pytest.mark.parametrize("noisy", [-5, 6, 40])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(1), Fraction(4)], ids=str)
def test_neighbours_differ_by_at_most_epsilon_at_every_floor(epsilon, step, noisy):
    ladder = LadderPlan(epsilon=epsilon, step=step, is_pure=True).above(noisy)
    charged = events.loss(ladder.event()).epsilon
    worst = worst_at(ladder)
    assert worst <= float(charged) + 1e-9 and charged <= epsilon
    assert charged > epsilon * Fraction(1022, 1024)  # nearly all of it is used
    assert worst > float(ladder.decay) + 1e-6 and (epsilon > 1 or worst > 0.97 * float(epsilon))


@pytest.mark.parametrize("step", [1, 2])
def test_the_charge_is_that_of_the_law_where_it_is_worst(step):
    """The sum of weights changes most where the widest rung that is as wide as the floor is lost."""
    for decay, floor in ((Fraction(1, 3), 7), (Fraction(3, 4), 3), (Fraction(2), 30)):
        q = 1 / math.expm1(decay)
        exact = float(decay) + math.log1p(step / (floor + step * q + 1 / (2 * q)))
        charged = float(events.ladder_epsilon(decay, step, floor))
        assert exact <= charged <= exact + 0.02
        assert charged < decay + Fraction(step, floor)


def test_a_decay_of_a_higher_floor_breaks_the_bound():
    """The mutant that takes a decay before it knows the floor: that of a wide network, on a narrow one."""
    plan = LadderPlan(epsilon=Fraction(1), step=1, is_pure=True)
    low, high = plan.above(0), plan.above(500)
    assert low.decay < high.decay and worst_at(low) <= 1
    assert worst_at(replace(low, decay=high.decay)) > 1.05


def test_the_range_of_the_loss_is_twice_the_decay():
    ladder = LadderPlan(epsilon=Fraction(1), step=1, is_pure=False).above(3)
    assert ladder.decay == 1 and events.loss(ladder.event()).rho == Fraction(1, 2)
    for one, other in neighbours(ladder, range(ladder.floor - 3, ladder.floor + 5)):
        assert worst_loss(ladder, one, other) + worst_loss(ladder, other, one) <= 2 + 1e-9


def test_what_is_drawn_is_what_is_charged():
    ladder = LadderPlan(epsilon=Fraction(1), step=2, is_pure=True).above(100, 40)
    assert (ladder.floor, ladder.least) == (48, 48)
    noisy, event = ladder.choose(np.array([500, 30]), bits=system())
    assert event == ladder.event() and abs(noisy - 500) < 4_000
    assert event.floor == 48 and events.loss(event).epsilon <= 1


def test_decays_rise_with_the_floor():
    plan = LadderPlan(epsilon=Fraction(3, 4), step=2, is_pure=True)
    decays = [plan.decay(floor) for floor in range(plan.least, plan.least + 200)]
    assert decays == sorted(decays) and plan.epsilon / 2 < decays[0] and decays[-1] < plan.epsilon


@cache
def coverage(step, width, *, epsilon=Fraction(1), is_pure=True, noise=None):
    """How often the interval holds, over both draws, by summation: of the noisy width, and of the ladder."""
    share = epsilon * Fraction(4, 5)
    plan = LadderPlan(epsilon=share, step=step, is_pure=is_pure)
    noise = noise or DiscreteLaplace(scale=Fraction(step) / (epsilon - share))
    held, far = 0.0, noise.half_width(Fraction(9999, 10_000))
    for noisy in range(width - far, width + far + 1):
        ladder = plan.above(noisy)
        chances = law(ladder, width)
        half_width = plan.half_width(ladder.floor, noise, CONFIDENCE)
        held += noise.mass(noisy - width) * (2 * chances[: half_width + 1].sum() - chances[0])
    return held


@pytest.mark.thin(4)
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("width", [0, 3, 8, 15, 40])
def test_intervals_hold_over_both_draws(width, step):
    assert 0.95 <= coverage(step, width) < 0.99


@pytest.mark.deep
@pytest.mark.parametrize("width", range(0, 60, 3))
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(3)], ids=str)
def test_intervals_hold_for_every_width(width, epsilon):
    assert coverage(1, width, epsilon=epsilon) >= 0.95


@pytest.mark.parametrize("width", [0, 5, size(5, 30)])
def test_intervals_hold_where_the_width_has_gaussian_noise(width):
    assert 0.95 <= coverage(1, width, is_pure=False, noise=DiscreteGaussian(sigma2=Fraction(30))) < 0.999


@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(4, 5)], ids=str)
def test_a_range_of_widths_is_counted_no_better_than_any_width_in_it(epsilon):
    """Its floor and decay are those of the narrowest, its K that of the widest."""
    plan, noise = LadderPlan(epsilon=epsilon, step=1, is_pure=True), -np.arange(0, 200, 23)[None, :]
    low, high = ladder_plan._width_ranges(plan.least, 200)
    ranges = WorstChance.of(plan, low[:, None], high[:, None], noise)
    assert low[0] == 0 and (low[1:] == high[:-1] + 1).all() and high[-1] > 10**15
    for place, (first, last) in enumerate(zip(low.tolist(), np.minimum(high, low + 10**6).tolist(), strict=True)):
        for width in (first, (first + last) // 2, last):
            one = WorstChance.of(plan, np.array([[width]]), np.array([[width]]), noise)
            decays = [float(plan.decay(floor)) for floor in one.floor[0].astype(int).tolist()]
            one = replace(one, decay=np.array([decays]))
            for factor in (1, 2.5, 4):
                assert (ranges.beyond(factor)[place] >= one.beyond(factor)[0] - 1e-12).all()


def test_half_widths_are_rounded_up():
    """The proof covers t floors over the decay, to the last part of a whole number."""
    plan, noise = LadderPlan(epsilon=Fraction(4, 5), step=1, is_pure=True), DiscreteLaplace(scale=Fraction(5))
    for floor in range(plan.least, plan.least + 40):
        covered = ladder_plan._factor(plan, noise, CONFIDENCE) * floor / plan.decay(floor)
        assert covered <= plan.half_width(floor, noise, CONFIDENCE) < covered + 1


def test_an_interval_that_forgets_a_width_measured_too_small(monkeypatch):
    """As if the noisy width were never below the exact one: it holds too seldom."""
    whole = WorstChance.of
    monkeypatch.setattr(
        ladder_plan.WorstChance, "of", lambda plan, low, high, noise: whole(plan, low, high, np.maximum(noise, 0))
    )
    for remembered in (ladder_plan._factor, coverage):
        remembered.cache_clear()
    try:
        assert min(coverage(1, width) for width in (8, 15)) < 0.945
    finally:
        for remembered in (ladder_plan._factor, coverage):
            remembered.cache_clear()


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(6)], ids=str)
def test_the_chance_to_go_beyond_falls_with_floor_and_level(epsilon, step):
    """By which the worst of each is enough: whatever the decay that comes with the floor."""
    plan = LadderPlan(epsilon=epsilon, step=step, is_pure=True)
    floors = np.arange(plan.least, 4 * plan.least + 30)
    levels = np.arange(-2 * plan.least, 2 * plan.least + 4)
    floor, level = (each.astype(float) for each in np.meshgrid(floors, levels))
    decay = np.array([float(plan.decay(each)) for each in floors.tolist()])[None, :] + 0 * floor
    chance = WorstChance(step=step, epsilon=float(epsilon), floor=floor, decay=decay, level=level)
    before = np.ones_like(floor)
    for factor in (0.5, 1, 2, 2.75, 3.5, 4, 5, 8):
        here = chance.beyond(factor)
        assert (np.diff(here, axis=0) <= 1e-12).all() and (np.diff(here, axis=1) <= 1e-12).all()
        assert (here <= before + 1e-12).all()
        assert (replace(chance, decay=decay * 0.99).beyond(factor) >= here - 1e-12).all()
        before = here


@pytest.mark.thin(4)
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("noisy", [-5, 20])
@pytest.mark.parametrize("width", [0, 4, 9, 14, 20, 60])
def test_the_chance_to_go_beyond_is_no_less_than_it_is(width, noisy, step):
    plan = LadderPlan(epsilon=Fraction(4, 5), step=step, is_pure=True)
    ladder = plan.above(noisy)
    decay, chances = float(ladder.decay), law(ladder, width)
    chance = WorstChance(
        step=step,
        epsilon=0.8,
        floor=np.array(float(ladder.floor)),
        decay=np.array(decay),
        level=np.array(float((ladder.floor - width) // step)),
    )
    for distance in range(1, 200):
        beyond = 1 - (2 * chances[: distance + 1].sum() - chances[0])
        bound = float(chance.beyond(distance * decay / ladder.floor))
        assert beyond - 1e-9 <= bound <= 3 * beyond + 0.4


def test_how_far_chords_lie_above_the_curve():
    for decay in (0.01, 0.5, 3.0):
        parts = np.linspace(0, 1, 100_001)
        most = ((1 - parts * -math.expm1(-decay)) * np.exp(decay * parts)).max()
        assert math.exp(ladder_plan.log_specht(decay)) == pytest.approx(most, rel=1e-6)


def test_great_and_small_epsilons():
    certain = LadderPlan(epsilon=Fraction(10**6), step=1, is_pure=True).above(0)
    assert certain.choose(np.array([7, 3]), bits=system())[0] == 7
    wide = LadderPlan(epsilon=Fraction(1000), step=1, is_pure=True)
    assert wide.half_width(wide.above(0).floor, DiscreteLaplace(scale=Fraction(1, 1000)), CONFIDENCE) <= 2
    with pytest.raises(UsageError, match="at least 2e-7"):
        LadderPlan(epsilon=Fraction(1, 10**8), step=1, is_pure=True)
    for wrong in (
        {"epsilon": Fraction(0), "step": 1},
        {"epsilon": 1.0, "step": 1},
        {"epsilon": Fraction(1), "step": 0},
    ):
        with pytest.raises(ValueError):
            LadderPlan(**wrong, is_pure=True)
