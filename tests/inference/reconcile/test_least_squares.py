"""Weighted least squares where one number is next to exact and others are nearly nothing but noise."""

import numpy as np
import pytest

from discreet.inference.reconcile.least_squares import fit_regions
from discreet.inference.reconcile.region_factor import RegionRelation


@pytest.mark.parametrize("share", [1.0, 1e-6, 1e-12, 1e-16, 1e-20, 1e-30])
def test_an_almost_exact_total_of_noisy_parts(share):
    """Beyond 1e-16 this ended in a LinAlgError, for every question about the table; at 1e-15 errors were wrong by 6%."""
    total = RegionRelation(dependent=2, numerators=((0, 1), (1, 1)), denominator=1)
    noisy, variances = np.array([634.0, -550.0, 600.0]), np.array([2e6, 2e6, 2e6 * share])
    fit = fit_regions([total], noisy, variances)
    missing = 516 / (2 + share)
    assert fit.values == pytest.approx([634 + missing, -550 + missing, 84 + 2 * missing], abs=2)
    best = 2e6 * (1 + share) / (2 + share)
    assert fit.variances == pytest.approx([best, best, 2e6 * share * 2 / (2 + share)], rel=5e-3, abs=1e-6)
