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
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.lab.privacy_audit import noise_laws
from discreet.lab.privacy_audit.targets import (
    AuditTarget,
    exact_delta_target,
    exact_target,
    identity_target,
    law_target,
    pair_target,
)
from discreet.mechanisms import threshold
from discreet.mechanisms.bits import system
from discreet.mechanisms.exponential import ExponentialMechanism, PermuteAndFlipMechanism
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import BinMechanism, QuantileChoice
from discreet.mechanisms.rank_choice import RankChoice
from discreet.mechanisms.threshold import KeyThreshold
from discreet.mechanisms.topk import TopKChoice

KIND = "mechanisms"
ONE = Fraction(1)
#: The wide path of the Laplace sampler, and values that float64 cannot tell apart.
WIDE, FAR = 1 << 25, (1 << 60) + 128
Draws = NDArray[Any]


def targets() -> list[AuditTarget]:
    """All of them."""
    return [*_laplace(), *_gaussian(), *_choices(), *_keys(), *_ranks()]


def _laplace() -> list[AuditTarget]:
    unit, wide = DiscreteLaplace(scale=ONE), DiscreteLaplace(scale=Fraction(WIDE))

    def one(world: int, size: int, *, noise: DiscreteLaplace, move: int, start: int = 0) -> Draws:
        values = np.full(size, start + world * move, dtype=np.int64)
        return noise.add_noise(values, l1=move, bits=system())[0] - start

    def differences(world: int, size: int) -> Draws:
        """Two cells of one release: noise that is used twice cancels."""
        values = np.column_stack([np.full(size, world), np.zeros(size)]).astype(np.int64)
        noisy = unit.add_noise(values, l1=1, bits=system())[0]
        return noisy[:, 0] - noisy[:, 1]

    def calls(world: int, size: int) -> Draws:
        """The same question asked twice: noise that is drawn from the same bits cancels."""
        noisy = [unit.add_noise(np.full(size, value, dtype=np.int64), l1=1, bits=system())[0] for value in (world, 0)]
        return noisy[0] - noisy[1]

    def drawn(samples: int, *, scale: Fraction) -> tuple[float, int]:
        draws = DiscreteLaplace(scale=scale).draw(samples, bits=system())
        return noise_laws.law_p_value(draws, noise_laws.laplace_upper_tail(float(scale)), float(scale)), samples

    def ratio() -> float:
        masses = [np.array([unit.mass(k - shift) for k in range(-30, 32)]) for shift in (0, 1)]
        return noise_laws.largest_ratio(*masses)

    return [
        pair_target("laplace: one cell", KIND, _epsilon(unit.event(l1=1)), partial(one, noise=unit, move=1)),
        pair_target(
            "laplace: a large value", KIND, _epsilon(unit.event(l1=1)), partial(one, noise=unit, move=1, start=FAR)
        ),
        pair_target("laplace: a large scale", KIND, _epsilon(wide.event(l1=WIDE)), partial(one, noise=wide, move=WIDE)),
        pair_target("laplace: two cells", KIND, _epsilon(unit.event(l1=1)), differences),
        pair_target("laplace: two calls", KIND, _epsilon(unit.event(l1=1)), calls),
        law_target("laplace: law at scale 1/2", KIND, partial(drawn, scale=Fraction(1, 2))),
        law_target("laplace: law at scale 20", KIND, partial(drawn, scale=Fraction(20))),
        law_target("laplace: law at a large scale", KIND, partial(drawn, scale=Fraction(WIDE))),
        exact_target("laplace: its law", KIND, _epsilon(unit.event(l1=1)), ratio),
        identity_target("laplace: the support of floats", KIND, _support_fault),
    ]


def _support_fault() -> str:
    """Whether an output names its input by its lowest bits."""
    from discreet.lab.attacks.floats import discreet_laplace, floats

    outcomes = [floats(discreet_laplace, values=values, scale=1000, n=6000) for values in ((0, 1), (1000, 1001))]
    # More than twelve standard deviations above the bound: not by chance.
    worst = max(each.success - (each.bound or 1.0) for each in outcomes)
    return "an output reveals its input" if worst > 0.1 else ""


