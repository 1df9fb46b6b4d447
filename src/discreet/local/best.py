"""Every protocol by its name, and which one to take for how many choices, at what epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module

import numpy as np

from discreet import exact
from discreet.errors import UsageError
from discreet.local import coins
from discreet.local.choices import MOST, Choices
from discreet.local.randomizer import Randomizer

#: Where each protocol is made: `module.Class` in this package, imported when somebody asks for it.
PLACES: dict[str, str] = {
    "response": "response.RandomizedResponse",
    "symmetric-unary": "unary.SymmetricUnary",
    "unary": "unary.OptimisedUnary",
    "hashing": "hashing.LocalHashing",
    "fast-hashing": "hashing.FastHashing",
    "subset": "subset.SubsetSelection",
    "hadamard": "hadamard.HadamardResponse",
    "basic-rappor": "rappor.BasicRappor",
    "rappor": "rappor.Rappor",
    "sketch": "sketch.CountMeanSketch",
    "hadamard-sketch": "sketch.HadamardSketch",
    "prefix-words": "words.PrefixWords",
    "puzzle": "puzzle.FragmentPuzzle",
    "duchi": "numbers.Duchi",
    "piecewise": "window.Piecewise",
    "square-wave": "window.SquareWave",
    "hybrid": "window.Hybrid",
    "laplace": "record.LaplaceRecord",
    "tree": "tree.Tree",
    "sampled": "several.Sampled",
    "split": "several.Split",
}

#: Those that `best` compares, the simplest first. Not fast-hashing: what its public list adds to the
#: variance depends on how popular the popular choices are, which nobody knows before.
COMPARED = ("response", "symmetric-unary", "unary", "subset", "hashing", "hadamard")

#: Variances within this share of the least are as good: then the shorter report is better.
TIE = Fraction(1, 50)


class _Kinds(Mapping[str, type[Randomizer]]):
    """The classes of `PLACES`."""

    def __getitem__(self, protocol: str) -> type[Randomizer]:
        module, name = PLACES[protocol].split(".")
        found: type[Randomizer] = getattr(import_module(f"discreet.local.{module}"), name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


#: Each protocol's class, as `randomizer.read` wants them.
KINDS: Mapping[str, type[Randomizer]] = _Kinds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """A protocol and why: the variance of a count that nobody holds, for each protocol that was compared."""

    protocol: str
    because: str
    variances: dict[str, float]


def best(domain_size: int, epsilon: object, n: int) -> Pick:
    """The protocol whose count of a rare choice varies least over n people; of equals, the shortest report.

    All is computed from the numbers that each protocol would use. A protocol whose reports would be too
    long to collect is not compared.

    >>> best(2, epsilon=1, n=1_000).protocol, best(1_000, epsilon=2, n=1_000_000).protocol
    ('response', 'hashing')
    """
    if not isinstance(domain_size, int) or not 2 <= domain_size <= MOST:
        raise UsageError(f"There must be 2 to {MOST:,} choices, not {domain_size!r}.")
    if not isinstance(n, int) or n < 1:
        raise UsageError(f"A number of people is at least 1, not {n!r}.")
    asked = coins.asked(epsilon)
    made = _compared(domain_size, asked)
    if not made:
        raise UsageError(coins.TOO_SMALL, hint="Choose a larger epsilon, or fewer choices.")
    variances = {protocol: _rare(each, n) for protocol, each in made.items()}
    enough = min(variances.values()) * float(1 + TIE)
    good = [protocol for protocol, variance in variances.items() if variance <= enough]
    protocol = min(good, key=lambda each: made[each].width)
    because = _because(protocol, made, variances, n) + _decided(good)
    return Pick(protocol=protocol, because=because, variances=variances)


def _compared(domain_size: int, epsilon: Fraction) -> dict[str, Choices]:
    names = [str(code) for code in range(domain_size)]
    found: dict[str, Choices] = {}
    for protocol in COMPARED:
        try:
            each = KINDS[protocol](names, epsilon=epsilon)  # type: ignore[call-arg]
        except UsageError:
            continue
        assert isinstance(each, Choices)
        found[protocol] = each
    return found


def _rare(randomizer: Choices, n: int) -> float:
    """The variance of the first choice's count, where nobody holds it and all others are equally popular."""
    many = len(randomizer.choices)
    counts = np.full(many, n / (many - 1))
    counts[0] = 0
    return float(randomizer.variances(counts, n)[0])


def _because(protocol: str, made: dict[str, Choices], variances: dict[str, float], n: int) -> str:
    """One sentence: this one, and the three best of the others."""

    def figures(each: str) -> str:
        size = f"{made[each].width:,} byte{'s' if made[each].width > 1 else ''}"
        return f"{_rounded(math.sqrt(variances[each]))} with {each} ({size})"

    first = made[protocol]
    others = sorted((each for each in made if each != protocol), key=lambda each: variances[each])[:3]
    against = f", against {', '.join(figures(each) for each in others)}" if others else ""
    return (
        f"Of {n:,} people and {len(first.choices):,} choices at epsilon {exact.show(first.asked)}, a rare choice's "
        f"count is typically off by {figures(protocol)}{against}"
    )


def _decided(good: list[str]) -> str:
    if len(good) == 1:
        return f"; no other variance is within {float(TIE):.0%} of the least."
    return f"; of those whose variance is within {float(TIE):.0%} of the least, none has a shorter report."


def _rounded(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
