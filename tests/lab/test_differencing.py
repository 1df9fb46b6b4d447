"""Differencing: 100% against exact counts, above the bound without a ledger, below it against Discreet."""

import pyarrow as pa
import pytest

from discreet.errors import UsageError
from discreet.lab.attacks import differencing
from discreet.lab.evidence import best_under
from tiers import size


def by_server(found):
    return {each["server"]: each for each in found.details["servers"]}


@pytest.mark.parametrize("tale", differencing.TALES)
def test_what_falls_and_what_stands(tale):
    found = differencing.attack(tale=tale, targets=size(250, 1000))
    exact, noisy, ours = by_server(found).values()
    assert exact["success"] == found.success == 1.0 and found.breaks
    assert (
        found.bound == best_under(2.0) and found.details["bound_of_counts"] == best_under(1.0) and found.chance == 0.5
    )
    assert noisy["breaks"] and noisy["success"] > size(0.9, 0.94)
    # 0.985 expected of the noisy one, 0.004 a standard deviation, of 250 0.008.
    # 0.565 expected against Discreet, as from two such noises; 0.016 a standard deviation, of 250 0.03.
    assert not ours["breaks"] and ours["success"] < found.bound
    assert (ours["answered"], ours["refused"]) == (2, differencing.EXTRA_QUESTIONS)
    assert found.picture().startswith("<svg")


def test_the_lectures_class():
    (story, *_) = differencing.attack(tale="class", targets=20).story
    assert "3,005 has 202" in story and "201 of 3,004" in story


@pytest.mark.thin(1)
@pytest.mark.parametrize("tale", differencing.TALES)
def test_a_large_epsilon_protects_nobody(tale):
    """The attack itself works against Discreet, in every tale: it is the noise that stops it."""
    found = differencing.attack(tale=tale, epsilon=40, targets=200, server="discreet")
    assert found.success > 0.95 and found.details["server"] == "Discreet"


def rows(sick):
    return pa.table({"who": list(range(len(sick))), "sick": sick})


def test_a_users_own_rows():
    found = differencing.attack(rows(["yes"] * 30 + ["no"] * 270), trait="sick", targets=1_000)
    assert found.n == 60 and found.success == 1.0  # as many who lack the trait as have it
    assert found.details["people"] == 300


@pytest.mark.parametrize(
    ("sick", "value", "message"),
    [
        (["yes"] * 4, None, "same value"),
        ([None] * 4, None, "empty"),
        (["flu", "mumps"], None, "yes/no"),
        (["flu", "mumps"], "measles", "no cell"),
    ],
)
def test_rows_that_hold_no_secret(sick, value, message):
    with pytest.raises(UsageError, match=message):
        differencing.attack(rows(pa.array(sick, pa.string())), trait="sick", value=value)


def test_wrong_wishes():
    for wrong in ({"tale": "x"}, {"server": "x"}, {"epsilon": 0}, {"targets": 1}, {"targets": 10**6}):
        with pytest.raises(UsageError):
            differencing.attack(**{"targets": 4, **wrong})
