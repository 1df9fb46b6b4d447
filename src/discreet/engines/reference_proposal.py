"""Proposes settings for the columns of a source in plain Python: the readable twin of `type_proposal`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from fractions import Fraction
from itertools import islice
from typing import Any

from discreet.engines.file_reader import typed_schema
from discreet.engines.file_source import FileSource
from discreet.engines.format_proposal import propose_format
from discreet.engines.missing_values import is_missing
from discreet.engines.source_values import BLANKS, SourceValue, parse_number, read_micros, source_rows

#: How many rows of a CSV are looked at. A later value that does not fit is NULL, and the owner is told.
ROWS_LOOKED_AT = 20_000


def propose_columns(source: FileSource) -> dict[str, dict[str, Any]]:
    """The columns of a source and the settings proposed for them."""
    names = source.distinct_names()
    if source.is_text:
        seen = list(islice(source_rows(source), ROWS_LOOKED_AT))
        settings = [_csv_settings([row[place] for row in seen], source) for place in range(len(source.names))]
    else:
        settings = [{"type": _parquet_type(kind)} for kind in typed_schema(source).types]
    return {name: settings[source.names.index(name)] for name in names}


def _csv_settings(values: list[SourceValue], source: FileSource) -> dict[str, Any]:
    words = {str(value) for value in values if not is_missing(value)}
    type_ = _csv_type(words)
    settings = propose_format(words, delimiter=source.delimiter) if type_ == "text" and words else None
    return settings or {"type": type_}


def _csv_type(words: set[str]) -> str:
    return next(iter(fitting_types(words)), "text") if words else "text"


def fitting_types(words: Collection[str]) -> tuple[str, ...]:
    """The types that every one of these texts fits as it is, the one to propose first. All of them fit no text."""
    fitting = [type_ for type_, fits in _FITS.items() if all(map(fits, words))]
    return tuple(fitting)


def _is_number(word: str) -> bool:
    # 007 is a name that looks like a number: as a number it would lose its zeros.
    return parse_number(word) is not None and re.match(r"[^.1-9]*0\d", word, re.ASCII) is None


def _is_whole(word: str) -> bool:
    value = parse_number(word)
    return _is_number(word) and isinstance(value, Fraction) and value.denominator == 1


def _is_moment(word: str) -> bool:
    return read_micros(word) is not None


#: Whether a text fits a type, in the order in which types are proposed.
_FITS: dict[str, Callable[[str], bool]] = {
    "boolean": lambda word: word.lower() in ("true", "false"),
    "integer": _is_whole,
    "decimal": _is_number,
    "date": lambda word: len(word.strip(BLANKS)) == 10 and _is_moment(word),
    "timestamp": _is_moment,
}


def _parquet_type(kind: Any) -> str:
    import pyarrow as pa

    types = pa.types
    if types.is_boolean(kind) or types.is_date(kind) or types.is_timestamp(kind):
        return "boolean" if types.is_boolean(kind) else "date" if types.is_date(kind) else "timestamp"
    if types.is_integer(kind) or (types.is_decimal(kind) and kind.scale == 0):
        return "integer"
    return "decimal" if types.is_floating(kind) or types.is_decimal(kind) else "text"
