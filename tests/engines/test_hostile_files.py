"""Files that are damaged, encrypted, empty, endless or not what they say: each gets a sentence, and no cell is in it."""

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import zipfile
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.feather
import pytest
import xlsxwriter

from discreet.engines import json_lines, unpacking, workbook_reader
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.file_source import MOST_COLUMNS, find
from discreet.engines.memory import MemoryEngine
from discreet.engines.text_lines import MOST_ROW_BYTES
from discreet.errors import DiscreetError, SchemaError, UsageError
from discreet.schema.column import NumberColumn, TextColumn
from discreet.schema.source_layout import SourceLayout
from engines.source_files import Written
from engines.test_readers import made

SECRET = "Mrs Secret"
NOTE = (TextColumn(name="note"),)


@pytest.fixture(scope="module", params=["memory", "duckdb"])
def engine(request, quick_files):
    engine = MemoryEngine() if request.param == "memory" else DuckDBEngine(threads=1)
    yield engine
    if isinstance(engine, DuckDBEngine):
        engine.close()


def workbook(file, cells, **options):
    book = xlsxwriter.Workbook(file, options)
    sheet = book.add_worksheet("S")
    for (row, column), value in cells.items():
        sheet.write(row, column, value)
    book.close()


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def ods(rows):
    """A sheet of an OpenDocument file, from its rows in XML."""
    office = "urn:oasis:names:tc:opendocument:xmlns:"
    spaces = " ".join(f'xmlns:{name}="{office}{name}:1.0"' for name in ("office", "table", "text"))
    body = f'<office:body><office:spreadsheet><table:table table:name="S">{rows}</table:table></office:spreadsheet></office:body>'
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{office}manifest:1.0"/>',
            "content.xml": f"<office:document-content {spaces}>{body}</office:document-content>",
        }
    )


def ods_cell(value, repeated=1):
    return (
        f'<table:table-cell office:value-type="string" table:number-columns-repeated="{repeated}">'
        f"<text:p>{value}</text:p></table:table-cell>"
    )


TEXT = f"note\n{SECRET}\n".encode()
PACKED = {".csv.gz": gzip.compress, ".csv.bz2": bz2.compress, ".csv.xz": lzma.compress}

#: What stands in a file of a name, and what is said of it.
FILES = {
    ("s.csv.gz", gzip.compress(TEXT * 9)[:-9]): "damaged|is not closed|cannot be read",
    ("s.csv.bz2", bz2.compress(TEXT * 9)[:-9]): "cannot be unpacked: it is damaged",
    ("s.csv.xz", lzma.compress(TEXT * 9)[:-9]): "cannot be unpacked: it is damaged",
    ("s.csv.zst", b"(\xb5/\xfd" + TEXT): "cannot be unpacked: it is damaged",
    ("s.zip", zipped({"a.csv": TEXT})[:-30]): "cannot be unpacked: it is damaged",
    ("s.zip", zipped({"a.csv": TEXT, "b.csv": TEXT})): "contains 2 files",
    ("s.csv.bz2", TEXT): "cannot be unpacked: it is damaged",
    ("s.xlsx", b""): "s.xlsx is empty",
    ("s.xlsx", TEXT): "s.xlsx is not an Excel file",
    ("s.xlsx", zipped({"xl/workbook.xml": TEXT})): "cannot be read as a workbook: it is damaged",
    ("s.xlsx", zipped({"xl/workbook.xml": TEXT * 99})[:-40]): "cannot be read as a workbook: it is damaged",
    ("s.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + TEXT * 99): "cannot be read as a workbook: it is damaged",
    ("s.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")): "s.xlsx is encrypted",
    ("s.feather", b"ARROW1" + TEXT): "cannot be read as Arrow: it is damaged",
    ("s.arrow", TEXT): "s.arrow is not an Arrow file",
    ("s.duckdb", b"\0" * 8 + b"DUCK" + TEXT * 999): "cannot be read as DuckDB",
    ("s.sqlite", b"SQLite format 3\0" + TEXT * 99): "cannot be read as SQLite",
    ("s.jsonl", b'{"note": "a"}\n' + TEXT): "line 2 of s.jsonl is not a JSON object",
    ("s.jsonl", b'{"note": "a"}\n\n["Mrs Secret"]\n'): "line 3 of s.jsonl is not a JSON object",
    ("s.json", b'[\n{"note": "Mrs Secret"}]'): "line 1 of s.json is not a JSON object",
    ("s.csv", b""): "does not start with the names of its columns",
    ("s.parquet", b""): "s.parquet is empty",
    ("s.csv", b"\xfe\xff\0n\0o\0t\0e"): 'begins with the mark of UTF-16, and its encoding is not declared',
    ("s.csv", b",".join(b"c%d" % place for place in range(10_000))): "10,000 columns; at most 5,000 can be read",
}  # fmt: skip


