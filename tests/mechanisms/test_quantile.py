"""Private quantiles: where they land, how they are priced, how fast, what is refused. The laws: tests/noise."""

import time
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import events
from discreet.errors import UsageError
from discreet.mechanisms.bits import system
from discreet.mechanisms.quantile import QuantileChoice
from noise.source import FixedBits
from tiers import size

HALF = Fraction(1, 2)


def choice(fraction=HALF, *, bins=100, rows=1, epsilon=Fraction(1), **more):
    return QuantileChoice(fraction=fraction, bins=bins, rows=rows, epsilon=epsilon, **more)


@pytest.mark.parametrize(
    "fraction", [Fraction(1, 200), Fraction(1, 4), HALF, Fraction(9, 10), Fraction(199, 200)], ids=str
)
def test_it_finds_the_quantile_of_many_rows(fraction):
    counts = np.full((1, 100), 10_000)
    low, middle, high = choice(fraction).choose(counts, bits=FixedBits(1))[0][0].tolist()
    assert low <= middle <= high
    assert high - low <= 1
    assert abs(middle - float(fraction) * 100) <= 1


def test_gaps_and_heaps():
    """All rows in one bin: that bin. Two heaps with nothing between: any bin between is a median."""
    heap = np.zeros((1, 100), np.int64)
    heap[0, 42] = 10**6
    assert choice().choose(heap, bits=FixedBits(1))[0].tolist() == [[42, 42, 42]]
    heaps = np.zeros((50, 100), np.int64)
    heaps[:, [20, 80]] = 10**6
    drawn = choice().choose(heaps, bits=FixedBits(1))[0]
    assert np.mean((drawn[:, 0] == 20) & (drawn[:, 2] == 80)) > 0.9
    assert drawn[:, 1].min() >= 20 and drawn[:, 1].max() <= 80 and np.unique(drawn[:, 1]).size > 10


def test_nothing_is_known_of_nothing():
    """No rows, or a few: the interval is everything."""
    counts = np.zeros((200, 100), np.int64)
    drawn = choice().choose(counts, bits=FixedBits(1))[0]
    assert np.mean((drawn[:, 0] == 0) & (drawn[:, 2] == 99)) > 0.9
    assert np.unique(drawn[:, 1]).size > 60


def test_groups_are_told_apart():
    counts = np.zeros((3, 10), np.int64)
    counts[[0, 1, 2], [9, 0, 4]] = 10**5
    assert choice(bins=10).choose(counts, bits=FixedBits(1))[0][:, 1].tolist() == [9, 0, 4]
    assert choice(bins=10).choose(counts[:0], bits=FixedBits(1))[0].shape == (0, 3)


def test_one_bin():
    assert choice(bins=1).choose(np.array([[7]]), bits=FixedBits(1))[0].tolist() == [[0, 0, 0]]


def test_wide_counts_and_fine_fractions_choose_alike():
    counts = np.array([[5, 4, 9, 1, 7, 3]])
    mechanism = choice(Fraction(123457, 10**6), bins=6, epsilon=Fraction(50))
    for number in range(20):
        narrow = mechanism.choose(counts, bits=FixedBits(number))[0]
        assert narrow.tolist() == mechanism.choose(counts.astype(object), bits=FixedBits(number))[0].tolist()
    huge = np.array([[0, 10**40, 0, 0, 0, 0]], dtype=object)
    assert mechanism.choose(huge, bits=FixedBits(1))[0].tolist() == [[1, 1, 1]]
    assert mechanism.choose(np.array([[0, 2**62, 0, 0, 0, 0]]), bits=FixedBits(1))[0].tolist() == [[1, 1, 1]]


def test_prices():
    mechanism = choice(epsilon=Fraction(2))
    lost = events.loss(mechanism.event())
    assert (lost.epsilon, lost.rho) == (Fraction(2), 4 * Fraction(3, 64))
    parts = [part.epsilon for part in choice(epsilon=Fraction(2), share=Fraction(1, 4)).event().events]
    assert parts == [HALF, Fraction(3, 4), Fraction(3, 4)]
    assert events.loss(choice(rows=50).event()) == events.loss(choice().event())


