"""A forecast: how precise an answer would be at another epsilon, from the noisy numbers of an earlier look at it. Free.

It reads noisy values, laws of noise and the declaration alone; a wrong
forecast costs budget, never privacy or confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from discreet import exact
from discreet.accounting.events import ComposedEvent, ExponentialEvent, PermuteAndFlipEvent
from discreet.answers.refine import AnswerReading
from discreet.answers.wished_precision import WishedPrecision, number_places
from discreet.errors import UsageError
from discreet.kernel.measurement import ChosenBins, Measurement, NoisyCells, Part
from discreet.mechanisms.quantile import QuantileChoice
from discreet.plan.cell_statistics import PersonCount, RowCount
from discreet.plan.price import WITHIN_GRID, Choice, ChooseBin, Measure, Price
from discreet.release import Cell, Interval
from discreet.sql.parsed_query import ParsedQuery

#: Epsilons are tried in steps of a twentieth.
_FINER = 1.05
#: A careful forecast takes a number of rows, or the size of a number, as small as it is one time in twenty.
_CAREFUL = Fraction(9, 10)
#: A careful forecast of a quantile takes its interval to be so much wider, because its ends are chosen by chance.
_UNEVEN = Fraction(5, 4)


@dataclass(frozen=True, kw_only=True)
class PrecisionForecast:
    """What a look at an answer says about its precision at other epsilons.

    epsilon: what the look was measured with. price_at: the price of measuring it anew.
    """

    query: ParsedQuery
    look: Measurement
    epsilon: Fraction
    precision: WishedPrecision
    price_at: Callable[[Fraction], Price]

    @cached_property
    def reading(self) -> AnswerReading:
        return AnswerReading(query=self.query, measurement=self.look)

    def cheapest_epsilon(self, *, careful: bool, most: Fraction) -> Fraction | None:
        """The least epsilon, no smaller than the look's and not above `most`, that is expected to be enough."""
        last = math.floor(math.log(max(1.0, float(most / self.epsilon))) / math.log(_FINER))
        low, high = 0, last + 1  # high: not enough, or beyond
        if last < 0 or not self._is_enough(self._at(last, most), careful=careful):
            return None
        while low < high:
            middle = (low + high) // 2
            if middle > last or self._is_enough(self._at(middle, most), careful=careful):
                high = middle
            else:
                low = middle + 1
        return self._at(low, most)

    def _at(self, place: int, most: Fraction) -> Fraction:
        """An epsilon of the grid: so many steps above that of the look."""
        grown = Fraction(math.ceil(float(self.epsilon) * _FINER**place * WITHIN_GRID), WITHIN_GRID)
        return min(max(self.epsilon, grown), most)

    def _is_enough(self, epsilon: Fraction, *, careful: bool) -> bool:
        try:
            price = self.price_at(epsilon)
        except UsageError:  # noise too large or too small to draw
            return False
        reading = AnswerReading(query=self.query, measurement=self._measured_at(price, careful=careful))
        rows, intervals = reading.rows, reading.intervals_at(self.precision.confidence)
        places = number_places(self.query)
        least = self._least_sizes if careful and self.precision.is_relative else {}
        unknown = self._unknown_groups
        keys = [place for place in range(len(self.query.outputs)) if place not in places]
        excesses = []
        for row, ends in zip(rows, intervals, strict=True):
            group = tuple(row[place] for place in keys)
            if group in unknown:
                excesses.append(math.inf)
                continue
            sizes = least.get(group, {})
            excesses.append(
                max(
                    (self.precision.excess(row[place], ends[place], least=sizes.get(place)) for place in places),
                    default=0.0,
                )
            )
        return self.precision.is_enough(excesses)

    @cached_property
    def _unknown_groups(self) -> frozenset[tuple[Cell, ...]]:
        """Groups, by their keys, of which the look says nothing: how precise they would be is not known either."""
        places = number_places(self.query)
        keys = [place for place in range(len(self.query.outputs)) if place not in places]
        return frozenset(
            tuple(row[place] for place in keys)
            for row in self.reading.rows
            if any(row[place] is None for place in places)
        )

    @cached_property
    def _least_sizes(self) -> dict[tuple[Cell, ...], dict[int, float]]:
        """For each group, by its keys, the least size of its numbers that the look leaves possible."""
        places = number_places(self.query)
        keys = [place for place in range(len(self.query.outputs)) if place not in places]
        sizes = {}
        for row, ends in zip(self.reading.rows, self.reading.intervals_at(self._careful_level), strict=True):
            sizes[tuple(row[place] for place in keys)] = {
                place: self._least_of_quantile(row[place], ends[place])
                if self.query.outputs[place].quantile is not None
                else _least_size(ends[place])
                for place in places
            }
        return sizes

    def _least_of_quantile(self, cell: Cell, ends: Interval) -> float:
        """Half way to the near end: a quantile is chosen with more care than the ends of its interval."""
        middle = abs(float(cell)) if isinstance(cell, int | float) else 0.0
        return (_least_size(ends) + middle) / 2

    @property
    def _careful_level(self) -> Fraction:
        return _CAREFUL if not self.look_has_bins else min(_CAREFUL, self.precision.confidence)

    @property
    def look_has_bins(self) -> bool:
        return any(isinstance(part, ChosenBins) for part in self.look.parts)

    def _measured_at(self, price: Price, *, careful: bool) -> Measurement:
        """The look as it would be with less noise, and with fewer rows if `careful`."""
        steps = {step.place: step for step in price.steps if isinstance(step, Measure)}
        chosen = {(step.place, step.quantile): step.mechanism for step in price.steps if isinstance(step, ChooseBin)}
        parts: list[Part] = []
        for part in self.look.parts:
            match part:
                case NoisyCells():
                    parts.append(_with_laws(part, steps[part.place], careful=careful))
                case ChosenBins():
                    parts.append(self._narrowed(part, chosen[part.place, part.quantile], careful=careful))
                case _:
                    parts.append(part)
        return replace(self.look, parts=tuple(parts))

    @cached_property
    def _end_epsilons(self) -> dict[int, Fraction | None]:
        """By its place among the parts, the epsilon of either end of each quantile's interval; None: it has none."""
        event = self.look.event
        steps = event.events if isinstance(event, ComposedEvent) and not _is_choice(event) else (event,)
        ends = [each.events[1:] for each in steps if isinstance(each, ComposedEvent) and _is_choice(each)]
        places = [place for place, part in enumerate(self.look.parts) if isinstance(part, ChosenBins)]
        return {
            place: getattr(each[0], "epsilon", None) if each else None for place, each in zip(places, ends, strict=True)
        }

    def _narrowed(self, part: ChosenBins, mechanism: Choice, *, careful: bool) -> ChosenBins:
        """Bins around the estimate, as near as they would be: ranks are as far as the margin of the ends."""
        assert isinstance(mechanism, QuantileChoice)
        bought = self._end_epsilons[self.look.parts.index(part)]
        grown = Fraction(1) if bought is None else bought / mechanism.end.epsilon
        before = replace(mechanism, epsilon=mechanism.epsilon * grown, confidence=part.confidence or _CAREFUL)
        ratio = Fraction(mechanism.margin, before.margin) * (_UNEVEN if careful else 1)
        bins = [
            (middle - math.ceil((middle - low) * ratio), middle, middle + math.ceil((high - middle) * ratio))
            for low, middle, high in part.noisy_bins
        ]
        return replace(part, noisy_bins=tuple(bins), confidence=max(part.confidence, self.precision.confidence))


