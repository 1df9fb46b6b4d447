"""The bit source: fresh, uniform, never shared, and the only one there is."""

import os
import threading
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import bits
from discreet.mechanisms.exponential import ExponentialMechanism, PermuteAndFlipMechanism
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.threshold import KeyThreshold
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from noise.source import FixedBits


@pytest.mark.parametrize("count", [0, 1, 64, 65, 1000, 100_000])
def test_words_are_as_many_as_were_asked_for_and_never_the_same(count):
    first, second = bits.system().words(count), bits.system().words(count)
    assert first.dtype == np.uint64
    assert first.shape == second.shape == (count,)
    assert not np.intersect1d(first, second).size
    assert np.unique(first).size == count


def test_each_bit_is_fair():
    words = bits.system().words(200_000)
    ones = np.array([int((words >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)])
    assert np.abs(ones - 100_000).max() < 7 * np.sqrt(50_000)  # 64 * 2.6e-12


def test_a_key_is_never_stretched_too_far(monkeypatch):
    keys = []
    monkeypatch.setattr(bits, "_WORDS_PER_KEY", 100)
    monkeypatch.setattr(bits.os, "urandom", lambda count, real=os.urandom: keys.append(count) or real(count))
    words = bits.SystemBits().words(250)
    assert keys == [32, 32, 32]
    assert np.unique(words).size == 250


def test_every_call_has_a_key_of_its_own(monkeypatch):
    """Nothing is kept, so a fork, a thread and a snapshot have nothing to share."""
    monkeypatch.setattr(bits.os, "urandom", lambda count: bytes(count))
    assert np.array_equal(bits.SystemBits().words(100), bits.SystemBits().words(100))
    assert not hasattr(bits.SystemBits(), "__dict__")


def test_threads_do_not_disturb_each_other():
    found = [None] * 8

    def work(place):
        found[place] = np.concatenate([bits.system().words(1000) for _ in range(20)])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.unique(np.concatenate(found)).size == 8 * 20_000


def test_there_is_no_seed():
    with pytest.raises(TypeError):
        bits.SystemBits(1)


@pytest.mark.parametrize(
    "draw",
    [
        lambda source: DiscreteLaplace(scale=Fraction(3)).draw(500, bits=source),
        lambda source: DiscreteLaplace(scale=Fraction(10**10)).draw(500, bits=source),
        lambda source: DiscreteGaussian(sigma2=Fraction(9)).draw(500, bits=source),
        lambda source: ExponentialMechanism(epsilon=Fraction(1), sensitivity=1).choose(np.arange(9), bits=source)[0],
        lambda source: PermuteAndFlipMechanism(epsilon=Fraction(1), sensitivity=1).choose(np.arange(9), bits=source)[0],
        lambda source: RandomizedResponse(["a", "b", "c"], epsilon=1).randomize_all(np.zeros(99, int), bits=source),
        lambda source: KeyThreshold(noise=DiscreteLaplace(scale=Fraction(3)), keys_per_person=1, threshold=5).discover(
            np.arange(99), bits=source
        )[1],
    ],
)
def test_an_injected_source_is_the_only_one(draw, monkeypatch):
    """Same bits, same draws; other bits, other draws; and the system is never asked."""
    monkeypatch.setattr(bits.os, "urandom", lambda count: pytest.fail("the system was asked"))
    sources = [FixedBits(1), FixedBits(1)]
    first, second = (draw(source) for source in sources)
    assert np.array_equal(first, second)
    assert sources[0].taken == sources[1].taken > 0
    assert any(not np.array_equal(first, draw(FixedBits(other))) for other in range(2, 30))
