"""PrivBayes: its network."""

from __future__ import annotations

import pytest

from discreet.errors import UsageError
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


def test_the_name_of_another_tool_is_the_same_fit(tmp_path):
    """`correlated` is PrivBayes in DataSynthesizer: the same question, so that a repeat under either name is free."""
    project = planted(tmp_path, sizes=(3, 2), rows=200)
    first = fit(project, kind="correlated", epsilon="5", degree=1)
    assert first.card.kind == "privbayes"
    again = fit(project, kind="privbayes", epsilon="5", degree=1)
    assert again.card.repeat and again.card.release == first.card.release
    with pytest.raises(UsageError, match="unknown model 'corelated'") as refused:
        fit(project, kind="corelated")
    assert "correlated" in str(refused.value.hint)
