"""JSON lines: one object on each line, whose keys are columns.

    a text              as it is; U+FFFD stands where a half of a pair has no other half
    a number            as it is written
    true, false, null   true, false, NULL; so is a key that the line does not have
    an object, a list   U+FFFD: such a value does not fit any column

Guarantee: a row depends on its line alone, and no value keeps the others from being read.
Because: each line is read by itself, and which columns there are is said by whoever asks (by the declaration, once
    there is one), never by the lines. A line that is no object is refused by its number, as a line of a CSV is that has
    another number of fields than the header. One that is nested too deeply to be read has U+FFFD in all of its columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from discreet.engines.text_lines import open_text
from discreet.errors import UsageError
from discreet.schema.source_layout import SourceLayout

#: So many lines are looked at for the names of columns.
LINES_LOOKED_AT = 20_000

#: A line may have so many characters, as one of a CSV so many bytes.
MOST_LINE = 1 << 25

#: Numbers stay as they are written.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)

#: Stands for what is no text, number or truth.
UNREAD = "\N{REPLACEMENT CHARACTER}"


def json_names(file: Path, layout: SourceLayout) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys that the first lines have, in their order; and those that hold nothing but objects and lists."""
    nested: dict[str, bool] = {}
    for record in islice(_records(file, layout), LINES_LOOKED_AT):
        for key, value in (record or {}).items():
            if isinstance(value, dict | list):
                nested.setdefault(key, True)
            elif value is not None or key not in nested:
                nested[key] = False
    return tuple(key for key in nested if not nested[key]), tuple(key for key in nested if nested[key])


def json_rows(file: Path, names: Sequence[str], layout: SourceLayout) -> Iterator[list[str | None]]:
    """These columns of each line."""
    for record in _records(file, layout):
        yield [UNREAD] * len(names) if record is None else [_text(record.get(name)) for name in names]


def _records(file: Path, layout: SourceLayout) -> Iterator[dict[str, Any] | None]:
    """The objects of a file; None for one that is nested too deeply."""
    with open_text(file, layout) as text:
        number = layout.skip_rows
        while line := text.readline(MOST_LINE + 1):
            number += 1
            if len(line) > MOST_LINE:
                raise UsageError(f"line {number:,} of {file.name} has more than {MOST_LINE:,} characters")
            if line.isspace():
                continue
            try:
                record = _DECODER.decode(line)
            except RecursionError:
                yield None
                continue
            except ValueError:
                record = None
            if not isinstance(record, dict):
                raise UsageError(
                    f"line {number:,} of {file.name} is not a JSON object",
                    hint='JSON lines have one object on each line: {"age": 40, "sex": "f"}; write the objects '
                    "of a list on lines of their own",
                )
            yield record


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return UNREAD
