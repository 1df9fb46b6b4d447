"""The texts that stand for a missing value: in a column, and where a row says whose it is.

They are compared byte for byte, and nothing is trimmed: ' NA' is a text like any other. A category that lists one of
them in `values` means it. Public tables are read as they are: there NA may be Namibia.
"""

from __future__ import annotations

from collections.abc import Callable

#: What spreadsheets, databases, R, pandas and people write where there is nothing to write.
MISSING = (
    "", "NA", "na", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-nan", "-NaN", "NaT",
    "NULL", "Null", "null", "None", "nil", "-", "--", ".", "?",
)  # fmt: skip


def is_missing(value: object) -> bool:
    """Whether a source's value stands for none. A float that is no number is `nan`."""
    return value is None or (isinstance(value, str) and value in MISSING)


def is_missing_text_sql(text: str, literal: Callable[[str], str]) -> str:
    """Whether a text is one of them, as SQL; `literal` writes a text."""
    return f"{text} IN ({', '.join(map(literal, MISSING))})"
