"""A release that was refined is read back by itself: its refinement holds part of its noise, and is no second look."""

import pytest

import clinic
from discreet.accounting.events import is_refinement

COUNT = "SELECT count(*) AS n FROM patients"


@pytest.mark.parametrize("within", [40, 38, 34, 30])
def test_a_refined_release_is_not_combined_with_its_refinement(tmp_path, within):
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 30, delta = 1e-6 }")
    first = project.sql(COUNT).ask(within=40)
    second = project.again(first.id, within=38)
    assert is_refinement(second.event)
    reread = project.release(first.id, within=within)
    assert reread.rows == first.rows and reread.plus_minus() == first.plus_minus()
    assert not any("combined" in warning for warning in reread.warnings)


def test_what_it_was_bought_beside_is_still_read_with_it(tmp_path):
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 30, delta = 1e-6 }")
    other = project.sql("SELECT sex, count(*) AS n FROM patients GROUP BY sex").ask(within=20)
    first = project.sql(COUNT).ask(within=10)
    assert project.release(first.id, within=10).sources == (other.id, first.id)
    second = project.again(first.id, within=8)
    if is_refinement(second.event):
        assert second.id not in project.release(first.id, within=10).sources
