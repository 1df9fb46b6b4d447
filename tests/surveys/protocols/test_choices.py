"""Every frequency protocol, on all reports it can make: its epsilon, its bias and its variance, exactly."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.hadamard import HadamardResponse
from discreet.surveys.protocols.local_hash import FastHashing, LocalHashing
from discreet.surveys.protocols.randomized_response import RandomizedResponse, TwoCoins
from discreet.surveys.protocols.rappor import BasicRappor
from discreet.surveys.protocols.subset_selection import SubsetSelection
from discreet.surveys.protocols.unary import OptimisedUnary, SymmetricUnary
from surveys.protocols.every import largest_ratio, law

#: Those whose reports are few enough to enumerate; hashing has a file of its own.
KINDS: list[type[ChoiceRandomizer]] = [
    RandomizedResponse,
    SymmetricUnary,
    OptimisedUnary,
    SubsetSelection,
    HadamardResponse,
]
ABC = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]


def _made(kind: type[ChoiceRandomizer], size: int, epsilon: str) -> ChoiceRandomizer:
    return kind(ABC[:size], epsilon=epsilon)  # type: ignore[call-arg]


CASES = [(kind, size, epsilon) for kind in KINDS for size in (2, 3, 5) for epsilon in ("0.1", "1.1", "4", "12")]


@pytest.mark.thin(30)
@pytest.mark.parametrize(("kind", "size", "epsilon"), CASES)
def test_the_epsilon_is_that_of_the_exact_law(kind: type[ChoiceRandomizer], size: int, epsilon: str) -> None:
    made = _made(kind, size, epsilon)
    ratio = largest_ratio([law(made, choice) for choice in made.choices])
    assert coins.epsilon_of(ratio) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100)  # and the budget is used


@pytest.mark.thin(10)
@pytest.mark.parametrize(("kind", "size", "epsilon"), CASES)
def test_a_report_is_unbiased_and_its_variance_is_as_stated(
    kind: type[ChoiceRandomizer], size: int, epsilon: str
) -> None:
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
def test_what_is_no_report_or_no_choice_is_refused(kind: type[ChoiceRandomizer]) -> None:
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
    for choices in (["a"], ["a", "a"], "ab", [1, 2], ["", "b"], ["a", "\ud800"]):
        with pytest.raises(UsageError):
            kind(choices, epsilon=1)  # type: ignore[call-arg]


def test_the_two_coins_of_the_lecture() -> None:
    made = RandomizedResponse.two_coins()
    assert law(made, "yes") == {b"\x00": Fraction(3, 4), b"\x01": Fraction(1, 4)}
    assert made.epsilon == coins.epsilon_of(Fraction(3))
    said = [b"\x00"] * 40 + [b"\x01"] * 60  # a = 0.4 said yes
    assert made.estimate(said).shares["yes"] == pytest.approx(2 * 0.4 - 0.5)


def test_two_coins_by_name_flip_two_coins_and_cost_ln_3_exactly() -> None:
    made = TwoCoins(["yes", "no"])
    yes, no = law(made, "yes"), law(made, "no")
    assert yes == {b"\x00": Fraction(3, 4), b"\x01": Fraction(1, 4)}
    assert no == {b"\x00": Fraction(1, 4), b"\x01": Fraction(3, 4)}
    assert largest_ratio([yes, no]) == 3
    assert made.epsilon == coins.epsilon_of(Fraction(3)) == coins.check_epsilon("ln 3")
    assert made.chances == (Fraction(3, 4), Fraction(1, 4))
    said = [b"\x00"] * 40 + [b"\x01"] * 60
    assert made.estimate(said).shares["yes"] == pytest.approx(2 * 0.4 - 0.5)
    assert TwoCoins(["yes", "no"], epsilon="1.1").epsilon == made.epsilon


def test_two_coins_take_two_answers_and_no_smaller_epsilon() -> None:
    with pytest.raises(UsageError, match="between two answers"):
        TwoCoins(["a", "b", "c"])
    with pytest.raises(UsageError, match=r"ln 3 = 1.09862, which is more than 1\."):
        TwoCoins(["a", "b"], epsilon=1)


class Fixed:
    """Bits that are the same in every run, so that a test of an average cannot fail by chance. Never a device's."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


