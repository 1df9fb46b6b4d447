"""A reading as a release: rows, intervals when they are asked for, and what the reader should be told."""

from __future__ import annotations

from functools import partial

from discreet.answers.answer_columns import columns_of
from discreet.answers.caveats import caveats, ledger_caveats, practice_caveats
from discreet.answers.query_quote import FREE, QueryWish, cost_of, spending
from discreet.answers.refine import AnswerReading
from discreet.answers.row_comparison import compare_rows
from discreet.errors import Command, Flag, Message, Piece
from discreet.kernel.curator import Version
from discreet.kernel.measurement import Measurement
from discreet.ledger.ledger import Ledger
from discreet.present.cell_text import DASH
from discreet.release import Release
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
        read_comparison=partial(compare_rows, reading),
    )
    return release.with_warnings(_warnings(release, reading, wish, ledger))


def resumed_notes(measurement: Measurement) -> list[str]:
    """A note if an answer was drawn under the charge of a process that ended before it stored one."""
    if not measurement.is_resumed:
        return []
    return [
        "this query was charged earlier, but the program ended before the answer was stored; the answer is new and "
        "uses that charge, so nothing more was charged"
    ]


def _warnings(release: Release, reading: AnswerReading, wish: QueryWish, ledger: Ledger) -> list[str]:
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
    warnings += caveats(reading.query)
    if reading.discovered_keys is not None and reading.discovered_keys.threshold is not None:
        warnings.append(f"keys shared by fewer than about {reading.discovered_keys.threshold:,} people are not shown")
    if reading.discovered_keys is not None and reading.discovered_keys.is_truncated:
        warnings.append(
            f"only the {len(reading.discovered_keys.keys):,} most common of the discovered keys fit into one answer"
        )
    population = ledger.state.charges[release.id].population
    warnings += practice_caveats(ledger) if release.cached else ledger_caveats(ledger, population)
    return [*warnings, *_below_noise_warnings(release, reading.count_missing())]


def _below_noise_warnings(release: Release, missing: int) -> list[str]:
    """How many numbers are below their noise, and how many it hides; `missing` ones there are not at all."""
    below_noise, hidden, cells = release.count_below_noise()
    hidden, cells = hidden - missing, cells - missing
    warnings = []
    for number, words in ((below_noise, "below the noise"), (hidden, f"not shown ({DASH}): the noise is too large")):
        which = "the number is" if cells == 1 else f"{number:,} of {cells:,} numbers {'is' if number == 1 else 'are'}"
        warnings += [f"{which} {words}; use a larger epsilon or wider groups to see more"] if number else []
    return warnings
