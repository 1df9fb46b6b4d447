"""A reading as a release: rows, intervals when they are asked for, and what the reader should be told."""

from __future__ import annotations

from functools import partial

import numpy as np

from discreet.accounting import events
from discreet.accounting.events import WeightedThresholdEvent
from discreet.answers.answer_columns import columns_of
from discreet.answers.bounds.left_out import left_out_words
from discreet.answers.caveats import caveats, ledger_caveats, practice_caveats
from discreet.answers.column_numbers import ColumnNumbers
from discreet.answers.query_quote import FREE, QueryWish, cost_of, spending
from discreet.answers.refine import AnswerReading
from discreet.answers.row_comparison import compare_rows
from discreet.errors import Command, Flag, Message, Piece
from discreet.kernel.curator import Version
from discreet.kernel.measurement import Measurement
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.weighted_threshold import key_weights
from discreet.plan.query_sensitivity import cells_touched
from discreet.release import Release, ReleaseColumn, below_noise_warnings
from discreet.sql.query_text import split_statements


def make_release(reading: AnswerReading, wish: QueryWish, *, version: Version, ledger: Ledger, cached: bool) -> Release:
    """A reading as a release, with where the budget stands."""
    standing = ledger.account_status(version.population)
    measurement = reading.measurement
    charged = ledger.state.charges[measurement.id].moved
    release = Release(
        id=measurement.id,
        table=version.table,
        version=version.number,
        columns=columns_of(reading.query),
        rows=reading.rows,
        event=measurement.event,
        confidence=wish.confidence,
        cost=FREE if cached or measurement.is_resumed else cost_of(measurement.event, charged),
        charged=charged,
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        cached=cached,
        read_intervals=reading.intervals,
        read_comparison=partial(compare_rows, reading) if reading.has_independent_noise else None,
        read_best=reading.best_rows,
        totals=reading.totals,
        missing=reading.missing,
    )
    return release.with_warnings(_warnings(release, reading, wish, version, ledger))


def bought_left_out(version: Version, ledger: Ledger) -> dict[str, str]:
    """What the limit on rows leaves out of a table, where that has been bought."""
    words = left_out_words(version, ledger)
    return {} if words is None else {version.table: words}


def resumed_notes(measurement: Measurement) -> list[str]:
    """A note if an answer was drawn under the charge of a process that ended before it stored one."""
    if not measurement.is_resumed:
        return []
    return [
        "this query was charged earlier, but the program ended before the answer was stored; the answer is new and "
        "uses that charge, so nothing more was charged"
    ]


def _warnings(release: Release, reading: AnswerReading, wish: QueryWish, version: Version, ledger: Ledger) -> list[str]:
    warnings = [*resumed_notes(reading.measurement), *reading.query.warnings]
    paid = ledger.state.charges[release.id].price
    if release.cached and wish.epsilon is not None and (paid < wish.epsilon or reading.within is not None):
        single = len(split_statements(reading.measurement.text)) == 1
        more: list[Piece] = [Command("again", release.id), " makes it more precise; "] if single else []
        how = "at a smaller epsilon" if reading.within is None else "in a batch, which shared its epsilon"
        warnings.append(
            Message(
                f"this is the stored answer, measured {how}; ",
                *more,
                Flag("fresh", True),
                " draws new noise and charges again",
            )
        )
    refined = ledger.state.refinements.refined(release.id)
    if refined is not None and not release.cached:
        charged = "" if reading.measurement.is_resumed else ": only the difference was charged"
        warnings.append(f"this makes release {refined} more precise{charged}")
    warnings += caveats(reading.query, left_out=bought_left_out(version, ledger))
    warnings += _hidden_keys_warnings(reading)
    if reading.discovered_keys is not None and reading.discovered_keys.is_truncated:
        warnings.append(
            f"only the {len(reading.discovered_keys.keys):,} most common of the discovered keys fit into one answer"
        )
    population = ledger.state.charges[release.id].population
    warnings += practice_caveats(ledger) if release.cached else ledger_caveats(ledger, population)
    return [*warnings, *below_noise_warnings(*_count_below_noise(reading, release))]


def _hidden_keys_warnings(reading: AnswerReading) -> list[str]:
    """How many people a key needed to be shown."""
    discovered = reading.discovered_keys
    if discovered is None or discovered.threshold is None:
        return []
    if not any(isinstance(each, WeightedThresholdEvent) for each in events.parts(reading.measurement.event)):
        return [f"keys shared by fewer than about {discovered.threshold:,} people are not shown"]
    most = cells_touched(reading.query.inquiry.keys, reading.query.reach)
    weights = key_weights(most)
    alone, together = (-(-discovered.threshold // weight) for _, weight in (weights[0], weights[-1]))
    return [
        f"keys shared by fewer than about {alone:,} people are not shown, nor are keys of up to {together:,} people if "
        "these have many keys: each person's weight is split over their keys"
    ]


def _count_below_noise(reading: AnswerReading, release: Release) -> tuple[int, int, int]:
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
