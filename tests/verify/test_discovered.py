"""Discovered keys: each noisy number reached its threshold, and choices of keys tell no numbers."""

import pytest

from verify.forger import forged, store, stored
from verify.forging import verdicts


def keys_of(payload):
    (part,) = [part for part in payload["parts"] if part["kind"] == "keys"]
    return part


@pytest.mark.parametrize("below", [1, -500])
def test_a_number_below_the_threshold(below, bundles):
    """A key that was hidden is put beside those that were shown."""

    def lie(documents):
        payload = stored(documents["plan"])
        part = keys_of(payload)
        assert min(part["noisy"]) >= part["threshold"] > below
        part["noisy"][0] = below
        store(documents["plan"], payload)

    assert verdicts(forged(bundles["rows: discovered"], lie))["sensitivity"] == "broken"


def test_choices_of_keys_tell_no_numbers(bundles):
    """No noise was drawn on numbers of the most common keys: such numbers would be exact."""

    def lie(documents):
        payload = stored(documents["plan"])
        part = keys_of(payload)
        part |= {"answers": 0, "noisy": [1234] * len(part["keys"]), "law": {"kind": "discrete-laplace", "scale": "1/1"}}
        store(documents["plan"], payload)

    assert verdicts(forged(bundles["persons: top"], lie))["sensitivity"] == "broken"


@pytest.mark.parametrize("place", ["manifest", "ledger"])
def test_a_manifest_has_no_other_parts(place, bundles):
    def lie(documents):
        told = documents["manifest"]
        (told if place == "manifest" else told["ledger"])["exact"] = 163
        documents["proof"]["ledger"] = told["ledger"]

    assert verdicts(forged(bundles["rows: count"], lie))["documents"] == "broken"
