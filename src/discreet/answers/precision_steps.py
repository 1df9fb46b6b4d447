"""Precision first: what depends on the data is bought step by step, from a cheap look to just enough.

    look    a cheap measurement. It says how precise an answer would be at other epsilons, and is never the answer
    aim     a measurement that is expected to be precise enough. It is the answer if it is
    top-up  where it is not: another, at a higher confidence, because it may be the answer only if the aim was not

Guarantee: every step is an ordinary measurement, charged before it is taken. The intervals of the answer, at the
    confidence that was asked for, hold with what is proved in docs/proofs/precision.md: at 95% with at least 94%.
Because: which step comes next, its epsilon and when to stop are read from noisy numbers alone; the ledger's filters
    allow any such choice. Misses of an aim and of the top-ups add; an aim has noise of its own, or noise that hardly
    depends on that of the look (`refines`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from discreet.answers.precision_forecast import PrecisionForecast, on_grid
from discreet.answers.refine import AnswerReading
from discreet.answers.wished_precision import WishedPrecision, group_excesses, number_places
from discreet.exact import MAX_QUESTION_EPSILON, MIN_EPSILON
from discreet.plan.price import Price
from discreet.release import Intervals
from discreet.sql.parsed_query import ParsedQuery

#: A first look takes one in so many of what the whole may cost; a better look costs four times as much.
LOOKS_IN_CAP, FINER_LOOK = 64, 4
#: What a purchase may cost at most unless told: one in so many of the table's limit.
CAPS_IN_LIMIT = 10
#: A look is made finer only if it stays below one in so many of the aim. An aim may refine a look that does.
LOOKS_IN_AIM = 12
#: A look of what cannot be refined is thrown away, so it may be larger only if the aim is uncertain.
LOOKS_IN_NEW_AIM = 5
#: The first top-up may miss one in so many times where an aim may miss once; each further one half as often.
TOP_UP_MISSES = 16
#: A top-up that refines has so many times the epsilon of the step before it, whatever that one said.
TOP_UP_GROWTH = Fraction(5, 2)
#: After so many steps nothing more is bought.
MOST_STEPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """A measurement to buy. epsilon: of the answer by itself; `refines`: the release that it makes more precise."""

    epsilon: Fraction
    confidence: Fraction
    refines: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoughtStep:
    """A measurement that was bought, and what it took from the budget."""

    reading: AnswerReading
    epsilon: Fraction
    cost: Fraction
    confidence: Fraction

    def intervals(self, confidence: Fraction, wished: Fraction) -> tuple[Intervals, ...]:
        """The intervals of the answer at a confidence; a top-up, bought at a higher one, misses less by as much."""
        return self.reading.intervals_at(1 - (1 - confidence) * (1 - self.confidence) / (1 - wished))


class StepSeller(Protocol):
    """Who prices and measures the steps."""

    def price(self, epsilon: Fraction, confidence: Fraction) -> Price:
        """The price of measuring anew."""

    def can_refine(self, release: str) -> bool:
        """Whether a release may be made more precise for the difference."""

    def cost(self, step: PlannedStep) -> Fraction | None:
        """What a step would take from the budget; None if the budget does not hold it."""

    def buy(self, step: PlannedStep) -> AnswerReading:
        """Charge a step and measure it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsTaken:
    """What was bought. needed: about what it would have taken, if the precision is not reached and that is known."""

    steps: tuple[BoughtStep, ...]
    is_reached: bool
    needed: Fraction | None = None


