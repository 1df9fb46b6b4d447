"""The factor of a ladder's interval against the sum that its proof states, rung by rung: no less."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.floored_ladder import FlooredLadder, _floors
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace

DOUBT = 0.05


def beyond(ladder, distance, level):
    """What lies further than a distance over what the floor weighs, both sides: rungs laid out one after another."""
    decay = float(ladder.decay)
    rungs = np.arange(1, 2 + math.ceil(60 / decay) + max(0, level))
    widths = ladder.least + ladder.step * np.maximum(0, rungs - 1 - level)
    ends = np.cumsum(widths)
    left = np.clip(ends - distance, 0, widths)
    return min(1.0, float((left * np.exp(-decay * rungs)).sum()) * math.expm1(decay) / int(widths[0]))


def doubt(ladder, law, floors):
    """Over all noise of the width: what is measured too small leaves fewer rungs as wide as the floor."""
    far = law.half_width(1 - Fraction(1, 10**9))
    distance, m, s = floors * ladder.least, ladder.least, ladder.step
    below = sum(law.mass(-x) * beyond(ladder, distance, (m - x) // s) for x in range(1, far + 1))
    other = sum(law.mass(x) for x in range(far + 1))
    return below + other * beyond(ladder, distance, m // s)


@pytest.mark.parametrize(
    ("epsilon", "step", "law"),
    [
        (Fraction(4, 5), 1, DiscreteLaplace(scale=Fraction(5))),
        (Fraction(4, 5), 2, DiscreteLaplace(scale=Fraction(10))),
        (Fraction(3), 1, DiscreteLaplace(scale=Fraction(4, 3))),
        (Fraction(1), 1, DiscreteLaplace(scale=Fraction(20))),  # the noise of the width decides
        (Fraction(1), 2, DiscreteGaussian(sigma2=Fraction(60))),
    ],
    ids=str,
)
def test_the_factor_keeps_the_doubt(epsilon, step, law):
    ladder = FlooredLadder.of(epsilon, step=step, is_pure=True)
    floors = _floors(ladder.decay, step, ladder.least, law, Fraction(95, 100))
    assert doubt(ladder, law, floors) <= DOUBT * (1 + 1e-6)


@pytest.mark.parametrize("noisy", [0, 1, 2, 3, 17])
def test_half_of_the_interval_is_no_less_than_its_floors(noisy):
    ladder, law = (
        FlooredLadder.of(Fraction(4, 5), step=1, is_pure=True).above(noisy),
        DiscreteLaplace(scale=Fraction(5)),
    )
    floors = _floors(ladder.decay, 1, ladder.least, law, Fraction(95, 100))
    assert ladder.half_width(law, Fraction(95, 100)) >= floors * ladder.floor
