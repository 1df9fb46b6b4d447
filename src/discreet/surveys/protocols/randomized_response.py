"""Randomized response: the truth, or now and then another choice. From two coins to any number of choices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import uniform
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import (
    ChoiceRandomizer,
    bytes_needed,
    bytes_to_numbers,
    numbers_to_bytes,
)
from discreet.surveys.protocols.coins import PLANES, Coin
from discreet.surveys.protocols.randomizer import Reports


class RandomizedResponse(ChoiceRandomizer):
    """Report the true choice, or with probability `lie` one of the other k - 1 choices, all equally likely.

    Guarantee: epsilon-differentially private for each report.
    Because: a choice is reported with probability 1 - lie by those who hold it and lie / (k - 1) by all
        others; epsilon is the logarithm of the ratio of the two, and lie is the least number of
        256^-planes for which that is at most what was asked for.

    >>> coins = RandomizedResponse(["yes", "no"], epsilon=1.1)
    >>> report = coins.randomize("yes")                                  # on the device
    >>> sorted(coins.estimate([report]).shares)                          # at home
    ['no', 'yes']
    """

    __slots__ = ("lie",)

    protocol = "response"

    def __init__(self, choices: Sequence[str], *, epsilon: object, planes: int = PLANES) -> None:
        self._declare(choices)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        others = len(self.choices) - 1
        # (1 - lie) / (lie / others) <= e^epsilon, solved for lie.
        self.lie = Coin(
            heads=coins.heads_for(others / (coins.likelihood_bound(self.requested_epsilon) + others), planes=planes),
            planes=planes,
        )
        self.epsilon = coins.cost((1 - self.lie.chance) * others / self.lie.chance, self.requested_epsilon)
        self.width = bytes_needed(others)

    @classmethod
    def two_coins(cls, choices: Sequence[str] = ("yes", "no")) -> RandomizedResponse:
        """The lecture's two fair coins: tails on the first, tell the truth; else answer as the second falls.

        That is a lie with probability 1/4, so its epsilon is ln 3, and a share of a said "yes" is
        estimated by 2a - 1/2.
        """
        if len(choices) != 2:
            raise ValueError("two coins need exactly two choices")
        return cls(choices, epsilon=coins.epsilon_of(Fraction(3)))

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        lies = np.flatnonzero(self.lie.flips(codes.size, bits=bits))
        reported_codes = codes.copy()
        reported_codes[lies] += 1 + uniform.whole_below(len(self.choices) - 1, lies.size, bits=bits)
        reported_codes[lies] %= len(self.choices)
        return numbers_to_bytes(reported_codes, self.width)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray(bytes_to_numbers(reports) < len(self.choices))

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        return np.bincount(bytes_to_numbers(reports), minlength=len(self.choices))

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        return 1 - self.lie.chance, self.lie.chance / (len(self.choices) - 1)

    def numbers(self) -> dict[str, Any]:
        return {"lie": self.lie.heads, "planes": self.lie.planes, "choices": len(self.choices)}
