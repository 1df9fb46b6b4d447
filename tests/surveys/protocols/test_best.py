"""The registry of protocols, and which of them is picked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.surveys.protocols.protocol_registry import COMPARED, PROTOCOL_CLASSES, PROTOCOL_PATHS, best_protocol
from discreet.surveys.protocols.randomizer import randomizer_from_parameters
from surveys.protocols.test_choices import Fixed

ABC = {"choices": ["a", "b", "c"]}
METRES = {"low": "0.5", "high": "2.5", "step": "0.01"}
YES_NO = {"protocol": "response", "options": {"choices": ["yes", "no"]}}
#: What each protocol is made from, beside epsilon.
OPTIONS: dict[str, dict[str, Any]] = {
    **dict.fromkeys((*COMPARED, "fast-hashing", "basic-rappor"), ABC),
    "two-coins": {"choices": ["yes", "no"]},
    **dict.fromkeys(("duchi", "piecewise", "square-wave", "hybrid", "laplace", "tree"), METRES),
    **{each: {} for each in ("rappor", "sketch", "hadamard-sketch", "prefix-words", "puzzle")},
    **{each: {"questions": {"drinks": YES_NO, "smokes": YES_NO}} for each in ("sampled", "split")},
}


@pytest.mark.parametrize("protocol", list(PROTOCOL_PATHS))
def test_each_protocol_is_found_by_its_own_name_and_read_again(protocol: str) -> None:
    assert PROTOCOL_CLASSES[protocol].protocol == protocol
    made = PROTOCOL_CLASSES[protocol](epsilon="1.5", **OPTIONS[protocol])  # type: ignore[call-arg]
    again = randomizer_from_parameters(made.parameters(), PROTOCOL_CLASSES)
    assert type(again) is type(made) and again.parameters() == made.parameters()
    with pytest.raises(UsageError, match="numbers"):
        randomizer_from_parameters({**made.parameters(), "numbers": {}}, PROTOCOL_CLASSES)


def test_a_protocol_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no protocol 'magic'"):
        randomizer_from_parameters({"protocol": "magic"}, PROTOCOL_CLASSES)
    assert "magic" not in PROTOCOL_CLASSES and len(PROTOCOL_CLASSES) == len(list(PROTOCOL_CLASSES))


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
    pick = best_protocol(domain_size, epsilon, 10_000)
    assert pick.protocol == protocol
    assert pick.variances[protocol] <= min(pick.variances.values()) * 1.02
    assert protocol in pick.because and pick.because.endswith(".") and pick.because.count(". ") == 0


def test_variances_are_those_of_theory() -> None:
    found = best_protocol(1000, "2", 1_000_000).variances
    growth = math.exp(2)
    theory = 4 * growth / (growth - 1) ** 2 * 1e6  # Wang et al. 2017: unary and hashing alike, in the limit
    assert found["unary"] == pytest.approx(theory, rel=1e-6)
    assert found["hashing"] == pytest.approx(theory, rel=0.01)
    assert found["response"] == pytest.approx((growth + 998) / (growth - 1) ** 2 * 1e6, rel=1e-6)
    assert found["subset"] < found["unary"] < found["symmetric-unary"] < found["hadamard"] < found["response"]


@pytest.mark.deep
def test_a_pick_is_measured() -> None:
    """The rare choice's count really varies so much, with fixed coins that cannot disappoint."""
    pick = best_protocol(50, "1", 500)
    made = PROTOCOL_CLASSES[pick.protocol]([str(code) for code in range(50)], epsilon="1")  # type: ignore[call-arg]
    codes = 1 + np.arange(500) % 49
    counts = [made.estimate(made.randomize_all(codes, bits=Fixed(seed))).counts[0] for seed in range(400)]  # type: ignore[attr-defined]
    assert np.var(counts) == pytest.approx(pick.variances[pick.protocol], rel=0.3)


@pytest.mark.deep
def test_reports_that_nobody_would_collect_are_not_compared() -> None:
    assert set(best_protocol(200_000, "1", 10**6).variances) == {"response", "hashing", "hadamard"}


