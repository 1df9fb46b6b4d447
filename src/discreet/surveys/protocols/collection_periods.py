"""One survey collected again and again: its periods, how often a device may donate in each, and what that costs.

A *donation* is one report of one answer. The device counts its donations and refuses those beyond the limit; what it
can lose over all periods follows from these few numbers, so that a respondent is told it before the first answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from discreet.errors import Flag, Message, Refused, UsageError
from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer
from discreet.surveys.protocols.grid_numbers import GridRandomizer
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import BasicRappor, Rappor

#: The length of each kind of period, in seconds.
LENGTHS_S = {"hour": 3_600, "day": 86_400, "week": 604_800}
#: Periods begin at whole hours, midnights and Mondays of UTC: 1970-01-05 was a Monday.
_FIRST_MONDAY_S = 4 * 86_400
#: A period's number has two bytes in a report.
PERIOD_BYTES = 2
MOST_PERIODS = 10_000
MOST_DONATIONS = 1_000
#: How long a survey is collected where nothing is said.
DEFAULT_PERIODS = 30

MEMOIZED, FRESH = "memoized", "fresh"
COINS = (MEMOIZED, FRESH)

_FIELDS = {"every", "donations", "periods", "coins", "start"}


def one_period(every: str) -> str:
    """One period, in words.

    >>> one_period("hour"), one_period("day")
    ('an hour', 'a day')
    """
    return f"{'an' if every == 'hour' else 'a'} {every}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodLoss:
    """What a device can lose to one survey, whatever it answers; and what it loses if its answer stays the same."""

    donation: Fraction
    period: Fraction
    survey: Fraction
    #: Over all periods, if the true answer never changes.
    unchanged: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionPeriods:
    """`periods` periods, one `every` hour, day or week from `start` on, with at most `donations` in each.

    With `memoized` coins the report of an answer is drawn once, kept, and sent again in each period; with `fresh` coins
    each donation flips new ones.

    Guarantee: take two histories of what a device donates when. With fresh coins everything that it sends is at most
        e^survey times as likely for the one as for the other (`loss`). With memoized coins so it is if the two
        histories repeat themselves in the same places, and at most e^unchanged if in each of them the answer is always
        the same one; *that* an answer is another than before is not hidden.
    Because: see docs/proofs/collection.md. At most donations * periods reports are drawn with coins of their own, each
        at most e^epsilon times as likely for one answer as for another; a report that is sent again is a copy.
    """

    every: str
    donations: int
    periods: int
    coins: str
    #: Seconds since 1970, UTC: where the first period begins.
    start: int

    def __post_init__(self) -> None:
        if self.every not in LENGTHS_S:
            raise UsageError(
                f"A survey is collected every hour, day or week, not every {self.every[:40]!r}.",
                hint=Message(Flag("every", "day")),
            )
        if self.coins not in COINS:
            raise UsageError(
                f"Coins are memoized or fresh, not {self.coins[:40]!r}.", hint=Message(Flag("coins", MEMOIZED))
            )
        for value, most, words in (
            (self.donations, MOST_DONATIONS, "A device can make 1 to {} donations in a period"),
            (self.periods, MOST_PERIODS, "A survey can have 1 to {} periods"),
        ):
            if type(value) is not int or not 1 <= value <= most:
                raise UsageError(f"{words.format(f'{most:,}')}, not {str(value)[:20]}.")
        if type(self.start) is not int or self.start != self._aligned(self.start) or self.start < 0:
            raise UsageError("The first period must begin at a whole hour, a midnight or a Monday of UTC.")

    @classmethod
    def beginning(cls, now: float, *, every: str, donations: int, periods: int, coins: str) -> CollectionPeriods:
        """Periods of which the first is running now."""
        start = 0 if every not in LENGTHS_S else _aligned_start(every, math.floor(now))
        return cls(every=every, donations=donations, periods=periods, coins=coins, start=start)

    def _aligned(self, seconds: int) -> int:
        return _aligned_start(self.every, seconds)

    @property
    def one_period(self) -> str:
        """One period, in words: an hour, a day, a week."""
        return one_period(self.every)

    @property
    def length_s(self) -> int:
        return LENGTHS_S[self.every]

    def number_at(self, now: float) -> int:
        """The number of the period that is running: the first is 1. Below 1 or above `periods` where none is."""
        return (math.floor(now) - self.start) // self.length_s + 1

    def running(self, now: float) -> int:
        """The same; refused where no period is running."""
        number = self.number_at(now)
        if number < 1:
            raise Refused(f"This survey begins on {self.begin_text(1)} (UTC).")
        if number > self.periods:
            raise Refused(f"This survey is over: its last {self.every} was {self.begin_text(self.periods)} (UTC).")
        return number

    def begin_text(self, number: int) -> str:
        """When a period begins, in UTC."""
        begin = datetime.fromtimestamp(self.start + (number - 1) * self.length_s, UTC)
        return begin.strftime("%Y-%m-%d %H:%M" if self.every == "hour" else "%Y-%m-%d")

    def check_randomizer(self, randomizer: Randomizer) -> None:
        """RAPPOR keeps its permanent bits: fresh coins would draw them again, and cost all of them each time."""
        if self.coins == FRESH and isinstance(randomizer, Rappor | BasicRappor):
            raise UsageError(
                f"{randomizer.protocol} keeps what it draws first: it needs memoized coins.",
                hint=Message(Flag("coins", MEMOIZED)),
            )

    def loss(self, randomizer: Randomizer) -> PeriodLoss:
        """What a device can lose.

        >>> from discreet.surveys.protocols.randomized_response import TwoCoins
        >>> days = CollectionPeriods(every="day", donations=2, periods=7, coins="fresh", start=0)
        >>> cost = days.loss(TwoCoins(["yes", "no"]))
        >>> cost.period / cost.donation, cost.survey / cost.donation
        (Fraction(2, 1), Fraction(14, 1))
        """
        if isinstance(randomizer, Rappor | BasicRappor):
            once = randomizer.once
        else:
            once = randomizer.epsilon
        all_donations = self.donations * self.periods
        if self.coins == FRESH:
            total = all_donations * once
            return PeriodLoss(donation=once, period=self.donations * once, survey=total, unchanged=total)
        answers = _answer_count(randomizer)

        def most(donations: int, distinct: int) -> Fraction:
            """So many reports of so many distinct answers, each of which costs at most `epsilon` however often."""
            return min(donations * once, distinct * randomizer.epsilon)

        def distinct(donations: int) -> int:
            return donations if answers is None else min(donations, answers)

        return PeriodLoss(
            donation=once,
            period=most(self.donations, distinct(self.donations)),
            survey=most(all_donations, distinct(all_donations)),
            unchanged=most(self.periods, 1),
        )

    def to_data(self) -> dict[str, Any]:
        """As JSON; `from_data` reads it."""
        return {
            "every": self.every,
            "donations": self.donations,
            "periods": self.periods,
            "coins": self.coins,
            "start": self.start,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> CollectionPeriods:
        if not isinstance(data, Mapping) or set(data) != _FIELDS:
            raise UsageError("These are not the periods of a survey.")
        return cls(
            every=str(data["every"]),
            donations=data["donations"],
            periods=data["periods"],
            coins=str(data["coins"]),
            start=data["start"],
        )


def _aligned_start(every: str, seconds: int) -> int:
    """The last whole hour, midnight or Monday that is not after this second."""
    origin = _FIRST_MONDAY_S if every == "week" else 0
    return (seconds - origin) // LENGTHS_S[every] * LENGTHS_S[every] + origin


def _answer_count(randomizer: Randomizer) -> int | None:
    """How many different answers there are; None where there is no list of them."""
    match randomizer:
        case ChoiceRandomizer():
            return len(randomizer.choices)
        case GridRandomizer():
            return randomizer.steps + 1
    return None


def head_bytes(number: int) -> bytes:
    """A period's number, as a report of such a survey begins."""
    return number.to_bytes(PERIOD_BYTES, "big")
