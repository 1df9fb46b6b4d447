"""Each mechanism's law, by summation and not by sampling: divergence at most delta, and no slack claimed."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import exact
from discreet.accounting import events
from discreet.mechanisms.exponential import ExponentialMechanism, PermuteAndFlipMechanism
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.threshold import KeyThreshold, delta_of, threshold_for
from noise.divergence import hockey_stick, shifted

#: What interval arithmetic at 50 digits may leave of a divergence that is truly zero.
NOTHING = Fraction(1, 10**35)


@pytest.mark.thin(2)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(10**9, 123456789)], ids=str)
@pytest.mark.parametrize("l1", [1, 4])
def test_laplace(scale, l1):
    law = DiscreteLaplace(scale=scale)
    epsilon = events.loss(law.event(l1=l1)).epsilon
    reach = math.ceil(90 * scale) + l1
    left, right = shifted(law, 0, reach), shifted(law, l1, reach)
    beyond = law.tail(reach - l1)
    assert beyond < NOTHING
    assert hockey_stick(left, right, epsilon)[1] + beyond < NOTHING
    assert hockey_stick(right, left, epsilon)[1] + beyond < NOTHING
    assert hockey_stick(left, right, epsilon * Fraction(99, 100))[0] > Fraction(1, 10**4)


@pytest.mark.parametrize("moves", [(1, 1), (2, 0), (1, -1)])
def test_laplace_on_two_cells(moves):
    """The l1 distance pays for both cells together, however it is spread."""
    law, reach = DiscreteLaplace(scale=Fraction(1)), 8
    grid = range(-reach, reach + 1)
    mass = {k: law.mass_bounds(k) for k in range(-reach - 2, reach + 3)}

    def product(a, b):
        return mass[a][0] * mass[b][0], mass[a][1] * mass[b][1]

    left = [product(a, b) for a in grid for b in grid]
    right = [product(a - moves[0], b - moves[1]) for a in grid for b in grid]
    assert hockey_stick(left, right, Fraction(2))[1] < NOTHING
    assert hockey_stick(left, right, Fraction(19, 10))[0] > 0


def tight_delta(rho, epsilon):
    """Canonne, Kamath and Steinke's conversion: the least over alpha > 1, on a fine grid, of
    exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha."""
    alpha = 1 + np.logspace(-3, 3, 4000)
    logs = (alpha - 1) * (alpha * rho - epsilon) - np.log(alpha - 1) + alpha * np.log1p(-1 / alpha)
    return float(np.exp(logs.min()))


@pytest.mark.thin(3)
@pytest.mark.parametrize("sigma2", [Fraction(1, 3), Fraction(4), Fraction(400, 7), Fraction(100)], ids=str)
@pytest.mark.parametrize("distance", [1, 3])
def test_gaussian(sigma2, distance):
    law = DiscreteGaussian(sigma2=sigma2)
    loss = events.loss(law.event(l2_squared=distance**2))
    assert loss.epsilon is None
    reach = math.ceil(14 * math.sqrt(sigma2)) + distance + 1
    left, right = shifted(law, 0, reach), shifted(law, distance, reach)
    beyond = law.tail(reach - distance)
    assert beyond < NOTHING
    for epsilon in (Fraction(1, 10), Fraction(1), 2 * loss.rho + 1):
        claimed = tight_delta(float(loss.rho), float(epsilon))
        for one, other in ((left, right), (right, left)):
            low, high = hockey_stick(one, other, epsilon)
            assert high + beyond <= claimed
            assert high - low < NOTHING
            assert claimed < 12 * high  # the claim is a bound, and not an empty one
    less = DiscreteGaussian(sigma2=sigma2 / 4)  # too little noise does not meet it
    left, right = shifted(less, 0, reach), shifted(less, distance, reach)
    claimed = tight_delta(float(loss.rho), 0.1)
    assert claimed > 0.99 or hockey_stick(left, right, Fraction(1, 10))[0] > claimed


@pytest.mark.parametrize("sigma2", [Fraction(1, 3), Fraction(9)], ids=str)
def test_gaussian_renyi(sigma2):
    """zCDP itself: the Renyi divergence at each alpha is at most alpha * rho, and nearly attains it."""
    law = DiscreteGaussian(sigma2=sigma2)
    rho = float(events.loss(law.event(l2_squared=1)).rho)
    for alpha in (1.5, 2, 8):
        reach = math.ceil(14 * math.sqrt(sigma2) + alpha)
        ratios = ((law.mass(k), law.mass(k) / law.mass(k - 1)) for k in range(-reach, reach + 1))
        found = math.log(math.fsum(mass * ratio ** (alpha - 1) for mass, ratio in ratios)) / (alpha - 1)
        assert found <= alpha * rho * (1 + 1e-9)
        assert alpha == 1.5 or sigma2 < 1 or found > 0.99 * alpha * rho


def neighbours(scores, sensitivity):
    """Every way for each score to stay, rise or fall by the sensitivity."""
    for moves in itertools.product((-sensitivity, 0, sensitivity), repeat=len(scores)):
        yield [score + move for score, move in zip(scores, moves, strict=True)]


@pytest.mark.thin(6)
@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlipMechanism])
@pytest.mark.parametrize("scores", [[0, 0], [5, 3, 0], [0, 1, 2, 9]], ids=str)
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(Fraction(1), 1), (Fraction(3, 2), 2)])
def test_choices(kind, scores, epsilon, sensitivity):
    mechanism = kind(epsilon=epsilon, sensitivity=sensitivity)
    loss = events.loss(mechanism.event())
    assert loss.epsilon == epsilon
    here = mechanism.probabilities(np.array(scores))
    assert abs(sum(low for low, _ in here) - 1) < NOTHING
    for moved in neighbours(scores, sensitivity):
        there = mechanism.probabilities(np.array(moved))
        assert hockey_stick(here, there, epsilon)[1] < NOTHING
        assert hockey_stick(there, here, epsilon)[1] < NOTHING
        p, q = ([float(low) for low, _ in side] for side in (here, there))
        for alpha in (1.01, 2, 8, 50):
            total = math.fsum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True))
            assert math.log(total) / (alpha - 1) <= alpha * float(loss.rho) + 1e-9


@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlipMechanism])
def test_choices_attain_their_price(kind):
    """Two candidates far apart, moved towards each other: the second's chance grows by nearly e^epsilon."""
    mechanism = kind(epsilon=Fraction(1), sensitivity=1)
    here = mechanism.probabilities(np.array([40, 0]))
    there = mechanism.probabilities(np.array([39, 1]))
    assert hockey_stick(there, here, Fraction(99, 100))[0] > 0


