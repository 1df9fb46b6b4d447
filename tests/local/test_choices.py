"""Every frequency protocol, on all reports it can make: its epsilon, its bias and its variance, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from discreet.errors import UsageError
from discreet.local import coins
from discreet.local.choices import Choices
from discreet.local.response import RandomizedResponse
from discreet.local.unary import OptimisedUnary, SymmetricUnary
from local.every import largest_ratio, law

KINDS: list[type[Choices]] = [RandomizedResponse, SymmetricUnary, OptimisedUnary]
ABC = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]


def _made(kind: type[Choices], size: int, epsilon: str) -> Choices:
    return kind(ABC[:size], epsilon=epsilon)  # type: ignore[call-arg]


CASES = [(kind, size, epsilon) for kind in KINDS for size in (2, 3, 5) for epsilon in ("0.1", "1.1", "4", "12")]


@pytest.mark.parametrize(("kind", "size", "epsilon"), CASES)
def test_the_epsilon_is_that_of_the_exact_law(kind: type[Choices], size: int, epsilon: str) -> None:
    made = _made(kind, size, epsilon)
    ratio = largest_ratio([law(made, choice) for choice in made.choices])
    assert coins.epsilon_of(ratio) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100)  # and the budget is used


@pytest.mark.parametrize(("kind", "size", "epsilon"), CASES)
def test_a_report_is_unbiased_and_its_variance_is_as_stated(kind: type[Choices], size: int, epsilon: str) -> None:
    made = _made(kind, size, epsilon)
    for code, choice in enumerate(made.choices):
        found = law(made, choice)
        counts = np.array([made.estimate([report]).counts for report in found])
        chances = np.array([float(chance) for chance in found.values()])
        truth = np.eye(size)[code]
        np.testing.assert_allclose(chances @ counts, truth, atol=1e-7)
        np.testing.assert_allclose(chances @ counts**2 - truth, made.variances(truth, 1), rtol=1e-7, atol=1e-9)
        reach = max(np.ptp(counts[:, place]) for place in range(size))
        assert reach <= made.estimate([b""] * 0).reach * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_report_or_no_choice_is_refused(kind: type[Choices]) -> None:
    made = _made(kind, 5, "1")
    for answer in ("z", "", None, 3, ["a"]):
        with pytest.raises(UsageError):
            made.randomize(answer)
    with pytest.raises(UsageError, match="bytes"):
        made.estimate([bytes(made.width + 1)])
    with pytest.raises(UsageError, match="cannot have made"):
        made.estimate([b"\xff" * made.width])
    for epsilon in ("0", "nan", "100", "-1", "inf", None):
        with pytest.raises(UsageError):
            _made(kind, 5, epsilon)  # type: ignore[arg-type]
    for choices in (["a"], ["a", "a"], "ab", [1, 2], ["", "b"]):
        with pytest.raises(UsageError):
            kind(choices, epsilon=1)  # type: ignore[call-arg]


def test_the_two_coins_of_the_lecture() -> None:
    made = RandomizedResponse.two_coins()
    assert law(made, "yes") == {b"\x00": Fraction(3, 4), b"\x01": Fraction(1, 4)}
    assert made.epsilon == coins.epsilon_of(Fraction(3))
    said = [b"\x00"] * 40 + [b"\x01"] * 60  # a = 0.4 said yes
    assert made.estimate(said).shares["yes"] == pytest.approx(2 * 0.4 - 0.5)
