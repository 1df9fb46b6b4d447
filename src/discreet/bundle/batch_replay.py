"""A batch that was planned as one, computed anew: its statements' tables, and its steps. From what a bundle holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.accounting.events import ReservationEvent
from discreet.answers.answer_columns import columns_of
from discreet.answers.refine import AnswerReading
from discreet.answers.repeats import STATEMENT_SEPARATOR
from discreet.answers.workload.batch_measurement import take_steps
from discreet.answers.workload.drawn_batch import BatchReading, DrawnBatch
from discreet.answers.workload.plain_statements import statements_as_stored
from discreet.answers.workload.stored_batch import KIND, StoredBatch
from discreet.bundle.number_sheets import noisy_number_sheets
from discreet.bundle.program_replay import ProgramReplay, ReplayMismatch
from discreet.bundle.sheet import Sheet
from discreet.errors import UsageError
from discreet.sql.catalog import Catalog
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_batch

__all__ = ["KIND", "batch_queries", "batch_readings", "batch_sheets", "batch_text", "replay_batch"]


def batch_text(payloads: Mapping[str, str], release: str) -> str:
    """The statements of a batch, as one text."""
    return STATEMENT_SEPARATOR.join(json.loads(payloads[release])["texts"])


def batch_queries(payloads: Mapping[str, str], release: str, catalog: Catalog) -> list[ParsedQuery]:
    """The statements of a batch, as they are read against these tables."""
    stored = StoredBatch.from_text(payloads[release])
    return statements_as_stored(parse_batch(batch_text(payloads, release), catalog), stored)


def batch_readings(
    payloads: Mapping[str, str], release: str, event: ReservationEvent, queries: Sequence[ParsedQuery]
) -> list[AnswerReading]:
    """The readings of the statements that a batch measured; those that had an answer before are not in it."""
    drawn = DrawnBatch.of(release, payloads, event)
    readings = []
    for number, query in enumerate(queries):
        place = drawn.stored.group_of(number)
        reading = None if place is None else drawn.reading(place, query)
        if place is not None and reading is None:
            raise UsageError(
                f"release {release} can no longer be read: a table that it uses has changed", hint="ask the query again"
            )
        readings += [] if reading is None else [reading]
    return readings


def batch_sheets(
    payloads: Mapping[str, str], release: str, readings: Sequence[AnswerReading], *, confidence: Fraction
) -> tuple[Sheet, ...]:
    """The rows of every statement, then every number as it was drawn. Best estimates have ends of three digits."""
    tables = [
        Sheet.of(columns_of(each.query), each.rows, each.intervals(confidence)).outward(
            ("derived", "noisy") if isinstance(each, BatchReading) else ("derived",)
        )
        for each in readings
    ]
    return (*tables, *noisy_number_sheets(payloads, release))


def replay_batch(
    plan: Mapping[str, Any], program: ProgramReplay, event: ReservationEvent, queries: Sequence[ParsedQuery]
) -> str:
    """Take every step again, but for the draw. Raises `ReplayMismatch`."""
    stored = StoredBatch.from_text(plan["payloads"][plan["release"]])
    read = {scan.table for query in queries for scan in query.tables}
    if {*plan["schemas"]} != read:
        raise ReplayMismatch("the bundle declares a table that the release does not read")
    take_steps(program, stored, queries, event)
    program.end()
    return "every step was derived again: what it measures, how far a privacy unit moves that, its noise and its event"
