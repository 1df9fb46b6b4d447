"""A stream as people hold it: what it released, its next step, and any interval of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.guarantee import Guarantee
from discreet.answers.sql import Asker
from discreet.curator import Curator, Version
from discreet.errors import UsageError
from discreet.ledger.checked import readable
from discreet.ledger.records import Stream as Held
from discreet.mechanisms.laplace import doubt_of
from discreet.schema.schema import closest
from discreet.tables.stream import opening
from discreet.tables.stream.counters import counter_of, law_of
from discreet.tables.stream.opening import Plan, Wanted
from discreet.tables.stream.row import CONFIDENCE, Estimate, Row, estimated
from discreet.tables.stream.taking import take

#: Half widths are worked out to about 1e-12; a doubt below this is not asked for.
_LEAST_DOUBT = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The table that streams follow: its newest version, its guarantee, and who may ask about it."""

    table: str
    curator: Curator = field(repr=False)
    newest: Callable[[], Version] = field(repr=False)
    guarantee: Callable[[], Guarantee] = field(repr=False)
    asker: Callable[[str | None], Asker] = field(repr=False)

    def names(self) -> list[str]:
        """The streams of the table, the oldest first."""
        state = self.curator.ledger.refresh()
        return list(dict.fromkeys(held.name for held in state.streams.values() if held.table == self.table))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A counter that goes on. Paid for once; each row is drawn once and never changes."""

    source: Source
    id: str
    analyst: str | None = None

    def __repr__(self) -> str:
        return f"<stream {self.name!r} of {self.table!r}: {self.steps:,} of {self.horizon:,} steps>"

    @property
    def _held(self) -> Held:
        return self.source.curator.ledger.refresh().streams[self.id]

    @property
    def name(self) -> str:
        return self._held.name

    @property
    def table(self) -> str:
        return self.source.table

    @property
    def horizon(self) -> int:
        """How many steps it can have in all."""
        return self._held.count

    @property
    def steps(self) -> int:
        """How many it has had."""
        return len(self._held.rows)

    @property
    def closed(self) -> bool:
        """Whether it was stopped for good, by a failure or a rollback."""
        return self._held.closed

    @property
    def plan(self) -> Plan:
        """What it draws and how good that is; public."""
        held = self._held
        return Plan(
            counter=counter_of(held.of["counter"]),
            event=held.event,
            contributions=held.of["contributions"],
            asked=held.of["asked"],
        )

    @property
    def rows(self) -> tuple[Row, ...]:
        """All that was released, as it was said. Free."""
        return tuple(map(Row.from_text, self.source.curator.ledger.drawn(self.id)))

    @property
    def notes(self) -> list[str]:
        """What the reader should know beside the intervals."""
        curator = self.source.curator
        population = curator.ledger.state.charges[self.id].population
        return opening.notes(self.plan, self.source.guarantee(), population=population, curator=curator)

    def next(self, label: str | None = None, *, analyst: str | None = None) -> Row:
        """Take the next step, from the table's newest version. A step of this label is taken once, and read back.

        Steps are few and paid for: where analysts have quotas, one of them takes it, whoever opened the stream or
        `analyst`.
        """
        self.source.asker(self.analyst if analyst is None else analyst)
        told = None if label is None else readable(label, what="a step's label")
        if told is not None and told.isdecimal():
            raise UsageError("a label that is a number would be taken for a step", hint="--next 2026-03-01")
        return take(self.source.curator, self.id, self.source.newest, label=told)

    def interval(
        self, first: int | str = 1, last: int | str | None = None, *, confidence: object = CONFIDENCE
    ) -> Estimate:
        """The rows first seen in steps `first` to `last`, both included, by numbers or labels. Free.

        Without `last`, up to the newest. The estimate uses what was released up to `last`, and so is for ever the same.
        """
        rows = self.rows
        if not rows:
            raise UsageError(f"the stream {self.name!r} has released nothing yet", hint="take its first step: --next")
        start, end = _place(first, rows), len(rows) - 1 if last is None else _place(last, rows)
        if start > end:
            raise UsageError(f"step {start + 1} comes after step {end + 1}")
        noisy = [value for row in rows for value in row.noisy]
        held = self._held
        wish = exact.number(confidence, name="confidence")
        if doubt_of(wish) < _LEAST_DOUBT:
            raise UsageError("a confidence must be below 0.999999999")
        return estimated(counter_of(held.of["counter"]), law_of(held.event), noisy, start, end, wish)

    def to_data(self) -> dict[str, Any]:
        """All of it, as JSON data."""
        plan = self.plan
        return {
            "stream": self.name,
            "table": self.table,
            "release": self.id,
            "horizon": self.horizon,
            "steps": self.steps,
            "contributions": plan.contributions,
            "closed": self.closed,
            "cost": plan.cost.to_data(up=True),
            "guarantee": plan.price,
            "strategy": plan.counter.words,
            "expected_rmse": plan.expected_rmse,
            "confidence": float(CONFIDENCE),
            "rows": [row_data(row) for row in self.rows],
            "warnings": self.notes,
        }


def row_data(row: Row) -> dict[str, Any]:
    """A row as JSON data: numbers and their intervals."""
    return {
        "step": row.step,
        "label": row.label,
        "version": row.version,
        "count": row.count.value,
        "count_interval": list(row.count.interval),
        "total": row.total.value,
        "total_interval": list(row.total.interval),
    }


def find(source: Source, name: str, *, analyst: str | None = None) -> Stream:
    """The stream of a name, the newest where an older one was closed."""
    held = source.curator.ledger.refresh().stream(source.table, opening.check_name(name))
    if held is None:
        known = source.names()
        hint = closest(name, known) or "start it: --epsilon 1 --horizon 365"
        raise UsageError(f"{source.table!r} has no stream {name!r}", hint=hint)
    return Stream(source=source, id=held.id, analyst=analyst)


def start(source: Source, wanted: Wanted, *, asker: Asker) -> tuple[Stream, bool]:
    """Start a stream, charged once; the very same one that is there is found again, free. And whether it was there."""
    version, curator = source.newest(), source.curator
    there = opening.known(wanted, version, curator)
    if there is not None:
        return Stream(source=source, id=there, analyst=asker.name), True
    plan = opening.planned(wanted, version, source.guarantee(), curator)
    id_ = opening.charge(wanted, plan, version=version, curator=curator, asker=asker)
    return Stream(source=source, id=id_, analyst=asker.name), False


def _place(step: int | str, rows: tuple[Row, ...]) -> int:
    """The number of a step, from 0 on, by its number or its label."""
    if isinstance(step, str) and not step.isdecimal():
        labels = [row.label for row in rows]
        if step not in labels:
            raise UsageError(
                f"no step has the label {step[:60]!r}", hint=closest(step, [each for each in labels if each])
            )
        return labels.index(step)
    number = exact.number(step, name="a step")
    if number.denominator != 1 or not 1 <= number <= len(rows):
        raise UsageError(f"steps 1 to {len(rows):,} were released, and not {str(step)[:20]}")
    return int(number) - 1
