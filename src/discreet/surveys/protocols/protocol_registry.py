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
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import MOST_CHOICES, ChoiceRandomizer
from discreet.surveys.protocols.randomizer import Randomizer

#: Where each protocol is made: `module.Class` in this package, imported when somebody asks for it.
PROTOCOL_PATHS: dict[str, str] = {
    "response": "randomized_response.RandomizedResponse",
    "two-coins": "randomized_response.TwoCoins",
    "symmetric-unary": "unary.SymmetricUnary",
    "unary": "unary.OptimisedUnary",
    "hashing": "local_hash.LocalHashing",
    "fast-hashing": "local_hash.FastHashing",
    "subset": "subset_selection.SubsetSelection",
    "hadamard": "hadamard.HadamardResponse",
    "basic-rappor": "rappor.BasicRappor",
    "rappor": "rappor.Rappor",
    "sketch": "sketch.CountMeanSketch",
    "hadamard-sketch": "sketch.HadamardSketch",
    "prefix-words": "prefix_words.PrefixWords",
    "puzzle": "fragment_puzzle.FragmentPuzzle",
    "duchi": "grid_numbers.Duchi",
    "piecewise": "window_mechanism.Piecewise",
    "square-wave": "window_mechanism.SquareWave",
    "hybrid": "window_mechanism.Hybrid",
    "laplace": "laplace_record.LaplaceRecord",
    "tree": "interval_tree.Tree",
    "sampled": "several_questions.Sampled",
    "split": "several_questions.Split",
}

#: Those that `best_protocol` compares, the simplest first. Not fast-hashing: what its public list adds to the
#: variance depends on how popular the popular choices are, which nobody knows before.
COMPARED = ("response", "symmetric-unary", "unary", "subset", "hashing", "hadamard")

#: Variances within this share of the least are as good: then the shorter report is better.
TIE = Fraction(1, 50)


class _ProtocolClasses(Mapping[str, type[Randomizer]]):
    """The classes of `PROTOCOL_PATHS`."""

    def __getitem__(self, protocol: str) -> type[Randomizer]:
        module, name = PROTOCOL_PATHS[protocol].split(".")
        protocol_class: type[Randomizer] = getattr(import_module(f"discreet.surveys.protocols.{module}"), name)
        return protocol_class

    def __iter__(self) -> Iterator[str]:
        return iter(PROTOCOL_PATHS)

    def __len__(self) -> int:
        return len(PROTOCOL_PATHS)


#: Each protocol's class, as `randomizer.read` wants them.
PROTOCOL_CLASSES: Mapping[str, type[Randomizer]] = _ProtocolClasses()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolPick:
    """A protocol and why: the variance of a count that nobody holds, for each protocol that was compared."""

    protocol: str
    because: str
    variances: dict[str, float]


def best_protocol(domain_size: int, epsilon: object, n: int) -> ProtocolPick:
    """The protocol whose count of a rare choice varies least over n people; of equals, the shortest report.

    All is computed from the numbers that each protocol would use. A protocol whose reports would be too
    long to collect is not compared.

    >>> best_protocol(2, epsilon=1, n=1_000).protocol, best_protocol(1_000, epsilon=2, n=1_000_000).protocol
    ('response', 'hashing')
    """
    if not isinstance(domain_size, int) or not 2 <= domain_size <= MOST_CHOICES:
        raise UsageError(f"There must be 2 to {MOST_CHOICES:,} choices, not {domain_size!r}.")
    if not isinstance(n, int) or n < 1:
        raise UsageError(f"The number of people must be at least 1, not {n!r}.")
    requested_epsilon = coins.check_epsilon(epsilon)
    made = _compared(domain_size, requested_epsilon)
    if not made:
        raise UsageError(coins.EPSILON_TOO_SMALL, hint="choose a larger epsilon or fewer choices")
    variances = {protocol: _rare_choice_variance(each, n) for protocol, each in made.items()}
    enough = min(variances.values()) * float(1 + TIE)
    good = [protocol for protocol, variance in variances.items() if variance <= enough]
    protocol = min(good, key=lambda each: made[each].width)
    because = _because(protocol, made, variances, n) + _tie_sentence(good)
    return ProtocolPick(protocol=protocol, because=because, variances=variances)


def _compared(domain_size: int, epsilon: Fraction) -> dict[str, ChoiceRandomizer]:
    names = [str(code) for code in range(domain_size)]
    randomizers: dict[str, ChoiceRandomizer] = {}
    for protocol in COMPARED:
        try:
            each = PROTOCOL_CLASSES[protocol](names, epsilon=epsilon)  # type: ignore[call-arg]
        except UsageError:
            continue
        assert isinstance(each, ChoiceRandomizer)
        randomizers[protocol] = each
    return randomizers


def _rare_choice_variance(randomizer: ChoiceRandomizer, n: int) -> float:
    """The variance of the first choice's count, where nobody holds it and all others are equally popular."""
    many = len(randomizer.choices)
    counts = np.full(many, n / (many - 1))
    counts[0] = 0
    return float(randomizer.variances(counts, n)[0])


def _because(protocol: str, made: dict[str, ChoiceRandomizer], variances: dict[str, float], n: int) -> str:
    """One sentence: this one, and the three best of the others."""

    def figures(each: str) -> str:
        size = f"{made[each].width:,} byte{'s' if made[each].width > 1 else ''}"
        return f"{_rounded(math.sqrt(variances[each]))} with {each} ({size})"

    first = made[protocol]
    others = sorted((each for each in made if each != protocol), key=lambda each: variances[each])[:3]
    against = f", compared with {', '.join(figures(each) for each in others)}" if others else ""
    return (
        f"With {n:,} people and {len(first.choices):,} choices at epsilon {exact.show(first.requested_epsilon)}, the "
        f"count of a rare choice is typically off by {figures(protocol)}{against}"
    )


def _tie_sentence(good: list[str]) -> str:
    if len(good) == 1:
        return f"; no other protocol has a variance within {float(TIE):.0%} of the smallest."
    return f"; of the protocols with a variance within {float(TIE):.0%} of the smallest, none has a shorter report."


def _rounded(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
