from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.ledger.chain import (
    GENESIS,
    KINDS,
    LedgerEntry,
    canonical_json,
    digest,
    find_problem,
    mac,
    make_entry,
)

KEY = bytes(range(32))


def entry(seq: int = 1, previous: str = GENESIS) -> LedgerEntry:
    return make_entry(seq=seq, kind="open", body={"ledger": "x", "format": 1}, previous=previous, key=KEY)


def test_a_linked_entry_is_sound():
    first = entry()
    second = entry(2, first.digest)
    assert find_problem(first, seq=1, previous=GENESIS, key=KEY) == ""
    assert find_problem(second, seq=2, previous=first.digest, key=KEY) == ""
    assert first.data() == {"format": 1, "ledger": "x"}


@pytest.mark.parametrize("field", ["time", "kind", "body", "previous", "digest", "mac"])
def test_every_changed_field_is_seen(field: str):
    found = entry()
    changed = dataclasses.replace(found, **{field: getattr(found, field)[:-1] + "?"})
    assert "entry 1" in find_problem(changed, seq=1, previous=GENESIS, key=KEY)


def test_a_missing_row_is_named():
    assert find_problem(entry(3), seq=2, previous=GENESIS, key=KEY) == "entry 2 is missing"
    assert find_problem(entry(-1), seq=1, previous=GENESIS, key=KEY) == "entry -1 is in the place of entry 1"


def test_an_entry_of_another_key_is_seen_with_the_key_alone():
    assert find_problem(entry(), seq=1, previous=GENESIS, key=b"x" * 32) == "entry 1 was not written by this ledger"
    assert find_problem(entry(), seq=1, previous=GENESIS, key=None) == ""


def test_an_unknown_kind_is_refused_even_when_it_is_signed():
    fields = {"seq": 1, "time": entry().time, "kind": "refund", "body": "{}", "previous": GENESIS}
    found = digest(**fields)
    signed = LedgerEntry(**fields, digest=found, mac=mac(KEY, found))
    assert "kind" in find_problem(signed, seq=1, previous=GENESIS, key=KEY)


def test_the_kinds_are_closed():
    assert sorted(KINDS) == [
        "acknowledge", "adopt", "answer", "charge", "failure", "forget", "gap", "grant", "invariant", "open",
        "population", "row", "step", "version",
    ]  # fmt: skip


@given(st.lists(st.text(max_size=3), min_size=4, max_size=4), st.lists(st.text(max_size=3), min_size=4, max_size=4))
def test_different_fields_have_different_digests(one: list[str], other: list[str]):
    names = ("time", "kind", "body", "previous")
    same = digest(seq=1, **dict(zip(names, one, strict=True))) == digest(seq=1, **dict(zip(names, other, strict=True)))
    assert same == (one == other)


def test_fields_cannot_run_into_each_other():
    one = digest(seq=1, time="a", kind="b", body="cd", previous="e")
    other = digest(seq=1, time="a", kind="bc", body="d", previous="e")
    assert one != other


@pytest.mark.parametrize("data", [float("nan"), float("inf"), {1, 2}, object()])
def test_only_plain_finite_data_is_canonical(data: object):
    with pytest.raises((ValueError, TypeError)):
        canonical_json({"x": data})
