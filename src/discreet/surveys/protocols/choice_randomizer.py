"""Frequencies of declared choices: what the protocols have in common that count support.

A report supports some of the choices. It supports the respondent's own with probability p, and any
other with probability q < p, whatever the respondent's own is. So (support - n q) / (p - q) is unbiased.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols.coins import PLANES
from discreet.surveys.protocols.estimate import Estimate
from discreet.surveys.protocols.option_checks import is_encodable, non_default
from discreet.surveys.protocols.randomizer import MOST_REPORT_BYTES, Randomizer, Reports, Values
from discreet.surveys.protocols.support_law import CountStep, SupportLaw

#: More choices than this want a sketch.
MOST_CHOICES = 1 << 20


class ChoiceRandomizer(Randomizer):
    """A randomizer over a declared list of choices, in its order."""

    __slots__ = ("_codes", "choices")

    choices: tuple[str, ...]

    def _declare(self, choices: Sequence[str]) -> None:
        self.choices = check_choices(choices)
        self._codes = {choice: code for code, choice in enumerate(self.choices)}

    def codes(self, values: Values) -> NDArray[np.int64]:
        """Each answer's place in the list. An array of whole numbers is taken as places already."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            codes = values.astype(np.int64)
            if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < len(self.choices):
                raise UsageError(f"Codes of choices must be 0 to {len(self.choices) - 1}.")
            return codes
        try:
            return np.fromiter((self._codes[value] for value in values), dtype=np.int64, count=len(values))
        except (KeyError, TypeError):
            named = ", ".join(self.choices[:8]) + (", ..." if len(self.choices) > 8 else "")
            raise UsageError("That answer is not one of the choices.", hint=f"one of {named}") from None

    def check(self, values: Values) -> None:
        self.codes(values)

    def canonical(self, value: Any) -> str:
        return f"code {int(self.codes([value])[0])}"

    def draw_reports(self, values: Values, *, bits: Bits) -> Reports:
        return self.reports(self.codes(values), bits=bits)

    @abstractmethod
    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        """A report for each code."""

    @abstractmethod
    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """How many of these (valid) reports support each choice."""

    @property
    @abstractmethod
    def chances(self) -> tuple[Fraction, Fraction]:
        """p and q: how likely a report is to support the respondent's choice, and any other."""

    def estimate(self, reports: Reports | Sequence[bytes]) -> Estimate:
        """Estimate how many people have each choice: unbiased, with the variance of the noise."""
        report_matrix = self.matrix(reports)
        return self.from_supports(self.supports(report_matrix), len(report_matrix))

    def from_supports(self, supports: NDArray[np.int64], n: int) -> Estimate:
        """The same from counts that were kept as reports came in."""
        truth, other = (float(chance) for chance in self.chances)
        counts: NDArray[np.float64] = (supports.astype(np.float64) - n * other) / (truth - other)
        clipped_counts = np.clip(counts, 0, n)
        variances = self.variances(clipped_counts, n)
        return Estimate(
            labels=self.choices,
            n=n,
            counts=counts,
            variances=variances,
            reach=1 / (truth - other),
            law=SupportLaw(
                counted=supports,
                people=n,
                drawn=n,
                own=CountStep(up=truth),
                other=CountStep(up=other),
                extra=self.shared_variances(clipped_counts) * (truth - other) ** 2,
            ),
        )

    def variances(self, counts: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """The variance of each estimated count, where the true counts are these."""
        truth, other = (float(chance) for chance in self.chances)
        spread = (n - counts) * other * (1 - other) + counts * truth * (1 - truth)
        return np.asarray(spread / (truth - other) ** 2 + self.shared_variances(counts))

    def shared_variances(self, counts: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """What reports that are not independent of each other add to the variances."""
        return 0.0

    def options(self) -> dict[str, Any]:
        return {"choices": list(self.choices), **non_default(planes=(self.numbers()["planes"], PLANES))}


def check_choices(choices: Sequence[str]) -> tuple[str, ...]:
    """A list of choices that can be told apart."""
    if isinstance(choices, str) or not all(map(_is_choice, choices)):
        raise UsageError("Choices must be a list of texts that are not empty and are valid Unicode.")
    if len(set(choices)) != len(choices):
        twice = Counter(choices).most_common(1)[0][0]
        raise UsageError(f"The choice {twice[:40]!r} occurs twice.")
    if not 2 <= len(choices) <= MOST_CHOICES:
        raise UsageError(f"There must be 2 to {MOST_CHOICES:,} choices, not {len(choices):,}.")
    return tuple(choices)


def _is_choice(choice: object) -> bool:
    return isinstance(choice, str) and bool(choice) and is_encodable(choice)


def numbers_to_bytes(numbers: NDArray[np.int64], width: int) -> Reports:
    """Each number as `width` bytes, the most significant first."""
    wide = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(wide[:, 8 - width :])


def bytes_to_numbers(reports: Reports) -> NDArray[np.int64]:
    """The numbers that `numbers_to_bytes` wrote (at most 7 bytes each)."""
    numbers = np.zeros(len(reports), dtype=np.int64)
    for column in range(reports.shape[1]):
        numbers <<= 8
        numbers |= reports[:, column]
    return numbers


def bytes_needed(most: int) -> int:
    """How many bytes a whole number up to `most` needs."""
    return max(1, -(-most.bit_length() // 8))


def check_report_width(width: int, protocol: str) -> int:
    """A report's width, refused where the collector would not take it."""
    if width > MOST_REPORT_BYTES:
        raise UsageError(
            f"A report of {protocol} would have {width:,} bytes; the maximum is {MOST_REPORT_BYTES:,}.",
            hint="use hashing or hadamard-sketch, whose reports are short for any number of choices",
        )
    return width
