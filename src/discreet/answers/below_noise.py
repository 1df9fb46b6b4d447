"""How many numbers of an answer are below the noise: counted by columns, without an interval for each group."""

from __future__ import annotations

import numpy as np

from discreet.answers.column_numbers import ColumnNumbers
from discreet.answers.refine import AnswerReading
from discreet.release import Release, ReleaseColumn


def count_below_noise(reading: AnswerReading, release: Release) -> tuple[int, int, int]:
    """`Release.count_below_noise` of a reading's release, from its vectors where floats hold them exactly."""
    numbers = [
        None if column.kind == "key" else reading.numbers(place, release.confidence)
        for place, column in enumerate(release.columns)
    ]
    missing = sum(map(len, release.missing))
    below_noise = hidden = cells = 0
    for place, (column, of) in enumerate(zip(release.columns, numbers, strict=True)):
        if column.kind == "key":
            continue
        if of is None:
            below, lost = _count_by_cells(release, place)
        else:
            below, lost = _count_by_vectors(column, of)
        below_noise, hidden, cells = below_noise + below, hidden + lost, cells + len(release.rows)
    return below_noise - hidden, hidden - missing, cells - missing


def _count_by_cells(release: Release, place: int) -> tuple[int, int]:
    column = release.columns[place]
    pairs = [(row[place], ends[place]) for row, ends in zip(release.rows, release.intervals, strict=True)]
    return sum(column.is_below_noise(*pair) for pair in pairs), sum(cell is None for cell, _ in pairs)


def _count_by_vectors(column: ReleaseColumn, numbers: ColumnNumbers) -> tuple[int, int]:
    return int(np.count_nonzero(numbers.below_noise(column))), int(np.count_nonzero(numbers.hidden()))
