"""How often the interval of a local estimate holds the truth: exact sums over the law of what is counted, no sampling.

The laws here are made by multiplying polynomials, nowhere by Fourier sums: they share nothing with `local/ends.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.choices import Choices
from discreet.local.estimate import Estimate
from discreet.local.hadamard import HadamardResponse
from discreet.local.several import about_all

Floats = NDArray[np.float64]

#: Below this, an outcome is not looked at, and counted as a miss.
_NEVER = 1e-13
#: Ends are quotients of floats; the truth is one, too.
_ROUNDING = 1e-9


@dataclass(slots=True)
class Coverage:
    """What one case gives, by confidence: the chance to hold the truth, and the mean width in shares."""

    holds: dict[float, float] = field(default_factory=dict)
    widths: dict[float, float] = field(default_factory=dict)
    #: Whether each interval held its own estimate.
    own: bool = True


def binomial(many: int, chance: float) -> Floats:
    """All probabilities, by logarithms."""
    places = np.arange(many + 1)
    if chance in (0.0, 1.0):
        return (places == many * chance).astype(np.float64)
    tops = math.lgamma(many + 1)
    logs = [tops - math.lgamma(k + 1) - math.lgamma(many - k + 1) for k in range(many + 1)]
    return np.asarray(np.exp(np.array(logs) + places * math.log(chance) + (many - places) * math.log1p(-chance)))


def hypergeometric(people: int, holders: int, drawn: int) -> Floats:
    """How many of `holders` among `people` are among `drawn`."""
    total = math.comb(people, drawn)
    return np.array([math.comb(holders, k) * math.comb(people - holders, drawn - k) / total for k in range(drawn + 1)])


def power(law: Floats, times: int) -> Floats:
    """The law of a sum of so many."""
    found = np.ones(1)
    for bit in bin(times)[2:]:
        found = np.convolve(found, found)
        if bit == "1":
            found = np.convolve(found, law)
    return found


def support_law(made: Choices, n: int, truth: int) -> Floats:
    """How many of n reports support a choice that so many hold."""
    own, other = (float(chance) for chance in made.chances)
    return np.convolve(binomial(truth, own), binomial(n - truth, other))


def drawn_law(made: Choices, people: int, truth: int, drawn: int) -> Floats:
    """The same of `drawn` reports, where so many of `people` hold it and a random part of them was asked."""
    among = hypergeometric(people, truth, drawn)
    return np.sum([among[k] * support_law(made, drawn, k) for k in np.flatnonzero(among > _NEVER).tolist()], axis=0)


def outcomes(made: Choices, law: Floats, n: int, people: int) -> Iterator[tuple[Floats, Estimate]]:
    """Chances of many counts at once, one a choice: each choice's interval looks at its own count alone."""
    seen, size = np.flatnonzero(law > _NEVER), len(made.choices)
    for start in range(0, seen.size, size):
        some = seen[start : start + size]
        supports = np.zeros(size, dtype=np.int64)
        supports[: some.size] = some
        chances = np.zeros(size)
        chances[: some.size] = law[some]
        found = made.from_supports(supports, n)
        yield chances, found if people == n else about_all(found, people)


def hadamard_outcomes(made: HadamardResponse, n: int, truth: int, beside: int) -> Iterator[tuple[Floats, Estimate]]:
    """Of a choice that so many hold, and `beside` others of its block: over reports in its set and beside it."""
    high, low = (float(level) * made.length / 2 for level in made._levels)
    law = np.zeros((1, 1))
    law[0, 0] = 1
    for many, inside, out in ((truth, high, low), (beside, (high + low) / 2, (high + low) / 2), (None, low, low)):
        times = n - truth - beside if many is None else many
        law = _convolved(law, _trinomial(times, inside, out))
    inside, out = np.nonzero(law > _NEVER)
    size, width = len(made.choices), -(-len(made.choices) // made.blocks) * made.blocks
    assert width >= size
    for start in range(0, inside.size, size):
        some = slice(start, start + size)
        supports = np.zeros((2, size), dtype=np.int64)
        many = inside[some].size
        supports[0, :many], supports[1, :many] = inside[some], inside[some] + out[some]
        chances = np.zeros(size)
        chances[:many] = law[inside[some], out[some]]
        yield chances, made.from_supports(supports, n)


def _trinomial(many: int, one: float, two: float) -> Floats:
    found = np.zeros((many + 1, many + 1))
    for first, chance in enumerate(binomial(many, one).tolist()):
        rest = two / (1 - one) if one < 1 else 0.0
        found[first, : many - first + 1] = chance * binomial(many - first, min(rest, 1.0))
    return found


def _convolved(left: Floats, right: Floats) -> Floats:
    shape = left.shape[0] + right.shape[0] - 1, left.shape[1] + right.shape[1] - 1
    found = np.zeros(shape)
    for row, column in zip(*np.nonzero(left > 1e-16), strict=True):
        found[row : row + right.shape[0], column : column + right.shape[1]] += left[row, column] * right
    return found


def coverage(
    each: Iterator[tuple[Floats, Estimate]],
    truth: float,
    confidences: tuple[float, ...],
    label: Callable[..., Any] = list,
) -> Coverage:
    """Of the share `truth`."""
    found = Coverage()
    for chances, estimate in each:
        shares = np.array(label(estimate.shares.values()))
        for confidence in confidences:
            low, high = np.array(label(estimate.interval(confidence).values())).T
            good = (low <= truth + _ROUNDING) & (truth - _ROUNDING <= high)
            found.own &= bool(np.all((low <= shares) & (shares <= high) | (chances == 0)))
            found.holds[confidence] = found.holds.get(confidence, 0.0) + float(chances @ good)
            found.widths[confidence] = found.widths.get(confidence, 0.0) + float(chances @ (high - low))
    return found