def _is_choice(event: ComposedEvent) -> bool:
    """Whether an event is the choices of one quantile."""
    return all(isinstance(part, ExponentialEvent | PermuteAndFlipEvent) for part in event.events)


def _with_laws(part: NoisyCells, step: Measure, *, careful: bool) -> NoisyCells:
    values = []
    for law, statistic, noisy in zip(part.laws, step.cells.statistics, part.noisy_values, strict=True):
        less = 0
        if careful and isinstance(statistic, RowCount | PersonCount):
            # One group in ten is too small in all, however many there are.
            less = int(law.half_width(1 - (1 - _CAREFUL) / max(1, len(noisy))))
        values.append(tuple(value - less for value in noisy))
    return replace(part, noisy_values=tuple(values), laws=tuple(step.laws))


def _least_size(ends: Interval) -> float:
    """The least size of a number in an interval; 0 if that is not known."""
    if ends is None or isinstance(ends[0], str) or isinstance(ends[1], str):
        return 0.0
    low, high = float(ends[0]), float(ends[1])
    return 0.0 if low <= 0 <= high else min(abs(low), abs(high))


def on_grid(epsilon: Fraction) -> Fraction:
    """An epsilon that people can read: rounded up on the grid of widths."""
    return Fraction(exact.units_up(epsilon, WITHIN_GRID), WITHIN_GRID)
