"""What n shuffled reports cost toward those who see nothing but the shuffled reports: less than one report alone.

This holds where somebody else shuffles and strips the senders. It does **not** hold toward this project's collector,
which sees each report as it comes: toward it a report costs its local epsilon. docs/proofs/shuffle.md has the proof
and the error margins that the constants here come from.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.surveys.protocols import coins

Floats = NDArray[np.float64]

#: With more people than this it is computed for so many: more of them only help.
MOST_PEOPLE = 10**10
#: A logarithm of a probability, of at least e^-690, is off by less than 10^-8; this is ten times that.
_MARGIN = 1e-7
_LEAST_LN = -690.0
#: Of the clones' number so much of delta is left out; it is added.
_LEFT_OUT = 1e-4
#: A tail is summed up to six standard deviations on, in pieces of a fiftieth of one.
_PIECES, _PIECES_A_DEVIATION = 300, 50
#: Numbers of clones are taken together by an eighth of their standard deviation.
_BLOCKS_A_DEVIATION = 8
#: The least epsilon is sought to this share of itself.
_ENOUGH = 1e-5
_UNITS = 10**12


def amplified(epsilon: object, n: int, delta: object) -> Fraction:
    """Return the central epsilon (at `delta`) of n shuffled reports of one randomizer with local `epsilon`.

    Guarantee: whoever sees the n reports in random order, without their senders, and nothing else, cannot tell one
        respondent's answer from another: (result, delta)-differentially private when one answer is replaced.
        n counts those who answer honestly; whoever colludes with the observer does not hide anybody.
    Because: docs/proofs/shuffle.md (Feldman, McMillan and Talwar 2021); every rounding is upwards.

    >>> float(amplified(2, 100_000, "1e-6")) < 0.1
    True
    """
    local, people, allowed = _check_arguments(epsilon, n, delta)
    return _amplified(local, people, allowed)


def local_for(epsilon: object, n: int, delta: object) -> Fraction:
    """Return the largest local epsilon (up to 20) whose n shuffled reports are (epsilon, delta)-private."""
    central, people, allowed = _check_arguments(epsilon, n, delta)
    low, high = central, Fraction(20)
    if allowed == 0 or low >= high:
        return min(low, high)
    while high - low > low / 10**5:
        middle = Fraction(math.floor((low + high) / 2 * _UNITS), _UNITS)
        low, high = (middle, high) if _fits(middle, central, people, allowed) else (low, middle)
    return low


def amplification_sentence(epsilon: object, n: int, delta: object) -> str:
    """Both epsilons in one sentence, so that nobody reads the smaller one as the whole truth."""
    local = exact.show(coins.check_epsilon(epsilon), up=True)
    central = exact.show(amplified(epsilon, n, delta), up=True)
    return (
        f"epsilon {local} per report against the collector and anyone who sees who sent which report; epsilon "
        f"{central} (delta {exact.show(_check_arguments(epsilon, n, delta)[2])}) against those who see only the {n:,} "
        "shuffled reports."
    )


def divergence(local: Fraction, central: Fraction, n: int, *, left_out: float = 1e-18) -> float:
    """At least the delta at which n shuffled reports are (central, delta)-private; `left_out` of it is slack."""
    if central >= local:
        return 0.0
    clones, chances, beyond = _clone_blocks(local, n, left_out)
    inner = _divergence_given_clones(clones, local, central)
    return float(inner @ chances + beyond * inner[-1]) * (1 + _MARGIN) + left_out


def _check_arguments(epsilon: object, n: int, delta: object) -> tuple[Fraction, int, Fraction]:
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise UsageError(f"The number of people must be a whole number of at least 1, not {n!r}.")
    return coins.check_epsilon(epsilon), min(n, MOST_PEOPLE), exact.probability(delta, name="delta")


@lru_cache(maxsize=256)
def _amplified(local: Fraction, n: int, delta: Fraction) -> Fraction:
    if delta == 0:
        return local
    if _fits(local, Fraction(0), n, delta):
        return Fraction(0)
    low, high = 0.0, float(local)
    best = local  # at which the divergence is 0
    while high - low > _ENOUGH * high:
        middle = (low + high) / 2
        tried = Fraction(math.ceil(Fraction(middle) * _UNITS), _UNITS)
        if tried >= best:  # down at the units in which it is told
            break
        if _fits(local, tried, n, delta):
            high, best = middle, tried
        else:
            low = middle
    return best


def _fits(local: Fraction, central: Fraction, n: int, delta: Fraction) -> bool:
    allowed = float(delta) * (1 - 1e-12)
    return divergence(local, central, n, left_out=allowed * _LEFT_OUT) <= allowed


def clone_chance(local: Fraction) -> float:
    """How likely one of the others is a clone: e^-local, rounded down, since fewer clones hide less."""
    return math.nextafter(float(exact.exp(-local, up=False)), 0.0)


@lru_cache(maxsize=64)
def _clone_blocks(local: Fraction, n: int, left_out: float) -> tuple[Floats, Floats, float]:
    """How many of n - 1 people are clones: the least number of each block, its probability, and that of more.

    Fewer than the first block have a probability of at most `left_out`.
    """
    chance, people = clone_chance(local), n - 1
    mean, variance = people * chance, people * chance * (1 - chance)
    below, above = _bernstein(variance, left_out), _bernstein(variance, 1e-9)
    first, last = max(0, math.floor(mean - below)), min(people, math.ceil(mean + above))
    numbers = np.arange(first, last + 1, dtype=np.float64)
    masses = np.exp(np.maximum(ln_mass(float(people), numbers, chance), _LEAST_LN))
    starts = np.arange(0, numbers.size, max(1, math.floor(math.sqrt(variance) / _BLOCKS_A_DEVIATION)))
    return numbers[starts], np.add.reduceat(masses, starts) * (1 + _MARGIN), 0.0 if last == people else 1e-9


def _bernstein(variance: float, chance: float) -> float:
    """A binomial variable is this far below (or above) its mean with at most this probability, and one to spare.

    Bernstein: P(t or more) <= exp(-t^2 / (2 (variance + t / 3))).
    """
    logarithm = -math.log(chance)
    return logarithm / 3 + math.sqrt(logarithm**2 / 9 + 2 * logarithm * variance) + 1


def _divergence_given_clones(clones: Floats, local: Fraction, central: Fraction) -> Floats:
    """At least the divergence where so many clones stand beside the one respondent.

    It is the largest of rise * P(B = x - 1) - fall * P(B >= x) over x, where B counts the heads of as many fair coins
    as there are clones; the largest is at the first x beyond turn * (clones + 1).
    """
    rise, fall, turn = _coefficients(local, central)
    start = np.floor(turn * (clones + 1))
    masses = [_mass(clones, start + shift) for shift in (-1, 0, 1)]
    tail = _tail_below(clones, start + 2)
    divergences = np.zeros(clones.size)
    for shift in (2, 1, 0):  # three candidates: the product above is rounded, and may be on the wrong side
        mass = masses[shift]
        upper = np.where(start + shift - 1 <= clones, np.maximum(mass * (1 + _MARGIN), 1e-300), 0.0)
        np.maximum(divergences, rise * upper - fall * tail, out=divergences)
        tail = tail + mass * (1 - _MARGIN)
    return divergences * (1 + 1e-12)


def _coefficients(local: Fraction, central: Fraction) -> tuple[float, float, float]:
    """rise, up; fall, down; and where the likelihood ratio passes e^central."""
    grown = [exact.exp(local, up=up) for up in (False, True)]
    ratio = [exact.exp(central, up=up) for up in (False, True)]
    rise = max(grown[1] - ratio[0], Fraction(0)) / (1 + grown[0])
    turn = (grown[0] * ratio[0] - 1) / ((grown[0] - 1) * (1 + ratio[0]))
    return float(rise) * (1 + 1e-15), float(max(ratio[0] - 1, Fraction(0))) * (1 - 1e-15), float(turn)


def _mass(many: Floats, heads: Floats) -> Floats:
    return np.exp(ln_mass(many, heads, 0.5))


def _tail_below(many: Floats, heads: Floats) -> Floats:
    """At most P(B >= heads), and not much less, for heads above the middle.

    Because: masses are log-concave, so between two of them they lie above the geometric progression that joins
        them; that one's sum is taken.
    """
    piece = np.maximum(1, np.ceil(np.sqrt(many) / 2 / _PIECES_A_DEVIATION))
    points = heads[:, None] + piece[:, None] * np.arange(_PIECES + 1)
    ln = ln_mass(many[:, None], points, 0.5)
    here, there = ln[:, :-1], ln[:, 1:]
    with np.errstate(invalid="ignore"):
        drop = np.where(here > -np.inf, there - here, -np.inf)
    many_times = np.expm1(drop) / np.expm1(drop / piece[:, None])
    return np.asarray((np.exp(here) * many_times).sum(axis=1) * (1 - _MARGIN))


def ln_mass(many: float | Floats, heads: Floats, chance: float) -> Floats:
    """The logarithm of a binomial probability; minus infinity where it is zero.

    Stirling's formula with its remainder, and deviances: no large logarithms are subtracted (Loader 2000).
    """
    tails = many - heads
    good = (heads >= 0) & (tails >= 0)
    heads, tails = np.where(good, heads, 0.0), np.where(good, tails, many)
    deviance = _deviance(heads, many * chance) + _deviance(tails, many * (1 - chance))
    ln_masses = _remainder(np.asarray(many, dtype=np.float64)) - _remainder(heads) - _remainder(tails) - deviance
    return np.where(good, ln_masses, -np.inf)


def _deviance(count: Floats, expected: float | Floats) -> Floats:
    """count ln(count / expected) + expected - count, at least 0."""
    safe = np.maximum(expected, 1e-300)
    share = np.maximum((count - expected) / safe, -1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bend = np.where(share > -1, (1 + share) * np.log1p(share) - share, 1.0)
    return np.asarray(expected * bend)


def _remainder(count: Floats) -> Floats:
    """ln count! - count ln count + count: by Stirling's series from 16 on, below from a table."""
    large = np.maximum(count, 16.0)
    square = 1 / (large * large)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / large
    stirling = 0.5 * np.log(2 * math.pi * large) + series
    return np.where(count < 16, _SMALL[np.minimum(count, 15.0).astype(np.int64)], stirling)


_SMALL = np.array([math.lgamma(k + 1) - (k * math.log(k) - k if k else 0.0) for k in range(16)])
