"""The first step: rare values kept together do not blur the others, and the noise that is told is the noise there is."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from discreet.inference.fit import FitSearch, fit
from discreet.schema.column import CategoryColumn
from discreet.synth.attribute import Attribute
from discreet.synth.first_histograms import group_cells, sum_to_total
from discreet.synth.noisy_histogram import HistogramPair, NoisyHistogram
from tiers import size

CUT = SimpleNamespace(merged=lambda groups: None)


def category(name, size):
    column = CategoryColumn(name=name, values=tuple(map(str, range(size))), closed=True)
    return Attribute(column=column, edges=tuple(range(size + 1)), null=False)


def noisy(counts, deviation, generator):
    """A pair of which both together have this deviation, a quarter of the precision to decide."""
    drawn = [
        NoisyHistogram(values=np.rint(counts + generator.normal(0, own, len(counts))), variance=float(own) ** 2)
        for own in (deviation * 2, deviation / np.sqrt(0.75))
    ]
    return HistogramPair(deciding=drawn[0], counting=drawn[1])


@pytest.mark.thin(1)
@pytest.mark.parametrize("size", [40, 1000, 10_000])
def test_common_values_are_known_as_well_as_they_were_measured(size):
    """Three values of many occur; the noise of all others, kept together, is a hundred times theirs."""
    generator = np.random.default_rng(size)
    counts = np.zeros(size)
    counts[:3] = 20_000, 20_000, 10_000
    errors = []
    for _ in range(10):
        histograms = [noisy(counts, 10, generator), noisy(np.array([25_000.0, 25_000.0]), 5, generator)]
        told = group_cells([category("many", size), category("two", 2)], CUT, histograms)
        model = fit(told.sizes, told.measured, told.total, search=FitSearch(iterations=300))
        places = told.attributes[0].groups[:3]
        errors.append(np.abs(model.calibrated.project((0,))[places] - counts[:3]).mean() / 10)
    assert np.mean(errors) < 10  # standard deviations; 160 where all cells are taken to be alike


def test_a_marginal_sums_to_the_total_and_moves_cells_by_their_noise():
    values, variances = np.array([50.0, 30.0, 4.0, -2.0, 8.0]), np.full(5, 9.0)
    found = sum_to_total(1, np.array([0, 1, 2, 2, 2]), values, variances, total=100.0, total_sd=2.0)
    assert found.attributes == (1,)
    assert found.values == pytest.approx([52.0, 32.0, 16.0])  # 10 rows are missing: 2 for each fine cell


def test_the_variance_told_of_each_cell_is_that_of_its_noise():
    """Against a simulation of the noise, total and all, within 5% (in the fast tier 10%): 7 standard deviations of its variance."""
    generator = np.random.default_rng(1)
    groups, draws = np.array([0, 1, 1, 2, 2, 2, 2, 2]), size(10_000, 40_000)
    deviations = np.array([3.0, 3, 3, 3, 3, 3, 1, 5])
    noise, away = generator.normal(0, deviations, (draws, len(groups))), generator.normal(0, 2, draws)
    found = [
        sum_to_total(0, groups, each, deviations**2, total=0.0 + more, total_sd=2.0)
        for each, more in zip(noise, away, strict=True)
    ]
    true = np.var([each.values for each in found], axis=0)
    assert found[0].variances == pytest.approx(true, rel=size(0.1, 0.05))
    assert found[0].variance == pytest.approx(true.mean(), rel=size(0.1, 0.05))


def test_one_cell_alone_is_as_uncertain_as_the_total():
    values, ones, groups = np.array([7.0, 8.0]), np.ones(2), np.array([0, 0])
    found = sum_to_total(0, groups, values, ones, total=20.0, total_sd=3.0)
    assert found.values.tolist() == [20.0] and found.variance == pytest.approx(9.0)
    assert sum_to_total(0, groups, values, ones, total=20.0, total_sd=0.0).variance > 0
