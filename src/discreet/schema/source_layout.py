"""How the files of a source are laid out: what the owner declares where a file does not say it itself.

    encoding     of a text file: utf-8 (unless declared), utf-16, cp1252, latin-1
    delimiter    between the fields of a text file; else the one that its header shows
    skip_rows    so many lines or rows stand above the header
    sheet        of a workbook; also the table in a DuckDB or SQLite file

All of them are set by the owner, never by a row, so that no row changes how another one is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from discreet.errors import SchemaError

ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1")

#: No title is longer than this.
MOST_SKIPPED = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLayout:
    """Declared facts about files. None: by the file itself."""

    encoding: str | None = None
    delimiter: str | None = None
    skip_rows: int = 0
    sheet: str | None = None

    def settings(self) -> dict[str, Any]:
        """What is declared, as discreet.toml has it."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) != field.default}


#: By the file itself.
UNDECLARED = SourceLayout()

#: The keys of [tables.NAME] that are read here.
LAYOUT_KEYS = frozenset(field.name for field in fields(SourceLayout))


def read_layout(data: Mapping[str, Any], *, where: str) -> SourceLayout:
    """The layout that a table's settings declare."""
    encoding, delimiter, sheet = data.get("encoding"), data.get("delimiter"), data.get("sheet")
    skip_rows = data.get("skip_rows", 0)
    if encoding is not None and encoding not in ENCODINGS:
        raise SchemaError(f"{where} encoding {encoding!r} is not known", hint=f"one of: {', '.join(ENCODINGS)}")
    if delimiter is not None and (
        not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()
    ):
        raise SchemaError(f"{where} delimiter must be one character", hint='delimiter = ";", or "\\t" for a tab')
    if not isinstance(skip_rows, int) or isinstance(skip_rows, bool) or not 0 <= skip_rows <= MOST_SKIPPED:
        raise SchemaError(f"{where} skip_rows must be a whole number from 0 to {MOST_SKIPPED:,}")
    if sheet is not None and (not isinstance(sheet, str) or not sheet or not sheet.isprintable()):
        raise SchemaError(f"{where} sheet must be the name of a sheet or table in the file")
    return SourceLayout(encoding=encoding, delimiter=delimiter, skip_rows=skip_rows, sheet=sheet)


def refuse_layout(source: str, layout: SourceLayout, *, engine: str) -> None:
    """Refuse the settings of a source on an engine that has none of them."""
    for setting in layout.settings():
        raise SchemaError(
            f"{source} has the setting `{setting}`, which {engine} does not have",
            hint="remove it; files that need it are read by the duckdb engine",
        )
