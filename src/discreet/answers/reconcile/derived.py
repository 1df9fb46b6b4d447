"""Derived answers: rows that earlier releases determine, free; and new ones, read together with what was known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import Event, together
from discreet.answers.block import Block
from discreet.answers.caveats import caveats
from discreet.answers.columns import least_of
from discreet.answers.quoting import FREE, Wish, cost_of, spending
from discreet.answers.reconcile.told import Cell, Told
from discreet.answers.refine import Reading
from discreet.curator import Curator, Version
from discreet.ledger.ledger import Ledger
from discreet.measurement import Measurement
from discreet.mechanisms.sums import half_width
from discreet.plan import formula
from discreet.release import Release, ReleaseColumn
from discreet.sql.asked import Output

#: So many releases are named in a sentence; all of them are in `from`.
_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class ToldBlock(Block):
    """One grouping set whose cells have each a law of their own."""

    told: Mapping[int, tuple[Cell, ...]] = field(default_factory=dict)

    def hidden(self, output: Output) -> NDArray[np.bool_]:
        """None: what is told are counts and sums."""
        return np.zeros(self.size, dtype=np.bool_)

    def _ends(self, output: Output, confidence: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        assert output.plain is not None and output.formula is not None
        if (output.formula, confidence) not in self.ends:
            index, step = output.plain
            size = abs(float(step))
            widths = np.array([size * half_width(cell.parts, confidence) for cell in self.told[index]])
            values = np.broadcast_to(formula.evaluate(output.formula, self.vectors()), self.size)
            self.ends[output.formula, confidence] = values - widths, values + widths
        return self.ends[output.formula, confidence]


@dataclass(frozen=True, kw_only=True)
class Derived(Reading):
    """A question's reading of what is told about it. `measurement`: what was bought for it, or nothing."""

    told: Told

    def _block(self, place: int) -> Block:
        own = {index: cells for (at, index), cells in self.told.cells.items() if at == place}
        shape = tuple(axis.size for axis in self.asked.inquiry.sets[place])
        block = ToldBlock(asked=self.asked, place=place, keys=None, shape=shape, told=own)
        for index, cells in own.items():
            block.values[index] = np.array([cell.value for cell in cells], dtype=np.float64)
        return block


def derived(told: Told, wish: Wish, *, version: Version, curator: Curator) -> Release:
    """A release that costs nothing: it is computed from earlier ones. Its event is theirs, which were paid.

    It is not stored. Whoever asks again while nothing new was released gets the same; later, perhaps a better one.
    """
    event = together([_event(name, curator) for name in told.releases])
    nothing = Measurement(id=_name(told), text=told.asked.text, parts=(), event=event)
    because = f"this follows from {named(told.releases)}, which were paid for: nothing is charged"
    return _release(told, nothing, wish, because, version=version, ledger=curator.ledger, bought=False)


def combined(told: Told, measurement: Measurement, wish: Wish, *, version: Version, ledger: Ledger) -> Release:
    """A release of a new measurement, read together with what was known before."""
    earlier = [name for name in told.releases if name != measurement.id]
    because = f"read together with {named(earlier)}: only what they left open was bought"
    return _release(told, measurement, wish, because, version=version, ledger=ledger, bought=True)


def _release(
    told: Told, measurement: Measurement, wish: Wish, because: str, *, version: Version, ledger: Ledger, bought: bool
) -> Release:
    asked = told.asked
    reading = Derived(asked=asked, measurement=measurement, told=told)
    standing = ledger.standing(version.population)
    keys = [output.key is not None or output.grouping is not None for output in asked.outputs]
    found = Release(
        id=measurement.id,
        table=version.table,
        version=version.number,
        columns=tuple(
            ReleaseColumn(name=output.name, kind="key" if key else "derived", least=least_of(output, asked))
            for output, key in zip(asked.outputs, keys, strict=True)
        ),
        rows=reading.rows,
        event=measurement.event,
        confidence=wish.confidence,
        cost=cost_of(measurement.event) if bought else FREE,
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        derived=not bought,
        sources=told.releases,
        reread=reading.intervals,
    )
    warnings = [because, *asked.warnings, *caveats(asked)]
    below_noise, _, cells = found.drowned_numbers()
    if below_noise:
        warnings.append(f"{below_noise} of {cells} numbers are below the noise; --within buys what is missing")
    return found.warning(warnings)


def _event(release: str, curator: Curator) -> Event:
    program = curator.ledger.state.reservations.get(release)
    return curator.stored(release).event if program is None else program.event


def _name(told: Told) -> str:
    """The same for the same question and releases, so that an answer can be recognised."""
    text = "\n".join([told.asked.inquiry.question(), *told.releases])
    return f"d-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def named(releases: tuple[str, ...] | list[str]) -> str:
    """Releases in a sentence."""
    shown = ", ".join(releases[:_NAMED])
    return shown if len(releases) <= _NAMED else f"{shown} and {len(releases) - _NAMED} more"
