"""Numbers on a grid: rounding, refusal, and Duchi's bit from its exact law."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.grid_numbers import MOST_STEPS, Duchi, MeanRandomizer, decimal
from discreet.surveys.protocols.laplace_record import LaplaceRecord
from discreet.surveys.protocols.randomizer import randomizer_from_parameters
from discreet.surveys.protocols.window_mechanism import Hybrid, Piecewise, SquareWave
from surveys.protocols.every import largest_ratio, law
from tiers import size

KINDS: list[type[MeanRandomizer]] = [Duchi, Piecewise, SquareWave, Hybrid, LaplaceRecord]


def _made(
    kind: type[MeanRandomizer], *, low: object = 0, high: object = 5, step: object = 1, epsilon: object = 1
) -> Any:
    return kind(low=low, high=high, step=step, epsilon=epsilon)  # type: ignore[call-arg]


@pytest.mark.parametrize("epsilon", ["0.01", "0.7", "2", "12", "20"])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_the_epsilon_of_duchi_is_that_of_the_exact_law(steps: int, epsilon: str) -> None:
    made = Duchi(low=0, high=steps, step=1, epsilon=epsilon)
    ratio = largest_ratio([law(made, value) for value in range(steps + 1)])
    assert coins.epsilon_of(ratio) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(999, 1000)


@pytest.mark.parametrize("epsilon", ["0.01", "2", "20"])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_a_guess_of_duchi_is_exactly_unbiased_with_the_exact_variance(steps: int, epsilon: str) -> None:
    made = Duchi(low=0, high=steps, step=1, epsilon=epsilon)
    for code in range(steps + 1):
        found = law(made, code)
        guesses = {report: made.extent[report[0]] for report in found}
        mean = sum(chance * guesses[report] for report, chance in found.items())
        square = sum(chance * guesses[report] ** 2 for report, chance in found.items())
        assert mean == code
        assert square - mean**2 == sum(term * code**power for power, term in enumerate(made.spread))
        shipped = made.guesses(made.matrix(list(found)))
        np.testing.assert_allclose(shipped, [float(guess) for guess in guesses.values()], rtol=1e-12)


@pytest.mark.parametrize("steps", [3, 1000, MOST_STEPS, MOST_STEPS - 1])
def test_thresholds_of_a_real_grid_rise_in_equal_steps_and_give_the_epsilon(steps: int) -> None:
    made = Duchi(low=0, high=steps, step=1, epsilon=1)
    heads = made.heads(np.arange(steps + 1))
    sides = 256**made.planes
    assert (np.diff(heads) == made.slope).all() and made.slope > 0
    assert heads[0] + heads[-1] == sides
    assert made.epsilon == coins.epsilon_of(Fraction(int(heads[-1]), int(heads[0]))) <= 1
    assert made.epsilon > Fraction(999, 1000)


def test_a_duchi_with_too_steep_a_slope_is_caught() -> None:
    """A mutant: two more heads a step are beyond what was claimed, and the guess is biased."""
    made = Duchi(low=0, high=4, step=1, epsilon=1)
    claimed = made.epsilon
    made.slope += made.slope // 50
    laws = [law(made, value) for value in range(5)]
    assert coins.epsilon_of(largest_ratio(laws)) > claimed
    assert laws[4][b"\x00"] * made.extent[0] + laws[4][b"\x01"] * made.extent[1] != 4


def test_the_variance_of_a_mean_is_the_largest_that_people_with_that_mean_can_have() -> None:
    for kind in (Duchi, Piecewise, Hybrid):
        made = _made(kind, high=6)
        curve = np.array([made.variance_at(code) for code in range(7)])
        for first in range(7):
            for second in range(7):  # half the people here, half there: any spread is a mixture of such pairs
                for share in (0.0, 0.25, 0.5, 0.9):
                    mean = share * first + (1 - share) * second
                    true = share * curve[first] + (1 - share) * curve[second]
                    assert made.largest_variance(mean) >= true * (1 - 1e-12)
        ends = [made.largest_variance(mean) for mean in (0.0, 6.0)]
        np.testing.assert_allclose(ends, [curve[0], curve[-1]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_between_two_points_is_the_nearer_one_and_halves_go_up(kind: type[MeanRandomizer]) -> None:
    made = _made(kind, low="-0.2", high="0.8", step="0.1")
    told = {
        "-0.2": 0,
        "-0.16": 0,
        "-0.15": 1,
        "-0.1": 1,
        "0": 2,
        "0.149": 3,
        "0.15": 4,
        "0.35": 6,
        "0.75": 10,
        "0.8": 10,
    }
    texts = list(told)
    assert made.codes(texts).tolist() == list(told.values())
    assert made.codes([Decimal(text) for text in texts]).tolist() == list(told.values())
    assert made.codes([float(text) for text in texts]).tolist() == list(told.values())
    assert made.codes(np.array([float(text) for text in texts])).tolist() == list(told.values())
    assert made.codes(np.array([0], dtype=np.int32)).tolist() == [2]
    assert made.codes(np.empty(0)).size == made.codes([]).size == 0


@pytest.mark.parametrize(("low", "step"), [("0", "0.1"), ("-1e15", "0.25"), ("1e25", "1e9"), ("0.3", "0.000001")])
def test_an_array_is_rounded_as_its_numbers_are_one_by_one(low: str, step: str) -> None:
    high = Fraction(low) + 1000 * Fraction(step)
    made = Duchi(low=low, high=high, step=step, epsilon=1)
    halves = np.array([float(Fraction(low) + Fraction(step) * Fraction(k, 4)) for k in range(0, 4000, size(5, 1))])
    inside = np.array([made.low <= Fraction(repr(float(value))) <= made.high for value in halves])
    values = halves[inside]
    assert values.size > size(780, 3900)
    assert made.codes(values).tolist() == [made.code(float(value)) for value in values]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer", [-1, 5.0001, "6", float("nan"), float("inf"), None, True, "five", "", [1]])
def test_a_number_outside_is_refused(kind: type[MeanRandomizer], answer: object) -> None:
    made = _made(kind)
    with pytest.raises(UsageError, match="from 0 to 5"):
        made.randomize(answer)
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        with pytest.raises(UsageError, match="from 0 to 5"):
            made.randomize_all(np.array([1.0, answer]))


@pytest.mark.parametrize("kind", KINDS)
def test_bad_declarations_are_refused(kind: type[MeanRandomizer]) -> None:
    for wrong in (
        {"high": 0},
        {"step": 0},
        {"step": -1},
        {"step": "0.3"},
        {"high": MOST_STEPS + 1},
        {"low": "nan"},
        {"step": Fraction(5, 3)},
        *({"epsilon": epsilon} for epsilon in (0, "nan", 100, -1, None)),
    ):
        with pytest.raises(UsageError):
            _made(kind, **wrong)
    coarse = {
        Duchi: {"planes": 1},
        Piecewise: {"slide": 1, "planes": 1},
        SquareWave: {"slide": 1, "planes": 1},
        Hybrid: {"planes": 1},
    }
    if kind in coarse:
        with pytest.raises(UsageError, match="too fine"):
            kind(low=0, high=5, step=1, epsilon="0.001", **coarse[kind])  # type: ignore[call-arg]
    if kind in (Duchi, Hybrid, LaplaceRecord):
        with pytest.raises(UsageError):
            _made(kind, high=MOST_STEPS, epsilon="1e-9")


@pytest.mark.parametrize("kind", KINDS)
def test_bad_reports_are_refused(kind: type[MeanRandomizer]) -> None:
    made = _made(kind)
    with pytest.raises(UsageError, match="bytes"):
        made.estimate([bytes(made.width + 1)])
    with pytest.raises(UsageError, match="cannot have made"):
        made.estimate([b"\xff" * made.width])
    with pytest.raises(UsageError, match="no reports"):
        made.estimate([])


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_make_the_same_randomizer_again(kind: type[MeanRandomizer]) -> None:
    made = _made(kind, low="-0.25", high="1.75", step="0.125", epsilon="1.3")
    parameters = made.parameters()
    assert randomizer_from_parameters(parameters, {made.protocol: kind}).parameters() == parameters
    with pytest.raises(UsageError, match="not the numbers"):
        randomizer_from_parameters(
            {**parameters, "numbers": {**parameters["numbers"], "steps": 17}}, {made.protocol: kind}
        )


def test_decimals_are_written_as_they_are() -> None:
    for text in ("0", "-0.05", "12.5", "1000000", "0.000001", "-3"):
        assert decimal(Fraction(text)) == text
    with pytest.raises(UsageError, match="decimals"):
        decimal(Fraction(1, 3))


class Counted:
    """A source of words that a test may repeat (numpy's generator with a key)."""

    def __init__(self, key: int) -> None:
        self.generator = np.random.default_rng(key)

    def words(self, count: int) -> np.ndarray:
        return self.generator.integers(0, 1 << 64, count, dtype=np.uint64)


@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_the_mean_of_many_lies_within_its_interval_and_its_error_is_as_stated(
    kind: type[MeanRandomizer], epsilon: str
) -> None:
    """With fixed bits: a check of the whole way, which cannot fail by chance."""
    made = _made(kind, low=50, high=250, step="0.5", epsilon=epsilon)
    heights = np.random.default_rng(1).normal(170, 20, 4000).clip(50, 250)
    codes = made.codes(heights)
    truth = 50 + 0.5 * codes.mean()
    variance = 0.25 * np.mean([made.variance_at(code) for code in codes.tolist()]) / codes.size
    means = [made.estimate(made.randomize_all(heights, bits=Counted(run))) for run in range(100)]
    errors = np.array([mean.value - truth for mean in means])
    assert abs(errors.mean()) < 3.5 * np.sqrt(variance / 100)
    assert 0.65 < (errors**2).mean() / variance < 1.45
    covered = [low <= truth <= high for low, high in (mean.interval(0.95) for mean in means)]
    assert np.mean(covered) >= 0.9
    assert all(mean.variance >= variance * 0.8 for mean in means)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_reach_is_what_one_liar_can_do(kind: type[MeanRandomizer], epsilon: str) -> None:
    made = kind(low=0, high=10, step=2, epsilon=epsilon, **({} if kind in (Duchi, LaplaceRecord) else {"slide": 20}))  # type: ignore[call-arg]
    every = np.arange(256**made.width).astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - made.width :]
    possible = np.ascontiguousarray(every[made.valid(np.ascontiguousarray(every))])
    guesses = made.guesses(possible)
    honest = [bytes(report) for report in made.randomize_all(np.array([1, 2, 3, 4] * 5))]
    least, most = (made.estimate([*honest[1:], bytes(possible[at])]) for at in (guesses.argmin(), guesses.argmax()))
    assert most.value - least.value == pytest.approx(most.reach)
    assert most.moved_by(3) == 3 * most.reach


def test_only_plain_spaces_may_stand_around_a_number() -> None:
    made = Duchi(low=0, high=4, step=1, epsilon=1)
    assert [made.code(text) for text in (" 1", "1\n", "\t1 ", "1\r\n")] == [1] * 4
    for text in ("\ufeff1", "\x1c1", "1\x1f", "\x851", "\u20031", "1\u00a0"):
        with pytest.raises(UsageError):
            made.code(text)
