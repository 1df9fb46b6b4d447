"""The registry of protocols, and which of them is picked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.local.best import COMPARED, KINDS, PLACES, best
from discreet.local.randomizer import Randomizer, read
from local.test_choices import Fixed

ABC = {"choices": ["a", "b", "c"]}
METRES = {"low": "0.5", "high": "2.5", "step": "0.01"}
YES_NO = {"protocol": "response", "options": {"choices": ["yes", "no"]}}
#: What each protocol is made from, beside epsilon.
OPTIONS: dict[str, dict[str, Any]] = {
    **dict.fromkeys((*COMPARED, "fast-hashing", "basic-rappor"), ABC),
    **dict.fromkeys(("duchi", "piecewise", "square-wave", "hybrid", "laplace", "tree"), METRES),
    **{each: {} for each in ("rappor", "sketch", "hadamard-sketch", "prefix-words", "puzzle")},
    **{each: {"questions": {"drinks": YES_NO, "smokes": YES_NO}} for each in ("sampled", "split")},
}


@pytest.mark.parametrize("protocol", list(PLACES))
def test_each_protocol_is_found_by_its_own_name_and_read_again(protocol: str) -> None:
    assert KINDS[protocol].protocol == protocol
    made = KINDS[protocol](epsilon="1.5", **OPTIONS[protocol])  # type: ignore[call-arg]
    again = read(made.parameters(), KINDS)
    assert type(again) is type(made) and again.parameters() == made.parameters()
    with pytest.raises(UsageError, match="numbers"):
        read({**made.parameters(), "numbers": {}}, KINDS)


def test_a_protocol_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no protocol 'magic'"):
        read({"protocol": "magic"}, KINDS)
    assert "magic" not in KINDS and len(KINDS) == len(list(KINDS))


@pytest.mark.parametrize(
    ("domain_size", "epsilon", "protocol"),
    [
        (2, "1", "response"),
        (2, "0.1", "response"),
        (20, "4", "response"),
        (1000, "8", "response"),
        (20, "1", "subset"),
        (1000, "1", "hashing"),
        (1000, "2", "hashing"),
        (50_000, "3", "hashing"),
    ],
)
def test_the_pick(domain_size: int, epsilon: str, protocol: str) -> None:
    pick = best(domain_size, epsilon, 10_000)
    assert pick.protocol == protocol
    assert pick.variances[protocol] <= min(pick.variances.values()) * 1.02
    assert protocol in pick.because and pick.because.endswith(".") and pick.because.count(". ") == 0


def test_variances_are_those_of_theory() -> None:
    found = best(1000, "2", 1_000_000).variances
    growth = math.exp(2)
    theory = 4 * growth / (growth - 1) ** 2 * 1e6  # Wang et al. 2017: unary and hashing alike, in the limit
    assert found["unary"] == pytest.approx(theory, rel=1e-6)
    assert found["hashing"] == pytest.approx(theory, rel=0.01)
    assert found["response"] == pytest.approx((growth + 998) / (growth - 1) ** 2 * 1e6, rel=1e-6)
    assert found["subset"] < found["unary"] < found["symmetric-unary"] < found["hadamard"] < found["response"]


def test_a_pick_is_measured() -> None:
    """The rare choice's count really varies so much, with fixed coins that cannot disappoint."""
    pick = best(50, "1", 500)
    made = KINDS[pick.protocol]([str(code) for code in range(50)], epsilon="1")  # type: ignore[call-arg]
    codes = 1 + np.arange(500) % 49
    counts = [made.estimate(made.randomize_all(codes, bits=Fixed(seed))).counts[0] for seed in range(400)]  # type: ignore[attr-defined]
    assert np.var(counts) == pytest.approx(pick.variances[pick.protocol], rel=0.3)


def test_reports_that_nobody_would_collect_are_not_compared() -> None:
    assert set(best(200_000, "1", 10**6).variances) == {"response", "hashing", "hadamard"}


def test_it_is_there_on_every_randomizer_too() -> None:
    assert Randomizer.best(5, "1", 100) == best(5, "1", 100)


@pytest.mark.parametrize(
    ("domain_size", "epsilon", "n"),
    [(1, 1, 1), (0, 1, 1), (1 << 21, 1, 1), (5, 0, 1), (5, 100, 1), (5, 1, 0), (5.0, 1, 1)],
)
def test_what_makes_no_sense_is_refused(domain_size: Any, epsilon: Any, n: Any) -> None:
    with pytest.raises(UsageError):
        best(domain_size, epsilon, n)
