"""Weights of fine cells: empty tails weigh nothing, spikes stay, and a tail goes on as its body says."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.synth import cell_weights
from discreet.synth.cell_weights import expected_rows, smooth_weights
from discreet.synth.fine_cells import number_edges


def long_tail(seed, *, sd=20.0):
    """Cells of a column with a third at 0 and a long tail: exact counts, noisy ones, and what is known of the cells."""
    generator = np.random.default_rng(seed)
    values = np.where(generator.random(20_000) < 0.33, 0, 900 * np.exp(0.9 * generator.normal(size=20_000)))
    edges = np.array(number_edges(0, 100_001))
    counts = np.histogram(np.clip(values, 0, 100_000).astype(int), bins=edges)[0]
    middles = (edges[:-1] + edges[1:] - 1) / 2
    points = np.isin(edges[:-1], [0, 100_000])
    noisy = counts + sd * generator.laplace(size=len(counts)) / np.sqrt(2)
    base = np.diff(edges) / np.maximum(middles, 0.5)
    return counts, noisy, {"base": base, "points": points, "sizes": middles, "sd": sd}


def mean_error(seeds=12):
    errors = []
    for seed in range(seeds):
        counts, noisy, cells = long_tail(seed)
        weights = smooth_weights(noisy, **cells)
        errors.append((weights @ cells["sizes"]) / weights.sum() / (counts @ cells["sizes"] / counts.sum()) - 1)
    return np.abs(np.mean(errors))


def test_the_mean_of_a_column_with_a_long_tail_is_right(monkeypatch):
    """Cut off at 0, noise alone makes it half as much again."""
    assert mean_error() < 0.06
    monkeypatch.setattr(cell_weights, "_even_out", lambda noisy, sd, base, least: np.maximum(noisy, 0))
    monkeypatch.setattr(cell_weights, "continue_tail", lambda noisy, weights, *rest: weights)
    assert mean_error() > 0.2


def test_one_count_of_laplace_noise_is_no_tail(monkeypatch):
    """Seven standard deviations occur once in some 20,000 cells; far out they weigh more than all rows there."""

    def mean_of(place, deviations):
        counts, noisy, cells = long_tail(2)
        noisy[place] = counts[place] + deviations * cells["sd"]
        weights = smooth_weights(noisy, **cells, is_laplace=True)
        return float(weights @ cells["sizes"] / weights.sum() / (counts @ cells["sizes"] / counts.sum()))

    usual, last = mean_of(-20, 0.0), -1
    assert mean_of(-20, 7.0) == pytest.approx(usual, abs=0.01) and mean_of(last, 5.0) == pytest.approx(usual, abs=0.01)
    monkeypatch.setattr(cell_weights, "LONG_TAIL", 0.0)
    monkeypatch.setattr(cell_weights, "LAPLACE_ALONE", 2.0)
    assert mean_of(-20, 7.0) > usual + 0.1 and mean_of(last, 5.0) > usual + 0.1


def test_what_is_expected_lies_between_the_count_and_what_is_usual():
    assert expected_rows(0.0, 1e6, 50.0) == pytest.approx(50, rel=0.01)  # the count says nothing
    assert expected_rows(900.0, 1.0, 50.0) == pytest.approx(900, abs=0.1)
    assert expected_rows(-1e4, 10.0, 50.0) > 0  # never nobody: a tail is never cut off


def test_a_point_is_like_no_other():
    counts, noisy, cells = long_tail(1)
    weights = smooth_weights(noisy, **cells)
    assert weights[0] == pytest.approx(counts[0], rel=0.02) and weights[-1] == 0


def test_a_spike_in_even_cells_stays_and_the_rest_is_even():
    counts = np.full(256, 40.0)
    counts[[17, 200]] = 900, 500
    noisy = counts + 15 * np.random.default_rng(4).laplace(size=256)
    weights = smooth_weights(noisy, 15 * np.sqrt(2), np.ones(256), points=np.zeros(256, dtype=bool))
    assert weights[17] == pytest.approx(900, rel=0.1) and weights[200] == pytest.approx(500, rel=0.15)
    assert np.abs(np.delete(weights, [17, 200]) - 40).mean() < 6  # noise itself is 15
    assert weights.sum() == pytest.approx(counts.sum(), rel=0.12)


def test_a_tail_that_rises_again_is_left_to_its_counts():
    _, noisy, cells = long_tail(2)
    noisy[-20] += 600
    weights = smooth_weights(noisy, **cells)
    assert weights[-20] == pytest.approx(600, rel=0.2)


def test_nothing_but_noise_weighs_next_to_nothing():
    noisy = 20 * np.random.default_rng(9).laplace(size=256)
    weights = smooth_weights(noisy, 28.0, np.ones(256), points=np.zeros(256, dtype=bool))
    assert weights.sum() < 0.15 * np.maximum(noisy, 0).sum()


def test_a_code_far_from_all_others_is_not_evened_out(monkeypatch):
    """No single cut of a stretch of empty cells shows a code in its middle: what is beside it evens it out."""
    noisy = np.concatenate([[1200.0], np.zeros(61)])
    noisy[24] = 350.0

    def weight():
        return smooth_weights(noisy, 24.0, np.ones(62), points=np.zeros(62, dtype=bool))[24]

    assert weight() > 300
    monkeypatch.setattr(cell_weights, "WIDEST", 0)
    assert weight() < 100
