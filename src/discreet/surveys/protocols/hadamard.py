"""Hadamard response: one short number, drawn from the half of a block that a row of signs marks.

Acharya, Sun and Zhang, "Hadamard Response" (2019): nearly as exact as the best at any epsilon, with the
shortest reports and the least work at home.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import uniform
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins, walsh
from discreet.surveys.protocols.choice_randomizer import (
    ChoiceRandomizer,
    bytes_needed,
    bytes_to_numbers,
    numbers_to_bytes,
)
from discreet.surveys.protocols.coins import PLANES, Coin
from discreet.surveys.protocols.estimate import Estimate
from discreet.surveys.protocols.randomizer import Reports
from discreet.surveys.protocols.support_law import CountStep, SupportLaw


class HadamardResponse(ChoiceRandomizer):
    """A number below blocks * length. Code v has the block v mod blocks and the column v // blocks + 1.

    The *set* of a choice is the half of its block whose numbers have, within the block, an even number of
    1 bits in common with its column. Two columns agree in exactly half of the places, so two sets of one
    block share half of their numbers; sets of different blocks share none.

    Draws: first the coin `without`; then on tails a whole number below length / 2, the number's place in the
    own set; on heads one below the number of all other numbers, those of the own block first, then those of
    the other blocks in their order. A place in a half of a block becomes a number of it by `numbers_at_places`.
    Report: the number, its most significant byte first.

    Guarantee: epsilon-differentially private for each report.
    Because: each number of the own set has probability (1 - without) / half, each other number
        without / (all - half); epsilon is the logarithm of the ratio of the two, and `without` the least
        number of 256^-planes for which that is at most what was asked for.
    Unbiased: a report counts +1 for a choice whose set it is in, -1 for one in whose block it is otherwise.
        With those two probabilities, high and low, the mean is half (high - low) =: gap for the own choice;
        it is 0 for another of the same block, whose set holds half of the own one; and 0 for those of other
        blocks, whose numbers are all alike. So the sum over the gap is unbiased.
    """

    __slots__ = ("blocks", "length", "without")

    protocol = "hadamard"

    def __init__(self, choices: Sequence[str], *, epsilon: object, planes: int = PLANES) -> None:
        self._declare(choices)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        growth = coins.likelihood_bound(self.requested_epsilon)
        self.blocks = best_blocks(growth, len(self.choices))
        self.length = block_length(self.blocks, len(self.choices))
        half, rest = self._sizes
        self.without = Coin(heads=coins.heads_for(rest / (half * growth + rest), planes=planes), planes=planes)
        high, low = self._levels
        self.epsilon = coins.cost(high / low, self.requested_epsilon)
        self.width = bytes_needed(self.blocks * self.length - 1)

    @property
    def _sizes(self) -> tuple[int, int]:
        """How many numbers are in a set, and how many are not."""
        return self.length // 2, self.blocks * self.length - self.length // 2

    @property
    def _levels(self) -> tuple[Fraction, Fraction]:
        """The probability of a number in the own set, and of any other."""
        half, rest = self._sizes
        return (1 - self.without.chance) / half, self.without.chance / rest

    def _place(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The block and the column of each code. (Column 0 marks all of a block, so nobody has it.)"""
        columns, blocks = np.divmod(codes, self.blocks)
        return blocks, columns + 1

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        half, rest = self._sizes
        blocks, columns = self._place(codes)
        begins = blocks * self.length
        without = self.without.flips(codes.size, bits=bits)
        outputs = np.empty(codes.size, dtype=np.int64)
        inside, outside = np.flatnonzero(~without), np.flatnonzero(without)
        drawn = uniform.whole_below(half, inside.size, bits=bits)
        outputs[inside] = begins[inside] + numbers_at_places(drawn, columns[inside], odd=False)
        drawn = uniform.whole_below(rest, outside.size, bits=bits)
        begins = begins[outside]
        beside = begins + numbers_at_places(np.minimum(drawn, half - 1), columns[outside], odd=True)
        elsewhere = drawn - half
        elsewhere += self.length * (elsewhere >= begins)
        outputs[outside] = np.where(drawn < half, beside, elsewhere)
        return numbers_to_bytes(outputs, self.width)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray(bytes_to_numbers(reports) < self.blocks * self.length)

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """Two rows: for each choice the reports in its set, and those in its block."""
        output_counts = np.bincount(bytes_to_numbers(reports), minlength=self.blocks * self.length)
        sums = walsh.transform(output_counts.reshape(self.blocks, self.length))
        blocks, columns = self._place(np.arange(len(self.choices)))
        within = sums[blocks, 0]
        return np.stack([(within + sums[blocks, columns]) // 2, within])

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """For the own choice and another of its block. A choice of another block is supported less often."""
        half, _ = self._sizes
        high, low = self._levels
        return half * high, half * (high + low) / 2

    @property
    def gap(self) -> Fraction:
        """The mean of what a report counts for its own choice."""
        high, low = self._levels
        return self._sizes[0] * (high - low)

    def from_supports(self, supports: NDArray[np.int64], n: int) -> Estimate:
        """From the two rows of `supports`."""
        gap, low = float(self.gap), float(self._levels[1])
        counts: NDArray[np.float64] = (2 * supports[0] - supports[1]) / gap
        holders: NDArray[np.float64] = np.clip((supports[1] - n * self.length * low) / gap, 0.0, float(n))
        clipped_counts = np.clip(counts, 0, holders)
        variances = self._spread(clipped_counts, holders, n)
        return Estimate(
            labels=self.choices,
            n=n,
            counts=counts,
            variances=variances,
            reach=2 / gap,
            law=self._law(supports, n),
        )

    def _law(self, supports: NDArray[np.int64], n: int) -> SupportLaw:
        """Of the reports in a choice's set less those beside it, and of all reports in its block."""
        high, low = (float(level) * self.length / 2 for level in self._levels)
        block = SupportLaw(
            counted=supports[1], people=n, drawn=n, own=CountStep(up=high + low), other=CountStep(up=2 * low)
        )
        return SupportLaw(
            counted=2 * supports[0] - supports[1],
            people=n,
            drawn=n,
            own=CountStep(up=high, down=low),
            other=CountStep(up=(high + low) / 2, down=(high + low) / 2),
            block=block if self.blocks > 1 else None,
            far=CountStep(up=low, down=low) if self.blocks > 1 else None,
        )

    def variances(self, counts: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        blocks, _ = self._place(np.arange(len(self.choices)))
        holders: NDArray[np.float64] = np.bincount(blocks, weights=counts).astype(np.float64)
        return self._spread(counts, holders[blocks], n)

    def _spread(self, counts: NDArray[np.float64], holders: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """The variance of each count, where so many hold it and so many any choice of its block.

        What a report counts for a choice has the square 1 if it is in the choice's block, and else 0.
        """
        high, low = (float(level) * self.length / 2 for level in self._levels)
        return np.asarray((holders * (high + low) + (n - holders) * 2 * low) / (high - low) ** 2 - counts)

    def numbers(self) -> dict[str, Any]:
        return {
            "blocks": self.blocks,
            "length": self.length,
            "without": self.without.heads,
            "planes": self.without.planes,
            "choices": len(self.choices),
        }


def numbers_at_places(places: NDArray[np.int64], columns: NDArray[np.int64], *, odd: bool) -> NDArray[np.int64]:
    """The numbers at these places among those that share an odd (or an even) number of bits with the column.

    The place's bits with a gap where the column has its lowest 1; what is missing in evenness goes there.

    >>> numbers_at_places(np.arange(4), np.full(4, 2), odd=False).tolist()
    [0, 1, 4, 5]
    >>> numbers_at_places(np.arange(4), np.full(4, 2), odd=True).tolist()
    [2, 3, 6, 7]
    """
    lowest = columns & -columns
    below = places & (lowest - 1)
    spread = (places - below) * 2 + below
    return np.asarray(np.where(walsh.signs(spread, columns) == odd, spread, spread + lowest))


def block_length(blocks: int, many: int) -> int:
    """A power of two that holds a column for each choice of a block, and column 0."""
    return 1 << (-(-many // blocks)).bit_length()


def best_blocks(growth: Fraction, many: int) -> int:
    """How many blocks, a power of two, give a rare choice the least variance where blocks are equally popular."""

    def variance(blocks: int) -> Fraction:
        half = block_length(blocks, many) // 2
        low = half / (half * growth + (2 * blocks - 1) * half)
        high = low * growth
        return ((high + low) / blocks + 2 * low * (1 - Fraction(1, blocks))) / (high - low) ** 2

    return min((1 << power for power in range(many.bit_length())), key=variance)
