"""Windows: piecewise, square wave and hybrid, from their exact laws; the likeliest distribution."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import bytes_to_numbers
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.grid_numbers import Duchi, MeanRandomizer
from discreet.surveys.protocols.window_mechanism import (
    Hybrid,
    Piecewise,
    SquareWave,
    WindowRandomizer,
    maximum_likelihood,
)
from surveys.protocols.every import NoBits, largest_ratio, law
from surveys.protocols.test_numbers import Counted

WINDOWS: list[type[WindowRandomizer]] = [Piecewise, SquareWave]
ALL: list[type[MeanRandomizer]] = [Piecewise, SquareWave, Hybrid]
CASES = [(kind, steps, epsilon) for kind in ALL for steps in (1, 3, 5) for epsilon in ("0.1", "1.1", "4", "12")]


def _small(kind: type[MeanRandomizer], steps: int, epsilon: str) -> Any:
    """Few enough outputs to see them all."""
    return kind(low=0, high=steps, step=1, epsilon=epsilon, slide=-(-30 // steps))  # type: ignore[call-arg]


@pytest.mark.thin(18)
@pytest.mark.parametrize(("kind", "steps", "epsilon"), CASES)
def test_the_epsilon_is_that_of_the_exact_law(kind: type[MeanRandomizer], steps: int, epsilon: str) -> None:
    made = _small(kind, steps, epsilon)
    ratio = largest_ratio([law(made, value) for value in range(steps + 1)])
    assert coins.epsilon_of(ratio) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100)


@pytest.mark.thin(14)
@pytest.mark.parametrize(("kind", "steps", "epsilon"), CASES)
def test_a_guess_is_exactly_unbiased_with_the_exact_variance(
    kind: type[MeanRandomizer], steps: int, epsilon: str
) -> None:
    made = _small(kind, steps, epsilon)
    for code in range(steps + 1):
        found = law(made, code)
        guesses = {report: _guess(made, int.from_bytes(report, "big")) for report in found}
        mean = sum(chance * guesses[report] for report, chance in found.items())
        square = sum(chance * guesses[report] ** 2 for report, chance in found.items())
        assert mean == code
        assert square - mean**2 == sum(term * code**power for power, term in enumerate(made.spread))
        shipped = made.guesses(made.matrix(list(found)))
        np.testing.assert_allclose(shipped, [float(guess) for guess in guesses.values()], rtol=1e-9, atol=1e-9)
        assert made.extent[0] <= min(guesses.values()) and max(guesses.values()) <= made.extent[1]


def _guess(made: Any, told: int) -> Fraction:
    """The same guess in Fractions."""
    if isinstance(made, Hybrid):
        bit = told - made.window.outputs
        return made.bit.extent[bit] if bit >= 0 else _guess(made.window, told)
    return (told - made.offset) / made.gain


@pytest.mark.thin(2)
@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.parametrize(("steps", "epsilon"), [(1, "0.5"), (97, "2"), (1 << 20, "1"), (250, "20")])
def test_a_real_grid_has_the_two_levels(
    kind: type[WindowRandomizer], steps: int, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All places of a window, and all places outside, each once: then the law is the two levels, and epsilon their ratio.

    The real code is run once for each place that `whole_below` can draw, with the coin's fall held.
    """
    made = kind(low=0, high=steps, step=1, epsilon=epsilon)  # type: ignore[call-arg]
    inside, outside = made.levels
    assert inside * made.wide + outside * made.outside == 1
    assert coins.epsilon_of(inside / outside) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(999, 1000)
    monkeypatch.setattr(uniform, "whole_below", lambda limit, size, *, bits: np.arange(size) % limit)
    for code in (0, 1, steps // 2, steps):
        seen = []
        for fallen, places in ((False, made.wide), (True, made.outside)):
            monkeypatch.setattr(Coin, "flips", lambda self, size, *, bits, side=fallen: np.full(size, side))
            reports = made.reports(np.full(places, code), bits=NoBits())
            assert made.valid(reports).all()
            seen.append(bytes_to_numbers(reports))
        start = code * made.slide
        assert np.array_equal(np.sort(seen[0]), np.arange(start, start + made.wide))
        assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(made.outputs))