def test_permute_and_flip_by_hand():
    """Equal scores: uniform. One hopeless candidate: heads with e^-x, and then first half of the time."""
    mechanism = PermuteAndFlipMechanism(epsilon=Fraction(2), sensitivity=1)
    assert [low for low, _ in mechanism.probabilities(np.array([7, 7, 7]))] == [Fraction(1, 3)] * 3
    low, high = mechanism.probabilities(np.array([3, 0]))[1]
    assert low <= exact.exp(Fraction(-3), up=True) / 2
    assert high >= exact.exp(Fraction(-3), up=False) / 2
    assert high - low < NOTHING


def threshold_outputs(law, counts, threshold, reach):
    """The law of what is seen of two keys: for each, hidden (None) or a noisy count, as intervals."""
    sides = []
    for count in counts:
        if count is None:
            sides.append({None: (Fraction(1), Fraction(1))})
            continue
        shown = {k: law.mass_bounds(k - count) for k in range(threshold, reach)}
        hidden = [law.mass_bounds(k - count) for k in range(-reach, threshold)]
        shown[None] = (sum(low for low, _ in hidden), sum(high for _, high in hidden) + law.tail(reach - count))
        sides.append(shown)
    none = (Fraction(0), Fraction(0))
    keys = [None, *range(threshold, reach)]
    return [
        tuple(x * y for x, y in zip(sides[0].get(a, none), sides[1].get(b, none), strict=True))
        for a in keys
        for b in keys
    ]


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("before", "after"),
    [((None, None), (1, 1)), ((None, None), (1, None)), ((5, None), (6, 1)), ((5, 8), (6, 9)), ((4, None), (5, None))],
)
def test_threshold(before, after):
    law = DiscreteLaplace(scale=Fraction(1))
    mechanism = KeyThreshold(noise=law, keys_per_person=2, threshold=6)
    loss = events.loss(mechanism.event())
    assert loss.epsilon == 2
    without = threshold_outputs(law, before, 6, 95)
    with_ = threshold_outputs(law, after, 6, 95)
    joined = hockey_stick(with_, without, loss.epsilon)
    left = hockey_stick(without, with_, loss.epsilon)
    assert max(joined[1], left[1]) <= loss.delta + NOTHING
    if before == (None, None) and after == (1, 1):
        assert joined[0] > loss.delta * Fraction(999999, 1000000)  # the claim is exact, not a bound


def test_threshold_delta_is_exact():
    """One minus (1 - p)^l0 with p summed from the law; and the least threshold that meets a delta."""
    law = DiscreteLaplace(scale=Fraction(2))
    for keys, threshold in ((1, 5), (3, 5), (20, 30)):
        chance = sum((law.mass_bounds(k - 1)[1] for k in range(threshold, 300)), Fraction(0))
        true = 1 - (1 - chance) ** keys
        claimed = delta_of(law, keys_per_person=keys, threshold=threshold)
        assert true <= claimed <= true * (1 + Fraction(1, 10**15))
    for keys, delta in ((1, Fraction(1, 10**6)), (50, Fraction(1, 10**9)), (1000, Fraction(9, 10))):
        threshold, found = threshold_for(law, keys_per_person=keys, delta=delta)
        assert found <= delta < delta_of(law, keys_per_person=keys, threshold=threshold - 1)
