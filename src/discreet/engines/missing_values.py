"""The texts that stand for a missing value: in a column, and where a row says whose it is.

They are compared byte for byte, and nothing is trimmed: ' NA' is a text like any other. A category that lists one of
them in `values` means it, and so does a boolean that lists one among its words. Public tables are read as they are:
there NA may be Namibia. Where `null` is declared, of a table or a column, it takes their place; nothing at all is
missing in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from discreet.schema.column import BooleanColumn, Column
from discreet.schema.value_format import folded

#: What spreadsheets, databases, R, pandas and people write where there is nothing to write.
MISSING = (
    "", "NA", "na", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-nan", "-NaN", "NaT",
    "NULL", "Null", "null", "None", "nil", "-", "--", ".", "?",
)  # fmt: skip


class WrittenNumber(str):
    """A number of a source that holds numbers, as text: it has no format, and NaN is missing whatever is declared."""

    __slots__ = ()


def declared_marks(null: Sequence[str] | None) -> tuple[str, ...]:
    """The texts that stand for a missing value, where `null` is declared, or is not."""
    return MISSING if null is None else tuple(dict.fromkeys(("", *null)))


def marks_of(column: Column) -> tuple[str, ...]:
    """The texts that stand for a missing value in a column."""
    marks = declared_marks(column.null)
    if isinstance(column, BooleanColumn) and column.format is not None:
        words = {folded(word) for word in (*column.format.true, *column.format.false)}
        return tuple(mark for mark in marks if folded(mark) not in words)
    return marks


def is_missing(value: object, marks: Sequence[str] = MISSING) -> bool:
    """Whether a source's value stands for none. A float that is no number is `nan`."""
    return value is None or (isinstance(value, str) and value in (MISSING if type(value) is WrittenNumber else marks))


def is_missing_text_sql(text: str, literal: Callable[[str], str], marks: Sequence[str] = MISSING) -> str:
    """Whether a text is one of them, as SQL; `literal` writes a text."""
    return f"{text} IN ({', '.join(map(literal, marks))})"
