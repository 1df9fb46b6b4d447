"""A measurement as rows: keys, formulas, HAVING, ORDER BY, LIMIT. Post-processing: it sees noisy values alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answers.answer_block import AnswerBlock
from discreet.answers.best_numbers import best_columns
from discreet.answers.column_numbers import ColumnNumbers, joined_numbers
from discreet.kernel.measurement import ChosenBins, DiscoveredKeys, Law, Measurement, NoisyCells
from discreet.mechanisms.noise_combination import CombinedNoise, inverse_variance_weights
from discreet.plan.formula import references
from discreet.plan.inquiry import CanonicalOrder, Inquiry
from discreet.release import Cell, Intervals
from discreet.sql.parsed_query import OrderTerm as OrderBy
from discreet.sql.parsed_query import OutputColumn, ParsedQuery
from discreet.sql.typed_expression import CategoryKind, TextKind


@dataclass(frozen=True, kw_only=True)
class AnswerReading:
    """One question's reading of what was measured; `others` are further measurements of the same cells.

    `within`: what was measured, where that is more than the question asks for.
    """

    query: ParsedQuery
    measurement: Measurement
    others: tuple[Measurement, ...] = ()
    within: Inquiry | None = None

    def for_query(self, query: ParsedQuery) -> AnswerReading:
        """The reading of another question with the same inquiry."""
        return replace(self, query=query)

    @cached_property
    def stored_order(self) -> CanonicalOrder:
        """The numbers by which the parts of this question were stored."""
        own = self.query.inquiry
        return own.order if self.within is None else own.order_in(self.within)

    @cached_property
    def blocks(self) -> list[AnswerBlock]:
        """The groups of each grouping set."""
        return [self._block(place) for place in range(len(self.query.sets))]

    def _block(self, place: int) -> AnswerBlock:
        order = self.stored_order
        keys = None if self.discovered_keys is None else _arranged(self.discovered_keys.keys, order.keys)
        shape = tuple(axis.size for axis in self.query.inquiry.sets[place])
        block = AnswerBlock(query=self.query, place=place, keys=keys, shape=shape)
        for part in self.measurement.parts:
            match part:
                case DiscoveredKeys(answers=int() as number, law=law) if place == 0 and number in order.statistics:
                    index = order.statistics.index(number)
                    block.values[index] = _whole_numbers(part.noisy_values)
                    block.laws[index] = law
                    block.thresholds[index] = part.threshold or 0
                case NoisyCells(place=own) if own == order.sets[place]:
                    self._add(block, part)
                case ChosenBins(place=own, quantile=number) if own == order.sets[place] and number in order.quantiles:
                    index = order.quantiles.index(number)
                    block.bins[index] = np.array(part.noisy_bins, dtype=np.int64).reshape(-1, 3)
                    block.bought_confidence[index] = part.confidence
                case _:
                    pass
        return block

    def _add(self, block: AnswerBlock, part: NoisyCells) -> None:
        """The cells of a part; measured several times, their mean by inverse variance."""
        parts = [part, *(twin for other in self.others if (twin := _twin(other, part)) is not None)]
        for index, number in enumerate(self.stored_order.statistics):
            drawn = [noisy_vector for each in parts if (noisy_vector := _drawn(each, number)) is not None]
            if not drawn:
                continue
            if len(drawn) == 1:
                block.values[index], block.laws[index] = _whole_numbers(drawn[0][0]), drawn[0][1]
                continue
            weights = inverse_variance_weights([law for _, law in drawn])
            pairs = zip(weights, drawn, strict=True)
            block.values[index] = np.sum(
                [float(weight) * np.array(values, dtype=np.float64) for weight, (values, _) in pairs], axis=0
            )
            block.laws[index] = CombinedNoise(
                parts=tuple((weight, law) for weight, (_, law) in zip(weights, drawn, strict=True))
            )

    def variance(self) -> Fraction:
        """The largest variance of its noise; 0 where it is not noise that was added."""
        laws = [law for block in self.blocks for law in block.laws.values()]
        return max((Fraction(law.variance()) for law in laws), default=Fraction(0))

    @property
    def has_intervals(self) -> bool:
        """Whether all of its quantiles were chosen with an interval."""
        return all(part.confidence for part in self.measurement.parts if isinstance(part, ChosenBins))

    @cached_property
    def discovered_keys(self) -> DiscoveredKeys | None:
        """The keys that were discovered."""
        return next((part for part in self.measurement.parts if isinstance(part, DiscoveredKeys)), None)

    @cached_property
    def unsorted_groups(self) -> NDArray[np.int64] | None:
        """The groups that the answer shows, where there is one grouping set and no ORDER BY."""
        if self.query.order or len(self.blocks) != 1:
            return None
        return self.blocks[0].kept_groups()

    @cached_property
    def shown_groups(self) -> list[tuple[int, int]]:
        """Which groups the answer shows, in order: grouping set and number of the group."""
        query = self.query
        shown = [(place, int(number)) for place, block in enumerate(self.blocks) for number in block.kept_groups()]
        if query.order:
            shown = _sorted(shown, [self._sort_key(part) for part in query.order], query.order)
        end = None if query.limit is None else query.offset + query.limit
        return shown[query.offset : end]

    def _sort_key(self, part: OrderBy) -> list[Sequence[Any]]:
        """What to sort by, for each grouping set and group, None for NULL."""
        output = part.hidden if part.output is None else self.query.outputs[part.output]
        if output is None:
            output = OutputColumn(name="", formula=part.formula)
        if output.key is None:
            return [block.sortable(output) for block in self.blocks]
        # Texts sort as texts; numbers, moments and bins by where they stand among the keys.
        texts = isinstance(self.query.keys[output.key].typed.kind, CategoryKind | TextKind)
        return [block.cells(output) if texts else block.places(output.key) for block in self.blocks]

    @cached_property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows of the answer."""
        if self.unsorted_groups is None:
            return self._table([[block.cells(output) for block in self.blocks] for output in self.query.outputs])
        shown = [self.blocks[0].cells(output, self.unsorted_groups) for output in self.query.outputs]
        return tuple(zip(*shown, strict=True))

    def intervals(self, confidence: Fraction) -> tuple[Intervals, ...]:
        """For each row and column where the number lies without its noise, None for keys.

        What was bought because others were not precise enough misses less often by so much.
        """
        return self.intervals_at(1 - (1 - confidence) / self.measurement.surer)

    def intervals_at(self, confidence: Fraction) -> tuple[Intervals, ...]:
        """The intervals at this very confidence, whatever was bought before."""
        return self._table(
            [[block.interval(output, confidence) for block in self.blocks] for output in self.query.outputs]
        )

    def numbers(self, column: int, confidence: Fraction) -> ColumnNumbers | None:
        """What `rows` and `intervals` say of a column, as arrays; None where floats would not hold it exactly."""
        level, output = 1 - (1 - confidence) / self.measurement.surer, self.query.outputs[column]
        parts = [block.numbers(output, level) for block in self.blocks]
        if any(part is None for part in parts):
            return None
        if self.unsorted_groups is not None and parts[0] is not None:
            return parts[0].at(self.unsorted_groups)
        sizes = np.cumsum([0, *(block.size for block in self.blocks)])
        groups = np.array([sizes[place] + number for place, number in self.shown_groups], dtype=np.int64)
        return joined_numbers([part for part in parts if part is not None]).at(groups)

    @cached_property
    def totals(self) -> tuple[tuple[int, ...], ...]:
        """For each row the outputs that are keys which its grouping set sums over; empty where no set does."""
        query = self.query
        if len(query.sets) < 2:
            return ()
        keys = [(at, each.key) for at, each in enumerate(query.outputs) if each.key is not None]
        summed = [tuple(at for at, key in keys if key not in chosen) for chosen in query.sets]
        return tuple(summed[place] for place, _ in self.shown_groups) if any(summed) else ()

    def best_rows(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows with the best whole numbers that add up, instead of the unbiased ones."""
        return self._table(best_columns(self.blocks, self.query.outputs))

    @cached_property
    def missing(self) -> tuple[tuple[int, ...], ...]:
        """For each row the outputs that are NULL without being hidden, such as the change in the first month."""
        windowed = [
            output.formula is not None and any(each.over is not None for each in references(output.formula))
            for output in self.query.outputs
        ]
        if not any(windowed):
            return ()
        flags = [
            [_missing_groups(block, output) if is_windowed else [False] * block.size for block in self.blocks]
            for output, is_windowed in zip(self.query.outputs, windowed, strict=True)
        ]
        return tuple(tuple(at for at, flag in enumerate(row) if flag) for row in self._table(flags))

    @property
    def has_independent_noise(self) -> bool:
        """Whether the noise of one group says nothing about that of another."""
        return True

    def _table(self, columns: list[list[list[Any]]]) -> tuple[tuple[Any, ...], ...]:
        """Columns, each a list for each grouping set, as the rows that the answer shows."""
        if self.unsorted_groups is None:
            shown = [[column[place][number] for place, number in self.shown_groups] for column in columns]
        elif np.array_equal(self.unsorted_groups, np.arange(self.blocks[0].size)):
            shown = [column[0] for column in columns]
        else:
            shown = [_picked(column[0], self.unsorted_groups) for column in columns]
        return tuple(zip(*shown, strict=True))


def _missing_groups(block: AnswerBlock, output: OutputColumn) -> list[bool]:
    """Groups whose number is NULL, and not hidden by noise."""
    pairs = zip(block.cells(output), block.hidden(output).tolist(), strict=True)
    return [cell is None and not hidden for cell, hidden in pairs]


def _arranged(
    keys: tuple[tuple[int | str | None, ...], ...], places: tuple[int, ...]
) -> tuple[tuple[int | str | None, ...], ...]:
    """Discovered keys, stored by what they are, in the order in which the question names them."""
    return keys if list(places) == sorted(places) else tuple(tuple(key[place] for place in places) for key in keys)


def _twin(other: Measurement, part: NoisyCells) -> NoisyCells | None:
    """The cells of the same grouping set in another measurement."""
    return next((each for each in other.parts if isinstance(each, NoisyCells) and each.place == part.place), None)


def _drawn(part: NoisyCells, number: int) -> tuple[tuple[int, ...], Law] | None:
    """The noisy values of one statistic, by its stored number, and their law."""
    if number not in part.statistics:
        return None
    turn = part.statistics.index(number)
    return part.noisy_values[turn], part.laws[turn]


def _picked(column: list[Any], numbers: NDArray[np.int64]) -> list[Any]:
    if len(numbers) < 2:
        return [column[number] for number in numbers]
    return list(itemgetter(*numbers.tolist())(column))  # much faster than a loop


def _whole_numbers(values: Sequence[int]) -> NDArray[Any]:
    """As 64-bit numbers where they fit, else as Python's."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)


def _sorted(
    shown: list[tuple[int, int]], keys: list[list[Sequence[Any]]], order: tuple[OrderBy, ...]
) -> list[tuple[int, int]]:
    """By each part of ORDER BY, the last first: a stable sort keeps what the later ones said."""
    for part, values in reversed(list(zip(order, keys, strict=True))):
        given = [group for group in shown if values[group[0]][group[1]] is not None]
        missing = [group for group in shown if values[group[0]][group[1]] is None]
        given.sort(key=lambda group, of=values: of[group[0]][group[1]], reverse=part.descending)  # type: ignore[misc]
        shown = missing + given if part.nulls_first else given + missing
    return shown
