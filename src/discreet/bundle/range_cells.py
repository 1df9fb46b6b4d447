"""The cells of a release of ranges, from its plan and its noisy numbers: least squares, with noise intervals.

A pure reading of what the ledger stores and of the declared column; a bundle is made by it and checked by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.answers.query_quote import FREE
from discreet.bundle.sheet import Sheet
from discreet.kernel.measurement import law_from_data
from discreet.mechanisms.packed_integers import unpack_integers
from discreet.mechanisms.strategy import strategy_data
from discreet.release import ReleaseColumn
from discreet.schema.schema import Schema
from discreet.tables.ranges.range_answers import Ranges
from discreet.tables.ranges.ruler import ruler_of

#: More cells than this are no table to read; the numbers as they were drawn are there all the same.
MOST_CELLS = 10_000


def cell_sheet(payloads: Mapping[str, str], release: str, schema: Schema, *, confidence: Fraction) -> Sheet | None:
    """A row for each cell; None where the release was planned for a few ranges alone, or by what it saw on its way."""
    plan: dict[str, Any] = json.loads(payloads[release])
    column = schema.column(plan["column"])
    if plan["adaptive"] or plan["only"] or column is None or f"{release}.1" not in payloads:
        return None
    ruler = ruler_of(column)
    if ruler.cells > MOST_CELLS:
        return None
    ranges = Ranges(
        release=release,
        table=schema.table,
        version=1,
        ruler=ruler,
        strategy=strategy_data.strategy_from_data(plan["strategy"]),
        law=law_from_data(plan["law"]),
        noisy=unpack_integers(json.loads(payloads[f"{release}.1"])["noisy"][0]),
        words=plan["words"],
        expected_rmse=plan["expected_rmse"],
        cost=FREE,
        requested_cells=tuple((cell, cell) for cell in range(ruler.cells)),
    )
    rows = ranges.intervals(confidence=confidence)
    columns = (
        ReleaseColumn(name="low", kind="key"),
        ReleaseColumn(name="high", kind="key"),
        ReleaseColumn(name="rows", kind="derived", least=0),
    )
    return Sheet.of(
        columns,
        [(each.low, each.high, each.value) for each in rows],
        [(None, None, each.interval) for each in rows],
    )
