"""Cells of a model back to values: a fine cell by its noisy weight, a code by chance within it, a label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.schema.column import (
    MOST_CODE,
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
    domain,
)
from discreet.schema.value_format import BooleanFormat
from discreet.synth.attribute import Attribute

if TYPE_CHECKING:
    import pyarrow as pa

#: The code of NULL among codes: below every other.
NULL = np.iinfo(np.int64).min


def draw_codes(attribute: Attribute, cells: NDArray[Any], generator: np.random.Generator) -> NDArray[np.int64]:
    """For each cell of the model a code of the column, `NULL` for NULL."""
    fine = _draw_fine_cells(attribute, cells, generator)
    edges = np.array(attribute.edges, dtype=np.int64)
    missing = fine == len(edges) - 1
    safe = np.where(missing, 0, fine)
    drawn_codes = attribute.draw_between(edges[safe], edges[safe + 1], generator)
    return np.where(missing, NULL, drawn_codes)


def _draw_fine_cells(attribute: Attribute, cells: NDArray[Any], generator: np.random.Generator) -> NDArray[np.int64]:
    """One fine cell for each cell of the model, in proportion to the weights; evenly where all are 0.

    Spread over the rows of each cell, so that every fine cell has its part of them, rounded down or up.
    """
    sums = np.bincount(attribute.groups, weights=attribute.weights)
    weights = np.where(sums[attribute.groups] > 0, attribute.weights, 1.0)
    order = np.argsort(attribute.groups, kind="stable")
    order = order[weights[order] > 0]
    groups, ends = attribute.groups[order], np.cumsum(weights[order])
    firsts = np.searchsorted(groups, np.arange(attribute.size))
    lasts = np.append(firsts[1:], len(groups)) - 1
    starts = np.concatenate([[0.0], ends])[firsts]
    positions = starts[cells] + _spread(cells, attribute.size, generator) * (ends[lasts] - starts)[cells]
    places = np.clip(np.searchsorted(ends, positions, side="right"), firsts[cells], lasts[cells])
    fine_cells: NDArray[np.int64] = order[places]
    return fine_cells


def _spread(cells: NDArray[Any], size: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """A number from 0 to 1 for each row, which rows of the same cell share out evenly, in random order."""
    counts = np.bincount(cells, minlength=size)
    order = generator.permutation(len(cells))
    order = order[np.argsort(cells[order], kind="stable")]
    ranks = np.empty(len(cells))
    ranks[order] = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray((ranks + generator.random(len(cells))) / np.maximum(counts, 1)[cells])


def arrow_column(column: Column, values: NDArray[np.int64]) -> pa.Array:
    """Codes as an Arrow column of the type that people expect."""
    import pyarrow as pa

    missing = values == NULL
    plain = np.where(missing, 0, values)
    match column:
        case NumberColumn(step=step):
            if _whole(column):
                return _fixed(plain * step.numerator, pa.int64(), missing)
            return _fixed(plain.astype(np.float64) * step.numerator / step.denominator, pa.float64(), missing)
        case MomentColumn(type="date"):
            return _fixed(plain.astype(np.int32), pa.date32(), missing)
        case MomentColumn():
            return _fixed(plain, pa.timestamp("us"), missing)
        case BooleanColumn(format=BooleanFormat(true=true, false=false)):  # as the source spells them
            return string_column((false[0], true[0])).take(_fixed(plain, pa.int64(), missing))
        case BooleanColumn():
            return _bits(plain.astype(bool), missing)
        case CategoryColumn(values=names):
            return string_column(names).take(_fixed(plain, pa.int64(), missing))
        case TextColumn():
            raise ValueError("text has no codes")


# Arrow columns are made from their buffers: `pa.array` would import pandas wherever that is installed, which takes
# longer than the fit of a small model.


def _fixed(values: NDArray[Any], type_: pa.DataType, missing: NDArray[np.bool_]) -> pa.Array:
    """Numbers as a column; NULL where they are missing."""
    import pyarrow as pa

    return pa.Array.from_buffers(type_, len(values), [_valid(missing), pa.py_buffer(np.ascontiguousarray(values))])


def whole_numbers(values: NDArray[np.int64]) -> pa.Array:
    """Whole numbers as a column without NULL."""
    import pyarrow as pa

    return _fixed(values, pa.int64(), np.zeros(len(values), dtype=np.bool_))


def _bits(values: NDArray[np.bool_], missing: NDArray[np.bool_]) -> pa.Array:
    import pyarrow as pa

    bits = pa.py_buffer(np.packbits(values, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [_valid(missing), bits])


def string_column(texts: Sequence[str], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Texts as a column; NULL where they are missing."""
    import pyarrow as pa

    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64).astype(np.int32)
    valid = None if missing is None else _valid(missing)
    return pa.Array.from_buffers(
        pa.string(), len(encoded), [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    )


def _valid(missing: NDArray[np.bool_]) -> pa.Buffer | None:
    """Arrow's map of what is there."""
    import pyarrow as pa

    return pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None


def _whole(column: NumberColumn) -> bool:
    """Whether its values are whole numbers of 64 bits. From its declaration, so that all parts of a sample agree."""
    most = max(abs(end) for end in domain(column) or (MOST_CODE,))
    return column.step.denominator == 1 and most * column.step.numerator < 2**63


def placeholders(name: str, start: int, count: int, codes: NDArray[np.int64] | None = None) -> pa.Array:
    """What stands for text: the column's name and a running number, different in every row; NULL where codes say so."""
    missing = None if codes is None else codes == NULL
    return string_column([f"{name} {number}" for number in range(start + 1, start + count + 1)], missing)


def arrow_table(
    columns: Sequence[Column], codes_by_name: dict[str, NDArray[np.int64]], *, rows: int, start: int = 0
) -> pa.Table:
    """Rows in the order of the declared columns; text, and those without codes, hold placeholders."""
    import pyarrow as pa

    return pa.table(
        {
            column.name: arrow_column(column, codes_by_name[column.name])
            if column.name in codes_by_name and not isinstance(column, TextColumn)
            else placeholders(column.name, start, rows, codes_by_name.get(column.name))
            for column in columns
        }
    )
