"""The checker's own rules of expressions: every value lies in its bounds, and they are those that the proof states."""

import importlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.bundle.derivation import _terms
from discreet.plan.calendar import FIRST_DAY, LAST_DAY, part_of, start_of
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
    found = relation.derive(data, KNOWN)
    assert found == json.loads(json.dumps(_terms(of)))
    for _ in range(10):
        exact = value(of, trees.record())
        if exact is None:
            assert found["null"]
        else:
            assert (found["low"] is None or found["low"] <= exact) and (found["high"] is None or exact <= found["high"])


@pytest.mark.parametrize(
    ("kind", "names"), [("part", ["year", "isoyear"]), ("start", ["year", "quarter", "month", "week"])]
)
def test_years_and_periods_are_those_of_the_calendar(kind, names, relation):
    """At every day of the years around a leap year, and at both ends of the calendar."""
    of = {"part": part_of, "start": start_of}[kind]
    for name in names:
        for day in [*range(10_000, 12_500), FIRST_DAY, FIRST_DAY + 6, LAST_DAY]:
            assert relation.calendar(kind, name, day) == of(name, day)


def test_fields_that_begin_anew_lie_in_their_bounds(relation):
    for name, most in relation.FIELDS.items():
        fields = {part_of(name, day) for day in range(10_000, 12_500)}
        assert (min(fields), max(fields)) == (1, most)
