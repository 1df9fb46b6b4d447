"""Averaging: fresh noise cancels; a stored answer and a ledger do not."""

import pytest

from discreet.errors import UsageError
from discreet.lab.attacks import averaging
from tiers import size


def test_what_falls_and_what_stands():
    found = averaging.attack(targets=size(300, 1_000))
    exact, noisy, ours = found.details["servers"]
    assert exact["success"] == 1.0
    assert noisy["success"] == found.success > 0.96 and found.breaks  # 0.997 expected
    assert (
        not ours["breaks"] and ours["success"] < found.bound
    )  # 0.59 of 0.73 expected, 0.016 a standard deviation, of 300 0.028
    assert (ours["answered"], ours["refused"], ours["cached"]) == (
        averaging.FRESH_ANSWERS,
        averaging.DISCREET_ASKS - averaging.FRESH_ANSWERS,
        3,
    )
    assert found.picture().startswith("<svg")


@pytest.mark.deep
def test_few_repeats_say_little():
    """Were the noise not fresh and not averaged, more repeats would not help."""
    few, many = (averaging.attack(repeats=repeats, targets=2_000).success for repeats in (1, 400))
    assert few < 0.65 and many > 0.9


def test_wrong_wishes():
    for wrong in ({"repeats": 0}, {"repeats": 10**6}, {"server": "x"}, {"epsilon": "lots"}):
        with pytest.raises(UsageError):
            averaging.attack(**{"targets": 4, **wrong})