@pytest.mark.parametrize(("name", "content"), FILES, ids=[f"{place} {name}" for place, (name, _) in enumerate(FILES)])
def test_a_sentence_without_a_cell(engine, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=FILES[name, content]) as caught:
        made(engine, Written(source=name), tmp_path, columns=NOTE)
    told = f"{caught.value} {caught.value.hint}"
    assert SECRET not in told and str(tmp_path) not in told
    assert caught.value.__cause__ is None
    assert not list((tmp_path / "made").rglob("*")) if (tmp_path / "made").exists() else True


def test_a_folder_and_a_missing_extra(tmp_path, monkeypatch):
    (tmp_path / "s.xlsx").mkdir()
    with pytest.raises(UsageError, match=r"s\.xlsx is a folder"):
        find("s.xlsx", folder=tmp_path)
    workbook(tmp_path / "t.xlsx", {(0, 0): "note"})
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(UsageError, match="needs the extra `excel`") as caught:
        find("t.xlsx", folder=tmp_path)
    assert "pip install 'discreet[excel]'" in caught.value.hint


def test_a_wide_file_of_any_kind(tmp_path):
    wide = {f"c{place}": 1 for place in range(MOST_COLUMNS + 1)}
    (tmp_path / "s.jsonl").write_text(json.dumps(wide))
    pyarrow.feather.write_feather(pa.table({name: [1] for name in wide}), str(tmp_path / "s.feather"))
    for source in ("s.jsonl", "s.feather"):
        with pytest.raises(UsageError, match=r"5,001 columns; at most 5,000"):
            find(source, folder=tmp_path)


def test_what_unpacks_to_too_much(engine, tmp_path, monkeypatch):
    """By its own size, whatever it says of itself; before it is read to its end."""
    monkeypatch.setattr(unpacking, "_UNQUESTIONED", 1 << 20)
    text = b"note\n" + (b"x" * 4095 + b"\n") * 512
    for ending, pack in (*PACKED.items(), (".zip", lambda content: zipped({"a.csv": content}))):
        (tmp_path / f"s{ending}").write_bytes(pack(text))
        with pytest.raises(UsageError, match="unpacks to more than 1,048,576 bytes"):
            made(engine, Written(source=f"s{ending}"), tmp_path, columns=NOTE)
    (tmp_path / "s.xlsx").write_bytes(zipped({"xl/workbook.xml": b"x", "xl/worksheets/sheet1.xml": b" " * (1 << 22)}))
    with pytest.raises(UsageError, match="unpacks to more than 1,084,000 bytes"):
        find("s.xlsx", folder=tmp_path)


def test_a_gzip_file_is_measured_only_where_it_could_be_too_large(tmp_path, monkeypatch):
    """And once as long as it is the same file. What DuckDB unpacks by itself is the only thing that is measured."""
    measured = []
    monkeypatch.setattr(unpacking, "open_unpacked", lambda file: measured.append(file.name) or io.BytesIO())
    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(b"note\n" + b"x" * 100_000))
    (tmp_path / "s.csv.bz2").write_bytes(bz2.compress(b"note\n" + b"x" * 100_000))
    for file in (tmp_path / "s.csv.gz", tmp_path / "s.csv.bz2"):
        unpacking.check_unpacked_size(file)
    assert not measured
    monkeypatch.setattr(unpacking, "_UNQUESTIONED", 1 << 12)
    for file in (tmp_path / "s.csv.gz", tmp_path / "s.csv.bz2", tmp_path / "s.csv.gz"):
        unpacking.check_unpacked_size(file)
    assert measured == ["s.csv.gz"]
    most = gzip.compress(bytes(10**7))
    assert len(most) * unpacking._MOST_GZIP_RATIO > 10**7


