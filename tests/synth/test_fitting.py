"""Estimates of candidates: bounded whatever the model, exact where there is room."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.inference import axes as axes_file
from discreet.inference import separator_conditionals
from discreet.inference.fit import FitSearch, fit
from discreet.synth.fit_task import candidates
from inference.small_models import noisy_marginals, random_joint

SETS = [own for length in (1, 2, 3, 4, 5) for own in itertools.combinations(range(8), length)]


@pytest.fixture(scope="module")
def calibrated():
    """Eight attributes, three to a clique."""
    generator = np.random.default_rng(3)
    sizes = (3, 2, 4, 3, 2, 4, 3, 2)
    sets = [(place, place + 1, place + 2) for place in range(6)]
    measured = noisy_marginals(generator, random_joint(generator, sizes, 1e6), sets, 3.0)
    return fit(sizes, measured, 1e6, search=FitSearch(iterations=20)).calibrated


def estimates(calibrated):
    model = SimpleNamespace(calibrated=calibrated)
    return {own: found.estimate for own, found in candidates(model, SETS, None, weight=lambda own: 1)}


@pytest.mark.thin(2)
@pytest.mark.parametrize(("behind_most", "most"), [(1, 2**27), (2**26, 300), (1, 300), (10**6, 2**27)])
def test_no_model_is_too_large_to_be_asked(monkeypatch, calibrated, behind_most, most):
    """Whatever there is room for: margins are exact, and so is what one clique knows."""
    exact = {own: calibrated.project(own) for own in SETS}
    monkeypatch.setattr(separator_conditionals, "MOST_BEHIND", behind_most)
    monkeypatch.setattr(axes_file, "MOST_CELLS", most)
    found = estimates(calibrated)
    assert found.keys() == set(SETS)
    held = [set(clique.attributes) for clique in calibrated.cliques]
    moved = 0.0
    for own, estimate in found.items():
        assert estimate.shape == exact[own].shape
        if any(set(own) <= clique for clique in held):
            assert np.abs(estimate - exact[own]).max() <= 0.5 + 1e-6
        for place in range(len(own)):
            others = tuple(each for each in range(len(own)) if each != place)
            assert estimate.sum(axis=others) == pytest.approx(exact[own].sum(axis=others), abs=estimate.size)
        moved = max(moved, float(np.abs(estimate - exact[own]).max()))
    assert (moved > 1) == (behind_most == 1 or most == 300)


def test_large_tables_are_refused_where_nobody_minds(monkeypatch, calibrated):
    """What the first test holds up to: the model itself does not make them."""
    from discreet.errors import UsageError
    from discreet.inference.projections import projections

    monkeypatch.setattr(axes_file, "MOST_CELLS", 300)
    with pytest.raises(UsageError):
        list(projections(calibrated, [own for own in SETS if len(own) == 4]))
