"""What `add` detects of how files are laid out: the awkward shapes that people have, and nothing where all is plain."""

import sqlite3

import pytest
import xlsxwriter

from discreet.engines.layout_detection import detect_layout
from discreet.engines.memory import MemoryEngine
from discreet.schema.source_layout import UNDECLARED, SourceLayout

ROWS = "id;age;city\n1;30,5;Zürich\n2;40;Genève\n3;50;Bern\n"

#: A file's bytes, and the layout that it has.
TEXTS = {
    "plain": (b"id,age\n1,2\n", {}),
    "one column": (b"age\n1\n2\n", {}),
    "only a header": (b"id,age\n", {}),
    "a header that is no wider than a note": (b"a,b\n1,2\n", {}),
    "no header name for the index": (b",age\n0,1\n1,2\n", {}),
    "UTF-8 with a mark": (b"\xef\xbb\xbf" + ROWS.encode(), {}),
    "UTF-8": (ROWS.encode(), {}),
    "UTF-16": (ROWS.encode("utf-16"), {"encoding": "utf-16"}),
    "UTF-16 without a mark": (ROWS.encode("utf-16-be"), {"encoding": "utf-16"}),
    "Windows": (ROWS.encode("cp1252"), {"encoding": "cp1252"}),
    "UTF-8 with one damaged cell": (ROWS.encode() + b"4;5;Gen\xe8ve\n", {}),
    "DOS": (b"id,city\n1,Z\x81rich\n", {}),
    "title": (("Report 2026\n\n" + ROWS).encode(), {"skip_rows": 2}),
    "title of two cells": (("Report;2026\n" + ROWS).encode(), {"skip_rows": 1}),
    "title as wide as the table": (("Report;;\n;;\n" + ROWS).encode(), {"skip_rows": 2}),
    "title with commas": (("Ages, cities, and more, of 2026\n" + ROWS).encode(), {"skip_rows": 1}),
    "title with a quote": (('The "Report, of\n' + ROWS).encode(), {"skip_rows": 1}),
    "Windows with a title": (("Übersicht\r\n\r\n\r\n" + ROWS).encode("cp1252"), {"encoding": "cp1252", "skip_rows": 3}),
    "Excel's own line": (("sep=;\n" + ROWS).encode(), {"skip_rows": 1}),
    "blank lines": (b"\n\nage\n1\n", {"skip_rows": 2}),
    "names with commas": (
        b"Name, first;Age, years, full\nA;1\nB;2\nC;3\nD;4\nE;5\nF;6\n",
        {"delimiter": ";"},
    ),
    "another delimiter": (b"a~b\n1~2\n3~4\n", {"delimiter": "~"}),
    "times are no delimiters": (b"time\n10:20\n11:30\n12:40\n", {}),
    "cells of several lines": (b'a,b\n1,"x\ny\nz"\n2,"x\ny"\n3,z\n', {}),
    "footnote": (b"a,b\n1,2\n3,4\n5,6\n7,8\n9,10\nSource: an office\n", {}),
    "damaged": (b"\0\0\0\0", {}),
    "empty": (b"", {}),
}


@pytest.mark.parametrize("shape", TEXTS)
def test_text(tmp_path, shape):
    content, layout = TEXTS[shape]
    (tmp_path / "s.csv").write_bytes(content)
    assert detect_layout("s.csv", folder=tmp_path) == SourceLayout(**layout)


def test_what_is_detected_can_be_read(tmp_path):
    (tmp_path / "s.csv").write_bytes(("Übersicht\r\n\r\n" + ROWS).encode("utf-16"))
    layout = detect_layout("s.csv", folder=tmp_path)
    assert next(iter(MemoryEngine().rows("s.csv", ["city"], folder=tmp_path, layout=layout))) == ("Zürich",)


def test_what_is_given_stays(tmp_path):
    (tmp_path / "s.csv").write_bytes(("Report\n" + ROWS).encode("cp1252"))
    given = SourceLayout(encoding="latin-1", skip_rows=1, delimiter=",")
    assert detect_layout("s.csv", folder=tmp_path, given=given) == given
    assert detect_layout("no.csv", folder=tmp_path) == UNDECLARED


def test_workbooks_and_databases(tmp_path):
    book = xlsxwriter.Workbook(tmp_path / "s.xlsx")
    sheet = book.add_worksheet("Ages 2026")
    for place, row in enumerate([["Report"], [], ["id", "age", "city"], [1, 30.5, "Zürich"], [2, 40, "Genève"]]):
        sheet.write_row(place, 0, row)
    book.close()
    assert detect_layout("s.xlsx", folder=tmp_path) == SourceLayout(sheet="Ages 2026", skip_rows=2)
    book = xlsxwriter.Workbook(tmp_path / "t.xlsx")
    for name in ("one", "two"):
        book.add_worksheet(name).write_row(0, 0, ["a", "b"])
    book.close()
    assert detect_layout("t.xlsx", folder=tmp_path) == UNDECLARED
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        connection.execute("CREATE TABLE ages (a)")
    connection.close()
    assert detect_layout("s.sqlite", folder=tmp_path) == SourceLayout(sheet="ages")
