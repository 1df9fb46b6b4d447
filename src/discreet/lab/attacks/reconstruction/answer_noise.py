"""What is attacked: secret bits, random subset questions, and answers with noise. Generated bits protect nobody."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace

#: Of the query matrix, 4 bytes each: 1 GB.
MOST_ENTRIES = 250_000_000
MOST_HADAMARD = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerNoise:
    """How a server blurs its answers: uniformly within `multiple` roots of n, or so that all cost `epsilon` together.

    Guarantee: with an epsilon, all the answers are epsilon-private in all.
    Because: one person's bit is one more in at most every one of m counts, an l1 distance of m, against discrete
        Laplace noise of scale m / epsilon.
    """

    multiple: float = 0.0
    epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.multiple) and self.multiple >= 0):
            raise UsageError(f"noise must be 0 or more (a multiple of sqrt(n)), not {self.multiple:g}")

    def bound(self, people: int) -> float:
        """The largest error of an answer."""
        return self.multiple * math.sqrt(people)

    def perturb(self, answers: NDArray[np.float64], people: int, chance: np.random.Generator) -> NDArray[np.float64]:
        """Answers with noise."""
        if self.epsilon is not None:
            noise = DiscreteLaplace(scale=len(answers) / self.epsilon).draw(len(answers), bits=system())
            return answers + noise
        return answers + chance.uniform(-1, 1, len(answers)) * self.bound(people)


def random_subsets(people: int, count: int, chance: np.random.Generator) -> NDArray[np.float32]:
    """Random subsets: a row of zeros and ones for each question."""
    if people * count > MOST_ENTRIES:
        raise UsageError(
            f"{count:,} queries about {people:,} people are too many: the product must be at most {MOST_ENTRIES:,}",
            hint=Message(Flag("method", "hadamard"), " needs no matrix"),
        )
    packed = np.frombuffer(chance.bytes((people * count + 7) // 8), dtype=np.uint8)
    return np.unpackbits(packed, count=people * count).reshape(count, people).astype(np.float32)
