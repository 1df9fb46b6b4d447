"""Sets of values and boxes: equal to plain sets on small domains."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.region import MOST_BOXES, Box, Region, ValueSet, hull

VALUES = [None, *range(-1, 8)]
ends = st.one_of(st.none(), st.integers(0, 7))
alloweds = st.builds(
    lambda runs, null: ValueSet(_union(runs).runs, null), st.lists(st.tuples(ends, ends), max_size=3), st.booleans()
)
boxes = st.builds(Box, st.dictionaries(st.sampled_from("ab"), alloweds, max_size=2))


def _union(runs):
    whole = ValueSet(())
    for low, high in runs:
        whole |= ValueSet.interval(low, high)
    return whole


def members(allowed):
    return {value for value in VALUES if value in allowed}


@given(alloweds, alloweds)
def test_set_algebra(left, right):
    assert members(left & right) == members(left) & members(right)
    assert members(left | right) == members(left) | members(right)
    assert members(left.complement()) == set(VALUES) - members(left)
    assert left.complement().complement() == left


@given(alloweds)
def test_runs_are_in_normal_form(allowed):
    """Equal sets have equal forms: sorted, disjoint, not touching."""
    ends = [end for run in allowed.runs for end in run]
    inner = ends[1:-1]
    assert all(end is not None for end in inner)
    assert all(a < b for a, b in itertools.pairwise(ends) if a is not None and b is not None)


def test_text_runs():
    more = ValueSet.interval("b\0", None)
    assert "b" not in more
    assert "b\0" in more and "ba" in more and "c" in more
    assert "b" in ValueSet.of(["b"]) and "ba" not in ValueSet.of(["b"])


@given(st.lists(boxes, min_size=1, max_size=5))
def test_regions_and_hulls(listed):
    region = Region.of(listed)
    around = hull(listed)
    for a in VALUES:
        for b in VALUES:
            record = {"a": a, "b": b}
            inside = any(record in box for box in listed)
            assert (record in region) == inside
            assert not inside or record in around


def test_too_many_boxes_become_their_hull():
    many = [Box({"a": ValueSet.of([2 * place]), "b": ValueSet.of([2 * place])}) for place in range(MOST_BOXES + 1)]
    region = Region.of(many)
    assert len(region.boxes) == 1
    assert all({"a": 2 * place, "b": 2 * place} in region for place in range(MOST_BOXES + 1))


@given(st.lists(boxes, max_size=4))
def test_storage(listed):
    region = Region.of(listed)
    assert Region.from_data(region.to_data()) == region
