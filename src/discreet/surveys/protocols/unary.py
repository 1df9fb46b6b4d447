"""Unary encoding: one bit for each choice, each bit flipped by a coin of its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer, check_report_width
from discreet.surveys.protocols.coins import PLANES, Coin
from discreet.surveys.protocols.group_tally import bit_counts
from discreet.surveys.protocols.randomizer import Reports

#: Bits at a time: a batch of reports is made in pieces that stay in the cache.
_PIECE = 1 << 22


class Unary(ChoiceRandomizer):
    """One bit a choice: the respondent's own is 1 with probability `own`, every other with `other`.

    Guarantee: epsilon-differentially private for each report.
    Because: bits are independent, and two answers change the law of two of them, their own: the ratio of
        likelihoods is at most own (1 - other) / (other (1 - own)).
    """

    __slots__ = ("other", "own")

    own: Coin
    other: Coin

    def _finish(self) -> None:
        """Two bits change. Of the symmetric encoding each costs half of what was asked for."""
        own, other = self.own.chance, self.other.chance
        if own == 1 - other:
            self.epsilon = coins.cost(own / other, self.requested_epsilon, times=2)
        else:
            self.epsilon = coins.cost(own * (1 - other) / (other * (1 - own)), self.requested_epsilon)
        self.width = check_report_width(-(-len(self.choices) // 8), self.protocol)

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        made = np.empty((codes.size, self.width), dtype=np.uint8)
        rows = max(1, _PIECE // len(self.choices))
        for start in range(0, codes.size, rows):
            made[start : start + rows] = self._piece(codes[start : start + rows], bits)
        return made

    def _piece(self, codes: NDArray[np.int64], bits: Bits) -> Reports:
        """All bits by the other coin, row by row; then each row's own bit by its own coin."""
        flipped = self.other.flips(codes.size * len(self.choices), bits=bits).reshape(codes.size, len(self.choices))
        flipped[np.arange(codes.size), codes] = self.own.flips(codes.size, bits=bits)
        return np.packbits(flipped, axis=1)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Any bits may be set but those that fill up the last byte."""
        spare = 8 * self.width - len(self.choices)
        return np.asarray(reports[:, -1] & ((1 << spare) - 1) == 0)

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        return bit_counts(reports)[: len(self.choices)]

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        return self.own.chance, self.other.chance

    def numbers(self) -> dict[str, Any]:
        return {
            "own": self.own.heads,
            "other": self.other.heads,
            "planes": self.own.planes,
            "choices": len(self.choices),
        }


class SymmetricUnary(Unary):
    """Flip every bit with the same probability, 1 / (1 + e^(epsilon/2)): RAPPOR's one-time noise."""

    __slots__ = ()

    protocol = "symmetric-unary"

    def __init__(self, choices: Sequence[str], *, epsilon: object, planes: int = PLANES) -> None:
        self._declare(choices)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        self.other = Coin(
            heads=coins.heads_for(1 / (1 + coins.likelihood_bound(self.requested_epsilon / 2)), planes=planes),
            planes=planes,
        )
        self.own = Coin(heads=self.other.sides - self.other.heads, planes=planes)
        self._finish()


class OptimisedUnary(Unary):
    """The respondent's own bit is a fair coin, every other is 1 with probability 1 / (1 + e^epsilon).

    Of all unary encodings, it has the smallest variance when each choice is rare.
    """

    __slots__ = ()

    protocol = "unary"

    def __init__(self, choices: Sequence[str], *, epsilon: object, planes: int = PLANES) -> None:
        self._declare(choices)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        self.other = Coin(
            heads=coins.heads_for(1 / (1 + coins.likelihood_bound(self.requested_epsilon)), planes=planes),
            planes=planes,
        )
        self.own = Coin(heads=self.other.sides // 2, planes=planes)
        self._finish()
