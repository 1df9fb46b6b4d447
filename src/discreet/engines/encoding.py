"""Whether the text files of a source are in their declared encoding, and what they seem to be. For the owner alone."""

from __future__ import annotations

import codecs
import shlex
from pathlib import Path

from discreet.engines.duckdb_conversion import DAMAGED
from discreet.engines.file_source import FileSource, open_bytes

#: So many bytes of a file are looked at, in pieces of so many.
_MOST, _CHUNK = 1 << 26, 1 << 22

#: Bytes that Windows gives no letter: a file with one of them is in yet another encoding, or damaged.
_NOT_WINDOWS = b"\x81\x8d\x8f\x90\x9d"


def encoding_note(source: FileSource) -> str | None:
    """What the owner is told of a source that is not in its declared encoding: what it seems to be, and what to write.

    A file with more letters of UTF-8 than bytes that are none is UTF-8 with some damaged cells: nothing is said of it.
    """
    declared = source.layout.encoding or "utf-8"
    for file in source.files if source.kind in ("csv", "json") and declared != "utf-16" else ():
        letters, damaged, windows = inspect_file(file)
        if declared != "utf-8":
            if letters and not damaged:
                return (
                    f'{file.name} is UTF-8 text, but encoding = "{declared}" is declared: its non-ASCII letters come '
                    "out as others. Remove the setting"
                )
            continue
        if damaged <= letters:
            continue
        says = f"{file.name} is not UTF-8 text: cells with non-ASCII letters cannot be read"
        if not windows:
            name = shlex.quote(file.name)
            return (
                f"{says}. Find out its encoding and convert it: iconv -f ENCODING -t UTF-8 {name} > utf8.csv; then "
                "write utf8.csv as its `source`"
            )
        return f'{says}. It looks like Windows-1252 or Latin-1: write encoding = "cp1252" in its section'
    return None


def inspect_file(file: Path) -> tuple[int, int, bool]:
    """How many letters beyond ASCII are UTF-8, how many bytes are none, and whether these can be Windows' letters."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    letters = damaged = 0
    windows = True
    with open_bytes(file) as stream:
        for _ in range(_MOST // _CHUNK):
            piece = stream.read(_CHUNK)
            text = decoder.decode(piece, final=not piece)
            if not text.isascii():
                beyond = len(text) - len(text.encode("ascii", "ignore"))
                wrong = text.count(DAMAGED)
                letters, damaged = letters + beyond - wrong, damaged + wrong
                windows = windows and not any(byte in piece for byte in _NOT_WINDOWS)
            if not piece:
                break
    return letters, damaged, windows