def test_a_long_text_is_a_text(engine, tmp_path):
    """In a column that is not declared, or in one that is: it keeps no row from being read."""
    (tmp_path / "s.csv").write_text("note,n\n" + "x" * 150_000 + ",1\nb,2\n")
    columns = (TextColumn(name="note"), NumberColumn(name="n", type="integer", low=0, high=5))
    rows, _ = made(engine, Written(source="s.csv"), tmp_path, columns=columns)
    assert [(len(row["note"]), row["n"]) for row in rows] == [(1000, 1), (1, 2)]


def test_a_text_without_end_is_named_as_such(engine, tmp_path):
    (tmp_path / "s.csv").write_text("note,n\n" + "x" * (MOST_ROW_BYTES + 9) + ",1\nb,2\n")
    with pytest.raises(UsageError, match=r"line 2 of s\.csv has more than 33,554,432 bytes"):
        made(engine, Written(source="s.csv"), tmp_path, columns=NOTE)


def test_a_view_that_sqlite_cannot_read_leaves_the_tables(engine, tmp_path):
    """A view of a later version, or with an error: whoever does not use it does not hear of it."""
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as file:
        file.executescript("create table t (note); insert into t values ('a'), ('b'); create view v as select 1")
        file.executescript("create table u (note); pragma writable_schema = on")
        file.execute("update sqlite_schema set sql = 'create view v as selec 1' where name = 'v'")
        file.commit()
    for table, rows in {"t": ["a", "b"], "u": []}.items():
        (tmp_path / table).mkdir()
        (tmp_path / table / "s.sqlite").write_bytes((tmp_path / "s.sqlite").read_bytes())
        written = Written(source="s.sqlite", layout=SourceLayout(sheet=table))
        assert [row["note"] for row in made(engine, written, tmp_path / table, columns=NOTE)[0]] == rows
    with pytest.raises(UsageError, match="cannot be read as SQLite: it is damaged, or a view in it fails"):
        find("s.sqlite", folder=tmp_path, layout=SourceLayout(sheet="v"))


def test_cells_that_lie_too_far_apart(tmp_path, monkeypatch):
    workbook(tmp_path / "s.xlsx", {(0, 0): "note", (1, 0): "x", (1_048_575, 16_383): SECRET})
    repeated = "<table:table-row>" + ods_cell("note") + "</table:table-row>"
    repeated += f'<table:table-row table:number-rows-repeated="1000000">{ods_cell(SECRET, 1000)}</table:table-row>'
    (tmp_path / "s.ods").write_bytes(ods(repeated))
    for source in ("s.xlsx", "s.ods"):
        with pytest.raises(UsageError, match="lie too far apart") as caught:
            find(source, folder=tmp_path)
        assert SECRET not in str(caught.value)
    (tmp_path / "t.ods").write_bytes(
        ods(
            f"<table:table-row>{ods_cell('note')}<table:table-cell table:number-columns-repeated='16383'/></table:table-row>"
            f"<table:table-row>{ods_cell('x')}</table:table-row><table:table-row table:number-rows-repeated='1048574'>"
            "<table:table-cell table:number-columns-repeated='16384'/></table:table-row>"
        )
    )
    assert made(MemoryEngine(), Written(source="t.ods"), tmp_path, columns=NOTE)[0] == [{"note": "x"}]