@pytest.mark.parametrize("kind", [*KINDS, LocalHashing, pytest.param(FastHashing, marks=pytest.mark.deep)])
def test_the_measured_error_is_the_stated_one(kind: type[ChoiceRandomizer]) -> None:
    """Twenty runs of 5,000 people with 100 choices, some far more popular than others."""
    people = 1 / np.arange(1, 101) ** 1.1
    codes = np.searchsorted(np.cumsum(people / people.sum()), (np.arange(5_000) + 0.5) / 5_000)
    made = kind([str(code) for code in range(100)], epsilon="2")  # type: ignore[call-arg]
    truth = np.bincount(codes, minlength=100).astype(np.float64)
    found = [made.estimate(made.randomize_all(codes, bits=Fixed(run))) for run in range(20)]
    theory = made.variances(truth, 5_000).mean()
    assert 0.9 < np.mean([(each.counts - truth) ** 2 for each in found]) / theory < 1.1
    # Counts are clipped at 0 for their variance, which overstates it a little.
    assert np.mean([each.variances.mean() for each in found]) == pytest.approx(theory, rel=0.05)


@pytest.mark.parametrize(
    ("kind", "coin"), [(RandomizedResponse, "lie"), (SymmetricUnary, "other"), (OptimisedUnary, "other")]
)
def test_too_little_noise_and_a_biased_estimate_are_caught(kind: type[ChoiceRandomizer], coin: str) -> None:
    made = _made(kind, 3, "1.1")
    fair = [law(made, choice) for choice in made.choices]
    setattr(made, coin, Coin(heads=getattr(made, coin).heads * 99 // 100))
    assert coins.epsilon_of(largest_ratio([law(made, choice) for choice in made.choices])) > made.epsilon
    # The estimator now believes in a coin that the reports were not made with.
    counts = np.array([made.estimate([report]).counts for report in fair[0]])
    assert not np.allclose([float(chance) for chance in fair[0].values()] @ counts, [1, 0, 0], atol=1e-7)


def test_a_count_outside_its_bounds_has_the_variance_of_the_nearest_that_can_be() -> None:
    made = RandomizedResponse(["a", "b", "c"], epsilon="2")
    found = made.from_supports(np.array([0, 0, 100]), 100)
    assert found.counts[0] < 0 and found.counts[2] > 100
    np.testing.assert_allclose(found.variances, made.variances(np.array([0.0, 0.0, 100.0]), 100))
    assert abs(made.variances(found.counts, 100)[2] - found.variances[2]) > 1  # it matters


def test_no_more_fakes_than_reports() -> None:
    found = RandomizedResponse(["a", "b"], epsilon="1").from_supports(np.array([4, 6]), 10)
    assert found.moved_by(10) == found.moved_by(11) == pytest.approx(found.reach)


# Small epsilons, long lists, test keywords


@pytest.mark.parametrize("kind", [*KINDS, LocalHashing, FastHashing, BasicRappor])
def test_an_epsilon_too_small_for_the_coins_is_refused_in_one_sentence(kind: Any) -> None:
    for size in (2, 3, 4, 5, 7):
        for epsilon in ("1e-9", "3e-9", "1e-8"):
            try:
                made = kind(ABC[:size], epsilon=epsilon)
            except UsageError as refused:
                assert refused.reason == coins.EPSILON_TOO_SMALL
                continue
            truth, other = made.chances
            assert truth > other and 0 < made.epsilon <= Fraction(epsilon)
            assert np.isfinite(made.estimate(made.randomize_all(["a"] * 5)).counts).all()
    with pytest.raises(UsageError, match="say nothing"):
        RandomizedResponse([str(code) for code in range(1 << 12)], epsilon="1e-7")


def test_a_choice_or_word_that_is_there_twice_is_found_at_once() -> None:
    names = [*map(str, range(50_000)), "49999"]
    start = time.process_time()
    with pytest.raises(UsageError, match="'49999' occurs twice"):
        RandomizedResponse(names, epsilon=1)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("options", [{"planes": 0}, {"planes": 7}, {"planes": True}, {"planes": 4.0}, {"planes": "4"}])
@pytest.mark.parametrize("kind", [*KINDS, LocalHashing, FastHashing, BasicRappor])
def test_planes_that_no_coin_has_are_refused(kind: Any, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="planes"):
        kind(ABC[:3], epsilon=1, **options)