def test_a_window_whose_coin_is_too_fair_to_itself_is_caught() -> None:
    """Mutants: the coin of half the epsilon's noise; a window that moves further than the guess believes."""
    made = _small(Piecewise, 3, "1.1")
    made.out = Coin(heads=made.out.heads * 9 // 10, planes=made.out.planes)
    assert coins.epsilon_of(largest_ratio([law(made, value) for value in range(4)])) > Fraction("1.1")
    other = _small(SquareWave, 3, "1.1")
    other.gain *= Fraction(11, 10)
    found = law(other, 3)
    assert sum(chance * _guess(other, int.from_bytes(report, "big")) for report, chance in found.items()) != 3


def test_piecewise_is_the_published_one_in_the_limit() -> None:
    """Its variance at t in [-1, 1] is t^2 / (a - 1) + (a + 3) / (3 (a - 1)^2) with a = e^(epsilon/2)."""
    for epsilon in (0.5, 1.0, 3.0):
        made = Piecewise(low=-1, high=1, step="0.01", epsilon=epsilon)
        power = math.exp(epsilon / 2)
        for code in (0, 50, 100, 200):
            t = code / 100 - 1
            published = t**2 / (power - 1) + (power + 3) / (3 * (power - 1) ** 2)
            assert made.variance_at(code) * 0.01**2 == pytest.approx(published, rel=1e-3)


def test_square_wave_is_as_wide_as_published() -> None:
    for epsilon in (0.5, 1.0, 3.0):
        power = math.exp(epsilon)
        b = (epsilon * power - power + 1) / (2 * power * (power - 1 - epsilon))
        made = SquareWave(low=0, high=1, step="0.01", epsilon=epsilon)
        assert made.wide / made.outside == pytest.approx(2 * b, rel=1e-4)


def test_hybrid_has_the_same_variance_everywhere_and_is_never_worse_than_either_in_the_worst_case() -> None:
    for epsilon in ("0.3", "0.61", "0.7", "1", "2", "4"):
        grid: dict[str, Any] = {"low": 0, "high": 100, "step": 1, "epsilon": epsilon}
        hybrid, bit, window = Hybrid(**grid), Duchi(**grid), Piecewise(**grid)
        curves = [[made.variance_at(code) for code in range(101)] for made in (hybrid, bit, window)]
        assert max(curves[0]) <= min(max(curves[1]), max(curves[2])) * (1 + 1e-6)
        if Fraction(epsilon) > Fraction("0.61"):
            assert max(curves[0]) / min(curves[0]) < 1.0001
        else:
            assert curves[0] == curves[1]
            with pytest.raises(UsageError, match="cannot have made"):
                hybrid.estimate([bytes(hybrid.width)])  # an output of piecewise, which never happens here


def test_the_blur_of_square_wave_is_its_law() -> None:
    made = _small(SquareWave, 5, "1.1")
    edges = np.array([0, 1, 3, 6])
    cuts = np.array([0, 4, 7, 20, made.outputs])
    found = made.blur(edges, cuts)
    for column, codes in enumerate(([0], [1, 2], [3, 4, 5])):
        exact = np.zeros(4)
        for code in codes:
            for report, chance in law(made, code).items():
                place = np.searchsorted(cuts, int.from_bytes(report, "big"), side="right") - 1
                exact[place] += float(chance) / len(codes)
        np.testing.assert_allclose(found[:, column], exact, atol=1e-12)


def test_the_likeliest_distribution_of_what_was_expected_is_the_truth() -> None:
    made = SquareWave(low=0, high=99, step=1, epsilon=3)
    edges = np.arange(0, 101, 10)
    cuts = np.linspace(0, made.outputs, 41).astype(np.int64)
    truth = np.array([1, 2, 5, 9, 3, 1, 4, 8, 2, 1]) / 36
    blur = made.blur(edges, cuts)
    found = maximum_likelihood(blur, 1e6 * (blur @ truth), smooth=False, gain=1e-6, rounds=10_000)
    np.testing.assert_allclose(found, truth, atol=2e-3)


@pytest.mark.parametrize("smooth", [True, False])
def test_a_distribution_is_near_the_truth_and_says_how_it_was_made(smooth: bool) -> None:
    people = np.random.default_rng(4).normal(60, 12, 200_000).clip(0, 100)
    made = SquareWave(low=0, high=100, step="0.1", epsilon=2)
    reports = made.randomize_all(people, bits=Counted(7))
    found = made.distribution(reports, bins=40, smooth=smooth)
    places = np.searchsorted(np.arange(41) * 1001 // 40, made.codes(people), side="right") - 1
    truth = np.bincount(places, minlength=40) / people.size
    assert found.counts.sum() == pytest.approx(200_000) and found.counts.min() >= 0
    assert np.abs(np.cumsum(found.counts / found.n - truth)).max() < (0.08 if smooth else 0.015)
    assert found.made == ("em-smooth" if smooth else "em")
    assert found.labels[:2] == ("0..2.4", "2.5..4.9")
    assert found.moved_by(1) == 1
    with pytest.raises(UsageError, match="unbiased"):
        found.interval()


def test_a_distribution_that_cannot_be_made_is_refused() -> None:
    made = SquareWave(low=0, high=9, step=1, epsilon=2)
    reports = made.randomize_all([1, 2, 3])
    assert made.distribution(reports).labels == tuple("0123456789")
    for bins in (1, 11, -3):
        with pytest.raises(UsageError, match="bins"):
            made.distribution(reports, bins=bins)
    with pytest.raises(UsageError, match="no reports"):
        made.distribution(reports[:0])


@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "0.6", "0.61"])
def test_hybrid_without_its_window_costs_what_the_bit_does(epsilon: str) -> None:
    made = Hybrid(low=0, high=3, step=1, epsilon=epsilon, planes=2)
    assert made.pieces.heads == 0 and made.epsilon == made.bit.epsilon
    assert made.bit.epsilon != made.window.epsilon


@pytest.mark.parametrize("slide", [-1, 0, 1.5, True, "1", 2**55])
def test_a_slide_of_no_sense_is_refused(slide: Any) -> None:
    for kind in (Piecewise, SquareWave, Hybrid):
        with pytest.raises(UsageError, match="slide"):
            kind(low=0, high=4, step=1, epsilon=1, slide=slide)


def test_a_window_that_says_nothing_is_refused_as_too_fine() -> None:
    with pytest.raises(UsageError, match="too fine"):
        Piecewise(low=0, high=4, step=1, epsilon="1e-9", planes=2)
