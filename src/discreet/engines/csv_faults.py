"""The first place at which a CSV is no table, found where the engine said only that there is one. For the owner alone.

A sentence names a line and numbers of fields, never a cell. `versions` keeps it from whoever asks.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from discreet.engines.file_source import FileSource, open_csv
from discreet.engines.stop_signal import until_stopped
from discreet.engines.text_lines import allow_long_fields

_ENDS = {"\n": "LF", "\r\n": "CR LF", "\r": "CR"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvFault:
    """What is wrong at a line, and what to do about it. `fields`: the row's, where it is their number."""

    line: int
    reason: str
    hint: str
    fields: int | None = None


def first_fault(source: FileSource) -> CsvFault | None:
    """The first row that has another number of fields than the header, or ends otherwise; None where none does."""
    for part in source.single_files():
        for file in part.files:
            shown = part.shown if len(part.files) == 1 else file.name
            fault = _fault_in(file, part, shown)
            if fault is not None:
                return fault
    return None


def _fault_in(file: Path, source: FileSource, shown: str) -> CsvFault | None:
    header = len(source.names)
    allow_long_fields()
    with open_csv(file, source.layout) as stream:
        lines = _NumberedLines(stream, above=source.lines_above + source.layout.skip_rows)
        reader = csv.reader(lines, delimiter=source.delimiter)
        try:
            for row in until_stopped(reader):
                if row and len(row) != header:
                    return CsvFault(
                        line=lines.row,
                        fields=len(row),
                        reason=f"line {lines.row} of {shown} has {len(row)} fields, but the header has {header}",
                        hint="fix that line; text that contains a delimiter needs quotes around it",
                    )
                if lines.end and lines.end != lines.first_end:
                    return CsvFault(
                        line=lines.number,
                        reason=f"line {lines.number} of {shown} ends with {_ENDS[lines.end]}, "
                        f"but the header ends with {_ENDS[lines.first_end]}",
                        hint="save the file with one kind of line ending",
                    )
                lines.row = lines.number + 1
        except csv.Error:  # a field beyond what Python reads: the engine's own sentence stands
            return None
    return None


class _NumberedLines:
    """The lines of a text as they are, that know where they are. `row`: the line at which the row began."""

    def __init__(self, stream: TextIO, *, above: int) -> None:
        self._stream = stream
        self.number = above
        self.row = above + 1
        self.end = self.first_end = ""

    def __iter__(self) -> Iterator[str]:
        for line in self._stream:
            self.number += 1
            self.end = line[len(line.rstrip("\r\n")) :]
            self.first_end = self.first_end or self.end
            yield line
