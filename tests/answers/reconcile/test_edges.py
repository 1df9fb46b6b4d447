"""The quick no is never wrong: whatever is determined has the edges that it asks for."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.region import Box, Region, ValueSet
from discreet.answers.reconcile.history_estimation import edges_of, may_determine
from discreet.inference.reconcile import ColumnDomains, MeasuredNumber, Reconciliation
from tiers import examples

DOMAIN = ColumnDomains(columns={"a": ValueSet(((0, 6),), null=True), "b": ValueSet(((0, 2),), null=False)})
SIDES = st.tuples(
    st.sampled_from([None, *((low, high) for low in range(6) for high in range(low + 1, 7))]),
    st.booleans(),
    st.sampled_from([None, (0, 1), (1, 2), (0, 2)]),
)


def region(sides) -> Region:
    run, null, other = sides
    box = {} if run is None else {"a": ValueSet((run,), null)}
    return Region.of([Box(box | ({} if other is None else {"b": ValueSet((other,))}))])


@given(st.lists(SIDES.map(region), min_size=1, max_size=8), SIDES.map(region))
@settings(max_examples=examples(300), deadline=None)
def test_what_is_determined_is_never_ruled_out(known, asked):
    told = Reconciliation([MeasuredNumber(region=each, value=1.0, variance=1.0) for each in known], DOMAIN)
    if told.estimate_of(asked, "rows") is not None:
        assert may_determine(edges_of(known, DOMAIN), asked, DOMAIN)


def test_a_new_edge_is_ruled_out_and_a_bound_is_none():
    known = [region(((0, 3), False, None)), region((None, True, None))]
    edges = edges_of(known, DOMAIN)
    assert edges == {("a", 3): 1}
    assert may_determine(edges, region(((3, 6), True, None)), DOMAIN)
    assert not may_determine(edges, region(((2, 6), True, None)), DOMAIN)
    assert not may_determine(edges, region((None, True, (0, 1))), DOMAIN)


def test_a_corner_needs_both_of_its_edges_in_one_box():
    known = [region(((0, 3), False, None)), region((None, True, (0, 1)))]
    edges = edges_of(known, DOMAIN)
    assert may_determine(edges, region((None, True, (1, 2))), DOMAIN)
    assert not may_determine(edges, region(((0, 3), False, (0, 1))), DOMAIN)
    assert may_determine(
        edges_of([*known, region(((3, 6), True, (1, 2)))], DOMAIN), region(((0, 3), False, (0, 1))), DOMAIN
    )