@pytest.mark.parametrize(
    ("domain_size", "epsilon", "n"),
    [(1, 1, 1), (0, 1, 1), (1 << 21, 1, 1), (5, 0, 1), (5, 100, 1), (5, 1, 0), (5.0, 1, 1)],
)
def test_what_makes_no_sense_is_refused(domain_size: Any, epsilon: Any, n: Any) -> None:
    with pytest.raises(UsageError):
        best_protocol(domain_size, epsilon, n)


def test_where_no_coin_is_fine_enough_it_says_so_and_else_it_picks_one_that_works() -> None:
    for domain_size in (2, 3, 4, 5, 50, 1000):
        for epsilon in ("1e-9", "1e-8", "1e-7", "1e-5"):
            try:
                pick = best_protocol(domain_size, epsilon, 1000)
            except UsageError as refused:
                assert "say nothing" in refused.reason
            else:
                assert np.isfinite(pick.variances[pick.protocol])


def _spoilt(parameters: dict[str, Any]) -> list[Any]:
    """Documents with one thing changed, each of which is another document, or none."""
    found: list[Any] = [[1], None, "response", {}, {**parameters, "more": 1}]
    for name, value in parameters.items():
        found += [{**parameters, name: wrong} for wrong in (None, [], 0.5, "1/0", {"a": 1}, True) if wrong != value]
        found.append({other: kept for other, kept in parameters.items() if other != name})
        if isinstance(value, dict):
            for inner, number in value.items():
                wrongs = [2.5, -1, 10**30, [number], {"a": number}]
                wrongs += [float(number)] if type(number) is int else []
                found += [{**parameters, name: {**value, inner: wrong}} for wrong in wrongs if wrong is not number]
            found.append({**parameters, name: {**value, "more": 1}})
    found.append({**parameters, "width": float(parameters["width"])})
    found.append({**parameters, "costs": "1/1000"})
    return found


@pytest.mark.thin(10)
@pytest.mark.parametrize("protocol", list(PROTOCOL_PATHS))
def test_whatever_is_changed_in_parameters_is_refused_in_one_sentence(protocol: str) -> None:
    parameters = PROTOCOL_CLASSES[protocol](epsilon="1.5", **OPTIONS[protocol]).parameters()  # type: ignore[call-arg]
    for document in _spoilt(parameters):
        try:
            randomizer_from_parameters(document, PROTOCOL_CLASSES)
        except UsageError:
            continue
        pytest.fail(f"taken: {document}")


def test_a_thousand_nested_questions_and_a_ratio_over_nothing_are_refused() -> None:
    deep: dict[str, Any] = YES_NO
    for _ in range(400):
        deep = {"protocol": "sampled", "options": {"questions": {"a": deep, "b": YES_NO}}}
    for document in (
        {"protocol": "sampled", "epsilon": "1/1", "options": deep["options"]},
        {"protocol": "puzzle", "epsilon": "1/1", "options": {"share": "1/0"}},
        {"protocol": "sampled", "epsilon": "1/1", "options": {"questions": {"x": None, "y": None}}},
    ):
        with pytest.raises(UsageError):
            randomizer_from_parameters(document, PROTOCOL_CLASSES)


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("response", {**ABC, "planes": 2}),
        ("hashing", {**ABC, "word": 16}),
        ("basic-rappor", {**ABC, "planes": 2}),
        ("rappor", {"planes": 3}),
        ("sketch", {"planes": 3}),
        ("duchi", {**METRES, "planes": 3}),
        ("piecewise", {**METRES, "slide": 3}),
        ("hybrid", {**METRES, "slide": 3, "planes": 5}),
        ("prefix-words", {"planes": 3}),
        ("puzzle", {"planes": 3}),
    ],
)
def test_what_only_tests_set_makes_the_same_again(protocol: str, options: dict[str, Any]) -> None:
    made = PROTOCOL_CLASSES[protocol](epsilon="1.5", **options)  # type: ignore[call-arg]
    assert randomizer_from_parameters(made.parameters(), PROTOCOL_CLASSES).parameters() == made.parameters()
    assert made.parameters() != PROTOCOL_CLASSES[protocol](epsilon="1.5", **OPTIONS[protocol]).parameters()  # type: ignore[call-arg]
