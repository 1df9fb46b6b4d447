"""Sheets of releases that no SQL asked for: the noisy numbers as they were drawn, and rows sampled from a model."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.bundle.range_cells import cell_sheet
from discreet.bundle.sheet import Sheet
from discreet.mechanisms.packed_integers import unpack_integers
from discreet.release import Cell, ReleaseColumn
from discreet.schema.schema import Schema

#: So many rows of a sample at most: a model gives as many as one likes.
MOST_ROWS = 100_000

#: A list of noisy numbers unpacks to no more bytes.
MOST_BYTES = 2**28


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