@dataclass(kw_only=True)
class PrecisionPurchase:
    """Buys measurements of a query until a precision is reached, or its cap."""

    query: ParsedQuery
    precision: WishedPrecision
    seller: StepSeller
    cap: Fraction

    def first_look(self) -> PlannedStep:
        """The first step: the same for everybody, whatever the data."""
        epsilon = max(MIN_EPSILON, on_grid(self.cap / LOOKS_IN_CAP))
        return PlannedStep(epsilon=epsilon, confidence=self.precision.confidence)

    def run(self, stored_look: BoughtStep | None = None) -> StepsTaken:
        """Buy step by step. `stored_look`: a stored answer, which is a look that costs nothing."""
        steps: list[BoughtStep] = []
        last = stored_look
        if last is None:
            last = self._take(self.first_look())
            steps.append(last)
        aims = 0
        while len(steps) < MOST_STEPS:
            step, is_aim = self._next(last, aims, spent=sum((each.cost for each in steps), start=Fraction(0)))
            if step is None:
                break
            if not self.fits(step, steps):
                return StepsTaken(steps=tuple(steps), is_reached=False, needed=step.epsilon)
            last = self._take(step)
            steps.append(last)
            aims += is_aim
            if is_aim and self._is_reached(last):
                return StepsTaken(steps=tuple(steps), is_reached=True)
        return StepsTaken(steps=tuple(steps), is_reached=False)

    def _is_reached(self, step: BoughtStep) -> bool:
        reading = step.reading
        return self.precision.is_reached(self.query, reading.rows, reading.intervals_at(step.confidence))

    def _take(self, step: PlannedStep) -> BoughtStep:
        cost = self.seller.cost(step)
        reading = self.seller.buy(step)
        return BoughtStep(reading=reading, epsilon=step.epsilon, cost=cost or Fraction(0), confidence=step.confidence)

    def next_step(self, stored_look: BoughtStep | None) -> PlannedStep | None:
        """What would be bought first; None if nothing could help."""
        return self.first_look() if stored_look is None else self._next(stored_look, 0, spent=Fraction(0))[0]

    def fits(self, step: PlannedStep, steps: Sequence[BoughtStep]) -> bool:
        """Whether the cap and the budget hold one more step."""
        cost = self.seller.cost(step)
        return cost is not None and cost + sum(each.cost for each in steps) <= self.cap

    def _next(self, last: BoughtStep, aims: int, *, spent: Fraction) -> tuple[PlannedStep | None, bool]:
        """The next step, and whether it is an aim or a top-up; none if there is nothing that could help."""
        level = self.level(aims)
        release = last.reading.measurement.id
        may_refine = self._is_plain and self.seller.can_refine(release)
        if aims and may_refine:
            epsilon = min(on_grid(last.epsilon * TOP_UP_GROWTH), MAX_QUESTION_EPSILON)
            return (
                (PlannedStep(epsilon=epsilon, confidence=level, refines=release), True)
                if epsilon > last.epsilon
                else (None, False)
            )
        forecast = self._forecast(last, level)
        likely = forecast.cheapest_epsilon(careful=False, most=MAX_QUESTION_EPSILON)
        careful = forecast.cheapest_epsilon(careful=True, most=MAX_QUESTION_EPSILON)
        if not aims:
            finer = on_grid(last.epsilon * FINER_LOOK)
            looks = LOOKS_IN_AIM if may_refine else LOOKS_IN_NEW_AIM
            is_vague = careful is None or likely is None or 2 * careful > 3 * likely
            room = self.cap - spent
            is_hopeless = likely is not None and likely > 2 * room
            if (
                is_vague
                and not is_hopeless
                and (2 * finer <= room if likely is None else finer * looks <= min(likely, room))
            ):
                refines = release if may_refine else None
                return PlannedStep(epsilon=finer, confidence=level, refines=refines), False
        target = careful or likely
        if target is None:
            return None, False
        if likely is not None and likely < target:  # rather a bold aim than none, or one that is far too large
            target = self._affordable(likely, min(target, likely * Fraction(3, 2)), level, spent)
        refines = release if not aims and may_refine and last.epsilon * LOOKS_IN_AIM <= target else None
        return PlannedStep(epsilon=target, confidence=level, refines=refines), True

    def _affordable(self, least: Fraction, most: Fraction, level: Fraction, spent: Fraction) -> Fraction:
        """The careful epsilon, or as much of it as the cap leaves, if that is at least the likely one."""
        cost = self.seller.cost(PlannedStep(epsilon=most, confidence=level))
        if cost is not None and cost + spent <= self.cap:
            return most
        return max(least, min(most, on_grid(self.cap - spent) - Fraction(1, 10**6)))

    def level(self, aims: int) -> Fraction:
        """The confidence of the next aim: that of the answer, and of top-ups a higher one."""
        miss = 1 - self.precision.confidence
        return 1 - (miss if aims == 0 else miss / (TOP_UP_MISSES * 2 ** (aims - 1)))

    @property
    def _is_plain(self) -> bool:
        """Whether every number is a multiple of one count or sum: then its noise has one law, and can be refined."""
        return all(self.query.outputs[place].plain is not None for place in number_places(self.query))

    def _forecast(self, last: BoughtStep, level: Fraction) -> PrecisionForecast:
        def price_at(epsilon: Fraction) -> Price:
            return self.seller.price(epsilon, level)

        return PrecisionForecast(
            query=self.query,
            look=last.reading.measurement,
            epsilon=last.epsilon,
            precision=replace(self.precision, confidence=level),
            price_at=price_at,
        )


def reached_share(precision: WishedPrecision, query: ParsedQuery, step: BoughtStep) -> Fraction:
    """In which share of the groups the precision is reached."""
    excesses = group_excesses(precision, query, step.reading.rows, step.reading.intervals_at(step.confidence))
    return Fraction(sum(each <= 1 for each in excesses), len(excesses)) if excesses else Fraction(1)


def cap_of(precision: WishedPrecision, limit: Fraction) -> Fraction:
    """What a purchase may cost at most: as told, or a part of the table's limit."""
    return precision.at_most if precision.at_most is not None else min(MAX_QUESTION_EPSILON, limit / CAPS_IN_LIMIT)