def test_each_cell_of_a_workbook_by_itself(engine, tmp_path):
    """Values of formulas, numbers as their digits, dates as ISO text, errors as NULL; nothing by its column."""
    from datetime import date, datetime, time

    book = xlsxwriter.Workbook(tmp_path / "s.xlsx")
    sheet = book.add_worksheet("S")
    sheet.write(0, 0, "a\nnote")
    day = book.add_format({"num_format": "yyyy-mm-dd"})
    moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
    hour = book.add_format({"num_format": "hh:mm"})
    cells = [12, 0.1, 1e20, "=x", True, None, "'0123"]
    for place, cell in enumerate(cells, start=1):
        sheet.write_string(place, 0, cell) if isinstance(cell, str) else sheet.write(place, 0, cell)
    sheet.write_formula(8, 0, "=1+1", value=2)
    sheet.write_formula(9, 0, "=1/0", value="#DIV/0!")
    sheet.write_datetime(10, 0, date(2024, 1, 31), day)
    sheet.write_datetime(11, 0, datetime(2024, 1, 31, 12, 30, 1), moment)
    sheet.write_datetime(12, 0, time(3, 4), hour)
    sheet.write_number(13, 0, -5, day)
    sheet.write_number(14, 0, 1e300, day)
    sheet.write(20, 0, "last")
    sheet.write(20, 9, "beyond the header")
    book.close()
    listed = [row[0] for row in engine.rows("s.xlsx", ["a note"], folder=tmp_path)]
    assert listed[:6] == ["12", "0.1", "1e+20", "=x", "true", "'0123"]
    assert listed[6:10] == ["2", "2024-01-31", "2024-01-31 12:30:01", "03:04:00"] and listed[-1] == "last"
    stored, _ = made(engine, Written(source="s.xlsx"), tmp_path, columns=(NumberColumn(name="a note", type="decimal"),))
    assert len(stored) == len(listed)


def test_which_sheet_or_table(tmp_path):
    book = xlsxwriter.Workbook(tmp_path / "s.xlsx")
    for name in ("one", "two"):
        book.add_worksheet(name).write(0, 0, name)
    book.add_chartsheet("chart")
    book.close()
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        connection.execute("CREATE TABLE one (one)")
        connection.execute("CREATE VIEW two AS SELECT one AS two FROM one")
    connection.close()
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE one (one INTEGER); CREATE SCHEMA more; CREATE VIEW more.two AS SELECT 1 AS two"
        )
    for source, what, second in (
        ("s.xlsx", "sheet", "two"),
        ("s.sqlite", "table", "two"),
        ("s.duckdb", "table", "more.two"),
    ):
        with pytest.raises(UsageError, match=f"{source} has 2 {what}s: 'one', '(more.)?two'"):
            find(source, folder=tmp_path)
        assert find(source, folder=tmp_path, layout=SourceLayout(sheet=second)).names == ("two",)
        with pytest.raises(UsageError, match=f"has no {what} 'three'"):
            find(source, folder=tmp_path, layout=SourceLayout(sheet="three"))


def test_a_view_reaches_no_other_file(tmp_path):
    (tmp_path / "other.csv").write_text(f"note\n{SECRET}\n")
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path}/other.csv')")
    with pytest.raises(UsageError, match="cannot be read as DuckDB"):
        find("s.duckdb", folder=tmp_path)


def test_values_of_sqlite_have_their_own_types(engine, tmp_path):
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        connection.execute("CREATE TABLE t (note INTEGER)")
        rows = [(1,), (2.5,), ("x",), (b"\xff",), (None,), (2**62,), (1e300,)]
        connection.executemany("INSERT INTO t VALUES (?)", rows)
        connection.execute("INSERT INTO t VALUES (CAST(x'61ff' AS TEXT))")
    connection.close()
    stored, told = made(engine, Written(source="s.sqlite"), tmp_path, columns=NOTE)
    assert [row["note"] for row in stored] == ["1", "2.5", "x", None, None, str(2**62), "1e+300", None]
    assert told.exact_nulled == {"note": 2}
    (tmp_path / "s.sqlite-wal").write_bytes(b"x")
    with pytest.raises(UsageError, match="being written to by another program"):
        find("s.sqlite", folder=tmp_path)