def _gaussian() -> list[AuditTarget]:
    noise, delta = DiscreteGaussian(sigma2=ONE), Fraction(1, 100)
    rho = events.loss(noise.event(l2_squared=1)).rho
    claim = float(epsilon_from_rho(rho, delta))

    def one(world: int, size: int) -> Draws:
        return noise.add_noise(np.full(size, world, dtype=np.int64), l2_squared=1, bits=system())[0]

    def drawn(samples: int, *, sigma: int) -> tuple[float, int]:
        draws = DiscreteGaussian(sigma2=Fraction(sigma**2)).draw(samples, bits=system())
        return noise_laws.law_p_value(draws, noise_laws.gaussian_upper_tail(sigma), sigma), samples

    def divergence() -> float:
        masses = [np.array([noise.mass(k - shift) for k in range(-40, 42)]) for shift in (0, 1)]
        return noise_laws.hockey_stick(masses[0], masses[1], claim)

    return [
        pair_target("gaussian: one cell", KIND, claim, one, delta=float(delta)),
        law_target("gaussian: law at sigma 1", KIND, partial(drawn, sigma=1)),
        law_target("gaussian: law at sigma 20", KIND, partial(drawn, sigma=20)),
        exact_delta_target("gaussian: its delta", KIND, claim, float(delta), divergence),
    ]


def _choices() -> list[AuditTarget]:
    """One score goes up by the sensitivity while all others go down: the loss is then nearly epsilon."""
    worlds = [np.array([2, 0, 0, 0]), np.array([0, 2, 2, 2])]
    choice_targets = []
    for name, kind in (("exponential", ExponentialMechanism), ("permute-and-flip", PermuteAndFlipMechanism)):
        mechanism = kind(epsilon=ONE, sensitivity=2)
        claim = _epsilon(mechanism.event())
        choice_targets += [
            pair_target(
                f"{name}: a choice of four", KIND, claim, partial(_draw_choices, mechanism, worlds), share=0.25
            ),
            law_target(f"{name}: law", KIND, partial(_choice_law, mechanism, worlds[0])),
            exact_target(f"{name}: its law", KIND, claim, partial(_choice_ratio, mechanism, worlds)),
        ]
    return choice_targets


def _draw_choices(
    mechanism: ExponentialMechanism | PermuteAndFlipMechanism, worlds: list[Draws], world: int, size: int
) -> Draws:
    return np.array([mechanism.choose(worlds[world], bits=system())[0] for _ in range(size)])


def _choice_law(
    mechanism: ExponentialMechanism | PermuteAndFlipMechanism, scores: Draws, samples: int
) -> tuple[float, int]:
    many = samples // 4
    draws = _draw_choices(mechanism, [scores], 0, many)
    heads = np.exp(-(scores.max() - scores) * float(mechanism.epsilon) / (2 * mechanism.sensitivity))
    masses = heads / heads.sum() if isinstance(mechanism, ExponentialMechanism) else _first_heads(heads)
    return noise_laws.masses_p_value(draws, masses.tolist()), many


def _first_heads(heads: Draws) -> Draws:
    """Permute-and-flip, by going through all ways that the coins can fall."""
    masses = np.zeros(len(heads))
    for fallen in range(1, 1 << len(heads)):
        shown = np.array([fallen >> place & 1 for place in range(len(heads))], dtype=np.bool_)
        masses[shown] += np.where(shown, heads, 1 - heads).prod() / shown.sum()
    return masses


def _choice_ratio(mechanism: ExponentialMechanism | PermuteAndFlipMechanism, worlds: list[Draws]) -> float:
    masses = [np.array([float(low) for low, _ in mechanism.probabilities(scores)]) for scores in worlds]
    return noise_laws.largest_ratio(*masses)


