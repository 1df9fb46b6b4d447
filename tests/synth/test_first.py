"""The first step: rare values kept together do not blur the others, and the noise that is told is the noise there is."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from discreet.inference.fit import fit
from discreet.schema.column import Category
from discreet.synth.attribute import Attribute
from discreet.synth.first import Histogram, grouped, summed

CUT = SimpleNamespace(merged=lambda groups: None)


def category(name, size):
    column = Category(name=name, values=tuple(map(str, range(size))), closed=True)
    return Attribute(column=column, edges=tuple(range(size + 1)), null=False)


def noisy(counts, deviation, generator):
    return Histogram(
        values=np.rint(counts + generator.normal(0, deviation, len(counts))), variance=float(deviation) ** 2
    )


@pytest.mark.parametrize("size", [40, 1000, 10_000])
def test_common_values_are_known_as_well_as_they_were_measured(size):
    """Three values of many occur; the noise of all others, kept together, is a hundred times theirs."""
    generator = np.random.default_rng(size)
    counts = np.zeros(size)
    counts[:3] = 20_000, 20_000, 10_000
    errors = []
    for _ in range(10):
        histograms = [noisy(counts, 10, generator), noisy(np.array([25_000.0, 25_000.0]), 5, generator)]
        told = grouped([category("many", size), category("two", 2)], CUT, histograms)
        model = fit(told.sizes, told.measured, told.total, iterations=300)
        places = told.attributes[0].groups[:3]
        errors.append(np.abs(model.calibrated.project((0,))[places] - counts[:3]).mean() / 10)
    assert np.mean(errors) < 10  # standard deviations; 160 where all cells are taken to be alike


def test_a_marginal_sums_to_the_total_and_moves_cells_by_their_noise():
    own = Histogram(values=np.array([50.0, 30.0, 4.0, -2.0, 8.0]), variance=9.0)
    found = summed(1, np.array([0, 1, 2, 2, 2]), own, 100.0, 2.0)
    assert found.attributes == (1,)
    assert found.values == pytest.approx([52.0, 32.0, 16.0])  # 10 rows are missing: 2 for each fine cell


def test_the_variance_told_is_the_mean_over_cells():
    """Against a simulation of the noise, total and all, within 5%: 6 of its standard deviations."""
    generator = np.random.default_rng(1)
    groups, draws = np.array([0, 1, 1, 2, 2, 2, 2, 2]), 40_000
    noise, away = generator.normal(0, 3, (draws, len(groups))), generator.normal(0, 2, draws)
    values = [
        summed(0, groups, Histogram(values=each, variance=9.0), 0.0 + more, 2.0).values
        for each, more in zip(noise, away, strict=True)
    ]
    told = summed(0, groups, Histogram(values=noise[0], variance=9.0), 0.0, 2.0).variance
    assert told == pytest.approx(np.var(values, axis=0).mean(), rel=0.05)


def test_one_cell_alone_is_as_uncertain_as_the_total():
    own = Histogram(values=np.array([7.0, 8.0]), variance=1.0)
    found = summed(0, np.array([0, 0]), own, 20.0, 3.0)
    assert found.values.tolist() == [20.0] and found.variance == pytest.approx(9.0)
    assert summed(0, np.array([0, 0]), own, 20.0, 0.0).variance > 0
