"""Sheets of releases that no SQL asked for: the cells of ranges, the noisy numbers as they were drawn, and rows sampled
from a model.

Sheets of ranges and noisy numbers are a pure reading of what the ledger stores and of the declared column; a bundle is
made by it and checked by it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.answers.query_quote import FREE
from discreet.bundle.sheet import Sheet
from discreet.kernel.measurement import law_from_data
from discreet.mechanisms.packed_integers import unpack_integers
from discreet.mechanisms.strategy import strategy_data
from discreet.release import Cell, ReleaseColumn
from discreet.schema.column import CategoryColumn
from discreet.schema.schema import Schema
from discreet.tables.ranges.range_answers import Ranges
from discreet.tables.ranges.range_groups import RangesByGroup, group_axes
from discreet.tables.ranges.ranges_release import stored_ruler

#: So many rows of a sample at most: a model gives as many as one likes.
MOST_ROWS = 100_000

#: A list of noisy numbers unpacks to no more bytes.
MOST_BYTES = 2**28

#: More cells than this are no table to read; the numbers as they were drawn are there all the same.
MOST_CELLS = 10_000


def stored_sheets(
    kind: str, payloads: Mapping[str, str], release: str, schema: Schema, *, confidence: Fraction
) -> tuple[Sheet, ...]:
    """The sheets that follow from what is stored: the cells of ranges, then every number as it was drawn."""
    drawn = noisy_number_sheets(payloads, release)
    cells = cell_sheet(payloads, release, schema, confidence=confidence) if kind == "ranges" else None
    return drawn if cells is None else (cells, *drawn)


def noisy_number_sheets(payloads: Mapping[str, str], release: str) -> tuple[Sheet, ...]:
    """Every noisy number of a release: which step drew it, in which part, at which place."""
    rows: list[tuple[Cell, ...]] = []
    for id_ in sorted(payloads, key=_order):
        if id_ == release or id_.startswith(f"{release}."):
            number = int(id_.rpartition(".")[2]) if id_ != release else 0
            for part, values in enumerate(_noisy(json.loads(payloads[id_]))):
                rows += [(number, part, place, value) for place, value in enumerate(values)]
    columns = (
        *(ReleaseColumn(name=name, kind="key") for name in ("step", "part", "place")),
        ReleaseColumn(name="value", kind="noisy"),
    )
    return (Sheet(columns=columns, rows=tuple(rows), intervals=tuple((None,) * 4 for _ in rows)),)


def model_sheet(folder: Path, release: str) -> tuple[Sheet, ...]:
    """Rows sampled from the model that a project keeps of a fit; none where it keeps it no more.

    The seed comes from the release: the same rows every time. It protects nobody, and need not.
    """
    path = folder / ".discreet" / "models" / f"{release}.npz"
    if not path.exists():
        return ()
    from discreet.synth.model import Model

    model = Model.load(path)
    seed = int.from_bytes(hashlib.sha256(release.encode()).digest()[:4])
    rows = model.sample(max(1, min(MOST_ROWS, round(model.total))), seed=seed)
    columns = tuple(ReleaseColumn(name=name, kind="derived") for name in rows.column_names)
    cells = tuple(zip(*(_cells(column) for column in rows.columns), strict=True))
    return (Sheet(columns=columns, rows=cells, intervals=tuple((None,) * len(columns) for _ in cells)),)


def _order(id_: str) -> tuple[str, int]:
    stem, _, number = id_.partition(".")
    return stem, int(number or 0)


def _noisy(data: Any) -> Iterator[list[int]]:
    """The lists of noisy numbers in a stored step, in its order. A number that stands alone is a choice, and no list.

    A step stores its lists under a name, or, as the steps that fit a model do, as they are: one, or one for each part.
    """
    if isinstance(data, list):
        if data and _is_flat(data):
            yield [int(each) for each in data]
            return
        for each in data:
            if _is_packed(each):
                yield [int(value) for value in unpack_integers(_refuse_oversized(each)).tolist()]
            else:
                yield from _noisy(each)
    elif isinstance(data, dict):
        for name, value in data.items():
            if name != "noisy":
                for part in value if name == "parts" else ():  # of marginals: which columns, and no numbers
                    yield from _noisy(part) if isinstance(part, dict) else ()
                continue
            for part in value if isinstance(value, list) and value and not _is_flat(value) else [value]:
                yield [int(each) for each in unpack_integers(_refuse_oversized(part)).tolist()]


def _refuse_oversized(part: Any) -> Any:
    """A packed list, if it unpacks to no more than is sane: a bundle may come from anybody."""
    if isinstance(part, dict):
        unpacking = zlib.decompressobj()
        unpacking.decompress(base64.b64decode(part["data"]), MOST_BYTES)
        if unpacking.unconsumed_tail:
            raise ValueError("a list of numbers is too long")
    return part


def _is_packed(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"type", "data"}


def _is_flat(value: list[Any]) -> bool:
    return all(type(each) is int for each in value)


def _cells(column: Any) -> list[Cell]:
    """Dates and decimals as people read them."""
    return [
        value if value is None or isinstance(value, int | float | str | bool) else str(value)
        for value in column.to_pylist()
    ]


def _labels_of(name: str, schema: Schema) -> tuple[tuple[str, str], ...]:
    column = schema.column(name)
    return column.labels if isinstance(column, CategoryColumn) else ()


def cell_sheet(payloads: Mapping[str, str], release: str, schema: Schema, *, confidence: Fraction) -> Sheet | None:
    """A row for each cell; None where the release was planned for a few ranges alone, or by what it saw on its way."""
    plan: dict[str, Any] = json.loads(payloads[release])
    column = schema.column(plan["column"])
    if plan["adaptive"] or plan["only"] or column is None or f"{release}.1" not in payloads:
        return None
    ruler = stored_ruler(plan, column)
    groups = group_axes(plan.get("by", ()), schema, beside=ruler)
    if ruler.cells * math.prod(axis.size for axis in groups) > MOST_CELLS:
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
    by = tuple(plan.get("by", ()))
    rows = [
        (labels, each)
        for labels, group in RangesByGroup.of(ranges, by, groups, schema)
        for each in group.intervals(confidence=confidence)
    ]
    columns = (
        *(ReleaseColumn(name=name, kind="key", labels=_labels_of(name, schema)) for name in by),
        ReleaseColumn(name="low", kind="key"),
        ReleaseColumn(name="high", kind="key"),
        ReleaseColumn(name="rows", kind="derived", least=0),
    )
    return Sheet.of(
        columns,
        [(*labels, each.low, each.high, each.value) for labels, each in rows],
        [(*(None for _ in by), None, None, each.interval) for _, each in rows],
    )
