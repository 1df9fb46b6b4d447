"""The mechanisms of `discreet.mechanisms`, on inputs that make their privacy loss as large as it gets."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting import events
from discreet.accounting.convert import epsilon_from_rho
from discreet.lab.audit import exactly
from discreet.lab.audit.targets import Target, exact, exact_delta, identity, law, pair
from discreet.mechanisms import threshold
from discreet.mechanisms.bits import system
from discreet.mechanisms.exponential import Exponential, PermuteAndFlip
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice
from discreet.mechanisms.rank import RankChoice
from discreet.mechanisms.threshold import Threshold
from discreet.mechanisms.topk import TopK

KIND = "mechanisms"
ONE = Fraction(1)
#: The wide path of the Laplace sampler, and values that float64 cannot tell apart.
WIDE, FAR = 1 << 25, (1 << 60) + 128
Draws = NDArray[Any]


def targets() -> list[Target]:
    """All of them."""
    return [*_laplace(), *_gaussian(), *_choices(), *_keys(), *_ranks()]


def _laplace() -> list[Target]:
    unit, wide = DiscreteLaplace(scale=ONE), DiscreteLaplace(scale=Fraction(WIDE))

    def one(world: int, size: int, *, noise: DiscreteLaplace, move: int, start: int = 0) -> Draws:
        values = np.full(size, start + world * move, dtype=np.int64)
        return noise.release(values, l1=move, bits=system())[0] - start

    def differences(world: int, size: int) -> Draws:
        """Two cells of one release: noise that is used twice cancels."""
        values = np.column_stack([np.full(size, world), np.zeros(size)]).astype(np.int64)
        noisy = unit.release(values, l1=1, bits=system())[0]
        return noisy[:, 0] - noisy[:, 1]

    def calls(world: int, size: int) -> Draws:
        """The same question asked twice: noise that is drawn from the same bits cancels."""
        noisy = [unit.release(np.full(size, value, dtype=np.int64), l1=1, bits=system())[0] for value in (world, 0)]
        return noisy[0] - noisy[1]

    def drawn(samples: int, *, scale: Fraction) -> tuple[float, int]:
        draws = DiscreteLaplace(scale=scale).draw(samples, bits=system())
        return exactly.law_p_value(draws, exactly.laplace_beyond(float(scale)), float(scale)), samples

    def ratio() -> float:
        masses = [np.array([unit.mass(k - shift) for k in range(-30, 32)]) for shift in (0, 1)]
        return exactly.largest_ratio(*masses)

    return [
        pair("laplace: one cell", KIND, _epsilon(unit.event(l1=1)), partial(one, noise=unit, move=1)),
        pair("laplace: a large value", KIND, _epsilon(unit.event(l1=1)), partial(one, noise=unit, move=1, start=FAR)),
        pair("laplace: a large scale", KIND, _epsilon(wide.event(l1=WIDE)), partial(one, noise=wide, move=WIDE)),
        pair("laplace: two cells", KIND, _epsilon(unit.event(l1=1)), differences),
        pair("laplace: two calls", KIND, _epsilon(unit.event(l1=1)), calls),
        law("laplace: law at scale 1/2", KIND, partial(drawn, scale=Fraction(1, 2))),
        law("laplace: law at scale 20", KIND, partial(drawn, scale=Fraction(20))),
        law("laplace: law at a large scale", KIND, partial(drawn, scale=Fraction(WIDE))),
        exact("laplace: its law", KIND, _epsilon(unit.event(l1=1)), ratio),
        identity("laplace: the support of floats", KIND, _porous),
    ]


def _porous() -> str:
    """Whether an output names its input by its lowest bits."""
    from discreet.lab.floats import discreet_laplace, floats

    found = [floats(discreet_laplace, values=values, scale=1000, n=6000) for values in ((0, 1), (1000, 1001))]
    # More than twelve standard deviations above the bound: not by chance.
    worst = max(each.success - (each.bound or 1.0) for each in found)
    return "an output names its input" if worst > 0.1 else ""


def _gaussian() -> list[Target]:
    noise, delta = DiscreteGaussian(sigma2=ONE), Fraction(1, 100)
    rho = events.loss(noise.event(l2_squared=1)).rho
    claim = float(epsilon_from_rho(rho, delta))

    def one(world: int, size: int) -> Draws:
        return noise.release(np.full(size, world, dtype=np.int64), l2_squared=1, bits=system())[0]

    def drawn(samples: int, *, sigma: int) -> tuple[float, int]:
        draws = DiscreteGaussian(sigma2=Fraction(sigma**2)).draw(samples, bits=system())
        return exactly.law_p_value(draws, exactly.gaussian_beyond(sigma), sigma), samples

    def divergence() -> float:
        masses = [np.array([noise.mass(k - shift) for k in range(-40, 42)]) for shift in (0, 1)]
        return exactly.hockey_stick(masses[0], masses[1], claim)

    return [
        pair("gaussian: one cell", KIND, claim, one, delta=float(delta)),
        law("gaussian: law at sigma 1", KIND, partial(drawn, sigma=1)),
        law("gaussian: law at sigma 20", KIND, partial(drawn, sigma=20)),
        exact_delta("gaussian: its delta", KIND, claim, float(delta), divergence),
    ]


def _choices() -> list[Target]:
    """One score goes up by the sensitivity while all others go down: the loss is then nearly epsilon."""
    worlds = [np.array([2, 0, 0, 0]), np.array([0, 2, 2, 2])]
    found = []
    for name, kind in (("exponential", Exponential), ("permute-and-flip", PermuteAndFlip)):
        mechanism = kind(epsilon=ONE, sensitivity=2)
        claim = _epsilon(mechanism.event())
        found += [
            pair(f"{name}: a choice of four", KIND, claim, partial(_chosen, mechanism, worlds), share=0.25),
            law(f"{name}: law", KIND, partial(_choice_law, mechanism, worlds[0])),
            exact(f"{name}: its law", KIND, claim, partial(_choice_ratio, mechanism, worlds)),
        ]
    return found


def _chosen(mechanism: Exponential | PermuteAndFlip, worlds: list[Draws], world: int, size: int) -> Draws:
    return np.array([mechanism.choose(worlds[world], bits=system())[0] for _ in range(size)])


def _choice_law(mechanism: Exponential | PermuteAndFlip, scores: Draws, samples: int) -> tuple[float, int]:
    many = samples // 4
    draws = _chosen(mechanism, [scores], 0, many)
    heads = np.exp(-(scores.max() - scores) * float(mechanism.epsilon) / (2 * mechanism.sensitivity))
    masses = heads / heads.sum() if isinstance(mechanism, Exponential) else _first_heads(heads)
    return exactly.masses_p_value(draws, masses.tolist()), many


def _first_heads(heads: Draws) -> Draws:
    """Permute-and-flip, by going through all ways that the coins can fall."""
    found = np.zeros(len(heads))
    for fallen in range(1, 1 << len(heads)):
        shown = np.array([fallen >> place & 1 for place in range(len(heads))], dtype=np.bool_)
        found[shown] += np.where(shown, heads, 1 - heads).prod() / shown.sum()
    return found


def _choice_ratio(mechanism: Exponential | PermuteAndFlip, worlds: list[Draws]) -> float:
    masses = [np.array([float(low) for low, _ in mechanism.probabilities(scores)]) for scores in worlds]
    return exactly.largest_ratio(*masses)


def _keys() -> list[Target]:
    delta = Fraction(1, 50)
    noise = DiscreteLaplace(scale=ONE)
    least, _ = threshold.threshold_for(noise, keys_per_person=1, delta=delta)
    shown = Threshold(noise=noise, keys_per_person=1, threshold=least)
    first = TopK.within(k=1, epsilon=ONE, delta=delta, keys_per_person=3, candidates=4)

    def keys(world: int, size: int, *, persons: int) -> Draws:
        """The noisy number of a key with so many persons, and one more in world 1; -1000 where it does not show."""
        places, noisy, _ = shown.release(np.full(size, persons + world, dtype=np.int64), bits=system())
        found = np.full(size, -1000)
        found[places] = noisy
        return found

    def top(world: int, size: int, *, counts: list[list[int]]) -> Draws:
        found = [first.choose(np.array(counts[world], dtype=np.int64), bits=system())[0] for _ in range(size)]
        return np.array([chosen[0] if len(chosen) else -1 for chosen in found])

    new_keys, near = [[], [1, 1, 1]], [[first.margin, 0], [first.margin, 1]]
    near[1][0] += 1
    claim, weight = shown.event(), first.event()
    rare, few = float(claim.delta), float(weight.delta)
    return [
        pair("threshold: a key of one person", KIND, _epsilon(claim), partial(keys, persons=0), delta=rare),
        pair("threshold: a key at the threshold", KIND, _epsilon(claim), partial(keys, persons=least), delta=rare),
        pair("topk: keys of one person", KIND, _epsilon(weight), partial(top, counts=new_keys), delta=few, share=0.1),
        pair("topk: a key at the margin", KIND, _epsilon(weight), partial(top, counts=near), delta=few, share=0.1),
        exact_delta("threshold: its delta", KIND, 1.0, rare, lambda: math.exp(1 - least) / (1 + math.exp(-1))),
        exact_delta("topk: its delta", KIND, 1.0, few, lambda: 3 / (3 + math.exp(first.margin - 1))),
    ]


def _ranks() -> list[Target]:
    """Quantiles and limits, for people of up to two rows."""
    four = Fraction(4)
    known: list[tuple[str, QuantileChoice | RankChoice]] = [
        ("median", QuantileChoice(fraction=Fraction(1, 2), bins=3, rows=2, epsilon=four)),
        ("quantile", QuantileChoice(fraction=Fraction(1, 10), bins=3, rows=2, epsilon=four)),
        ("limit", RankChoice(dislikes=(Fraction(0),) * 3, spare=0, rows=2, epsilon=four)),
    ]
    found = []
    for name, choice in known:
        claim = _epsilon(choice.event())
        found += [
            pair(f"{name}: two rows", KIND, claim, partial(_bins, choice), share=0.05),
            exact(f"{name}: its law", KIND, claim, partial(_largest_of_lines, choice)),
        ]
    return found


def _bins(choice: QuantileChoice | RankChoice, world: int, size: int) -> Draws:
    """The bins of few rows in the middle, and with two rows more at an end."""
    line = np.array([0, 1, 2 * world], dtype=np.int64)
    drawn, _ = choice.choose(np.tile(line, (size, 1)), bits=system())
    return np.asarray(drawn @ np.array([16, 4, 1]))


def _largest_of_lines(choice: QuantileChoice | RankChoice) -> float:
    """The largest loss over all lines of up to two rows a bin, and all ways to add up to two rows to them."""
    lines = [np.array(line) for line in product(range(3), repeat=3)]
    more = [np.array(line) for line in product(range(3), repeat=3) if 1 <= sum(line) <= 2]
    return max(_loss(choice, line, line + rows) for line in lines for rows in more)


def _loss(choice: QuantileChoice | RankChoice, left: Draws, right: Draws) -> float:
    """Of choices that are drawn apart the losses add."""
    if isinstance(choice, RankChoice):
        parts = [(choice.mechanism, choice.scores(left), choice.scores(right))]
    else:
        targets = ((choice.end, -choice.margin), (choice.estimate, 0), (choice.end, choice.margin))
        parts = [(each, choice.scores(left, shift), choice.scores(right, shift)) for each, shift in targets]
    return sum(_choice_loss(each, *(scores.astype(np.float64) for scores in both)) for each, *both in parts)


def _choice_loss(mechanism: Exponential, left: Draws, right: Draws) -> float:
    rate = float(mechanism.epsilon) / (2 * mechanism.sensitivity)
    weights = [np.exp(rate * (scores - scores.max())) for scores in (left, right)]
    return exactly.largest_ratio(weights[0] / weights[0].sum(), weights[1] / weights[1].sum())


def _epsilon(event: events.Event) -> float:
    found = events.loss(event).epsilon
    assert found is not None
    return float(found)