def _keys() -> list[AuditTarget]:
    delta = Fraction(1, 50)
    noise = DiscreteLaplace(scale=ONE)
    least, _ = threshold.threshold_for(noise, keys_per_person=1, delta=delta)
    shown = KeyThreshold(noise=noise, keys_per_person=1, threshold=least)
    first = TopKChoice.within(k=1, epsilon=ONE, delta=delta, keys_per_person=3, candidates=4)

    def keys(world: int, size: int, *, persons: int) -> Draws:
        """The noisy number of a key with so many persons, and one more in world 1; -1000 where it does not show."""
        places, noisy, _ = shown.discover(np.full(size, persons + world, dtype=np.int64), bits=system())
        noisy_counts = np.full(size, -1000)
        noisy_counts[places] = noisy
        return noisy_counts

    def top(world: int, size: int, *, counts: list[list[int]]) -> Draws:
        choices = [first.choose(np.array(counts[world], dtype=np.int64), bits=system())[0] for _ in range(size)]
        return np.array([chosen[0] if len(chosen) else -1 for chosen in choices])

    new_keys, near = [[], [1, 1, 1]], [[first.margin, 0], [first.margin, 1]]
    near[1][0] += 1
    claim, weight = shown.event(), first.event()
    rare, few = float(claim.delta), float(weight.delta)
    return [
        pair_target("threshold: a key of one person", KIND, _epsilon(claim), partial(keys, persons=0), delta=rare),
        pair_target(
            "threshold: a key at the threshold", KIND, _epsilon(claim), partial(keys, persons=least), delta=rare
        ),
        pair_target(
            "topk: keys of one person", KIND, _epsilon(weight), partial(top, counts=new_keys), delta=few, share=0.1
        ),
        pair_target(
            "topk: a key at the margin", KIND, _epsilon(weight), partial(top, counts=near), delta=few, share=0.1
        ),
        exact_delta_target("threshold: its delta", KIND, 1.0, rare, lambda: math.exp(1 - least) / (1 + math.exp(-1))),
        exact_delta_target("topk: its delta", KIND, 1.0, few, lambda: 3 / (3 + math.exp(first.margin - 1))),
    ]


def _ranks() -> list[AuditTarget]:
    """Quantiles and limits, for people of up to two rows."""
    four = Fraction(4)
    named_choices: list[tuple[str, QuantileChoice | RankChoice]] = [
        ("median", QuantileChoice(fraction=Fraction(1, 2), bins=3, rows=2, epsilon=four, flips=True)),
        ("quantile", QuantileChoice(fraction=Fraction(1, 10), bins=3, rows=2, epsilon=four)),
        ("limit", RankChoice(dislikes=(Fraction(0),) * 3, spare=0, rows=2, epsilon=four)),
    ]
    rank_targets = []
    for name, choice in named_choices:
        claim = _epsilon(choice.event())
        rank_targets += [
            pair_target(f"{name}: two rows", KIND, claim, partial(_bins, choice), share=0.05),
            exact_target(f"{name}: its law", KIND, claim, partial(_largest_of_lines, choice)),
        ]
    return rank_targets


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
    parts: list[tuple[BinMechanism, Integers, Integers]]
    if isinstance(choice, RankChoice):
        parts = [(choice.mechanism, choice.scores(left), choice.scores(right))]
    else:
        targets = ((choice.end, -choice.margin), (choice.estimate, 0), (choice.end, choice.margin))
        parts = [(each, choice.scores(left, shift), choice.scores(right, shift)) for each, shift in targets]
    return sum(_choice_loss(each, *(scores.astype(np.float64) for scores in both)) for each, *both in parts)


def _choice_loss(mechanism: BinMechanism, left: Draws, right: Draws) -> float:
    rate = float(mechanism.epsilon) / (2 * mechanism.sensitivity)
    weights = [np.exp(rate * (scores - scores.max())) for scores in (left, right)]
    flips = isinstance(mechanism, PermuteAndFlipMechanism)
    return noise_laws.largest_ratio(*(np.array(noise_laws.choice_masses(each, flips=flips)) for each in weights))


def _epsilon(event: events.Event) -> float:
    epsilon = events.loss(event).epsilon
    assert epsilon is not None
    return float(epsilon)
