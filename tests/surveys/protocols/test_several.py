"""Several questions at once: exact laws, and estimates about all who answered."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from discreet import exact
from discreet.errors import UsageError
from discreet.surveys.protocols import coins, protocol_registry
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.randomizer import randomizer_from_parameters
from discreet.surveys.protocols.several_questions import Sampled, Split, scale_estimate_to_all, scale_mean_to_all
from discreet.surveys.protocols.sketch import CountMeanSketch
from discreet.surveys.protocols.unary import OptimisedUnary
from surveys.protocols.every import NoBits, largest_ratio, law
from surveys.protocols.test_numbers import Counted

QUESTIONS: dict[str, Any] = {
    "drink": partial(RandomizedResponse, ["yes", "no"]),
    "where": partial(OptimisedUnary, ["a", "b", "c"]),
    "age": partial(Duchi, low=0, high=2, step=1),
}
ANSWERS: list[Mapping[str, Any]] = [
    {"drink": drink, "where": where, "age": age}
    for drink, where, age in itertools.product(["yes", "no"], ["a", "b", "c"], [0, 1, 2])
]


@pytest.mark.thin(4)
@pytest.mark.parametrize("epsilon", ["0.3", "1.1", "6"])
@pytest.mark.parametrize("kind", [Sampled, Split])
def test_the_epsilon_is_that_of_the_exact_law(kind: type[Sampled] | type[Split], epsilon: str) -> None:
    made = kind(QUESTIONS, epsilon=epsilon)
    ratio = largest_ratio([law(made, answer) for answer in ANSWERS])
    assert ratio <= exact.exp(made.epsilon, up=False)
    assert made.epsilon <= coins.epsilon_of(ratio) + Fraction(3, 10**12)  # parts of a split are rounded up one by one
    assert made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100)


def test_a_split_that_gives_each_question_all_of_epsilon_is_caught() -> None:
    made = Split(QUESTIONS, epsilon="1.1")
    made.questions["drink"] = RandomizedResponse(["yes", "no"], epsilon="1.1")
    assert coins.epsilon_of(largest_ratio([law(made, answer) for answer in ANSWERS])) > Fraction("1.1")


def test_estimates_of_a_split_are_those_of_its_parts() -> None:
    made = Split(QUESTIONS, epsilon="2")
    for answer in ANSWERS[:6]:
        found = law(made, answer)
        chances = np.array([float(chance) for chance in found.values()])
        told = [made.estimate([report]) for report in found]
        yes = np.array([each["drink"].counts[0] for each in told])
        age = np.array([each["age"].value for each in told])
        assert chances @ yes == pytest.approx(float(answer["drink"] == "yes"), abs=1e-7)
        assert chances @ age == pytest.approx(answer["age"], abs=1e-7)


def test_a_drawn_question_is_unbiased_with_the_stated_variance_over_coins_and_draw() -> None:
    """Every way to draw and every fall of the coins, for three people and two yes-or-no questions."""
    made = Sampled(dict.fromkeys(("one", "two"), QUESTIONS["drink"]), epsilon="1.5")
    answers = [{"one": one, "two": "no"} for one in ("yes", "no", "no")]
    laws = [law(made, answer) for answer in answers]
    mean, square, stated, weight = Fraction(0), 0.0, 0.0, Fraction(0)
    for reports in itertools.product(*laws):
        drawn = sum(report[0] == 0 for report in reports)
        if drawn != 2:
            continue
        chance = laws[0][reports[0]] * laws[1][reports[1]] * laws[2][reports[2]]
        other = [report for report in reports if report[0] == 0]
        inner = made.questions["one"].estimate([report[1:] for report in other])  # type: ignore[attr-defined]
        found = scale_estimate_to_all(inner, 3)
        weight += chance
        mean += chance * Fraction(found.counts[0])
        square += float(chance) * found.counts[0] ** 2
        stated += float(chance) * _stated(made, 3, drawn, 1 / 3)
    mean /= weight
    assert float(mean) == pytest.approx(1, abs=1e-7)
    assert square / float(weight) - float(mean) ** 2 == pytest.approx(stated / float(weight), rel=1e-6)


def _stated(made: Sampled, n: int, drawn: int, share: float) -> float:
    """The variance that `scale_estimate_to_all` states, with the true share in the place of the estimated one."""
    inner: Any = made.questions["one"]
    counts = np.array([share, 1 - share]) * drawn
    told = inner.from_supports(np.array([0, 0]), drawn)
    return float(
        scale_estimate_to_all(replace(told, counts=counts, variances=inner.variances(counts, drawn)), n).variances[0]
    )


@pytest.mark.thin(1)
@pytest.mark.parametrize("kind", [Sampled, Split])
def test_many_people(kind: type[Sampled] | type[Split]) -> None:
    random = np.random.default_rng(0)
    n = 3000
    columns = {
        "drink": random.integers(0, 4, n) // 3,
        "where": random.integers(0, 3, n),
        "age": random.integers(0, 3, n),
    }
    made = kind(QUESTIONS, epsilon=3)
    truth = np.array([(columns["drink"] == 0).sum(), (columns["where"] == 1).sum(), columns["age"].mean()])
    found = []
    for run in range(200):
        told = made.estimate(made.draw_column_reports(columns, bits=Counted(run)))
        assert {each.n for each in told.values()} == {n}
        found.append(
            [
                (told["drink"].counts[0], told["drink"].variances[0]),
                (told["where"].counts[1], told["where"].variances[1]),
                (told["age"].value, told["age"].variance),
            ]
        )
    values, variances = np.moveaxis(np.array(found), 2, 0)
    errors = values - truth
    stated = variances.mean(axis=0)
    assert (np.abs(errors.mean(axis=0)) < 4 * np.sqrt(stated / 200)).all()
    ratio = (errors**2).mean(axis=0) / stated
    assert (ratio < 1.35).all() and (ratio[:2] > 0.7).all() and ratio[2] > 0.4  # the mean's is a worst case


def test_sampling_beats_splitting_here() -> None:
    """Ten questions at epsilon 1."""
    questions = {str(number): QUESTIONS["drink"] for number in range(10)}
    n = 100_000
    columns = {name: np.arange(n) % 2 for name in questions}
    variances = []
    for kind in (Sampled, Split):
        made = kind(questions, epsilon=1)
        variances.append(made.estimate(made.draw_column_reports(columns, bits=Counted(1)))["3"].variances[0])
    assert variances[0] < variances[1] / 5


@pytest.mark.parametrize("kind", [Sampled, Split])
def test_what_is_no_answer_or_no_report_is_refused(kind: type[Sampled] | type[Split]) -> None:
    made = kind(QUESTIONS, epsilon=1)
    good = {"drink": "yes", "where": "a", "age": 1}
    assert len(made.randomize(good)) == made.width
    for wrong in (
        {"drink": "yes", "where": "a"},
        {**good, "more": 1},
        {**good, "age": 3},
        {**good, "where": "z"},
        "yes",
        None,
    ):
        for _ in range(20):  # whichever question is drawn
            with pytest.raises(UsageError):
                made.randomize(wrong)
    with pytest.raises(UsageError, match="same number of answers"):
        made.draw_column_reports({"drink": ["yes"], "where": ["a"], "age": [1, 2]})
    with pytest.raises(UsageError, match="cannot have made"):
        made.estimate([b"\xff" * made.width])
    with pytest.raises(UsageError, match="bytes"):
        made.estimate([b"\x00"])
    for questions in ({}, {"drink": QUESTIONS["drink"]}, {"": QUESTIONS["drink"], "b": QUESTIONS["drink"]}, ["a", "b"]):
        with pytest.raises(UsageError, match="two"):
            kind(questions, epsilon=1)  # type: ignore[arg-type]


def test_padding_that_is_not_zero_is_refused() -> None:
    """Else the spare bytes could carry something."""
    made = Sampled({"short": QUESTIONS["drink"], "long": partial(OptimisedUnary, [*"abcdefghijkl"])}, epsilon=1)
    assert made.width == 3
    assert made.valid(np.array([[0, 1, 0], [0, 1, 1], [1, 255, 0xF0], [2, 0, 0]], dtype=np.uint8)).tolist() == [
        True,
        False,
        True,
        False,
    ]
    with pytest.raises(UsageError, match="No device"):
        made.estimate([b"\x00\x01\x00"])


@pytest.mark.parametrize("kind", [Sampled, Split])
def test_parameters_make_the_same_again(kind: type[Sampled] | type[Split], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(protocol_registry.PROTOCOL_PATHS, "duchi", "grid_numbers.Duchi")
    made = kind(QUESTIONS, epsilon="1.25")
    assert randomizer_from_parameters(made.parameters(), {made.protocol: kind}).parameters() == made.parameters()
    with pytest.raises(UsageError, match="no protocol"):
        kind({"a": {"protocol": "magic"}, "b": {"protocol": "magic"}}, epsilon=1)


YES_NO = partial(RandomizedResponse, ["yes", "no"])
#: An answer outside the domain of a question that may not be drawn, and of one within one.
OUTSIDE = [
    ({"a": YES_NO, "w": CountMeanSketch}, {"a": "yes", "w": "x" * 2000}),
    ({"a": YES_NO, "w": CountMeanSketch}, {"a": "yes", "w": None}),
    ({"a": YES_NO, "n": partial(Sampled, {"p": YES_NO, "q": YES_NO})}, {"a": "yes", "n": {"p": "yes", "q": "maybe"}}),
    ({"a": YES_NO, "n": partial(Split, {"p": YES_NO, "q": YES_NO})}, {"a": "yes", "n": 5}),
]


@pytest.mark.parametrize("kind", [Sampled, Split])
@pytest.mark.parametrize(("questions", "answer"), OUTSIDE)
def test_every_answer_is_checked_before_any_coin(kind: Any, questions: Any, answer: Any) -> None:
    made = kind(questions, epsilon=4)
    for act in (lambda: made.draw_reports([answer], bits=NoBits()), lambda: made.canonical(answer)):
        with pytest.raises(UsageError):
            act()


@pytest.mark.parametrize("parts", [3, 7, 30])
def test_a_split_never_costs_more_than_was_asked_for(parts: int) -> None:
    made = Split({str(part): partial(Duchi, low=0, high=1, step=1) for part in range(parts)}, epsilon=1)
    assert Fraction(99, 100) < made.epsilon <= 1


def test_nested_questions_are_told_about_all() -> None:
    inner = partial(Sampled, {"p": YES_NO, "q": YES_NO})
    made = Sampled({"a": YES_NO, "n": inner}, epsilon=6)
    answers = [{"a": "yes", "n": {"p": "yes", "q": "no"}}] * 400
    told = made.estimate(made.randomize_all(answers, bits=Counted(5)))
    assert told["a"].n == told["n"]["p"].n == told["n"]["q"].n == 400
    assert told["n"]["p"].counts[0] == pytest.approx(400, abs=30) and told["n"]["q"].counts[0] == pytest.approx(
        0, abs=30
    )


def test_a_liar_moves_a_drawn_mean_as_far_as_its_reach_and_no_further() -> None:
    """Whoever changes a report, joins the question or leaves it: all guesses at one end, and one at the other."""
    made = Duchi(low=0, high=1, step=1, epsilon=1)
    for drawn in (1, 2, 5):
        said = [[1] * drawn, [1] * (drawn - 1) + [0], [1] * drawn + [0], [1] * (drawn + 1)]
        means = [made.estimate([bytes([bit]) for bit in bits]) for bits in said]
        found = scale_mean_to_all(means[0], made, 100)
        moved = max(abs(each.value - means[0].value) for each in means[1:])
        assert moved == pytest.approx(found.reach) and found.moved_by(1) == pytest.approx(moved)


def test_intervals_of_a_drawn_question_hold_where_nobody_holds_a_choice() -> None:
    """Over the coins, for a tenth of 200 people drawn: normal intervals at the estimate hold 0.6 of the time here."""
    inner = RandomizedResponse(["yes", "no"], epsilon=5)
    truth, other = (float(chance) for chance in inner.chances)
    assert truth > other
    held = 0.0
    for yes in range(21):
        told = scale_estimate_to_all(inner.from_supports(np.array([yes, 20 - yes]), 20), 200)
        low, high = told.interval(0.95)["yes"]
        held += math.comb(20, yes) * other**yes * (1 - other) ** (20 - yes) * (low <= 0 <= high)
    assert held > 0.93
