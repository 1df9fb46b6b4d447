"""What kind of file a source's file is: by its first bytes, and where they do not say it, by how its name ends.

No row decides. A text file, packed or not, is CSV unless its name says that it holds JSON lines.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Literal

from discreet.errors import UsageError

FileKind = Literal["csv", "parquet", "json", "arrow", "duckdb", "sqlite", "excel"]

#: What people call them.
KIND_WORDS: dict[FileKind, str] = {
    "csv": "CSV",
    "parquet": "Parquet",
    "json": "JSON lines",
    "arrow": "Arrow",
    "duckdb": "DuckDB",
    "sqlite": "SQLite",
    "excel": "Excel",
}

#: Endings of packed text files.
PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")

_PARQUET, _ARROW, _FEATHER_1, _SQLITE = b"PAR1", b"ARROW1", b"FEA1", b"SQLite format 3\0"
_DUCKDB = b"DUCK"  # from the ninth byte on, where a text may have its first row; a small number of eight bytes follows
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_JSON = (".jsonl", ".ndjson", ".json")
_PLAIN_TEXT = (".csv", ".tsv", ".tab", ".txt", ".psv", ".dat")
_WORKBOOKS = (".xlsx", ".xlsm", ".ods", ".xls")
_ENDINGS: dict[str, FileKind] = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".duckdb", ".ddb"), "duckdb"),
    **dict.fromkeys((".sqlite", ".sqlite3"), "sqlite"),
    **dict.fromkeys(_WORKBOOKS, "excel"),
}  # fmt: skip


def file_kind(file: Path) -> FileKind:
    """The kind of a file."""
    with file.open("rb") as stream:
        start = stream.read(20)
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    if start[8:12] == _DUCKDB and not _is_text(file, start):
        return "duckdb"
    if start.startswith(_ZIP) and _is_workbook(file):
        return "excel"
    ending = _endings(file)[-1:]
    expected = _ENDINGS.get(ending[0]) if ending else None
    if expected is not None:
        if not start:
            raise UsageError(f"{file.name} is empty", hint="save it again, or name another file")
        article = "an" if KIND_WORDS[expected][0] in "AE" else "a"
        raise UsageError(f"{file.name} is not {article} {KIND_WORDS[expected]} file", hint="it may be damaged")
    return "json" if text_ending(file) in _JSON else "csv"


_MAGIC: dict[bytes, FileKind] = {
    _PARQUET: "parquet",
    _ARROW: "arrow",
    _FEATHER_1: "arrow",
    _SQLITE: "sqlite",
    _OLE: "excel",
}


def packing(file: Path) -> str | None:
    """How a text file is packed: by the last ending of its name."""
    ending = file.suffix.lower()
    return ending if ending in PACKED else None


def text_ending(file: Path) -> str:
    """The ending of a text file's name without that of its packing; of a ZIP file, that of the file in it."""
    endings = [ending for ending in _endings(file) if ending not in PACKED]
    if packing(file) == ".zip" and not (endings and endings[-1] in (*_JSON, ".csv")):
        try:
            with zipfile.ZipFile(file) as archive:
                inside = [name for name in archive.namelist() if not name.endswith("/")]
        except (zipfile.BadZipFile, OSError):
            return ""  # whoever opens it says so
        return Path(inside[0]).suffix.lower() if len(inside) == 1 else ""
    return endings[-1] if endings else ""


def _endings(file: Path) -> list[str]:
    return [ending.lower() for ending in file.suffixes]


def _is_text(file: Path, start: bytes) -> bool:
    """Whether a file holds text by its name, whatever its rows say; where that says nothing, by its first bytes."""
    endings = set(_endings(file)[-2:])
    if endings & {*_JSON, *_PLAIN_TEXT, *_ENDINGS}:
        return not endings & {*_ENDINGS}
    return start[14:20] != bytes(6)


def _is_workbook(file: Path) -> bool:
    """Whether a ZIP file is a workbook: by its name, or by what every workbook holds."""
    if file.suffix.lower() in _WORKBOOKS:
        return True
    try:
        with zipfile.ZipFile(file) as archive:
            return bool({"xl/workbook.xml", "content.xml"} & set(archive.namelist()))
    except (zipfile.BadZipFile, OSError):
        return False
