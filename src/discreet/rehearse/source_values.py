"""Codes as the values of a source: what a file of the owner's would hold, before anything is declared about it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn

#: The code of a value that is missing.
NULL = np.iinfo(np.int64).min

#: How many different texts a column has that nothing is known of.
_WORDS = 25


def words_of(column: Column, words: Sequence[str] = ()) -> tuple[str, ...]:
    """What codes of a category or text stand for; a category's last word is one that is not listed."""
    if isinstance(column, CategoryColumn):
        other = "not listed"
        while other in column.values:
            other += "?"
        return (*column.values, other)
    return tuple(words) or tuple(f"{column.name} {number}" for number in range(1, _WORDS + 1))


def arrow_column(column: Column, codes: NDArray[np.int64], *, words: Sequence[str] = ()) -> pa.Array:
    """Codes as an Arrow column of the type that a source would have. Decimal numbers are exact."""
    missing = codes == NULL
    plain = np.where(missing, 0, codes)
    match column:
        case NumberColumn(type="integer"):
            return pa.array(plain, type=pa.int64(), mask=missing)
        case NumberColumn(step=step):
            return _decimals(plain, step, missing)
        case MomentColumn(type="date"):
            days = pa.array(np.clip(plain, -719_162, 2_932_896).astype(np.int32), mask=missing)
            return days.cast(pa.date32())
        case MomentColumn():
            return pa.array(plain, type=pa.int64(), mask=missing).cast(pa.timestamp("us"))
        case BooleanColumn():
            return pa.array(plain.astype(bool), mask=missing)
        case CategoryColumn() | TextColumn():
            places = pa.array(plain, type=pa.int64(), mask=missing)
            return pa.array(words_of(column, words), type=pa.string()).take(places)
        case _:
            assert_never(column)


def _decimals(codes: NDArray[np.int64], step: Fraction, missing: NDArray[np.bool_]) -> Any:
    """Multiples of a step as decimal numbers, with as many digits as they need."""
    scale = next(places for places in range(13) if (step * 10**places).denominator == 1)
    whole = int(step * 10**scale)
    largest = max(1, int(np.abs(codes).max(initial=0)) * whole)
    type_ = pa.decimal128(min(38, max(len(str(largest)), scale) + 1), scale)
    if largest < 2**62:  # a decimal is kept as the whole number of its last places
        counted = pa.array(codes * whole, type=pa.int64(), mask=missing).cast(pa.decimal128(19, 0))
        return pa.Array.from_buffers(type_, len(codes), counted.buffers(), counted.null_count)
    numbers = [
        None if gone else Decimal(int(code) * whole).scaleb(-scale) for code, gone in zip(codes, missing, strict=True)
    ]
    return pa.array(numbers, type=type_)
