"""Which rows of two tables agree on some columns: every combination of values becomes one number. Vectorised.

A NULL agrees with nothing: its row gets -1. Columns of different types are compared as numbers where both are
numbers, as moments where both are dates or times, else as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError
from discreet.lab.table_reader import select_columns

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

#: Products of numbers of values stay below this: 64 bits hold them.
_MOST_CODES = 2**62


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableMatch:
    """Two tables, coded column by column; `codes` then joins any set of the columns."""

    #: How many rows the first table has.
    split: int
    on: tuple[str, ...]
    #: For each column, the codes of the first table's rows and then the second's; and how many values there are.
    coded: Mapping[str, tuple[Integers, int]]
    #: Whose row each is, likewise; None where nothing tells.
    truth: Integers | None

    def codes(self, on: Sequence[str]) -> tuple[Integers, Integers]:
        """A number for each row of both tables; equal numbers are equal values in all these columns."""
        code, size = self.coded[on[0]]
        for name in on[1:]:
            more, values = self.coded[name]
            if size * values >= _MOST_CODES:
                code, size = _renumber(code)
            code = np.where((code < 0) | (more < 0), -1, code * values + more)
            size *= values
        code, _ = _renumber(code)
        return code[: self.split], code[self.split :]

    def missing(self) -> dict[str, float]:
        """For each column, the share of the first table's rows with a value that the second does not have."""
        missing_shares = {}
        for name in self.on:
            code, size = self.coded[name]
            mine = code[: self.split]
            missing_shares[name] = float(
                np.mean((mine >= 0) & (look_up_counts(count_codes(code[self.split :], size), mine) == 0))
            )
        return missing_shares

    def right(self, mine: Integers, theirs: Integers, alone: Booleans) -> Booleans | None:
        """Which rows of the first table are singled out, and by the row of the same person."""
        if self.truth is None:
            return None
        owner = np.full(int(max(mine.max(initial=-1), theirs.max(initial=-1))) + 1, -1, dtype=np.int64)
        has_code = theirs >= 0
        # Of several owners the last stays: only rows with a single one are looked at.
        owner[theirs[has_code]] = self.truth[self.split :][has_code]
        person = self.truth[: self.split][alone]
        answer: Booleans = np.zeros(len(mine), dtype=np.bool_)
        answer[alone] = (owner[mine[alone]] == person) & (person >= 0)
        return answer


def match_tables(
    first: pa.Table, second: pa.Table, *, on: Sequence[str], truth: str | None, called: tuple[str, str]
) -> TableMatch:
    """Code both tables; refuse columns that cannot be matched. `called` is what messages call the tables."""
    if truth in on:
        raise UsageError(
            f"{truth!r} identifies the person, so it cannot also be used for matching",
            hint=Message("leave it out of ", Flag("on")),
        )
    for table, of in zip((first, second), called, strict=True):
        select_columns(table, (*on, *([truth] if truth is not None else [])), of=of)
        if not table.num_rows:
            raise UsageError(f"{of} has no rows")
    coded = {name: _code_together(first[name], second[name], name) for name in on}
    for name, (code, size) in coded.items():
        # A single row may well have a value that is not on the list: then it is not found, which is an answer.
        if (
            first.num_rows > 1
            and not (
                (count_codes(code[: first.num_rows], size) > 0) & (count_codes(code[first.num_rows :], size) > 0)
            ).any()
        ):
            raise UsageError(
                f"no value of {name!r} is in both {called[0]} and {called[1]}",
                hint="check how each file writes it: 02138 or 2138, M or male",
            )
    people = None if truth is None else _code_together(first[truth], second[truth], truth)[0]
    return TableMatch(split=first.num_rows, on=tuple(on), coded=coded, truth=people)


def count_codes(codes: Integers, size: int | None = None) -> Integers:
    """How often each code from 0 occurs."""
    size = int(codes.max(initial=-1)) + 1 if size is None else size
    return np.bincount(codes[codes >= 0], minlength=size).astype(np.int64)


def look_up_counts(counts: Integers, codes: Integers) -> Integers:
    """The count of each row's code; 0 for a row with a NULL, and for a code that was never counted."""
    if not len(counts):
        return np.zeros(len(codes), dtype=np.int64)
    within = (codes >= 0) & (codes < len(counts))
    return np.where(within, counts[np.where(within, codes, 0)], 0)


def join_names(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> join_names(["zip", "birth", "sex"])
    'zip, birth and sex'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _renumber(code: Integers) -> tuple[Integers, int]:
    """The same codes, numbered from 0 without gaps; -1 stays."""
    coded = pa.array(code, mask=code < 0).dictionary_encode()
    return _indices(coded), max(1, len(coded.dictionary))


def _code_together(first: Any, second: Any, name: str) -> tuple[Integers, int]:
    """Both columns in one numbering, one after the other; and how many values there are."""
    for column in (first, second):
        if column.null_count == len(column):
            raise UsageError(f"column {name!r} has only NULL values", hint="leave it out")
    for kind in (_common(first.type, second.type), pa.string()):
        try:
            both = pa.concat_arrays([chunk.cast(kind) for column in (first, second) for chunk in column.chunks])
            coded = both.dictionary_encode()
        except pa.ArrowException:  # an integer that a float does not hold, a time of day without a date
            continue
        return _indices(coded), len(coded.dictionary)
    raise UsageError(f"column {name!r} has values that cannot be compared", hint="leave it out")


def _common(first: Any, second: Any) -> Any:
    """The type as which two columns are compared."""

    def number(kind: Any) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    if first == second:
        return first
    if pa.types.is_temporal(first) and pa.types.is_temporal(second):
        return pa.timestamp("us")
    return pa.float64() if number(first) and number(second) else pa.string()


def _indices(coded: Any) -> Integers:
    indices: Integers = coded.indices.cast("int64").fill_null(-1).to_numpy()
    return indices
