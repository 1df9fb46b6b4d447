"""Key discovery: what shows, what stays hidden, what it costs."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import events
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.threshold import KeyThreshold, delta_of, threshold_for
from noise.source import FixedBits

LAW = DiscreteLaplace(scale=Fraction(2))


def test_release_shows_keys_above_the_threshold_with_their_noisy_counts():
    mechanism = KeyThreshold(noise=LAW, keys_per_person=2, threshold=20)
    counts = np.array([0, 1, 10, 30, 1000, 19, 0, 25])
    kept, noisy, event = mechanism.discover(counts, bits=FixedBits(1))
    assert event == mechanism.event() == events.ThresholdEvent(scale=Fraction(2), l1=2, delta=event.delta)
    existing = np.flatnonzero(counts)
    expected = counts[existing] + LAW.draw(existing.size, bits=FixedBits(1))
    assert kept.tolist() == existing[expected >= 20].tolist()
    assert noisy.tolist() == expected[expected >= 20].tolist()
    assert {3, 4} <= set(kept.tolist())


def test_a_key_without_persons_never_shows():
    mechanism = KeyThreshold(noise=DiscreteLaplace(scale=Fraction(100)), keys_per_person=1, threshold=2)
    assert mechanism.discover(np.zeros(1000, np.int64), bits=FixedBits(1))[0].size == 0
    assert mechanism.discover(np.zeros(0, np.int64), bits=FixedBits(1))[0].size == 0


def test_a_key_of_one_person_shows_as_often_as_delta_says():
    n = 400_000
    for threshold in (3, 8):
        mechanism = KeyThreshold(noise=LAW, keys_per_person=1, threshold=threshold)
        shown = mechanism.discover(np.ones(n, np.int64), bits=FixedBits(2))[0].size
        chance = float(mechanism.event().delta)
        assert abs(shown - n * chance) < 6.5 * math.sqrt(n * chance)


def test_counts_of_any_width():
    mechanism = KeyThreshold(noise=LAW, keys_per_person=1, threshold=20)
    kept, noisy, _ = mechanism.discover(np.array([0, 10**30], dtype=object), bits=FixedBits(1))
    assert kept.tolist() == [1]
    assert noisy[0] > 10**29


def test_delta_grows_with_keys_and_falls_with_the_threshold():
    deltas = [delta_of(LAW, keys_per_person=keys, threshold=30) for keys in (1, 2, 100, 10**6)]
    assert deltas == sorted(set(deltas))
    deltas = [delta_of(LAW, keys_per_person=5, threshold=threshold) for threshold in (2, 3, 50, 10**6)]
    assert deltas == sorted(set(deltas), reverse=True)


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(7, 3), Fraction(10**12)], ids=str)
@pytest.mark.parametrize("keys", [1, 1000])
@pytest.mark.parametrize("delta", [Fraction(1, 10**12), Fraction(1, 2)], ids=str)
def test_threshold_for_is_the_least(scale, keys, delta):
    law = DiscreteLaplace(scale=scale)
    threshold, found = threshold_for(law, keys_per_person=keys, delta=delta)
    assert found == KeyThreshold(noise=law, keys_per_person=keys, threshold=threshold).event().delta <= delta
    assert threshold == 2 or delta_of(law, keys_per_person=keys, threshold=threshold - 1) > delta
    assert len(str(found.denominator)) < 60  # it is stored for ever


@pytest.mark.parametrize(("keys", "threshold"), [(0, 5), (1, 1), (-1, 5)])
def test_what_is_no_threshold(keys, threshold):
    with pytest.raises(ValueError):
        KeyThreshold(noise=LAW, keys_per_person=keys, threshold=threshold)


@pytest.mark.parametrize(("keys", "delta"), [(0, Fraction(1, 2)), (1, Fraction(0)), (1, Fraction(1))])
def test_what_has_no_threshold(keys, delta):
    with pytest.raises(ValueError):
        threshold_for(LAW, keys_per_person=keys, delta=delta)