def test_more_rows_a_unit_and_less_epsilon_cost_ranks():
    ranks = [choice(rows=rows).plus_minus() for rows in (1, 2, 10)]
    assert ranks == [ranks[0], 2 * ranks[0], 10 * ranks[0]]
    assert choice(epsilon=Fraction(1, 2)).plus_minus() == 2 * ranks[0]
    assert choice().plus_minus(Fraction(99, 100)) > ranks[0]
    assert choice().widest() > choice().margin * HALF > ranks[0]


def test_the_estimate_is_as_near_as_promised():
    """At even spread, a row a bin: how often the median's rank is farther from the estimated bin than said."""
    counts = np.full((size(1000, 3000), 100), 1)
    mechanism = choice()
    drawn = mechanism.choose(counts, bits=FixedBits(2))[0]
    distance = np.maximum(0, np.maximum(drawn[:, 1] - 50, 50 - (drawn[:, 1] + 1)))
    assert np.mean(distance > float(mechanism.plus_minus())) < 0.05
    assert np.mean(distance > float(mechanism.plus_minus()) / 5) > 0.05
    ends = np.maximum(0, 50 - (drawn[:, 0] + 1))
    assert np.mean(ends > float(mechanism.widest())) < 0.05


@pytest.mark.deep
@pytest.mark.parametrize(("groups", "limit_s"), [(200, 1.5), (1, 0.005)])
def test_speed(groups, limit_s):
    """The best of three: the machine has other work as well."""
    counts, mechanism, times = np.full((groups, 4096), 100), choice(bins=4096), []
    for _ in range(3):
        start = time.process_time()
        mechanism.choose(counts, bits=system())
        times.append(time.process_time() - start)
    assert min(times) < limit_s


@pytest.mark.parametrize(
    "bad",
    [
        {"fraction": Fraction(3, 2)},
        {"fraction": Fraction(-1, 2)},
        {"fraction": 0.5},
        {"bins": 0},
        {"rows": 0},
        {"share": Fraction(1)},
        {"share": Fraction(0)},
        {"epsilon": Fraction(0)},
        {"epsilon": 1.0},
    ],
)
def test_what_is_no_quantile(bad):
    with pytest.raises(ValueError):
        choice(**bad)


def test_confidences_that_are_refused():
    for confidence in (Fraction(0), Fraction(1)):
        with pytest.raises(UsageError):
            choice(confidence=confidence)


@pytest.mark.parametrize("counts", [np.zeros(100, np.int64), np.zeros((1, 99), np.int64)])
def test_counts_of_another_shape(counts):
    with pytest.raises(ValueError):
        choice().choose(counts, bits=FixedBits(1))


def test_floats_are_no_counts():
    with pytest.raises(TypeError):
        choice().choose(np.zeros((1, 100)), bits=FixedBits(1))


def test_permute_and_flip_is_nearer_at_the_same_epsilon():
    counts = np.full((size(1500, 5000), 100), 1)
    far = {}
    for flips in (False, True):
        drawn = choice(share=Fraction(1), confidence=Fraction(0), flips=flips).choose(counts, bits=FixedBits(3))[0]
        far[flips] = np.maximum(0, np.maximum(drawn[:, 1] - 50, 50 - (drawn[:, 1] + 1))).mean()
    assert far[True] < 0.8 * far[False]


def test_without_an_interval_all_goes_to_the_estimate():
    mechanism = choice(share=Fraction(1), confidence=Fraction(0), flips=True)
    assert events.loss(mechanism.event()).epsilon == 1 and len(mechanism.event().events) == 1
    drawn, _ = mechanism.choose(np.full((5, 100), 30), bits=FixedBits(1))
    assert (drawn == drawn[:, :1]).all()
    assert events.loss(choice(flips=True).event()).rho == Fraction(1, 2) * (Fraction(1, 4) + 2 * Fraction(1, 16))
    with pytest.raises(ValueError, match="not a valid choice"):
        choice(share=Fraction(1))
