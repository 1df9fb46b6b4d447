"""Kinds of releases: how the numbers that a release holds are read. Others than SQL answers add their own here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.answers.reconcile.numbers import Names, Number, Outside, numbers_of
from discreet.answers.repeats import ERRAND, Reads, whole_of
from discreet.curator import Curator, Version
from discreet.inference.reconcile import Domain
from discreet.ledger.records import Charge
from discreet.plan.statistics import Statistic
from discreet.sql.asked import Asked

#: What a release holds: numbers that can be reconciled, and why others cannot.
Held = tuple[list[Number], list[Outside]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A stored release of the version that is reconciled, and what it takes to read it."""

    charge: Charge
    version: Version
    curator: Curator
    reads: Reads


#: Reads a release of one kind; None where it is of another.
Reader = Callable[[Stored], Held | None]


def program(stored: Stored) -> Held | None:
    """Fits and workloads are programs; what a program stored is read by a reader of its own kind, before this one."""
    if stored.charge.id not in stored.curator.ledger.state.reservations:
        return None
    return [], [Outside(reason="a fit or a workload, whose numbers are not read here")]


def answer(stored: Stored) -> Held | None:
    """An SQL answer: alone, measured again, or several statements of a batch."""
    try:
        measurement = stored.curator.stored(stored.charge.id)
    except (KeyError, TypeError, ValueError):
        return [], [Outside(reason="it holds no answer to a question")]
    if measurement.text.startswith(ERRAND):
        return [], [Outside(reason="bounds, which are found step by step")]
    known = whole_of(measurement, reads=stored.reads)
    if known is None or known[0].question() != stored.charge.question:
        return [], [Outside(reason="its text does not mean the same any more: something that it names has changed")]
    inquiry, asked = known
    return numbers_of(measurement, inquiry, _names(asked), Domain.of(stored.version.schema.columns))


def _names(asked: list[Asked]) -> Names:
    statistics: dict[Statistic, tuple[str, Fraction]] = {}
    for each in asked:
        for output in each.outputs:
            if output.plain is not None:
                index, step = output.plain
                statistics.setdefault(each.inquiry.statistics[index], (output.name, step))
    first = asked[0]
    shown = {output.key: output.name for output in first.outputs if output.key is not None}
    axes = list(dict.fromkeys(axis for axes in first.inquiry.sets for axis in axes))
    places = [next(place for place, key in enumerate(first.keys) if key.axis == axis) for axis in axes]
    return Names(keys=tuple(shown.get(place, f"key {place + 1}") for place in places), statistics=statistics)


#: Tried in order.
READERS: list[Reader] = [program, answer]
