"""A stream as people hold it: what it released, its next step, and any interval of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.guarantee import Guarantee
from discreet.errors import Command, Flag, Message, UsageError
from discreet.kernel.curator import Curator, Version
from discreet.kernel.project_session import Session
from discreet.ledger.charge_request import Asker
from discreet.ledger.entry_checks import check_name
from discreet.ledger.records import StreamRecord as LedgerStream
from discreet.mechanisms.laplace import error_probability
from discreet.schema.schema import closest_name_hint
from discreet.tables.stream import stream_plan
from discreet.tables.stream.stored_counters import counter_of, law_of
from discreet.tables.stream.stream_plan import StreamPlan, StreamRequest
from discreet.tables.stream.stream_row import CONFIDENCE, StreamEstimate, StreamRow, estimate_steps
from discreet.tables.stream.stream_step import take_step

#: Half widths are worked out to about 1e-12; a doubt below this is not asked for.
_LEAST_DOUBT = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSource:
    """The table that streams follow: its newest version, its guarantee, and who may ask about it."""

    table: str
    curator: Curator = field(repr=False)
    newest: Callable[[], Version] = field(repr=False)
    guarantee: Callable[[], Guarantee] = field(repr=False)
    asker: Callable[[str | None], Asker] = field(repr=False)

    def names(self) -> list[str]:
        """The streams of the table, the oldest first."""
        state = self.curator.ledger.refresh()
        return list(dict.fromkeys(record.name for record in state.streams.values() if record.table == self.table))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStream:
    """A counter that goes on. Paid for once; each row is drawn once and never changes."""

    source: StreamSource
    id: str
    analyst: str | None = None

    def __repr__(self) -> str:
        return f"<stream {self.name!r} of {self.table!r}: {self.steps:,} of {self.horizon:,} steps>"

    @property
    def _record(self) -> LedgerStream:
        return self.source.curator.ledger.refresh().streams[self.id]

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def table(self) -> str:
        return self.source.table

    @property
    def horizon(self) -> int:
        """How many steps it can have in all."""
        return self._record.count

    @property
    def steps(self) -> int:
        """How many it has had."""
        return len(self._record.rows)

    @property
    def closed(self) -> bool:
        """Whether it was stopped for good, by a failure or a rollback."""
        return self._record.closed

    @property
    def plan(self) -> StreamPlan:
        """What it draws and how good that is; public."""
        record = self._record
        return StreamPlan(
            counter=counter_of(record.of["counter"]),
            event=record.event,
            contributions=record.of["contributions"],
            terms_data=record.of["asked"],
        )

    @property
    def rows(self) -> tuple[StreamRow, ...]:
        """All that was released, as it was said. Free."""
        return tuple(map(StreamRow.from_text, self.source.curator.ledger.stream_rows(self.id)))

    @property
    def notes(self) -> list[str]:
        """What the reader should know beside the intervals."""
        curator = self.source.curator
        population = curator.ledger.state.charges[self.id].population
        return stream_plan.notes(self.plan, self.source.guarantee(), population=population, curator=curator)

    def next(self, label: str | None = None, *, analyst: str | None = None) -> StreamRow:
        """Take the next step, from the table's newest version. A step of this label is taken once, and read back.

        Steps are few and paid for: where analysts have quotas, one of them takes it, whoever opened the stream or
        `analyst`.
        """
        self.source.asker(self.analyst if analyst is None else analyst)
        step_label = None if label is None else check_name(label, what="a step's label")
        if step_label is not None and step_label.isdecimal():
            raise UsageError(
                "a label cannot be a number, because numbers mean steps", hint="a label such as 2026-03-01"
            )
        return take_step(self.source.curator, self.id, self.source.newest, label=step_label)

    def interval(
        self, first: int | str = 1, last: int | str | None = None, *, confidence: object = CONFIDENCE
    ) -> StreamEstimate:
        """The rows first seen in steps `first` to `last`, both included, by numbers or labels. Free.

        Without `last`, up to the newest. The estimate uses what was released up to `last`, and so is for ever the same.
        """
        rows = self.rows
        if not rows:
            raise UsageError(
                f"the stream {self.name!r} has released nothing yet",
                hint=Message("take its first step: ", Command("stream next", self.table, self.name)),
            )
        start, end = _place(first, rows), len(rows) - 1 if last is None else _place(last, rows)
        if start > end:
            raise UsageError(f"step {start + 1} comes after step {end + 1}")
        noisy = [value for row in rows for value in row.noisy]
        record = self._record
        checked_confidence = exact.number(confidence, name="confidence")
        if error_probability(checked_confidence) < _LEAST_DOUBT:
            raise UsageError("the confidence must be below 0.999999999")
        return estimate_steps(
            counter_of(record.of["counter"]), law_of(record.event), noisy, start, end, checked_confidence
        )

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


def row_data(row: StreamRow) -> dict[str, Any]:
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


def find(source: StreamSource, name: str, *, analyst: str | None = None) -> TableStream:
    """The stream of a name, the newest where an older one was closed."""
    record = source.curator.ledger.refresh().stream(source.table, stream_plan.check_name(name))
    if record is None:
        names = source.names()
        hint = closest_name_hint(name, names) or (
            Message("start it: ", Command("stream start", source.table, name, Flag("epsilon", 1), Flag("horizon", 365)))
        )
        raise UsageError(f"{source.table!r} has no stream {name!r}", hint=hint)
    return TableStream(source=source, id=record.id, analyst=analyst)


def start(source: StreamSource, request: StreamRequest, *, asker: Asker) -> tuple[TableStream, bool]:
    """Start a stream, charged once; the very same one that is there is found again, free. And whether it was there."""
    version, curator = source.newest(), source.curator
    there = stream_plan.find_open_stream(request, version, curator)
    if there is not None:
        return TableStream(source=source, id=there, analyst=asker.name), True
    session = Session(version=version, guarantee=source.guarantee(), curator=curator, asker=asker)
    id_ = stream_plan.charge_stream(request, stream_plan.choose_plan(request, session), session)
    return TableStream(source=source, id=id_, analyst=asker.name), False


def _place(step: int | str, rows: tuple[StreamRow, ...]) -> int:
    """The number of a step, from 0 on, by its number or its label."""
    if isinstance(step, str) and not step.isdecimal():
        labels = [row.label for row in rows]
        if step not in labels:
            raise UsageError(
                f"no step has the label {step[:60]!r}", hint=closest_name_hint(step, [each for each in labels if each])
            )
        return labels.index(step)
    number = exact.number(step, name="a step")
    if number.denominator != 1 or not 1 <= number <= len(rows):
        raise UsageError(f"steps 1 to {len(rows):,} are released; {str(step)[:20]} is not one of them")
    return int(number) - 1
