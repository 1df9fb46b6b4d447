"""Sheets of workbooks (.xlsx, .xls, .ods), each cell as text, by what it shows and not by its column.

    a text                    as it is
    a number                  its digits where it is whole; else the shortest decimal text that is this number
    true, false               true, false
    a date, a moment, a time  2026-01-31, 2026-01-31 12:00:00, 12:00:00; a length of time in seconds
    an error, a formula       NULL; the value that was saved with it

Rows begin at the top left of the sheet. A cell beyond the header belongs to no column, and a row without any cell under
the header is none. A row with a cell that the reader cannot make a value of (a length of time of a billion days) has
U+FFFD in all of its columns.

Guarantee: a row depends on that row of the sheet alone, and no cell keeps the others from being read.
Because: rows are taken from the reader one by one, and their cells put into text one by one; where a row lies does not
    depend on the others, and the text of a cell is never taken for the place of one. Only a sheet whose cells lie too
    far apart to be held, or a file that is damaged, encrypted or unpacks to too much, is refused.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from discreet.engines.content_fault import ContentFault
from discreet.engines.named_tables import choose_table
from discreet.engines.unpacking import DAMAGED_PACKING, most_unpacked, too_large
from discreet.errors import UsageError
from discreet.schema.source_layout import MOST_SKIPPED, SourceLayout

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

#: So many cells may a sheet have, from its first to its last row and column.
MOST_CELLS = 100_000_000
#: So many bytes may a workbook unpack to: it is read as a whole.
MOST_WORKBOOK = 2 * 2**30

_OLE = b"\xd0\xcf\x11\xe0"
_CHUNK = 1 << 20

#: Stands for what cannot be read.
UNREAD = "\N{REPLACEMENT CHARACTER}"

#: What the reader raises where it fails itself. Its class cannot be imported.
_PANIC = "PanicException"

#: Where a cell or a row says that it lies: within a tag, for a text may say anything. XML writes < in texts as &lt;.
_REFERENCE = re.compile(rb"""<(?:[^<>"']|"[^"<]*"|'[^'<]*')*?\sr=["']([A-Z]{0,3})([0-9]{1,7})["']""")
_ODS = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"


def sheet_names(file: Path) -> tuple[str, ...]:
    """The sheets of a workbook that hold cells."""
    with _open(file) as workbook:
        from python_calamine import SheetTypeEnum

        return tuple(sheet.name for sheet in workbook.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet)


def sheet_header(file: Path, layout: SourceLayout) -> tuple[str, ...]:
    """The names in the row of the header, to the last one that is not empty; a line break in one is a blank."""
    rows = top_rows(file, layout)
    header = rows[layout.skip_rows] if len(rows) > layout.skip_rows else []
    names = [" ".join((_text(cell) or "").split()) for cell in header]
    while names and not names[-1]:
        names.pop()
    if not names:
        above = f" after {layout.skip_rows:,} skipped rows" if layout.skip_rows else ""
        raise UsageError(
            f"{file.name} does not start with the names of its columns{above}",
            hint="skip_rows = N leaves out the rows above the header",
        )
    return tuple(names)


def sheet_rows(file: Path, names: Sequence[str], layout: SourceLayout) -> Iterator[list[str | None]]:
    """The rows below the header."""
    width = len(names)
    for row in islice(_all_rows(file, layout), layout.skip_rows + 1, None):
        cells = [_text(cell) for cell in row[:width]] if row is not None else [UNREAD] * width
        if any(cell is not None for cell in cells):
            yield cells + [None] * (width - len(cells))


def top_rows(file: Path, layout: SourceLayout) -> list[list[Any]]:
    """The first rows of a sheet, as many as a title and a header may take."""
    state = file.stat()
    return _top_rows(file, layout.sheet, state.st_size, state.st_mtime_ns)


def cell_texts(row: Sequence[Any]) -> list[str | None]:
    """The cells of a row as texts."""
    return [_text(cell) for cell in row]


@lru_cache(maxsize=16)
def _top_rows(file: Path, sheet: str | None, size: int, written: int) -> list[list[Any]]:
    rows = islice(_all_rows(file, SourceLayout(sheet=sheet)), MOST_SKIPPED + 1)
    return [[UNREAD] if row is None else row for row in rows]


def _all_rows(file: Path, layout: SourceLayout) -> Iterator[list[Any] | None]:
    """The rows from the top of a sheet, from its first column on; None for one with a cell that cannot be read."""
    name = choose_table(file, sheet_names(file), layout, what="sheet")
    with _open(file) as workbook:
        sheet = workbook.get_sheet_by_name(name)
        before = [""] * (sheet.start[1] if sheet.start else 0)
        rows = sheet.iter_rows()
        while True:
            try:
                row = [*before, *next(rows)]
            except StopIteration:
                return
            except BaseException as problem:
                if not isinstance(problem, OverflowError | ValueError) and type(problem).__name__ != _PANIC:
                    raise
                yield None  # it went on to the next row before it failed
            else:
                yield row


@contextmanager
def _open(file: Path) -> Iterator[CalamineWorkbook]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError
    except ImportError:
        raise UsageError(
            f"reading {file.name} needs the extra `excel`",
            hint="pip install 'discreet[excel]'; or save the sheet as CSV",
        ) from None
    _check(file)
    try:
        with CalamineWorkbook.from_path(str(file)) as workbook:
            yield workbook
    except PasswordError:
        raise _encrypted(file) from None
    except (CalamineError, OSError, ValueError):
        raise ContentFault(f"{file.name} cannot be read as a workbook: it is damaged", hint="save it again") from None


def _check(file: Path) -> None:
    """Refuse what would be too much to hold before it is unpacked, and what is encrypted."""
    state = file.stat()
    _check_at(file, state.st_size, state.st_mtime_ns, state.st_ino)


@lru_cache(maxsize=64)
def _check_at(file: Path, size: int, written: int, node: int) -> None:
    with file.open("rb") as stream:
        if stream.read(4) == _OLE:
            if "EncryptedPackage".encode("utf-16-le") in _directory(file):
                raise _encrypted(file)
            return  # an .xls file: it has at most 65,536 rows of 256 columns
    try:
        with zipfile.ZipFile(file) as archive:
            left = min(most_unpacked(size), MOST_WORKBOOK)
            for member in archive.infolist():
                if member.flag_bits & 1:
                    raise _encrypted(file)
                left -= _measure(archive, member, left, file)
            if "content.xml" in archive.namelist():
                _check_document(archive, file)
    except (*DAMAGED_PACKING, ElementTree.ParseError):
        raise ContentFault(f"{file.name} cannot be read as a workbook: it is damaged", hint="save it again") from None


def _measure(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left: int, file: Path) -> int:
    """How many bytes a member unpacks to, whatever it says itself. Refuses too many, and cells too far apart."""
    is_sheet = member.filename.startswith("xl/worksheets/") and member.filename.endswith(".xml")
    size, tail = 0, b""
    last_row = last_column = 0
    with archive.open(member) as stream:
        while piece := stream.read(_CHUNK):
            size += len(piece)
            if size > left:
                raise too_large(file)
            if not is_sheet:
                continue
            text = tail + piece
            for letters, row in _REFERENCE.findall(text):
                last_row = max(last_row, int(row))
                last_column = max(last_column, _column_number(letters))
            if last_row * last_column > MOST_CELLS:
                raise _too_many_cells(file)
            tail = text[max(text.rfind(b"<"), len(text) - _CHUNK) :]  # a tag that is not whole yet
    return size


def _check_document(archive: zipfile.ZipFile, file: Path) -> None:
    """Refuse an OpenDocument sheet in which few cells stand for too many."""
    rows = columns = place = reach = 0
    with archive.open("content.xml") as stream:
        for _, element in ElementTree.iterparse(stream):  # noqa: S314 - expat bounds what entities grow to
            if element.tag == f"{_ODS}table-cell":
                place += _repeated(element, "columns")
                reach = place if any(key.startswith(_OFFICE) for key in element.attrib) else reach
            elif element.tag == f"{_ODS}table-row":
                rows += _repeated(element, "rows")
                columns = max(columns, reach)
                if reach and rows * columns > MOST_CELLS:
                    raise _too_many_cells(file)
                place = reach = 0
            elif element.tag == f"{_ODS}table":
                rows = columns = 0
            element.clear()


def _repeated(element: ElementTree.Element, what: str) -> int:
    number = element.get(f"{_ODS}number-{what}-repeated", "1")
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 1


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _directory(file: Path) -> bytes:
    """The start and the end of a file, one of which names its parts."""
    with file.open("rb") as stream:
        start = stream.read(_CHUNK)
        stream.seek(max(len(start), file.stat().st_size - _CHUNK))
        return start + stream.read()


def _encrypted(file: Path) -> ContentFault:
    return ContentFault(f"{file.name} is encrypted", hint="open it with its password and save it without one")


def _too_many_cells(file: Path) -> ContentFault:
    return ContentFault(
        f"the cells of a sheet in {file.name} lie too far apart: from the first to the last there are more than "
        f"{MOST_CELLS:,}",
        hint="delete stray cells far to the right or below the table, or save the sheet as CSV",
    )


def _text(cell: Any) -> str | None:
    """A cell as text: by its value alone."""
    match cell:
        case None | "":
            return None
        case str():
            return cell
        case bool():
            return "true" if cell else "false"
        case float():
            return f"{cell:.0f}" if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
        case datetime():
            return cell.isoformat(sep=" ")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            return repr(cell.total_seconds())
        case _:
            return str(cell)
