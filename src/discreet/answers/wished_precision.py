"""A wished precision: how near numbers shall be to the exact ones, by themselves or in percent, in all groups or most.

Post-processing: whether it is reached is read from noisy numbers and their intervals alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.errors import Flag, Message, UsageError
from discreet.plan.price import confidence_of
from discreet.release import Cell, Interval, Intervals
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.typed_expression import NumericKind

#: How sentences name the share of groups.
GROUPS_FLAG = Flag("for", "90%", python='share_of_groups="90%"')


@dataclass(frozen=True, slots=True, kw_only=True)
class WishedPrecision:
    """Every number within ± `width`, or a share `width` of itself if `is_relative`; in a `share` of the groups.

    at_most: the largest epsilon that this may cost the budget; None: a part of the limit (`precision_steps`).
    """

    width: Fraction
    is_relative: bool = False
    share: Fraction = Fraction(1)
    at_most: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)

    def __str__(self) -> str:
        return f"{exact.show(100 * self.width)}%" if self.is_relative else f"±{exact.show(self.width)}"

    def depends_on_data(self, query: ParsedQuery) -> bool:
        """Whether what it costs depends on the data: so it does but for counts and sums within a fixed width."""
        numbers = [query.outputs[place] for place in number_places(query)]
        return bool(numbers) and (self.is_relative or any(output.plain is None for output in numbers))

    def check(self, query: ParsedQuery) -> None:
        """Refuse a query whose numbers have no width, or no finer one than their bins are wide."""
        for place in number_places(query):
            quantile = query.outputs[place].quantile
            if quantile is not None and not isinstance(query.quantiles[quantile].typed.kind, NumericKind):
                raise UsageError(
                    Message(Flag("within"), f" needs numbers: {query.outputs[place].name!r} is a date or a time"),
                    hint=Message(Flag("epsilon", 0.5), "; the answer states its precision"),
                )

    def excess(self, cell: Cell, ends: Interval, *, least: float | None = None) -> float:
        """How many times too wide a number's interval is: at most 1 if it is reached, infinite if nothing is known.

        `least`: a size that the number has at least, if another one than its own shall be taken for 5% of it.
        """
        if (
            cell is None
            or ends is None
            or isinstance(cell, str)
            or isinstance(ends[0], str)
            or isinstance(ends[1], str)
        ):
            return math.inf
        half = (ends[1] - ends[0]) / 2
        size = 1.0 if not self.is_relative else abs(float(cell)) if least is None else least
        if half == 0:
            return 0.0
        return half / (float(self.width) * size) if size > 0 else math.inf

    def is_enough(self, excesses: Sequence[float]) -> bool:
        """Whether enough groups are precise enough."""
        reached = sum(each <= 1 for each in excesses)
        return reached >= self.share * len(excesses)

    def is_reached(self, query: ParsedQuery, rows: Sequence[Sequence[Cell]], intervals: Sequence[Intervals]) -> bool:
        """Whether the groups of an answer are as precise as was wished."""
        return self.is_enough(group_excesses(self, query, rows, intervals))

    def to_data(self) -> dict[str, Any]:
        """What was wished, as JSON data."""
        return {
            "wished": float(self.width),
            "relative": self.is_relative,
            "groups": float(self.share),
        }


def number_places(query: ParsedQuery) -> list[int]:
    """The columns of an answer that hold noisy numbers."""
    return [place for place, output in enumerate(query.outputs) if output.key is None and output.grouping is None]


def group_excesses(
    precision: WishedPrecision, query: ParsedQuery, rows: Sequence[Sequence[Cell]], intervals: Sequence[Intervals]
) -> list[float]:
    """The largest excess of the numbers of each group."""
    places = number_places(query)
    return [
        max((precision.excess(row[place], ends[place]) for place in places), default=0.0)
        for row, ends in zip(rows, intervals, strict=True)
    ]


def is_percent(within: object) -> bool:
    """Whether a precision is relative: 5%."""
    return isinstance(within, str) and within.strip().endswith("%")


def precision_of(
    within: object, *, share_of_groups: object = None, at_most: object = None, confidence: object = "0.95"
) -> WishedPrecision:
    """A precision as people write it: 50 or 5%, for 90% of the groups, at most so much epsilon.

    >>> str(precision_of("5%")), str(precision_of(50)), precision_of("5%", share_of_groups="90%").share
    ('5%', '±50', Fraction(9, 10))
    """
    width = share_from(within, name="within") if is_percent(within) else exact.number(within, name="within")
    if width <= 0:
        raise UsageError(Message(Flag("within"), f" must be above 0, got {within}"))
    share = Fraction(1) if share_of_groups is None else share_from(share_of_groups, name="for")
    if not 0 < share <= 1:
        raise UsageError(
            f"the share of groups must be above 0% and at most 100%, got {share_of_groups}",
            hint=Message(GROUPS_FLAG),
        )
    cap = (
        None
        if at_most is None
        else exact.positive(at_most, name="the largest epsilon to spend", most=exact.MAX_QUESTION_EPSILON)
    )
    return WishedPrecision(
        width=width,
        is_relative=is_percent(within),
        share=share,
        at_most=cap,
        confidence=confidence_of(confidence),
    )


def share_from(text: object, *, name: str) -> Fraction:
    """A share, written as 90% or 0.9."""
    if is_percent(text):
        assert isinstance(text, str)
        return exact.number(text.strip().removesuffix("%").strip(), name=name) / 100
    return exact.number(text, name=name)
