"""Noise and latency do not correlate on the time grid; the same test sees a planted slow sampler off it.

The statistic is Spearman's correlation r of |noise| and latency. Where they are independent, r * sqrt(n - 1) is close to
a standard normal whatever their laws are, and beyond 5.1 with probability 3.4e-7: less than one false alarm in a million.
"""

import math
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

from console.alone import alone
from discreet.console.jobs.time_grid import at_tick, tick, until_tick
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace
from tiers import size

GRID_MS = 250
#: The slow sampler is 32 deviations off in the fast tier, and 64 in the deep one.
N = size(5_000, 20_000)
ALARM = 5.1


def ranks(values):
    """Ranks, those of equals their mean."""
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return ((last - times) + (last - 1))[place] / 2


def seen(noise, latency):
    """How many standard deviations the correlation of |noise| and latency is from none."""
    one, other = ranks(np.abs(noise)), ranks(latency)
    if one.std() == 0 or other.std() == 0:
        return 0.0
    return abs(float(np.corrcoef(one, other)[0, 1])) * math.sqrt(len(noise) - 1)


@pytest.fixture(scope="module")
def drawn():
    """Draws of the real sampler, one by one, and how long each took. Batches of answers are drawn much the same way."""
    law, bits, zero = DiscreteLaplace(scale=Fraction(20)), system(), np.zeros(1, dtype=np.int64)
    noise, took = np.zeros(N), np.zeros(N)
    for place in range(N):
        before = time.perf_counter()
        values, _ = law.add_noise(zero, l1=1, bits=bits)
        took[place] = time.perf_counter() - before
        noise[place] = values[0]
    return noise, took


@pytest.fixture(scope="module")
def work():
    """What a question takes apart from its noise: parsing, the ledger's disk, counting. Independent of the noise."""
    return 0.06 + np.random.default_rng(7).gamma(4, 0.005, N)


def leaving(latencies):
    """When answers leave that are ready after so long, by the real waiting over a clock that a test turns."""
    found = []
    for latency in latencies:
        now = [1000.0 + latency]

        async def sleep(seconds, now=now):
            now[0] += max(1e-4, 0.9 * seconds)  # ends early, as a sleep may

        alone(until_tick(1000.0, grid_ms=GRID_MS, clock=lambda now=now: now[0], sleep=sleep))
        found.append(now[0] - 1000.0)
    return np.array(found)


def test_a_slow_sampler_is_seen_off_the_grid_and_not_on_it(drawn, work):
    noise, took = drawn
    slow = work + took + 0.0003 * np.abs(noise)  # 6 ms in the mean, beside 10 ms of anything else
    assert seen(noise, slow) > size(4, 10) * ALARM, "power: it is missed with probability below 1e-100"
    ticks = np.array([tick(latency, grid_ms=GRID_MS) for latency in slow])
    assert seen(noise, ticks * GRID_MS) < ALARM
    assert seen(noise, work) < ALARM, "no alarm where there is nothing"


def test_the_real_sampler_is_not_seen_on_the_grid(drawn, work):
    noise, took = drawn
    latency = np.array([at_tick(0.0, each, grid_ms=GRID_MS) for each in work + took])
    assert seen(noise, latency) < ALARM


def test_the_test_sees_a_grid_that_leaks():
    """Mutants: no wait, and a wait for a while instead of a tick."""
    noise = np.random.default_rng(3).laplace(0, 20, N)
    work = 0.06 + np.random.default_rng(4).gamma(4, 0.005, N) + 0.0003 * np.abs(noise)
    assert seen(noise, work) > ALARM
    assert seen(noise, work + 0.25) > ALARM


def test_waiting_ends_at_the_tick():
    found = leaving(np.random.default_rng(5).uniform(0, 1, 300))
    off = found * 1000 / GRID_MS
    assert np.all(found >= GRID_MS / 1000 - 1e-9), "nothing leaves at once"
    assert np.all(off - np.round(off) >= -1e-9), "never before its tick"
    assert np.all(off - np.round(off) < 0.001)


@pytest.mark.parametrize(("elapsed", "wanted"), [(0, 1), (0.0001, 1), (0.25, 1), (0.2500001, 2), (1.0, 4), (59.9, 240)])
def test_ticks(elapsed, wanted):
    assert tick(elapsed, grid_ms=GRID_MS) == wanted
    assert at_tick(5.0, 5.0 + elapsed, grid_ms=GRID_MS) == pytest.approx(5 + wanted * 0.25)


def test_the_real_clock():
    began = time.monotonic()
    waiting = threading.Thread(target=lambda: alone(until_tick(began, grid_ms=40)))  # a browser's loop may run here
    waiting.start()
    waiting.join()
    assert time.monotonic() - began >= 0.04
