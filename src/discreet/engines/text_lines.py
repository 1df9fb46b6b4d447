"""Text files as lines: in their encoding, unpacked, without the title above the header.

Guarantee: a character depends on its own bytes and the declared encoding alone, and no bytes keep a file from being
    read: U+FFFD stands where they are no character.
Because: what a decoder replaces ends where bytes begin a character of their own (a code unit of UTF-16, a byte of the
    others), so it takes no delimiter, quote or end of a line with it. Which half of UTF-16 comes first is said by its
    mark, or by the first character of the file, which is of the title or the header and of no row.
"""

from __future__ import annotations

import codecs
import csv
import io
from pathlib import Path
from typing import BinaryIO, TextIO

from discreet.engines.unpacking import open_unpacked, translate_damage
from discreet.errors import Flag, Message, UsageError
from discreet.schema.source_layout import SourceLayout

#: A line above the header, or a header, longer than this is none.
MOST_HEADER = 1_000_000

#: A row of a CSV may have so many bytes: one endless text must not keep the table from being made.
MOST_ROW_BYTES = 1 << 25

#: Marks at the start of a file, and what they say of its encoding.
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def codec_of(file: Path, layout: SourceLayout) -> str:
    """What Python calls the encoding of a file. Refuses one that the file's first bytes contradict."""
    with translate_damage(file), open_unpacked(file) as stream:
        start = stream.read(4)
    mark = next((mark for mark in MARKS if start.startswith(mark)), None)
    declared = layout.encoding or "utf-8"
    if mark is not None and MARKS[mark] != declared:
        contradiction = (
            f'but encoding = "{declared}" is declared' if layout.encoding else "and its encoding is not declared"
        )
        raise UsageError(
            f"{file.name} begins with the mark of {MARKS[mark].upper()}, {contradiction}",
            hint=f'encoding = "{MARKS[mark]}"' + (" (or remove the setting)" if MARKS[mark] == "utf-8" else ""),
        )
    if declared == "utf-8":
        return "utf-8-sig"
    if declared != "utf-16":
        return declared
    if mark is None and start and 0 not in start[:2]:
        raise UsageError(f'{file.name} is not UTF-16 text, but encoding = "utf-16" is declared', hint=ENCODING_HINT)
    return "utf-16" if mark is not None else "utf-16-be" if start[:1] == b"\0" else "utf-16-le"


ENCODING_HINT = 'declare the encoding that it was saved in: encoding = "cp1252" for most files of Windows and Excel'


def open_text(file: Path, layout: SourceLayout) -> TextIO:
    """A text file from its header on, lines as they are; U+FFFD stands where bytes are no text."""
    codec = codec_of(file, layout)
    text = io.TextIOWrapper(open_unpacked(file), encoding=codec, errors="replace", newline="")
    for _ in range(layout.skip_rows):
        skip_line(text)
    return text


def allow_long_fields() -> None:
    """Let Python's reader of CSV take texts as long as a row may be: it refuses them at 131,072 characters."""
    csv.field_size_limit(max(csv.field_size_limit(), MOST_ROW_BYTES))


def skip_line(text: TextIO) -> str:
    """The next line, read to its end."""
    line = text.readline(MOST_HEADER)
    piece = line
    while piece and not piece.endswith(("\n", "\r")):
        piece = text.readline(MOST_HEADER)
    return line


def header_line(file: Path, layout: SourceLayout) -> str:
    """The line with the names of the columns, whatever stands in the others."""
    is_plain = layout.encoding in (None, "utf-8") and not layout.skip_rows
    with translate_damage(file):
        if is_plain:
            codec_of(file, layout)
            with open_unpacked(file) as stream:
                line = _strict(file, stream)
        else:
            with open_text(file, layout) as text:
                line = text.readline(MOST_HEADER + 1).rstrip("\r\n")
    if not line.strip() or len(line) > MOST_HEADER or "\0" in line:
        above = f" after {layout.skip_rows:,} skipped rows" if layout.skip_rows else ""
        raise UsageError(
            f"{file.name} does not start with the names of its columns{above}",
            hint="correct skip_rows" if layout.skip_rows else "add a header line",
        )
    if layout.encoding in ("cp1252", "latin-1") and _is_utf8(line, layout.encoding):
        raise UsageError(
            f'the header of {file.name} is UTF-8 text, but encoding = "{layout.encoding}" is declared',
            hint='remove the setting, or write encoding = "utf-8"',
        )
    if "\N{REPLACEMENT CHARACTER}" in line and not is_plain:
        if layout.encoding in (None, "utf-8"):
            raise _not_utf8(file)
        raise UsageError(
            f'the header of {file.name} is not text in the declared encoding = "{layout.encoding}"', hint=ENCODING_HINT
        )
    return line


def _strict(file: Path, stream: BinaryIO) -> str:
    """The first line of a file in UTF-8."""
    start = stream.readline(MOST_HEADER + 1).splitlines()[:1]
    try:
        return start[0].decode("utf-8-sig") if start else ""
    except UnicodeDecodeError:
        raise _not_utf8(file) from None


def _not_utf8(file: Path) -> UsageError:
    return UsageError(
        f"{file.name} is neither Parquet nor CSV in UTF-8",
        hint=Message(
            "a CSV file from Windows or Excel is often Windows-1252 (or Latin-1): ",
            Flag("encoding", "cp1252"),
            ', or encoding = "cp1252" in its section of discreet.toml',
        ),
    )


def _is_utf8(line: str, encoding: str) -> bool:
    """Whether a line that was read in an encoding of one byte for each letter is UTF-8 with letters beyond ASCII."""
    try:
        return not line.isascii() and bool(line.encode(encoding).decode())
    except UnicodeError:
        return False
