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
class Coded:
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

    def texts_of(self, place: int) -> str:
        """One value as text, by its code."""
        return NULL if place == len(self.values) else str(self.values[place].as_py())

    def take(self, rows: Integers) -> Coded:
        """The same column for some rows; its values stay, so that codes mean the same."""
        return Coded(
            name=self.name,
            codes=self.codes[rows],
            values=self.values,
            has_null=self.has_null,
            ordered=self.ordered,
        )


def code(table: pa.Table, names: Sequence[str]) -> list[Coded]:
    """These columns of a table, coded."""
    return [_coded(name, table[name]) for name in names]


def _coded(name: str, column: pa.ChunkedArray) -> Coded:
    plain = _plain(column)
    try:
        found = pc.dictionary_encode(plain.combine_chunks())
        found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        order = np.asarray(pc.sort_indices(found.dictionary)).astype(np.int64)
    # NotImplemented is how Arrow says that it cannot tell values of a type apart, or order them.
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid, TypeError):
        raise UsageError(f"column {name!r} holds {column.type}: no plain values", hint="leave it out") from None
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order] = np.arange(len(order))
    rank[len(order)] = len(order)
    indices = found.indices if found.indices.null_count == 0 else found.indices.fill_null(len(order))
    return Coded(
        name=name,
        codes=rank[np.asarray(indices)],
        values=found.dictionary.take(pa.array(order)),
        has_null=found.indices.null_count > 0,
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
