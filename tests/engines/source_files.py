"""The same rows of text in every kind of file that can be a source."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sqlite3
import zipfile
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.feather
import xlsxwriter

from discreet.schema.source_layout import UNDECLARED, SourceLayout

TITLE = 'A "report" of 2026\nmade; by hand, and: "not closed\r\n\n'


@dataclass(frozen=True, kw_only=True)
class Written:
    """What to declare for a file."""

    source: str
    layout: SourceLayout = UNDECLARED


def csv_text(names, rows, delimiter=",", end="\n"):
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_MINIMAL)
    writer.writerows([names, *([cell or "" for cell in row] for row in rows)])
    return stream.getvalue()


def _text(ending, encode, **layout):
    def write(folder, names, rows):
        text = csv_text(names, rows, layout.get("delimiter") or ",", "\r\n" if "skip_rows" in layout else "\n")
        (folder / f"s{ending}").write_bytes(encode(text))
        return Written(source=f"s{ending}", layout=SourceLayout(**layout))

    return write


def _zip(text):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside/rows.csv", text)
    return stream.getvalue()


def _zstd(text):
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as packed:
        packed.write(text.encode())
    return stream.getvalue().to_pybytes()


def _json(folder, names, rows):
    lines = [
        json.dumps({name: cell for name, cell in zip(names, row, strict=True) if cell is not None}) for row in rows
    ]
    (folder / "s.jsonl").write_text("\n\n".join(lines) + "\n")
    return Written(source="s.jsonl")


def _excel(folder, names, rows):
    workbook = xlsxwriter.Workbook(folder / "s.xlsx", {"strings_to_numbers": False, "strings_to_formulas": False})
    workbook.add_worksheet("empty")
    sheet = workbook.add_worksheet("rows here")
    sheet.write_string(0, 0, "A title")
    for place, row in enumerate([names, *rows], start=2):
        for column, cell in enumerate(row):
            if cell is not None:
                sheet.write_string(place, column, cell)
    workbook.close()
    return Written(source="s.xlsx", layout=SourceLayout(sheet="rows here", skip_rows=2))


def _sqlite(folder, names, rows):
    file = folder / "s.sqlite"
    file.unlink(missing_ok=True)
    connection = sqlite3.connect(file)
    listed = ", ".join(_quoted(name) for name in names)
    connection.execute(f"CREATE TABLE t ({listed})")
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
    connection.execute("CREATE VIEW v AS SELECT * FROM t")
    connection.commit()
    connection.close()
    return Written(source="s.sqlite", layout=SourceLayout(sheet="v"))


def _duckdb(folder, names, rows):
    file = folder / "s.duckdb"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        listed = ", ".join(f"{_quoted(name)} VARCHAR" for name in names)
        connection.execute(f"CREATE TABLE t ({listed})")
        if rows:
            connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
    return Written(source="s.duckdb")


def _arrow(folder, names, rows):
    columns = list(zip(*rows, strict=True)) or [[]] * len(names)
    table = pa.table([pa.array(column, pa.string()) for column in columns], names=names)
    pyarrow.feather.write_feather(table, str(folder / "s.feather"), chunksize=2)
    return Written(source="s.feather")


def _reordered(folder, names, rows):
    """Two files: the second with another delimiter, its columns backwards and one more."""
    half = len(rows) // 2
    (folder / "part-1.csv").write_text(csv_text(names, rows[:half]), encoding="utf-8", newline="")
    more = csv_text([*names[::-1], "extra"], [[*row[::-1], "x"] for row in rows[half:]], ";")
    (folder / "part-2.csv").write_text(more, encoding="utf-8", newline="")
    return Written(source="part-*.csv")


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


#: Every reader, by a name for it.
WRITERS = {
    "utf-16": _text(".csv", lambda text: text.encode("utf-16"), encoding="utf-16"),
    "utf-16 little": _text(".csv", lambda text: text.encode("utf-16-le"), encoding="utf-16"),
    "utf-16 big": _text(".csv", lambda text: text.encode("utf-16-be"), encoding="utf-16"),
    "utf-16 big, marked": _text(".csv", lambda text: b"\xfe\xff" + text.encode("utf-16-be"), encoding="utf-16"),
    "title": _text(".csv", lambda text: (TITLE + text).encode(), skip_rows=3),
    "title, marked": _text(".csv", lambda text: b"\xef\xbb\xbf" + (TITLE + text).encode(), skip_rows=3),
    "delimiter": _text(".csv", str.encode, delimiter="~"),
    "gz": _text(".csv.gz", lambda text: gzip.compress(text.encode())),
    "bz2": _text(".csv.bz2", lambda text: bz2.compress(text.encode())),
    "xz": _text(".csv.xz", lambda text: lzma.compress(text.encode())),
    "zst": _text(".csv.zst", _zstd),
    "zip": _text(".zip", _zip),
    "json": _json,
    "excel": _excel,
    "sqlite": _sqlite,
    "duckdb": _duckdb,
    "arrow": _arrow,
    "reordered": _reordered,
}
