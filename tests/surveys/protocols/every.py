"""Every way the coins can fall: the exact law of a randomizer's reports, from the code that ships.

The three primitives (a coin, a coin for each lane, a whole number below a limit) are replaced by
branches that carry their exact probability; all else is the real code. The primitives themselves are
enumerated byte by byte in test_coins.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.mechanisms import uniform
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.randomizer import Randomizer

Law = dict[bytes, Fraction]


class _Branches:
    """A path through the tree of outcomes, replayed; the first new fork is taken at its first branch."""

    def __init__(self) -> None:
        self.path: list[tuple[int, int]] = []  # (taken, out of)
        self.at = 0
        self.weight = Fraction(1)

    def begin(self) -> None:
        self.at, self.weight = 0, Fraction(1)

    def fork(self, chances: list[Fraction]) -> int:
        if self.at == len(self.path):
            self.path.append((0, len(chances)))
        taken, _ = self.path[self.at]
        self.at += 1
        self.weight *= chances[taken]
        return taken

    def advance(self) -> bool:
        while self.path:
            taken, many = self.path.pop()
            if taken + 1 < many:
                self.path.append((taken + 1, many))
                return True
        return False


class NoBits:
    """No code may reach for bits but through the primitives."""

    def words(self, count: int) -> NDArray[np.uint64]:
        raise AssertionError("randomness was drawn around the primitives")


@contextmanager
def _branching(tree: _Branches) -> Iterator[None]:
    def flip(chance: Fraction) -> bool:
        return tree.fork([chance, 1 - chance]) == 0

    def flips(self: Coin, size: int, *, bits: Any) -> NDArray[np.bool_]:
        return np.array([flip(self.chance) for _ in range(size)], dtype=np.bool_)

    def flips_of(heads: NDArray[np.int64], *, planes: int = coins.PLANES, bits: Any) -> NDArray[np.bool_]:
        return np.array([flip(Fraction(int(head), 256**planes)) for head in heads], dtype=np.bool_)

    def whole_below(limit: int, size: int, *, bits: Any) -> NDArray[np.int64]:
        return np.array([tree.fork([Fraction(1, limit)] * limit) for _ in range(size)], dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Coin, "flips", flips)
        patch.setattr(coins, "flips_of", flips_of)
        patch.setattr(uniform, "whole_below", whole_below)
        yield


def law(randomizer: Randomizer, value: Any) -> Law:
    """Each report that `value` can become, with its exact probability."""
    found: Law = defaultdict(Fraction)
    tree = _Branches()
    with _branching(tree):
        while True:
            tree.begin()
            report = randomizer.draw_reports([value], bits=NoBits())[0].tobytes()
            assert tree.at == len(tree.path)
            found[report] += tree.weight
            if not tree.advance():
                break
    assert sum(found.values()) == 1
    return {report: chance for report, chance in found.items() if chance}


def largest_ratio(laws: list[Law]) -> Fraction:
    """The most by which a report is likelier for one answer than for another."""
    most = Fraction(1)
    for report in set().union(*laws):
        chances = [found.get(report, Fraction(0)) for found in laws]
        assert min(chances) > 0, "a report that one answer can give and another cannot"
        most = max(most, max(chances) / min(chances))
    return most
