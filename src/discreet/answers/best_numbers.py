"""The best numbers of an answer: whole, never negative where that is known, and adding up. Post-processing, free.

Beside the unbiased numbers of an answer, for whoever wants one table that could be true. Counts and sums of each
grouping set are shrunk by what the other groups say (`inference/likely_counts`); the total stays the unbiased one. The
grouping sets of ROLLUP, CUBE and GROUPING SETS are read together by least squares first, and made to add up, from the
coarse ones down. Averages, quantiles and other derived numbers stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.answers.answer_columns import never_negative
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import LEAST_SCALE, MOST_SCALE
from discreet.plan.cell_statistics import RowCount, Sum
from discreet.plan.formula.formula_nodes import references
from discreet.plan.formula.linear import Linear, linear
from discreet.sql.parsed_query import OutputColumn

if TYPE_CHECKING:
    from discreet.answers.answer_block import AnswerBlock
    from discreet.inference.likely_counts import NoiseLaw
    from discreet.release import Cell

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Larger numbers are not whole as floats, and their noise is far below them: they stay as they are.
_LARGEST = 2.0**50
#: Numbers with less noise are exact already.
_LEAST_VARIANCE = 1e-6
#: Rounds of adjusting cells to the tables that cross in them.
_ROUNDS = 50


def best_columns(blocks: Sequence[AnswerBlock], outputs: Sequence[OutputColumn]) -> list[list[list[Cell]]]:
    """For each output and grouping set its cells, with the best numbers where there are some."""
    best = _best_statistics(blocks)
    return [[_best_cells(block, output, best) for block in blocks] for output in outputs]


def _best_cells(block: AnswerBlock, output: OutputColumn, best: Mapping[tuple[int, int], Integers]) -> list[Cell]:
    cells = block.cells(output)
    if output.formula is None or any(each.over is not None for each in references(output.formula)):
        return cells  # sums over other groups stay the unbiased ones
    form = linear(output.formula)
    if form is None or not form.weights or any((block.place, index) not in best for index, _ in form.weights):
        return cells
    numbers = _weighted(form, {index: best[block.place, index] for index, _ in form.weights})
    return [None if cell is None else number for cell, number in zip(cells, numbers, strict=True)]


def _weighted(form: Linear, best: Mapping[int, Integers]) -> list[Cell]:
    """A linear formula of the best numbers: whole where its weights are."""
    if all(weight.denominator == 1 for weight in (form.constant, *(weight for _, weight in form.weights))):
        sums = sum((int(weight) * best[index] for index, weight in form.weights), np.int64(int(form.constant)))
        return list(np.asarray(sums).tolist())
    rows = zip(*(best[index].tolist() for index, _ in form.weights), strict=True)
    weights = [weight for _, weight in form.weights]
    return [float(form.constant + sum(map(Fraction.__mul__, weights, map(Fraction, row)))) for row in rows]


def _best_statistics(blocks: Sequence[AnswerBlock]) -> dict[tuple[int, int], Integers]:
    """The best whole numbers, by grouping set and statistic, of all counts and sums that have a law of noise."""
    best: dict[tuple[int, int], Integers] = {}
    for index, statistic in enumerate(blocks[0].query.inquiry.statistics):
        tables = [_NoisyTable.of(block, index) for block in blocks]
        measured = [table for table in tables if table is not None]
        if len(measured) != len(blocks):
            continue
        least = 0 if never_negative(statistic) else None
        # Persons and values may be in several groups: only rows and their sums add up.
        together = isinstance(statistic, RowCount | Sum) and all(table.is_plain for table in measured)
        for group in [measured] if together else [[table] for table in measured]:
            best |= {(table.place, index): numbers for table, numbers in _solved(group, least)}
    return best


@dataclass(frozen=True, kw_only=True)
class _NoisyTable:
    """The noisy numbers of one statistic in one grouping set, by its axes, and the law of their noise.

    possible: the groups that a row can be in; `is_plain`: all of them, on axes that all differ.
    """

    place: int
    axes: tuple[int, ...]
    noisy: Floats
    law: NoiseLaw
    possible: Integers
    is_plain: bool

    @staticmethod
    def of(block: AnswerBlock, index: int) -> _NoisyTable | None:
        """None where there is no law of noise for all cells alike, or a number shows only where it is large."""
        law, noisy = block.noise_law(index), block.values.get(index)
        if law is None or noisy is None or index in block.thresholds or not block.size:
            return None
        floats = noisy.astype(np.float64)
        if np.abs(floats).max() > _LARGEST or not _LEAST_VARIANCE < float(law.variance()) <= _LARGEST**2:
            return None
        possible = block.possible_groups()
        return _NoisyTable(
            place=block.place,
            axes=_axis_numbers(block),
            noisy=floats.reshape(block.full_shape),
            law=law,
            possible=possible,
            is_plain=possible.size == block.size,
        )

    @property
    def variance(self) -> float:
        return float(self.law.variance())


def _axis_numbers(block: AnswerBlock) -> tuple[int, ...]:
    """The axes of a grouping set as numbers that are the same in all sets, the discovered keys first."""
    every: dict[Any, int] = {}
    for axes in block.query.inquiry.sets:
        for axis in axes:
            every.setdefault(repr(axis.to_data()), len(every) + 1)
    own = tuple(every[repr(axis.to_data())] for axis in block.query.inquiry.sets[block.place])
    return own if block.keys is None else (0, *own)


def _solved(tables: Sequence[_NoisyTable], least: int | None) -> list[tuple[_NoisyTable, Integers]]:
    """The best numbers of tables that add up with each other; all have one total."""
    total = _total(tables)
    if least is not None:
        total = max(total, least)
    answers: dict[int, Integers] = {}
    tops = [table for table in tables if not any(set(table.axes) < set(other.axes) for other in tables)]
    for top in tops:
        parts = [table for table in tables if set(table.axes) <= set(top.axes)]
        solved = _solved_chain(parts, total, least) if _is_chain(parts) else _solved_cross(parts, top, total, least)
        answers = {**solved, **answers}
    return [(table, answers[table.place]) for table in tables]


def _total(tables: Sequence[_NoisyTable]) -> int:
    """The total that all tables say together, by inverse variance."""
    weights = [1 / (table.possible.size * table.variance + 1e-9) for table in tables]
    sums = [float(table.noisy.ravel()[table.possible].sum()) for table in tables]
    return round(sum(weight * each for weight, each in zip(weights, sums, strict=True)) / sum(weights))


def _is_chain(tables: Sequence[_NoisyTable]) -> bool:
    """Whether each table is a sum of the next one, as those of ROLLUP are."""
    ordered = sorted(tables, key=lambda table: len(table.axes))
    return all(set(coarse.axes) < set(fine.axes) for coarse, fine in pairwise(ordered))


def _solved_chain(tables: Sequence[_NoisyTable], total: int, least: int | None) -> dict[int, Integers]:
    """From the coarsest table down: each shrinks by itself, and its numbers sum to those of the one above."""
    from discreet.inference.likely_counts import likely_counts, nearest_with_totals, round_with_totals

    ordered = sorted(tables, key=lambda table: len(table.axes))
    agreeing, laws = _least_squares(ordered, total)
    answers: dict[int, Integers] = {}
    above, above_axes = np.array([total]), tuple[int, ...]()
    for table, values, law in zip(ordered, agreeing, laws, strict=True):
        segments = _segments(table, above_axes)[table.possible]
        likely = likely_counts(values.ravel()[table.possible], law, least=least)
        near = nearest_with_totals(likely, segments, above.astype(np.float64), least=least)
        numbers = np.zeros(table.noisy.size, dtype=np.int64)
        numbers[table.possible] = round_with_totals(near, segments, above)
        answers[table.place] = above = numbers
        above_axes = table.axes
    return answers


def _solved_cross(
    tables: Sequence[_NoisyTable], top: _NoisyTable, total: int, least: int | None
) -> dict[int, Integers]:
    """Tables that cross, as those of CUBE do: cells of the finest one near to what all say; the others are its sums."""
    from discreet.inference.likely_counts import LikelyCounts, likely_counts, nearest_with_totals, round_with_totals

    ordered = sorted(tables, key=lambda table: len(table.axes))
    agreeing, laws = _least_squares(ordered, total)
    goals: list[tuple[_NoisyTable, Floats]] = []
    values = np.array([float(total)])
    for table, sums, law in zip(ordered, agreeing, laws, strict=True):
        likely = likely_counts(sums.ravel(), law, least=least)
        coarser = [(_segments(table, each.axes), goal) for each, goal in goals if set(each.axes) < set(table.axes)]
        coarser = coarser or [(np.zeros(table.noisy.size, dtype=np.int64), np.array([float(total)]))]
        values = likely.means
        for _ in range(_ROUNDS if len(coarser) > 1 else 1):
            for segments, goal in coarser:
                now = LikelyCounts(means=values, variances=likely.variances)
                values = nearest_with_totals(now, segments, goal, least=least)
        goals.append((table, values))
    everything = np.zeros(top.noisy.size, dtype=np.int64)
    numbers = round_with_totals(values, everything, np.array([total]))
    answers = {}
    for table in tables:
        sums_of = np.zeros(table.noisy.size, dtype=np.int64)
        np.add.at(sums_of, _segments(top, table.axes), numbers)
        answers[table.place] = sums_of
    return answers


def _segments(table: _NoisyTable, coarse: tuple[int, ...]) -> Integers:
    """For each cell of a table its cell in the sum over all axes but the coarse ones, in their order."""
    places = np.indices(table.noisy.shape).reshape(table.noisy.ndim, -1) if table.noisy.ndim else None
    numbers = np.zeros(table.noisy.size, dtype=np.int64)
    for axis in coarse:
        assert places is not None
        turn = table.axes.index(axis)
        numbers = numbers * table.noisy.shape[turn] + places[turn]
    return numbers


def _least_squares(tables: Sequence[_NoisyTable], total: int) -> tuple[list[Floats], list[NoiseLaw]]:
    """The tables as they agree with each other and with the total, and what noise is left in each."""
    if len(tables) == 1:
        return [tables[0].noisy], [tables[0].law]
    from discreet.inference.consistency import make_consistent

    noisy = {tuple(sorted(table.axes)): (_sorted_axes(table), table.variance) for table in tables if table.axes}
    agreeing = make_consistent(noisy, {}, float(total))
    agreeing[()] = np.array(float(total))
    back = [agreeing[tuple(sorted(table.axes))].transpose(np.argsort(np.argsort(table.axes))) for table in tables]
    return back, [_left_noise(table, tables) for table in tables]


def _sorted_axes(table: _NoisyTable) -> Floats:
    return table.noisy.transpose(np.argsort(table.axes)) if table.axes else table.noisy


def _left_noise(table: _NoisyTable, tables: Sequence[_NoisyTable]) -> NoiseLaw:
    """The noise of a table's cells after what finer tables add: as Gaussian, of the variance of the mean of all."""
    weight = 0.0
    for each in tables:
        if set(table.axes) <= set(each.axes):
            weight += table.noisy.size / (each.noisy.size * each.variance + 1e-9)
    if table.noisy.size / (table.noisy.size * table.variance + 1e-9) == weight:
        return table.law
    return DiscreteGaussian(sigma2=min(max(Fraction(1 / weight), LEAST_SCALE**2), MOST_SCALE**2))
