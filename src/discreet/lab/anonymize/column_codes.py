"""Columns as integers: the place of each cell in the sorted list of the column's values. NULL is a value, the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import UsageError

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: How a missing value is written in a release.
NULL = "NULL"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodedColumn:
    """One column. `codes[row]` is a place in `values`, which is sorted and holds no NULL; NULL's code is `len(values)`.

    `ordered`: distances between its values mean something (numbers, dates, times); else it is a category.
    """

    name: str
    codes: Integers
    values: pa.Array
    has_null: bool
    ordered: bool

    @property
    def size(self) -> int:
        """How many values it has, NULL among them."""
        return len(self.values) + self.has_null

    def texts(self) -> list[str]:
        """Every value as text, in the order of the codes."""
        return [*map(str, self.values.to_pylist()), *([NULL] if self.has_null else [])]

    def text_of(self, place: int) -> str:
        """One value as text, by its code."""
        return NULL if place == len(self.values) else str(self.values[place].as_py())

    def take(self, rows: Integers) -> CodedColumn:
        """The same column for some rows; its values stay, so that codes mean the same."""
        return CodedColumn(
            name=self.name,
            codes=self.codes[rows],
            values=self.values,
            has_null=self.has_null,
            ordered=self.ordered,
        )


def code_columns(table: pa.Table, names: Sequence[str]) -> list[CodedColumn]:
    """These columns of a table, coded."""
    return [_code_column(name, table[name]) for name in names]


def _code_column(name: str, column: pa.ChunkedArray) -> CodedColumn:
    plain = _plain(column)
    try:
        encoded = pc.dictionary_encode(plain.combine_chunks())
        encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
        order = np.asarray(pc.sort_indices(encoded.dictionary)).astype(np.int64)
    # NotImplemented is how Arrow says that it cannot tell values of a type apart, or order them.
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError):
        raise UsageError(
            f"column {name!r} has the type {column.type}, which has no plain values", hint="leave it out"
        ) from None
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    rank[len(order)] = len(order)
    indices = encoded.indices if encoded.indices.null_count == 0 else encoded.indices.fill_null(len(order))
    return CodedColumn(
        name=name,
        codes=rank[np.asarray(indices)],
        values=encoded.dictionary.take(pa.array(order)),
        has_null=encoded.indices.null_count > 0,
        ordered=_is_ordered(plain.type),
    )


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Of types that can be sorted; NaN is NULL, and minus zero is zero."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        wide = pc.add(column.cast(pa.float64()), 0.0)
        return pc.if_else(pc.is_nan(wide), pa.scalar(None, pa.float64()), wide)
    return column


def _is_ordered(kind: Any) -> bool:
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_temporal)
    return any(test(kind) for test in tests)
