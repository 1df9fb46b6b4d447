"""The checker's own rules of expressions: every value lies in its bounds, and they are those that the proof states."""

import importlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.bundle.derivation import _terms
from discreet.plan.evaluate import value
from discreet.plan.expressions import columns, to_data
from plan.trees import NUMBERS, Trees
from tiers import examples
from verify.forging import checker

#: Bundles are made once for all tests of this folder, by whichever comes first.

KNOWN = {code.column: (code.low, code.high, code.null) for code in NUMBERS} | {"text": (None, None, True)}


@pytest.fixture(scope="module")
def relation():
    checker()
    return importlib.import_module("relation")


@settings(max_examples=examples(400))
@given(seed=st.integers(0, 2**32))
def test_bounds_hold_and_are_those_of_the_proof(seed, relation):
    trees = Trees(seed)
    of = trees.number()
    data = json.loads(json.dumps(to_data(of)))
    assert relation.columns(data) == columns(of)
    try:
        found = relation.derive(data, KNOWN)
    except relation.Open as problem:
        assert str(problem).endswith((": part", ": start"))
        return
    assert found == json.loads(json.dumps(_terms(of)))
    for _ in range(10):
        exact = value(of, trees.record())
        if exact is None:
            assert found["null"]
        else:
            assert (found["low"] is None or found["low"] <= exact) and (found["high"] is None or exact <= found["high"])


def test_most_expressions_are_derived(relation):
    """So that the law above speaks of something."""
    derived = 0
    for seed in range(300):
        try:
            derived += relation.derive(json.loads(json.dumps(to_data(Trees(seed).number()))), KNOWN) is not None
        except relation.Open:
            continue
    assert derived > 150
