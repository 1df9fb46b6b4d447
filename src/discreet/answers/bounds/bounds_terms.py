"""Terms: how much to spend on bounds, and what for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet import exact
from discreet.errors import Flag, Message, UsageError

#: Below this, the noise that is compared would be larger than anybody draws.
LEAST_FOR_EPSILON = Fraction(1, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundsTerms:
    """How much to spend, and what for: questions of so many cells at `for_epsilon`."""

    epsilon: Fraction
    delta: Fraction | None = None
    cells: int = 50
    for_epsilon: Fraction = Fraction(1)

    @staticmethod
    def of(*, epsilon: object, delta: object = None, cells: object = 50, for_epsilon: object = 1) -> BoundsTerms:
        """The terms as somebody wrote them, checked."""
        if epsilon is None:
            raise UsageError("say how much to spend", hint=Message(Flag("epsilon", 0.05), " is enough for many tables"))
        number = exact.number(cells, name="cells")
        if number.denominator != 1 or not 1 <= number <= 10**9:
            raise UsageError(
                "cells must be a whole number of at least 1",
                hint=Message(Flag("cells", 50), ", for counts by 50 groups"),
            )
        target_epsilon = exact.number(for_epsilon, name="for-epsilon")
        if not LEAST_FOR_EPSILON <= target_epsilon <= exact.MAX_QUESTION_EPSILON:
            raise UsageError(
                f"for-epsilon must be from 0.001 to 1,000, got {exact.show(target_epsilon)}",
                hint=Message(Flag("for-epsilon", 1)),
            )
        return BoundsTerms(
            epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON),
            delta=None if delta is None else exact.probability(delta, name="delta"),
            cells=int(number),
            for_epsilon=target_epsilon,
        )