def test_values_of_json_lines(engine, tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    lines = [
        '{"note": "\\ud800x", "n": 1}',
        '{"note": {"a": 1}, "n": [2]}',
        '{"n": 12345678901234567890123}',
        '{"note": 1.50}',
    ]
    lines += [f'{{"note": {deep}, "n": 3}}', '{"note": "a", "note": "b", "n": NaN}', '{"note": true, "n": null}']
    (tmp_path / "s.jsonl").write_text("\ufeff" + "\r\n".join(lines), encoding="utf-8")
    columns = (*NOTE, NumberColumn(name="n", type="integer", low=0, high=9), TextColumn(name="never"))
    stored, told = made(engine, Written(source="s.jsonl"), tmp_path, columns=columns)
    assert [(row["note"], row["n"]) for row in stored] == [
        (None, 1), (None, None), (None, 9), ("1.50", None), (None, None), ("b", None), ("true", None),
    ]  # fmt: skip
    assert {row["never"] for row in stored} == {None}
    assert told.exact_nulled == {"note": 3, "n": 2, "never": 1}


def test_nested_columns_are_left_out_by_name(tmp_path):
    (tmp_path / "s.jsonl").write_text('{"a": 1, "b": {"c": 2}, "d": null}\n{"a": 1, "b": [1], "d": null}\n')
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a, [1] AS b, 2::HUGEINT AS d, 'x'::BLOB AS e")
    pyarrow.feather.write_feather(pa.table({"a": [1], "b": [[1]], "d": [2]}), str(tmp_path / "s.feather"))
    for source, left_out in (("s.jsonl", ("b",)), ("s.duckdb", ("b", "e")), ("s.feather", ("b",))):
        layed = find(source, folder=tmp_path)
        assert (layed.names, layed.left_out) == (("a", "d"), left_out)


def test_wide_numbers_of_duckdb(engine, tmp_path):
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT unnest([1, 170141183460469231731687303715884105727, -9])::HUGEINT AS n"
        )
    stored, told = made(engine, Written(source="s.duckdb"), tmp_path, columns=(NumberColumn(name="n", type="integer", low=0, high=9),))  # fmt: skip
    assert [row["n"] for row in stored] == [1, 9, 0] and told.exact_clamped == {"n": 2}


@pytest.mark.parametrize(
    ("encoding", "content", "says"),
    [
        ("utf-16", b"note\nx\n", "is not UTF-16 text"),
        ("cp1252", b"\xff\xfen\0", "begins with the mark of UTF-16"),
        ("cp1252", "né\nx\n".encode(), "the header of s.csv is UTF-8 text"),
        ("cp1252", b"n\x81\nx\n", "is not text in the declared encoding"),
        ("latin-1", b"\xef\xbb\xbfnote\nx\n", "begins with the mark of UTF-8"),
        ("utf-8", b"\xff\xfen\0", "begins with the mark of UTF-16, but encoding"),
    ],
)
def test_a_wrong_encoding_is_named(tmp_path, encoding, content, says):
    (tmp_path / "s.csv").write_bytes(content)
    with pytest.raises(UsageError, match=says) as caught:
        find("s.csv", folder=tmp_path, layout=SourceLayout(encoding=encoding))
    assert "encoding" in f"{caught.value} {caught.value.hint}"


def test_a_setting_that_a_kind_does_not_have(tmp_path):
    (tmp_path / "s.csv").write_text("a\n")
    workbook(tmp_path / "s.xlsx", {(0, 0): "note"})
    for source, setting in (
        ("s.csv", {"sheet": "x"}),
        ("s.xlsx", {"encoding": "utf-8"}),
        ("s.xlsx", {"delimiter": ";"}),
    ):
        with pytest.raises(SchemaError, match=f"has no `{next(iter(setting))}`"):
            find(source, folder=tmp_path, layout=SourceLayout(**setting))


@pytest.mark.parametrize("row", [b"1,2\r\n3\r\n", b'1,2\r\n"3,4\r\n'])
def test_lines_are_counted_from_the_top_of_the_file(engine, tmp_path, row):
    (tmp_path / "s.csv").write_bytes(b"Title\r\n\r\nnote,b\r\n" + row)
    with pytest.raises(DiscreetError) as caught:
        made(engine, Written(source="s.csv", layout=SourceLayout(skip_rows=2)), tmp_path, columns=NOTE)
    assert "line 5 of s.csv" in str(caught.value)


def test_planted_bugs_are_caught(tmp_path, monkeypatch):
    """Without the check of sizes, of cells or of nesting, these tests would not see a refusal, or see another one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workbook_reader, "MOST_CELLS", 1 << 60)
        workbook(tmp_path / "s.xlsx", {(0, 0): "note", (99_999, 16_000): "x"})
        workbook_reader._check(tmp_path / "s.xlsx")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "RecursionError", ValueError, raising=False)
        with pytest.raises((AssertionError, UsageError, RecursionError)):
            test_values_of_json_lines(MemoryEngine(), tmp_path)
