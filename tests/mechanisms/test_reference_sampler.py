"""The exact law of the samplers in whole numbers, which browsers draw Laplace noise by: every fork, no sampling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import exact
from discreet.mechanisms import reference_sampler
from discreet.mechanisms.laplace import DiscreteLaplace

#: What is left out: paths longer than this, and digits beyond those of `exact.exp`.
DEPTH = 60
TINY = Fraction(1, 10**12)


class _Cut(Exception):
    """A path that is not followed further."""


def enumerate_paths(run: Callable[[Callable[[list[Fraction]], int]], Any]) -> dict[Any, Fraction]:
    """Each outcome of `run`, which is given a way to fork, with its exact probability."""
    found: dict[Any, Fraction] = defaultdict(Fraction)
    path: list[int] = []
    widths: list[int] = []
    while True:
        place, weight = 0, Fraction(1)

        def fork(chances: list[Fraction]) -> int:
            nonlocal place, weight
            if place == len(path):
                path.append(0)
                widths.append(len(chances))
            taken = path[place]
            place += 1
            weight *= chances[taken]
            if place > DEPTH or weight < TINY**2:
                raise _Cut
            return taken

        try:
            outcome = run(fork)
        except _Cut:
            outcome = None
        found[outcome] += weight
        while path and path[-1] + 1 == widths[-1]:
            path.pop()
            widths.pop()
        if not path:
            return found
        path[-1] += 1


@pytest.mark.parametrize("x", [Fraction(1), Fraction(1, 2), Fraction(3, 7), Fraction(0)])
def test_a_coin_of_minus_x_in_the_exponent(monkeypatch: pytest.MonkeyPatch, x: Fraction) -> None:
    def run(fork: Callable[[list[Fraction]], int]) -> bool:
        def flip(chance: Fraction, *, bits: Any) -> bool:
            return fork([1 - chance, chance]) == 1

        monkeypatch.setattr(reference_sampler, "bernoulli", flip)
        return reference_sampler.bernoulli_exp(x, bits=None)  # type: ignore[arg-type]

    found = enumerate_paths(run)
    assert sum(found.values()) == 1 and abs(found[True] - exact.exp(-x, up=True)) < TINY


def one_round(monkeypatch: pytest.MonkeyPatch, scale: Fraction) -> dict[Any, Fraction]:
    """What one round of the sampler gives; "again" where it begins anew."""

    def run(fork: Callable[[list[Fraction]], int]) -> Any:
        begun = False

        def uniform(limit: int, *, bits: Any) -> int:
            nonlocal begun
            if begun:
                raise StopIteration
            begun = True
            return fork([Fraction(1, limit)] * limit)

        def flip(chance: Fraction, *, bits: Any) -> bool:
            return fork([1 - chance, chance]) == 1

        def exponential(x: Fraction, *, bits: Any) -> bool:
            return flip(exact.exp(-x, up=True) if x else Fraction(1), bits=bits)

        monkeypatch.setattr(reference_sampler, "uniform", uniform)
        monkeypatch.setattr(reference_sampler, "bernoulli", flip)
        monkeypatch.setattr(reference_sampler, "bernoulli_exp", exponential)
        try:
            return reference_sampler.laplace(scale, bits=None)  # type: ignore[arg-type]
        except StopIteration:
            return "again"

    return enumerate_paths(run)


@pytest.mark.thin(1)
@pytest.mark.parametrize("scale", [Fraction(3), Fraction(5, 2), Fraction(2, 3)])
def test_laplace_noise_has_the_law_of_the_fast_sampler(monkeypatch: pytest.MonkeyPatch, scale: Fraction) -> None:
    found = one_round(monkeypatch, scale)
    assert sum(found.values()) == 1
    kept = 1 - found["again"]
    for k in range(-12, 13):
        low, high = DiscreteLaplace(scale=scale).mass_bounds(k)
        assert low - TINY < found[k] / kept < high + TINY, k
    for wrong in (scale * Fraction(11, 10), scale * Fraction(9, 10)):
        low, high = DiscreteLaplace(scale=wrong).mass_bounds(0)
        assert not low - TINY < found[0] / kept < high + TINY


def test_uniform_numbers_use_every_word_from_the_first_on() -> None:
    class Words:
        def words(self, count: int) -> Any:
            return np.arange(1, count + 1, dtype=np.uint64)

    assert reference_sampler.uniform(1 << 100, bits=Words()) == (1 << 64) + 2  # type: ignore[arg-type]
