"""Intervals of local estimates hold the truth as often as they say: exact sums, for few people and large epsilons too."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.hadamard import HadamardResponse
from discreet.surveys.protocols.local_hash import FastHashing, LocalHashing
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.rappor import BasicRappor
from discreet.surveys.protocols.subset_selection import SubsetSelection
from discreet.surveys.protocols.support_law import SLACK, CountStep, SupportLaw
from discreet.surveys.protocols.unary import OptimisedUnary, SymmetricUnary
from surveys.protocols.exact_coverage import (
    binomial,
    drawn_law,
    hadamard_intervals,
    hadamard_law,
    intervals,
    support_law,
)

KINDS: list[Any] = [RandomizedResponse, SymmetricUnary, OptimisedUnary, LocalHashing, SubsetSelection, BasicRappor]
EPSILONS = ["0.1", "0.5", "1", "2", "4", "6", "8", "10", "12"]
SIZES = [1, 2, 3, 5, 10, 30, 100, 300, 1000]
CONFIDENCES = (0.5, 0.95, 0.99)


def _truths(n: int) -> list[int]:
    return sorted({0, 1, 2, 3, n // 20, n // 4, n // 2, n - 1, n} & set(range(n + 1)))


def _made(kind: Any, epsilon: str) -> Any:
    many = {"functions": 256} if kind is FastHashing else {}
    return kind([str(code) for code in range(32)], epsilon=epsilon, **many)


def _check(made: ChoiceRandomizer, n: int, confidence: float, drawn: int | None = None) -> None:
    """No coverage below the confidence, and no interval without its own estimate."""
    found = intervals(made, n, confidence) if drawn is None else intervals(made, drawn, confidence, n)
    assert found.hold_their_own
    for truth in _truths(n):
        law = support_law(made, n, truth) if drawn is None else drawn_law(made, n, truth, drawn)
        assert found.hold(law, truth / n) >= confidence - 1e-9, (made.protocol, n, truth)


@pytest.mark.thin(6)
@pytest.mark.parametrize("kind", [*KINDS, FastHashing])
@pytest.mark.parametrize("epsilon", ["0.5", "4", "8", "12"])
def test_an_interval_holds_the_truth_as_often_as_it_says(kind: Any, epsilon: str) -> None:
    for n in (1, 3, 30, 100):
        _check(_made(kind, epsilon), n, 0.95)


@pytest.mark.fuzz
@pytest.mark.parametrize(("kind", "epsilon"), list(itertools.product([*KINDS, FastHashing], EPSILONS)))
def test_an_interval_holds_the_truth_on_the_whole_grid(kind: Any, epsilon: str) -> None:
    for n, confidence in itertools.product(SIZES, CONFIDENCES):
        _check(_made(kind, epsilon), n, confidence)


@pytest.mark.thin(1)
@pytest.mark.parametrize("epsilon", ["2", "8"])
def test_so_does_one_about_all_of_whom_a_part_was_asked(epsilon: str) -> None:
    made = RandomizedResponse(["a", "b"], epsilon=epsilon)
    for n, drawn in ((2, 1), (10, 5), (30, 7), (30, 29)):
        _check(made, n, 0.95, drawn)


@pytest.mark.fuzz
@pytest.mark.parametrize(("kind", "epsilon"), list(itertools.product(KINDS, EPSILONS)))
def test_so_does_one_about_all_on_the_whole_grid(kind: Any, epsilon: str) -> None:
    for n, confidence in itertools.product((2, 3, 5, 10, 30, 100), CONFIDENCES):
        for drawn in sorted({1, n // 4, n // 2, n - 1} - {0}):
            _check(_made(kind, epsilon), n, confidence, drawn)


def _check_hadamard(epsilon: str, n: int, confidence: float) -> None:
    made = _made(HadamardResponse, epsilon)
    found, inside, beside = hadamard_intervals(made, n, confidence)
    assert found.hold_their_own
    for truth in _truths(n):
        for others in sorted({0, (n - truth) // 2, n - truth}):
            law = hadamard_law(made, n, truth, others)[inside, beside]
            slack = 0.01 if confidence < 0.9 else 1e-9  # 0.492 of 0.5, at epsilon 0.1 and 30 people
            assert found.hold(law, truth / n) >= confidence - slack, (n, truth, others)


@pytest.mark.thin(2)
@pytest.mark.parametrize("epsilon", ["0.5", "4", "8", "12"])
def test_so_does_one_of_hadamard_whoever_shares_the_block(epsilon: str) -> None:
    for n in (1, 3, 12):
        _check_hadamard(epsilon, n, 0.95)


@pytest.mark.fuzz
@pytest.mark.parametrize(("epsilon", "n"), list(itertools.product(EPSILONS, (1, 2, 3, 5, 10, 30))))
def test_so_does_one_of_hadamard_on_the_whole_grid(epsilon: str, n: int) -> None:
    for confidence in CONFIDENCES:
        _check_hadamard(epsilon, n, confidence)


def test_the_case_that_was_found() -> None:
    """Hashing at epsilon 8, 100 reports, a choice that nobody holds: 0.00 of the intervals held it."""
    made = _made(LocalHashing, "8")
    found = intervals(made, 100, 0.95)
    assert found.hold(support_law(made, 100, 0), 0.0) > 0.95
    assert found.low[0] <= 0 <= found.high[0] < 0.1


@pytest.mark.thin(4)
@pytest.mark.parametrize(("people", "drawn"), [(1, 1), (7, 7), (40, 40), (200, 200), (7, 3), (40, 39), (200, 20)])
def test_tails_are_those_of_the_exact_law(people: int, drawn: int) -> None:
    for kind, epsilon in ((OptimisedUnary, "8"), (SymmetricUnary, "0.5")):
        made = _made(kind, epsilon)
        own, other = (float(chance) for chance in made.chances)
        for truth in _truths(people):
            law = SupportLaw(
                counted=np.arange(drawn + 1),
                people=people,
                drawn=drawn,
                own=CountStep(up=own),
                other=CountStep(up=other),
            )
            rows, all_ = np.arange(drawn + 1), np.full(drawn + 1, people)
            found = law._below(rows, np.full(drawn + 1, truth), rows, all_)
            np.testing.assert_allclose(found, np.cumsum(drawn_law(made, people, truth, drawn)), atol=SLACK / 10)


@pytest.mark.deep
def test_tails_are_exact_for_a_million_too() -> None:
    """One crowd is a binomial law; its tail by logarithms."""
    n, chance = 1_000_000, 3e-6
    law = SupportLaw(counted=np.arange(12), people=n, drawn=n, own=CountStep(up=0.5), other=CountStep(up=chance))
    found = law._below(np.arange(12), np.zeros(12, dtype=np.int64), np.arange(12), np.full(12, n))
    np.testing.assert_allclose(found, np.cumsum(binomial(n, chance)[:12]), atol=SLACK / 10)


def test_intervals_are_not_wider_than_they_have_to_be() -> None:
    """Where a normal law is right, the width is that of its interval, and a little more since counts are whole."""
    made, n = _made(OptimisedUnary, "1"), 10_000
    own, other = (float(chance) for chance in made.chances)
    for truth in (0, 2_000):
        seen = round(n * other + truth * (own - other))
        supports = np.full(32, seen)
        found = made.from_supports(supports, n)
        low, high = found.interval(0.95)["0"]
        normal = 2 * 1.96 * float(np.sqrt(made.variances(np.array([float(truth)]), n)[0])) / n
        assert high - low < 1.05 * normal / (1 if truth else 2) + 1 / n
