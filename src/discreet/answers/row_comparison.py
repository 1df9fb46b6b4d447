"""Two rows of one answer compared. Post-processing: it sees noisy numbers alone, and is free.

The noise of two groups is drawn independently, so that the law of a difference, and the test that a ratio's interval
inverts, follow from theirs.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.answers.answer_block import AnswerBlock
from discreet.answers.refine import AnswerReading
from discreet.plan import formula
from discreet.present.group_comparison import Ends, Operation
from discreet.sql.parsed_query import OutputColumn

ComparedNumber = tuple[float | int | None, Ends]


def compare_rows(
    reading: AnswerReading, left: int, right: int, operation: Operation, confidence: Fraction
) -> list[ComparedNumber]:
    """For each column that is not a key, the comparison of its numbers in two rows, by their places in the answer."""
    groups = _shown_groups(reading)
    sides = [(reading.blocks[place], group) for place, group in (groups[left], groups[right])]
    outputs = [output for output in reading.query.outputs if output.key is None and output.grouping is None]
    if left == right:
        return [(None, None)] * len(outputs)
    return [_compared(output, sides, operation, confidence) for output in outputs]


def _shown_groups(reading: AnswerReading) -> list[tuple[int, int]]:
    if reading.unsorted_groups is None:
        return reading.shown_groups
    return [(0, int(group)) for group in reading.unsorted_groups]


def _compared(
    output: OutputColumn, sides: list[tuple[AnswerBlock, int]], operation: Operation, confidence: Fraction
) -> ComparedNumber:
    """Nothing for what has no formula, and for sums over windows, which have noise in common."""
    of = output.formula
    if of is None or any(reference.over is not None for reference in formula.references(of)):
        return None, None
    if any(not block.thresholds.keys().isdisjoint(formula.cells(of)) for block, _ in sides):
        return None, None
    if any(block.hidden(output)[group] for block, group in sides):
        return None, None
    size = len(sides[0][0].query.inquiry.statistics)
    second = formula.replace_references(of, lambda reference: formula.StatisticRef(reference.index + size))
    whole = formula.Arithmetic("-" if operation == "difference" else "/", of, second)
    vectors = [block.values[index][group : group + 1] for block, group in sides for index in range(size)]
    laws = [block.laws[index] for block, _ in sides for index in range(size)]
    value = formula.evaluate(whole, vectors)
    low, high = formula.interval(whole, vectors, laws, confidence)
    if not np.isfinite(value[0]):
        return None, None
    if math.isinf(low[0]) or math.isinf(high[0]):
        return None, None
    if output.plain is not None and operation == "difference" and value[0] == int(value[0]):
        return int(value[0]), (float(low[0]), float(high[0]))
    return float(formula.meaningful_within(value, low, high)[0]), (float(low[0]), float(high[0]))
