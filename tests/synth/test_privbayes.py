"""PrivBayes: its network."""

from __future__ import annotations

import pytest

from synth.model_tables import planted, spent
from synth.worlds import fit


def test_every_attribute_comes_once_with_known_parents(tmp_path):
    project = planted(tmp_path, sizes=(4, 3, 5, 2, 6, 2))
    model = fit(project, kind="privbayes", epsilon="10")
    families = [each.attributes for each in model.measured if len(each.attributes) > 1]
    known = {4}  # the attribute of most cells
    for family in families:
        assert len(set(family) - known) == 1
        known |= set(family)
    assert known == set(range(6))
    assert spent(project, model) == 1


@pytest.mark.thin(1)
@pytest.mark.parametrize("degree", [1, 2])
def test_no_more_parents_than_asked(tmp_path, degree):
    model = fit(planted(tmp_path), kind="privbayes", epsilon="20", degree=degree)
    assert max(len(each.attributes) for each in model.measured) == degree + 1


def test_noise_leaves_one_parent(tmp_path):
    """At epsilon 0.05 no table of three with more than a few cells is useful, whatever was asked."""
    model = fit(planted(tmp_path, rows=400), kind="privbayes", epsilon="0.05", degree=3)
    for each in model.measured:
        sd = each.variance**0.5
        assert len(each.attributes) <= 2 or each.values.size <= model.total / (3.9 * sd) + 1
