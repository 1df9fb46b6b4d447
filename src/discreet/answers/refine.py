"""A measurement as rows: keys, formulas, HAVING, ORDER BY, LIMIT. Post-processing: it sees noisy values alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.measurement import ChosenBins, FoundKeys, Measurement, NoisyCells
from discreet.mechanisms.combined import Combined, combine
from discreet.plan import formula
from discreet.release import Cell, Interval, Intervals, drowned
from discreet.sql.asked import Asked, Order, Output
from discreet.sql.keys import middle
from discreet.sql.typed import Choice, Words


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One question's reading of what was measured; `others` are further measurements of the same cells."""

    asked: Asked
    measurement: Measurement
    others: tuple[Measurement, ...] = ()

    @cached_property
    def blocks(self) -> list[_Block]:
        """The groups of each grouping set."""
        return [self._block(place) for place in range(len(self.asked.sets))]

    def _block(self, place: int) -> _Block:
        keys = self.found.keys if self.found is not None else None
        shape = tuple(axis.size for axis in self.asked.inquiry.sets[place])
        block = _Block(asked=self.asked, place=place, keys=keys, shape=shape)
        for part in self.measurement.parts:
            match part:
                case FoundKeys(answers=int() as index, law=law) if place == 0:
                    block.values[index] = _whole_numbers(part.noisy_values)
                    block.laws[index] = law
                    block.thresholds[index] = part.threshold or 0
                case NoisyCells(place=own) if own == place:
                    self._add(block, part)
                case ChosenBins(place=own, quantile=index) if own == place:
                    block.bins[index] = np.array(part.noisy_bins, dtype=np.int64).reshape(-1, 3)
                    block.bought[index] = part.confidence
                case _:
                    pass
        return block

    def _add(self, block: _Block, part: NoisyCells) -> None:
        """The cells of a part; measured several times, their mean by inverse variance."""
        twins = [
            other
            for measured in self.others
            for other in measured.parts
            if isinstance(other, NoisyCells) and other.place == part.place and other.statistics == part.statistics
        ]
        for turn, index in enumerate(part.statistics):
            drawn = [(each.noisy_values[turn], each.laws[turn]) for each in (part, *twins)]
            if len(drawn) == 1:
                block.values[index], block.laws[index] = _whole_numbers(drawn[0][0]), drawn[0][1]
                continue
            weights = combine([law for _, law in drawn])
            pairs = zip(weights, drawn, strict=True)
            block.values[index] = np.sum(
                [float(weight) * np.array(values, dtype=np.float64) for weight, (values, _) in pairs], axis=0
            )
            block.laws[index] = Combined(
                parts=tuple((weight, law) for weight, (_, law) in zip(weights, drawn, strict=True))
            )

    def variance(self) -> Fraction:
        """The largest variance of its noise; 0 where it is not noise that was added."""
        laws = [law for block in self.blocks for law in block.laws.values()]
        return max((Fraction(law.variance()) for law in laws), default=Fraction(0))

    @cached_property
    def found(self) -> FoundKeys | None:
        """The keys that were discovered."""
        return next((part for part in self.measurement.parts if isinstance(part, FoundKeys)), None)

    @cached_property
    def simple(self) -> NDArray[np.int64] | None:
        """The groups that the answer shows, where there is one grouping set and no ORDER BY."""
        if self.asked.order or len(self.blocks) != 1:
            return None
        return self.blocks[0].kept()

    @cached_property
    def order(self) -> list[tuple[int, int]]:
        """Which groups the answer shows, in order: grouping set and number of the group."""
        asked = self.asked
        shown = [(place, int(number)) for place, block in enumerate(self.blocks) for number in block.kept()]
        if asked.order:
            shown = _sorted(shown, [self._sort_key(part) for part in asked.order], asked.order)
        end = None if asked.limit is None else asked.offset + asked.limit
        return shown[asked.offset : end]

    def _sort_key(self, part: Order) -> list[Sequence[Any]]:
        """What to sort by, for each grouping set and group, None for NULL."""
        output = None if part.output is None else self.asked.outputs[part.output]
        if output is None:
            assert part.formula is not None
            return [_numbers(formula.evaluate(part.formula, block.vectors())) for block in self.blocks]
        if output.quantile is not None:
            return [block.bins[output.quantile][:, 1].tolist() for block in self.blocks]
        if output.key is None:
            return [block.cells(output) for block in self.blocks]
        # Texts sort as texts; numbers, moments and bins by where they stand among the keys.
        texts = isinstance(self.asked.keys[output.key].typed.kind, Choice | Words)
        return [block.cells(output) if texts else block.places(output.key) for block in self.blocks]

    @cached_property
    def rows(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows of the answer."""
        return self._table([[block.cells(output) for block in self.blocks] for output in self.asked.outputs])

    def intervals(self, confidence: Fraction) -> tuple[Intervals, ...]:
        """For each row and column where the exact number lies, None for keys."""
        return self._table(
            [[block.interval(output, confidence) for block in self.blocks] for output in self.asked.outputs]
        )

    def _table(self, columns: list[list[list[Any]]]) -> tuple[tuple[Any, ...], ...]:
        """Columns, each a list for each grouping set, as the rows that the answer shows."""
        if self.simple is None:
            shown = [[column[place][number] for place, number in self.order] for column in columns]
        elif np.array_equal(self.simple, np.arange(self.blocks[0].size)):
            shown = [column[0] for column in columns]
        else:
            shown = [_picked(column[0], self.simple) for column in columns]
        return tuple(zip(*shown, strict=True))

    def drowned(self, confidence: Fraction) -> tuple[int, int]:
        """How many numbers of the answer are no larger than their noise, and of how many."""
        outputs = [output for output in self.asked.outputs if output.key is None and output.grouping is None]
        found = 0
        for place, block in enumerate(self.blocks):
            groups = self.simple
            if groups is None:
                groups = np.array([number for own, number in self.order if own == place], dtype=np.int64)
            found += sum(int(block.drowned(output, confidence)[groups].sum()) for output in outputs)
        return found, len(self.rows) * len(outputs)


@dataclass(frozen=True, kw_only=True)
class _Block:
    """One grouping set: its noisy vectors over the groups, discovered keys first, then the axes, row-major."""

    asked: Asked
    place: int
    keys: tuple[tuple[int | str | None, ...], ...] | None
    shape: tuple[int, ...]
    values: dict[int, NDArray[Any]] = field(default_factory=dict)
    laws: dict[int, Any] = field(default_factory=dict)
    thresholds: dict[int, int] = field(default_factory=dict)
    bins: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    bought: dict[int, Fraction] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return int(np.prod(self.full, dtype=np.int64))

    @property
    def full(self) -> tuple[int, ...]:
        return self.shape if self.keys is None else (len(self.keys), *self.shape)

    def vectors(self) -> list[NDArray[Any]]:
        """The noisy vectors by the numbers of their statistics."""
        return [self.values[index] for index in range(len(self.asked.inquiry.statistics))]

    def kept(self) -> NDArray[np.int64]:
        """The groups that HAVING keeps, in the order of their keys as selected."""
        order = self._by_keys()
        if self.asked.having is None:
            return order
        held = np.broadcast_to(formula.evaluate(self.asked.having, self.vectors()), self.size)
        kept: NDArray[np.int64] = order[held[order] == 1]
        return kept

    def _by_keys(self) -> NDArray[np.int64]:
        shown = [output.key for output in self.asked.outputs if output.key is not None]
        rest = [key for key in range(len(self.asked.keys)) if key not in shown]
        keys = list(dict.fromkeys([*shown, *rest]))
        turns = [turn for turn in map(self._turn, keys) if turn is not None]
        if turns == sorted(turns) and len(turns) == len(self.full):
            return np.arange(self.size)  # row-major already
        return np.lexsort([self.positions(key) for key in reversed(keys)])

    def positions(self, key: int) -> NDArray[np.int64]:
        """For each group, which of the key's values it has; -1 where the set sums over the key."""
        turn = self._turn(key)
        if turn is None:
            return np.full(self.size, -1)
        full = self.full
        inner = int(np.prod(full[turn + 1 :], dtype=np.int64))
        outer = int(np.prod(full[:turn], dtype=np.int64))
        return np.tile(np.repeat(np.arange(full[turn]), inner), outer)

    def _turn(self, key: int) -> int | None:
        """Which dimension of the block a key is; None where the set sums over it."""
        axis = self.asked.axis_of(self.place, key)
        if axis is not None:
            return axis + (self.keys is not None)
        return 0 if self.keys is not None and self.asked.keys[key].axis is None else None

    def places(self, key: int) -> list[int | None]:
        """`positions`, with None for NULL and where the set sums over the key."""
        labels = self._labels(key)
        found = self.positions(key).tolist()
        return [None if label is None else place for place, label in zip(found, labels, strict=True)]

    def cells(self, output: Output) -> list[Cell]:
        """One column of the answer."""
        if output.key is not None:
            return self._labels(output.key)
        if output.grouping is not None:
            return [int(output.grouping not in self.asked.sets[self.place])] * self.size
        if output.quantile is not None:
            asked = self.asked.quantiles[output.quantile]
            return [middle(asked.quantile.axis, asked.typed, int(bin_)) for bin_ in self.bins[output.quantile][:, 1]]
        assert output.formula is not None
        return self._evaluated(output)

    def _labels(self, key: int) -> list[Cell]:
        asked = self.asked
        positions = self.positions(key)
        axis = asked.axis_of(self.place, key)
        if axis is not None:
            labels: Sequence[Cell] = asked.inquiry.sets[self.place][axis].labels
        elif self.keys is not None and asked.keys[key].axis is None:
            unknown = [place for place, known in enumerate(asked.keys) if known.axis is None]
            turn = unknown.index(key)
            labels = [asked.keys[key].label(found[turn]) for found in self.keys]
        else:
            return [None] * self.size
        told = np.empty(len(labels), dtype=object)
        told[:] = labels
        return list(told[positions].tolist())

    def _evaluated(self, output: Output) -> list[Cell]:
        whole = self._whole(output)
        if whole is not None:
            return list(self.values[whole].tolist())
        assert output.formula is not None
        return _numbers(np.broadcast_to(formula.evaluate(output.formula, self.vectors()), self.size))

    def _whole(self, output: Output) -> int | None:
        """The statistic that an output is, as it was drawn: whole numbers."""
        plain = output.plain
        if plain is None or plain[1] != 1 or self.values[plain[0]].dtype.kind == "f":
            return None
        return plain[0]

    def interval(self, output: Output, confidence: Fraction) -> list[Interval]:
        """Where the exact numbers of a column lie."""
        if output.key is not None or output.grouping is not None:
            return [None] * self.size
        if output.quantile is not None:
            return self._bin_ends(output.quantile, confidence)
        whole = self._whole(output)
        if self._of_found(output):
            return self._found(output, confidence)
        if whole is not None:
            width = self.laws[whole].half_width(confidence)
            return [(value - width, value + width) for value in self.values[whole].tolist()]
        low, high = self._ends(output, confidence)
        return [_ends(one, two) for one, two in zip(_numbers(low), _numbers(high), strict=True)]

    def _ends(self, output: Output, confidence: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        assert output.formula is not None
        laws = [self.laws[index] for index in range(len(self.asked.inquiry.statistics))]
        low, high = formula.interval(output.formula, self.vectors(), laws, confidence)
        return np.broadcast_to(low, self.size), np.broadcast_to(high, self.size)

    def drowned(self, output: Output, confidence: Fraction) -> NDArray[np.bool_]:
        """Whether each number of a column is no larger than its noise."""
        whole = self._whole(output)
        if self._of_found(output):
            return np.zeros(self.size, dtype=np.bool_)  # a key that shows is no noise
        if output.quantile is not None:
            pairs = zip(self.cells(output), self._bin_ends(output.quantile, confidence), strict=True)
            found = [drowned(cell, ends) for cell, ends in pairs]
        elif whole is not None:
            width = float(self.laws[whole].half_width(confidence))
            return np.abs(self.values[whole].astype(np.float64)) <= width
        else:
            assert output.formula is not None
            low, high = self._ends(output, confidence)
            value = np.broadcast_to(formula.evaluate(output.formula, self.vectors()), self.size)
            return ~(np.abs(value) > (high - low) / 2)
        return np.array(found, dtype=np.bool_)

    def _of_found(self, output: Output) -> bool:
        """Whether a column is computed from numbers by which keys were discovered."""
        return output.formula is not None and not self.thresholds.keys().isdisjoint(formula.cells(output.formula))

    def _found(self, output: Output, confidence: Fraction) -> list[Interval]:
        """The numbers of persons of keys that were discovered by these very numbers, or multiples of them.

        Because: a key shows only where its noisy number reaches the threshold. Of keys below it those show
        whose noise is large, and by how much it is over tells nothing about the key (the noise has no
        memory): only a number that is over by more than `width` is evidence. For the others a tail of
        (1 - confidence) / 4 becomes at most twice as likely, since they show at least every other time.
        """
        plain = output.plain
        if plain is None or plain[1] <= 0:
            return [None] * self.size
        index, step = plain
        width = self.laws[index].half_width(1 - (1 - confidence) / 2)
        sure = self.thresholds[index] + width
        found: list[Interval] = []
        for value in self.values[index].tolist():
            low, high = value - width if value > sure else 1, value + width
            found.append((low, high) if step == 1 else (float(low * step), float(high * step)))
        return found

    def _bin_ends(self, quantile: int, confidence: Fraction) -> list[Interval]:
        """A quantile's interval was bought at one confidence; at a higher one only the bounds are sure."""
        asked = self.asked.quantiles[quantile]
        edges = asked.quantile.axis.edges
        if confidence > self.bought[quantile]:
            return [_ends(asked.typed.label(edges[0]), asked.typed.label(edges[-1] - 1))] * self.size
        return [
            _ends(asked.typed.label(edges[low]), asked.typed.label(edges[high + 1] - 1))
            for low, _, high in self.bins[quantile]
        ]


def _picked(column: list[Any], numbers: NDArray[np.int64]) -> list[Any]:
    if len(numbers) < 2:
        return [column[number] for number in numbers]
    return list(itemgetter(*numbers.tolist())(column))  # much faster than a loop


def _ends(low: Cell, high: Cell) -> Interval:
    """An interval; None where it has no end."""
    if low is None or high is None or math.inf in (-low if isinstance(low, float) else 0, high):
        return None
    return low, high


def _numbers(found: NDArray[Any]) -> list[Cell]:
    """Floats as Python's, NaN as NULL."""
    numbers = np.asarray(found, dtype=np.float64)
    if not np.isnan(numbers).any():
        return list(numbers.tolist())
    return [None if value != value else value for value in numbers.tolist()]


def _whole_numbers(values: Sequence[int]) -> NDArray[Any]:
    """As 64-bit numbers where they fit, else as Python's."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)


def _sorted(
    shown: list[tuple[int, int]], keys: list[list[Sequence[Any]]], order: tuple[Order, ...]
) -> list[tuple[int, int]]:
    """By each part of ORDER BY, the last first: a stable sort keeps what the later ones said."""
    for part, values in reversed(list(zip(order, keys, strict=True))):
        given = [group for group in shown if values[group[0]][group[1]] is not None]
        missing = [group for group in shown if values[group[0]][group[1]] is None]
        given.sort(key=lambda group, of=values: of[group[0]][group[1]], reverse=part.descending)  # type: ignore[misc]
        shown = missing + given if part.nulls_first else given + missing
    return shown
