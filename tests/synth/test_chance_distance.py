"""What noise and chance make of columns that do not depend on each other, and that such columns are left alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from discreet.inference.fit_inputs import MeasuredMarginal
from discreet.kernel.binned_table import CoarseSet
from discreet.synth import aim as aim_file
from discreet.synth.chance_distance import chance_distance
from synth.model_tables import PURE, letters, spent
from synth.worlds import fit, open_project

SIZES, ROWS = (6, 9), 5000


def seen_distances(sd, groups, *, draws=400):
    """How far counts of independent columns are from the product of their noisy histograms; and what is expected."""
    random = np.random.default_rng(3)
    shares = [random.dirichlet(np.full(size, 3.0)) for size in SIZES]
    distances, expected = [], []
    for _ in range(draws):
        table = random.multinomial(ROWS, np.outer(*shares).ravel()).reshape(SIZES).astype(float)
        sums = [table.sum(axis=1), table.sum(axis=0)]
        noisy = [each + random.normal(scale=sd, size=len(each)) for each in sums]
        noisy = [each + (ROWS - each.sum()) / len(each) for each in noisy]
        measured = tuple(
            MeasuredMarginal(attributes=(place,), values=each, variance=sd**2) for place, each in enumerate(noisy)
        )
        histograms = SimpleNamespace(sizes=SIZES, measured=measured, total=float(ROWS))
        own = (0, 1) if groups is None else CoarseSet(axes=(0, 1), groups=groups)
        expected.append(chance_distance(histograms, own))
        difference = table - np.outer(*noisy) / ROWS
        if groups is not None:
            one, other = (np.eye(max(group) + 1)[list(group)] for group in groups)
            difference = one.T @ difference @ other
        distances.append(float(np.abs(difference).sum()))
    return float(np.mean(distances)), float(np.mean(expected))


@pytest.mark.parametrize("groups", [None, ((0, 0, 1, 1, 2, 2), (0, 0, 0, 1, 1, 1, 2, 2, 2))])
@pytest.mark.parametrize("sd", [0.01, 20.0, 100.0])
def test_independent_columns_are_as_far_apart_as_expected(sd, groups):
    """Within a quarter or so (shares are uneven); half of it or twice as much is not."""
    seen, expected = seen_distances(sd, groups)
    assert 0.75 * seen < expected < 1.3 * seen
    assert not 0.75 * seen < expected / 2 < 1.3 * seen and not 0.75 * seen < expected * 2 < 1.3 * seen


def independent_columns(folder, *, rows=30_000, dependent=False):
    random = np.random.default_rng(11)
    columns = [random.integers(0, 6, rows) for _ in range(6)]
    if dependent:
        columns[1] = np.where(random.random(rows) < 0.5, columns[0], columns[1])
    lines = [",".join(f"v{code}" for code in row) for row in zip(*columns, strict=True)]
    return open_project(folder, {f"c{place}": letters(6) for place in range(6)}, lines, budget=PURE)


@pytest.mark.parametrize("kind", ["auto", "aim"])
def test_of_a_table_without_dependence_no_pair_is_measured(tmp_path, kind):
    """All of a pure epsilon counts the columns, twice. A pair would gain 20 times the size of the choice's noise less."""
    project = independent_columns(tmp_path)
    model = fit(project, kind=kind, epsilon="1")
    assert [each.attributes for each in model.measured] == [(place,) for place in range(6)] * 2
    assert spent(project, model) == 1


def test_the_one_pair_that_depends_is_measured_and_no_other(tmp_path):
    model = fit(independent_columns(tmp_path, dependent=True), kind="auto", epsilon="1")
    assert [each.attributes for each in model.measured if len(each.attributes) > 1] == [(0, 1)]


def test_a_round_that_must_measure_something_would_be_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(aim_file, "STANDS_OUT", -1e6)
    model = fit(independent_columns(tmp_path), kind="aim", epsilon="1")
    assert [each.attributes for each in model.measured] != [(place,) for place in range(6)] * 2
