"""Assortativity where edges are few against their noise: what is told holds, and nothing is told where nothing can be."""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom

from discreet.graph import mixing_matrix
from discreet.graph.graph_estimates import GraphEstimate
from discreet.graph.mixing_matrix import assortativity, coefficient, simulate_noise
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.source import FixedBits
from tiers import size


def groups_of(groups, edges, alike, *, uneven=False):
    """Exact entries of a mixing matrix of groups, of which a share keeps to itself."""
    share = 1 / np.arange(1, groups + 1) ** 1.5 if uneven else np.ones(groups)
    share /= share.sum()
    others = np.outer(share, share) * (1 - np.eye(groups))
    square = np.rint(edges * (np.diag(share) * alike + others / others.sum() * (1 - alike))).astype(np.int64)
    return (square + square.T - np.diag(np.diag(square)))[np.triu_indices(groups)]


def holds(told, exact):
    return told.interval[0] - 1e-12 <= exact <= told.interval[1] + 1e-12


def times_held(entries, law, groups, times):
    exact, bits = float(coefficient(entries.astype(float), groups, directed=False)), system()
    draws = [entries + law.draw(entries.size, bits=bits) for _ in range(times)]
    return sum(holds(assortativity(noisy, law, groups, directed=False), exact) for noisy in draws)


@pytest.mark.parametrize(("beyond", "times"), [(0.55, 2000), (1.1, size(100, 1000))])
def test_assortativity_of_many_groups_where_it_begins_to_be_told(monkeypatch, beyond, times):
    """Uneven ones that keep to themselves, with few edges: where a ratio leans farthest to one side.

    By 100 times too it is seen where 6 of 10 hold.
    """
    simulated(monkeypatch, 600)
    groups, law = 20, DiscreteLaplace(scale=Fraction(12))
    entries = groups_of(groups, beyond * edge_of(law, groups), 0.9, uneven=True)
    held = times_held(entries, law, groups, times)
    assert held >= binom.ppf(1e-7, times, 0.95), held


def edge_of(law, groups):
    """The number of edges where assortativity begins to be told."""
    return 10 * float(law.variance() * groups * (groups + 1) / 2) ** 0.5


def simulated(monkeypatch, draws):
    """Fewer draws for an interval, and kept: they are the same every time."""
    monkeypatch.setattr(mixing_matrix, "_DRAWS", draws)
    monkeypatch.setattr(mixing_matrix, "_NEAR", 2.0**-16)
    monkeypatch.setattr(mixing_matrix, "simulate_noise", lru_cache(maxsize=2)(simulate_noise))


def test_a_simulated_ratio_holds_too_seldom(monkeypatch):
    """The test above can fail: by the interval that Newman's coefficient itself would have, from the same draws."""

    def ratio(noisy, law, groups, *, directed):
        entries = noisy.astype(float)
        if entries.sum() < edge_of(law, groups) / 2:
            return GraphEstimate(value=0.0, interval=(-1.0, 1.0))
        value = float(coefficient(entries, groups, directed=directed))
        moved = entries + mixing_matrix.simulate_noise(law, (400, entries.size))
        moved = coefficient(moved[moved.sum(axis=-1) > 0], groups, directed=directed)
        far, near = np.quantile(moved, [0.975, 0.025])
        low, high = (float(np.clip(2 * value - end, -1, 1)) for end in (far, near))
        return GraphEstimate(value=(low + high) / 2, interval=(min(low, high), max(low, high)))

    monkeypatch.setitem(globals(), "assortativity", ratio)
    monkeypatch.setitem(globals(), "system", lambda: FixedBits(1))  # 9 of 10 hold: by luck 1200 could be too few
    with pytest.raises(AssertionError):
        test_assortativity_of_many_groups_where_it_begins_to_be_told(monkeypatch, 0.55, size(1200, 2000))


@pytest.mark.parametrize("directed", [False, True])
def test_assortativity_of_few_edges_is_told_of_any_noise(directed):
    """Of totals that a draw may take to 0, and below, and that are there already; and without a warning."""
    for scale in (Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(20)):
        law = DiscreteLaplace(scale=scale)
        for total in (*range(-3, 10), *range(10, 40, size(7, 1))):
            noisy = np.array(
                [total // 2, 0, 0, total - total // 2] if directed else [total // 2, 0, total - total // 2]
            )
            told = assortativity(noisy, law, 2, directed=directed)
            assert -1 <= told.interval[0] <= told.value <= told.interval[1] <= 1
            assert told.interval == (-1, 1) or total > 0


def test_a_draw_that_takes_all_edges_away_says_nothing(monkeypatch):
    """However far such a draw is from what is likely."""
    law, noisy = DiscreteLaplace(scale=Fraction(1)), np.array([500, 10, 500])
    assert assortativity(noisy, law, 2, directed=False).interval[0] > 0.9
    for left in (0, -1):
        worst = np.array([-500.0, -10.0, left - 500.0])
        monkeypatch.setattr(
            mixing_matrix,
            "simulate_noise",
            lambda law, size, worst=worst: np.vstack([worst, simulate_noise(law, size)]),
        )
        assert assortativity(noisy, law, 2, directed=False).interval == (-1, 1)


def test_edges_of_one_group_alone_say_nothing_of_how_groups_mix():
    law = DiscreteLaplace(scale=Fraction(12))
    for others in ([3, -5], [20, -60], [-5, -60], [0, 0]):
        assert assortativity(np.array([100_000, *others]), law, 2, directed=False).interval == (-1, 1), others
    assert assortativity(np.array([100_000, -30, 900]), law, 2, directed=False).interval[0] > 0.9


def test_a_bottom_of_zero_is_no_crash(monkeypatch):
    """Though every draw of the noise moves it below."""
    monkeypatch.setattr(mixing_matrix, "simulate_noise", lambda law, size: np.tile([0.0, -10.0, 0.0], (size[0], 1)))
    law = DiscreteLaplace(scale=Fraction(12))
    assert assortativity(np.array([100_000, 0, 0]), law, 2, directed=False).interval == (-1, 1)
