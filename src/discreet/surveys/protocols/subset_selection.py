"""Subset selection: a random set of choices that holds the truth more often than not at random."""

from __future__ import annotations

import math
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
    check_report_width,
    numbers_to_bytes,
)
from discreet.surveys.protocols.coins import PLANES, Coin
from discreet.surveys.protocols.group_tally import bit_counts
from discreet.surveys.protocols.randomizer import Reports

#: Sets are made many at a time, in this many bytes (one a choice): few steps, and near the cache.
_PIECE = 1 << 22


class SubsetSelection(ChoiceRandomizer):
    """Report a set of `size` choices: with probability 1 - `without` the true one and others, otherwise only others.

    Draws: first the coin `without`. Then Floyd's way to draw k of the d - 1 others, where k is `size` if it
    fell on heads and size - 1 if not: for each place from d - 1 - k to d - 2 a whole number up to and with
    that place; it is taken, or the place itself if it was taken before. At last the own choice and the last
    one change places: d - 1 is in the set if the own number was taken, and the own one if `without` fell on tails.
    Report: a bit a choice, the first choice's the highest of the first byte; or the numbers of the choices in
    the set, rising, where that is shorter. (In the order in which they were drawn they could tell more.)

    Guarantee: epsilon-differentially private for each report.
    Because: Floyd's sets are all as likely as each other, so a set with the truth in it has probability
        (1 - without) / C(d-1, size-1), one without it without / C(d-1, size). Epsilon is the logarithm of the
        ratio, (1 - without)(d - size) / (without size), and `without` the least number of 256^-planes for which
        that is at most what was asked for.
    """

    __slots__ = ("listed", "size", "without")

    protocol = "subset"

    def __init__(self, choices: Sequence[str], *, epsilon: object, planes: int = PLANES) -> None:
        self._declare(choices)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        growth, many = coins.likelihood_bound(self.requested_epsilon), len(self.choices)
        self.size = best_size(growth, many)
        outside = (many - self.size) / (self.size * growth + many - self.size)
        self.without = Coin(heads=coins.heads_for(outside, planes=planes), planes=planes)
        ratio = (1 - self.without.chance) * (many - self.size) / (self.without.chance * self.size)
        self.epsilon = coins.cost(ratio, self.requested_epsilon)
        as_numbers, as_bits = self.size * bytes_needed(many - 1), -(-many // 8)
        self.listed = as_numbers < as_bits
        self.width = check_report_width(min(as_numbers, as_bits), self.protocol)

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        made = np.empty((codes.size, self.width), dtype=np.uint8)
        rows = max(1, _PIECE // len(self.choices))
        for start in range(0, codes.size, rows):
            made[start : start + rows] = self._written(self._sets(codes[start : start + rows], bits))
        return made

    def _sets(self, codes: NDArray[np.int64], bits: Bits) -> NDArray[np.bool_]:
        """A row of the matrix for each code: which choices its set holds."""
        without = self.without.flips(codes.size, bits=bits)
        last = len(self.choices) - 1
        sets = np.zeros((codes.size, last + 1), dtype=np.bool_)
        flat = sets.reshape(-1)
        begins = np.arange(codes.size) * (last + 1)
        _floyd_step(flat, begins[without], last - self.size, bits)
        for place in range(last - self.size + 1, last):
            _floyd_step(flat, begins, place, bits)
        flat[begins + last] = flat[begins + codes]
        flat[begins + codes] = ~without
        return sets

    def _written(self, sets: NDArray[np.bool_]) -> Reports:
        if not self.listed:
            return np.packbits(sets, axis=1)
        numbers = np.nonzero(sets)[1]  # row by row, rising in each
        return numbers_to_bytes(numbers, bytes_needed(len(self.choices) - 1)).reshape(len(sets), self.width)

    def _numbers(self, reports: Reports) -> NDArray[np.int64]:
        wide = bytes_needed(len(self.choices) - 1)
        return bytes_to_numbers(np.ascontiguousarray(reports).reshape(-1, wide)).reshape(len(reports), self.size)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        if self.listed:
            choice_numbers = self._numbers(reports)
            return np.asarray(
                (choice_numbers[:, -1] < len(self.choices)) & (np.diff(choice_numbers, axis=1) > 0).all(axis=1)
            )
        spare = (1 << 8 * self.width - len(self.choices)) - 1
        sizes = np.bitwise_count(reports).sum(axis=1, dtype=np.int64)
        return np.asarray((sizes == self.size) & (reports[:, -1] & spare == 0))

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        if self.listed:
            return np.bincount(self._numbers(reports).ravel(), minlength=len(self.choices))
        return bit_counts(reports)[: len(self.choices)]

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """Of the d - 1 others, size - 1 are in a set that holds the truth, and size in one that does not."""
        without = self.without.chance
        return 1 - without, (self.size - 1 + without) / (len(self.choices) - 1)

    def numbers(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "without": self.without.heads,
            "planes": self.without.planes,
            "choices": len(self.choices),
        }


def _floyd_step(flat: NDArray[np.bool_], begins: NDArray[np.int64], place: int, bits: Bits) -> None:
    """Floyd's step, in each set: a number up to `place`, or `place` itself if the set holds that already."""
    taken = uniform.whole_below(place + 1, begins.size, bits=bits)
    taken += begins
    np.copyto(taken, begins + place, where=flat[taken])
    flat[taken] = True


def best_size(growth: Fraction, many: int) -> int:
    """How many choices in a set give a rare choice the least variance: a neighbour of d / (e^epsilon + 1)."""

    def variance(size: int) -> Fraction:
        truth = size * growth / (size * growth + many - size)
        other = (size - truth) / (many - 1)
        return other * (1 - other) / (truth - other) ** 2

    near = math.floor(many / (growth + 1))
    return min((max(1, size) for size in (near, near + 1)), key=variance)
