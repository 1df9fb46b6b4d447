"""A reading as a release: rows, intervals when they are asked for, and what the reader should be told."""

from __future__ import annotations

from discreet.answers.caveats import caveats, doubled
from discreet.answers.columns import columns_of
from discreet.answers.quoting import FREE, Wish, cost_of, spending
from discreet.answers.refine import Reading
from discreet.curator import Version
from discreet.ledger.ledger import Ledger
from discreet.present.noisy_numbers import DASH
from discreet.release import Release
from discreet.sql.text import statements


def released(reading: Reading, wish: Wish, *, version: Version, ledger: Ledger, cached: bool) -> Release:
    """A reading as a release, with where the budget stands."""
    standing = ledger.standing(version.population)
    measurement = reading.measurement
    found = Release(
        id=measurement.id,
        table=version.table,
        version=version.number,
        columns=columns_of(reading.asked),
        rows=reading.rows,
        event=measurement.event,
        confidence=wish.confidence,
        cost=FREE if cached else cost_of(measurement.event),
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        cached=cached,
        reread=reading.intervals,
    )
    return found.warning(_warnings(found, reading, wish, ledger))


def _warnings(release: Release, reading: Reading, wish: Wish, ledger: Ledger) -> list[str]:
    told = list(reading.asked.warnings)
    paid = ledger.state.charges[release.id].price
    if release.cached and wish.epsilon is not None and (paid < wish.epsilon or reading.within is not None):
        single = len(statements(reading.measurement.text)) == 1
        more = f"discreet again {release.id} adds to it, " if single else ""
        how = "at a smaller epsilon" if reading.within is None else "in a batch, which shared its epsilon"
        told.append(f"this is the stored answer, measured {how}; {more}--fresh draws new noise and charges again")
    told += caveats(reading.asked)
    if reading.found is not None and reading.found.threshold is not None:
        told.append(f"keys that fewer than about {reading.found.threshold:,} persons share do not show")
    if reading.found is not None and reading.found.cut:
        told.append(f"only the {len(reading.found.keys):,} most common of the keys that were found fit into one answer")
    population = ledger.state.charges[release.id].population
    told += [] if release.cached else doubled(ledger, population)
    return [*told, *_lost(release)]


def _lost(release: Release) -> list[str]:
    """How many numbers are below their noise, and how many it hides."""
    below_noise, hidden, cells = release.drowned_numbers()
    told = []
    for number, words in ((below_noise, "below the noise"), (hidden, f"not shown ({DASH}): the noise is too large")):
        which = "the number is" if cells == 1 else f"{number} of {cells} numbers are"
        told += [f"{which} {words}; use a larger epsilon or wider groups to see more"] if number else []
    return told
