"""The original, the synthetic and the held-out table over one set of codes, so that every comparison is of integers.

NULL is code 0. Codes of ordered columns (numbers, dates) stand in the order of their values; those of other columns
say only whether two values are the same. No value is ever written into a query text, so no name, quote or digit of a
column can break or change a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.lab.phrases import shorten_list

#: Column by row.
Codes = NDArray[np.int32]
Places = NDArray[np.float32]

NULL = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedTables:
    """Three tables over the columns that all of them have. `control` has no rows where none was given.

    `places[c][code]`: where a value of an ordered column stands among all values of the three tables, from 0 to 1.
    """

    names: tuple[str, ...]
    ordered: tuple[bool, ...]
    sizes: tuple[int, ...]
    places: tuple[Places, ...]
    original: Codes
    synthetic: Codes
    control: Codes
    #: Columns that only some of the tables have.
    left_out: tuple[str, ...] = ()

    @property
    def has_control(self) -> bool:
        """Whether there are rows that the synthetic table was not made from."""
        return bool(self.control.shape[1])

    def place(self, name: str) -> int:
        """The number of a column."""
        if name not in self.names:
            raise UsageError(
                f"the tables do not share a column {name!r}", hint=f"they share: {shorten_list(self.names)}"
            )
        return self.names.index(name)


def code_tables(original: pa.Table, synthetic: pa.Table, control: pa.Table | None = None) -> CodedTables:
    """Code the columns that the tables share."""
    tables = [original, synthetic, *([control] if control is not None else [])]
    for table, word in zip(tables, ("original", "synthetic", "control"), strict=False):
        if not table.num_rows:
            raise UsageError(f"the {word} table has no rows")
    names = [name for name in original.column_names if all(name in table.column_names for table in tables)]
    if not names:
        raise UsageError(
            "the tables have no column in common", hint=f"the original has: {shorten_list(original.column_names)}"
        )
    columns = [_column([table[name] for table in tables]) for name in names]
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    parts = np.split(np.stack([codes for codes, *_ in columns]), ends, axis=1)
    all_names = dict.fromkeys(name for table in tables for name in table.column_names)
    return CodedTables(
        names=tuple(names),
        ordered=tuple(ordered for _, ordered, _ in columns),
        sizes=tuple(size for *_, size in columns),
        places=tuple(_places(codes, size) for codes, _, size in columns),
        original=np.ascontiguousarray(parts[0]),
        synthetic=np.ascontiguousarray(parts[1]),
        control=np.ascontiguousarray(parts[2]) if control is not None else np.zeros((len(names), 0), np.int32),
        left_out=tuple(name for name in all_names if name not in names),
    )


def _column(parts: Sequence[Any]) -> tuple[Codes, bool, int]:
    """One column of all tables: its codes, whether they are ordered, and how many there are, NULL among them."""
    kinds = {part.type for part in parts if part.null_count < len(part)}
    if not kinds:
        return np.zeros(sum(map(len, parts)), np.int32), False, 1
    if ordered := _is_ordered(kinds):
        whole = not any(pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in kinds)
        values = np.concatenate([_numbers(part, pa.int64() if whole else pa.float64()) for part in parts])
        is_present = ~np.concatenate([_nulls(part) for part in parts]) & (values == values)  # NaN is NULL, too
        distinct_values, inverse = np.unique(values[is_present], return_inverse=True)
    else:
        texts = pa.chunked_array([chunk for part in parts for chunk in _texts(part).chunks], pa.large_string())
        encoded = texts.combine_chunks().dictionary_encode()
        is_present = ~_nulls(texts)
        distinct_values, inverse = encoded.dictionary, np.asarray(encoded.indices.drop_null())
    codes = np.zeros(len(is_present), np.int32)
    codes[is_present] = inverse + 1
    return codes, ordered, len(distinct_values) + 1


def _is_ordered(kinds: set[Any]) -> bool:
    """Numbers of any kind, or dates and times of the same one, in every table."""
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if all(any(test(kind) for test in numbers) for kind in kinds):
        return True
    return len(kinds) == 1 and any(map(pa.types.is_temporal, kinds))


def _numbers(part: Any, kind: Any) -> NDArray[Any]:
    """The values as numbers, with 0 for NULL. Whole numbers stay whole: a float would blur long ones."""
    if pa.types.is_temporal(part.type) and part.type.bit_width == 32:
        part = part.cast(pa.int32())
    return np.asarray(part.cast(kind, safe=False).fill_null(0))


def _texts(part: Any) -> Any:
    """Values as text, whole numbers without a point; what Arrow cannot write is written by Python."""
    try:
        return part.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # how Arrow says that it cannot write a type
        texts = [None if value is None else str(value) for value in part.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.large_string())])


def _nulls(part: Any) -> NDArray[np.bool_]:
    return np.asarray(part.is_null(), dtype=np.bool_)


def _places(codes: Codes, size: int) -> Places:
    """The middle of the ranks of each code, as a share: distances do not hang on the unit, nor on one huge value."""
    counts = np.bincount(codes, minlength=size).astype(float)
    counts[NULL] = 0
    return np.asarray((np.cumsum(counts) - counts / 2) / max(counts.sum(), 1), np.float32)
