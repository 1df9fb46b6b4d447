"""The noise on the whole path is that of the law, one independent draw for each number; and errors are as stated.

Bounds are at normal quantiles that a correct build passes but once in ten million runs.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.weighted_sum import half_width, standard_deviation
from discreet.tables.stream import project_streams
from discreet.tables.stream.stored_counters import law_of
from tables.stream.visits import make, state

#: Tables and steps are made once for all tests, on a machine that may be busy.

STEPS = 160
DOUBT = 1e-7


@pytest.fixture(scope="module", params=["1e-6", pytest.param("0", marks=pytest.mark.deep)], ids=["gaussian", "laplace"])
def walked(request, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        project = make(tmp_path_factory.mktemp("project"), {f"p{number}": 3 for number in range(50)})
        stream = project_streams.stream(
            project, "visits", "daily", epsilon=2, delta=request.param, horizon=STEPS + 1, contributions=2
        )[0]
        for _ in range(STEPS):
            stream.next()
        return stream.plan, stream.rows, state(project, stream)


def noise(plan, rows, known):
    """What was added to the exact numbers."""
    ahead = np.zeros(plan.counter.horizon, dtype=np.int64)
    ahead[: len(known.exact_steps)] = known.exact_steps
    whole = plan.counter.strategy.matrix().astype(object) @ ahead
    exact = [whole[row] for step in range(len(rows)) for row in plan.counter.due(step)]
    drawn = [value for row in rows for value in row.noisy]
    return np.array([one - other for one, other in zip(drawn, exact, strict=True)], dtype=float)


@pytest.mark.thin(1)
def test_it_has_the_size_that_was_charged_and_is_independent(walked):
    plan, _, known = walked
    assert known.exact_steps[0] == 100 and not any(known.exact_steps[1:])
    law, found = law_of(plan.event), noise(*walked)
    if isinstance(law, DiscreteGaussian):
        size, freedom = np.sum(found**2) / float(law.sigma2), len(found)
    else:  # |X| / scale is exponential, so twice its sum is chi-square
        size, freedom = 2 * np.sum(np.abs(found)) / float(law.scale), 2 * len(found)
    low, high = stats.chi2.ppf(DOUBT, freedom), stats.chi2.isf(DOUBT, freedom)
    assert low < size < high
    # Near misses are seen: noise of less than half the variance, and of more than twice. (By what is expected: of what
    # was drawn, one run in 50 would not.)
    assert not low < freedom * 0.4 < high
    assert not low < freedom * 2.2 < high
    standard = found / np.sqrt(law.variance())
    assert abs(standard.sum()) < 6 * np.sqrt(len(standard))
    for lag in (1, 2, 5):
        assert abs(standard[lag:] @ standard[:-lag]) < 10 * np.sqrt(len(standard))


def test_totals_lie_where_they_are_said_to(walked):
    plan, rows, _ = walked
    law = law_of(plan.event)
    for row in rows:
        reading = plan.counter.estimate_weights(0, row.step - 1)
        assert abs(row.total.value - 100) <= half_width([(reading, law, 1)], 1 - Fraction(1, 10**9))
        assert row.total.sd == pytest.approx(np.sqrt(plan.counter.total_variances()[row.step - 1] * law.variance()))


def test_over_many_draws(walked):
    """20,000 streams of noise from the real samplers: every stated error of totals and steps, to a few percent."""
    plan, _, _ = walked
    counter, law = plan.counter, law_of(plan.event)
    last, times = 40, 20_000
    count = len(counter.estimate_weights(0, last))
    drawn = law.draw(count * times, bits=system()).reshape(times, count).astype(np.float64)
    for first, end in ((0, 0), (0, 7), (0, last), (5, 5), (3, 30)):
        reading = counter.estimate_weights(first, end)
        error = drawn[:, : len(reading)] @ reading
        stated = standard_deviation([(reading, law, 1)])
        fourth = 6.0  # of a Laplace variable, the widest
        margin = 6 * np.sqrt((fourth - 1) / times)
        assert abs(np.mean(error**2) / stated**2 - 1) < margin
        inside = np.mean(np.abs(error) <= half_width([(reading, law, 1)], Fraction(9, 10)))
        assert abs(inside - 0.9) < 6 * np.sqrt(0.09 / times) + 0.002
