"""SQL answers: price a question, let the curator measure it, and read the measurement as rows.

Everything after `Curator.measure` is post-processing: it sees noisy numbers alone and is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.guarantee import Guarantee
from discreet.answers.afford import affordable
from discreet.answers.quoting import Wish, quote
from discreet.answers.reconcile.derived import combined, derived
from discreet.answers.reconcile.residual import helps, suffices, together
from discreet.answers.reconcile.telling import tell
from discreet.answers.reconcile.told import Told
from discreet.answers.refine import Reading
from discreet.answers.releasing import released
from discreet.answers.repeats import Reads, in_batches
from discreet.curator import Curator, Version
from discreet.errors import BudgetExceeded
from discreet.measurement import Measurement
from discreet.release import Release
from discreet.sql.asked import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, and how much they may pay in all. `key`: one charge at most is made under it; see `Ledger.charge`."""

    name: str | None = None
    quota: Fraction | None = None
    key: str | None = None


def ask(
    asked: Asked,
    wish: Wish,
    *,
    versions: Sequence[Version],
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
    fresh: bool,
    reads: Reads | None = None,
) -> Release:
    """Answer a question: from the store where it was answered before, from what earlier answers tell, else by charging.

    `reads` reads the text of a statement: with it the statements of batches, and whole histories, are known again.
    """
    version, ledger = versions[0], curator.ledger
    known = None if fresh else stored(asked, wish, version=version, curator=curator, reads=reads)
    if known is not None:
        return released(known, wish, version=version, ledger=ledger, cached=True)
    told = None if fresh or reads is None else tell(asked, version=version, curator=curator, reads=reads)
    if told is not None and suffices(told, wish, version=version, guarantee=guarantee, ledger=ledger):
        return derived(told, wish, version=version, curator=curator)
    helping = told if told is not None and helps(told, wish) else None
    measurement = measured(
        asked, wish, versions=versions, guarantee=guarantee, curator=curator, asker=asker, told=helping
    )
    if helping is not None and reads is not None:
        after = tell(asked, version=version, curator=curator, reads=reads)
        both = together(helping, measurement, after, wish)
        if both is not None:
            return combined(both, measurement, wish, version=version, ledger=ledger)
    reading = Reading(asked=asked, measurement=measurement)
    return released(reading, wish, version=version, ledger=ledger, cached=False)


def reread(reading: Reading, wish: Wish, *, version: Version, curator: Curator, reads: Reads) -> Release:
    """What was bought for a width, as `ask` gave it: read together with what else is released, where it was priced so.

    What was released since is looked at, too: it makes the answer more exact, and takes nothing away.
    """
    asked, measurement, ledger = reading.asked, reading.measurement, curator.ledger
    before = tell(asked, version=version, curator=curator, reads=reads, without=measurement.id)
    if before is not None and helps(before, wish):
        after = tell(asked, version=version, curator=curator, reads=reads)
        both = together(before, measurement, after, wish)
        if both is not None:
            return combined(both, measurement, wish, version=version, ledger=ledger)
    return released(reading, wish, version=version, ledger=ledger, cached=False)


def measured(
    asked: Asked,
    wish: Wish,
    *,
    versions: Sequence[Version],
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
    also: tuple[str, ...] = (),
    told: Told | None = None,
) -> Measurement:
    """Charge a question and measure it. `also`: earlier measurements of the same cells that it is read with.

    `told`: what is known already, so that --within buys only the rest.
    """
    quoted = quote(
        asked, wish, version=versions[0], guarantee=guarantee, ledger=curator.ledger, booking=False, told=told
    )  # the charge books
    try:
        return curator.measure(
            quoted.price,
            versions,
            text=asked.text,
            publics=asked.publics,
            analyst=asker.name,
            quota=asker.quota,
            key=asker.key,
            also=also,
        )
    except BudgetExceeded as problem:
        if not problem.hint and problem.binding == "loss":
            problem.hint = affordable(quoted, wish, curator.ledger)
        raise


def again(
    asked: Asked,
    earlier: str,
    wish: Wish,
    *,
    versions: Sequence[Version],
    guarantee: Guarantee,
    curator: Curator,
    asker: Asker,
) -> Release:
    """Measure an earlier question once more, and read both together: counts and sums by inverse variance.

    Quantiles and discovered keys are measured again, not averaged.
    """
    first = curator.stored(earlier)
    also = () if asked.inquiry.keys else (earlier, *first.also)
    new = measured(asked, wish, versions=versions, guarantee=guarantee, curator=curator, asker=asker, also=also)
    return released(_reading(asked, new, curator), wish, version=versions[0], ledger=curator.ledger, cached=False)


def _reading(asked: Asked, measurement: Measurement, curator: Curator) -> Reading:
    others = tuple(curator.stored(id_) for id_ in measurement.also)
    return Reading(asked=asked, measurement=measurement, others=others)


def stored(
    asked: Asked, wish: Wish, *, version: Version, curator: Curator, reads: Reads | None = None
) -> Reading | None:
    """The most exact stored answer to this question, the newest of equals; None where it is not exact enough."""
    ids = curator.ledger.find(version.table, version.number, asked.inquiry.question())
    readings = [_reading(asked, curator.stored(id_), curator) for id_ in reversed(ids)]
    if reads is not None:
        readings += in_batches(asked, version=version, curator=curator, reads=reads)
    charges = curator.ledger.state.charges
    found = min(
        readings, key=lambda reading: (reading.variance(), -charges[reading.measurement.id].price), default=None
    )
    if found is None or wish.within is None:
        return found
    try:
        ends = [each for row in found.intervals(wish.confidence) for each in row if each is not None]
        widths = [(Fraction(high) - Fraction(low)) / 2 for low, high in ends]
    except (TypeError, ValueError):  # dates and texts have no width
        return None
    return found if all(width <= wish.within for width in widths) else None
