"""Randomized response: the truth, or now and then another choice. From two coins to any number of choices."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import Flag, Message, UsageError
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


class TwoCoins(RandomizedResponse):
    """The two fair coins of the lecture: heads on the first, tell the truth; tails, say what the second coin says.

    Guarantee: (ln 3)-differentially private for each report, and exactly that.
    Because: a choice is said with probability 1/2 + 1/4 = 3/4 by those who hold it and 1/4 by the others; both are
        whole numbers of 256^-planes, so nothing is rounded. ln 3 is stated rounded up, in 10^-12.
    Draws: one flip of a fair coin, then another, which is thrown whether it counts or not.

    >>> TwoCoins(["yes", "no"]).epsilon
    Fraction(1098612288669, 1000000000000)
    """

    __slots__ = ()

    protocol = "two-coins"

    def __init__(self, choices: Sequence[str], *, epsilon: object = None, planes: int = PLANES) -> None:
        self._declare(choices)
        if len(self.choices) != 2:
            raise UsageError(
                "Two coins choose between two answers.", hint=Message(Flag("protocol", "response"), " takes more")
            )
        ratio = Fraction(3)
        cost = coins.epsilon_of(ratio)
        self.requested_epsilon = cost if epsilon is None else coins.check_epsilon(epsilon)
        if self.requested_epsilon < cost:
            raise UsageError(
                f"Two fair coins cost epsilon ln 3 = {exact.show(cost, up=True)}, which is more than "
                f"{exact.show(self.requested_epsilon)}.",
                hint=Message(Flag("protocol", "response"), " takes any epsilon"),
            )
        self.lie = Coin(heads=coins.heads_for(Fraction(1, 4), planes=planes), planes=planes)
        self.epsilon = coins.cost(ratio, self.requested_epsilon)
        self.width = bytes_needed(1)

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        fair = Coin(heads=2 * self.lie.heads, planes=self.lie.planes)
        truthful = fair.flips(codes.size, bits=bits)
        second = fair.flips(codes.size, bits=bits)
        return numbers_to_bytes(np.where(truthful, codes, np.where(second, 0, 1)), self.width)
