"""Every kind of file is read like a CSV of the same rows: row by row, by every engine that reads files."""

import shutil
import stat
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines import json_lines, readable_copies, text_lines, workbook_reader
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.file_source import FileSource
from discreet.engines.memory import MemoryEngine
from discreet.engines.postgres.postgres_engine import PostgresEngine
from discreet.engines.table_file import persons_file
from discreet.errors import SchemaError, UsageError
from discreet.schema.column import CategoryColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from discreet.schema.source_layout import SourceLayout
from engines.source_files import WRITERS, Written, csv_text
from tiers import size

NAMES = ["id", "age", "sex", "a note"]
COLUMNS = (
    NumberColumn(name="age", type="integer", low=0, high=120),
    CategoryColumn(name="sex", values=("F", "é")),
    TextColumn(name="a note"),
)
ROWS = [
    ["a", "1", "F", "x"],
    ["b", "200", "é", 'say "no", or; ~so\nand more'],
    [None, None, None, "no person"],
    ["a", "x", "M", " blanks "],
    ["c", "1.0", "F", None],
    ["c", "2e1", "F", "\u20ac 5"],
]
KEYS = {"key": b"k" * 32, "tag_key": b"t" * 32}
WITH_PERSONS = ("title", "json", "arrow", "reordered")
ROW, PERSON = PrivacyUnit(), PrivacyUnit(person=("id",), rows=1)

#: Cells that break readers: quotes, ends of lines, formulas, what looks like other types, letters beyond two bytes.
CELLS = st.one_of(
    st.none(),
    st.sampled_from(
        [
            "1",
            "-0",
            "1e400",
            "NaN",
            "true",
            "=1+1",
            "#N/A",
            "'x",
            '"',
            '""',
            "a\r\nb",
            "\n",
            ";",
            "~,\t|",
            "{}",
            "[1]",
            "null",
            "\u2028",
            "\U0001f600",
            "é",
            "e\u0301",
            "\ufeff",
            "2024-01-31",
            "x" * 2000,
            "_x000D_",
            "\x0b",
            "0x10",
        ]
    ),
    st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=6),
)


@pytest.fixture(scope="module", params=["memory", "duckdb"])
def engine(request, quick_files):
    engine = MemoryEngine() if request.param == "memory" else DuckDBEngine(threads=1)
    yield engine
    if isinstance(engine, DuckDBEngine):
        engine.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def made(engine, written, folder, *, unit=ROW, columns=COLUMNS):
    """The stored rows, and what the owner is told."""
    schema = Schema(table="people", columns=columns, unit=unit)
    table = Table(schema=schema, source=written.source, population="people", budget=None, layout=written.layout)
    target = folder / "made" / "t.parquet"
    for file in (target, persons_file(target)):
        file.unlink(missing_ok=True)
    keys = {} if unit.is_row else KEYS
    outcome = engine.declare(table, folder=folder, target=target, **keys)
    assert [each.name for each in target.parent.iterdir() if each.name.startswith(".")] == []  # no copy is left
    return pq.read_table(target).to_pylist(), outcome


def plain(folder, rows):
    (folder / "plain.csv").write_text(csv_text(NAMES, rows), encoding="utf-8", newline="")
    return Written(source="plain.csv")


@pytest.mark.parametrize("kind", WRITERS)
def test_the_same_rows_as_a_plain_csv(engine, folder, kind):
    written = WRITERS[kind](folder, NAMES, ROWS)
    for unit in (ROW, PERSON) if kind in WITH_PERSONS else (ROW,):
        expected, outcome = made(engine, plain(folder, ROWS), folder, unit=unit)
        stored, told = made(engine, written, folder, unit=unit)
        assert sorted(map(str, stored)) == sorted(map(str, expected))
        assert told == outcome
    layout = written.layout
    columns = engine.columns(written.source, folder=folder, layout=layout)
    assert {name: columns[name] for name in NAMES} == engine.columns("plain.csv", folder=folder)
    listed = engine.rows(written.source, ["a note", "age"], folder=folder, layout=layout)
    assert list(listed) == [(row[3], row[1]) for row in ROWS]


@pytest.mark.parametrize("kind", ["cp1252", "latin-1"])
def test_encodings_of_one_byte(engine, folder, kind):
    letters = "é\xa0ß" + ("€" if kind == "cp1252" else "\x80")
    rows = [["a", "1", "é", letters]]
    (folder / "s.csv").write_bytes(csv_text(NAMES, rows).encode(kind))
    written = Written(source="s.csv", layout=SourceLayout(encoding=kind))
    assert made(engine, written, folder)[0] == [{"age": 1, "sex": 1, "a note": letters}]


@pytest.mark.thin(9)
@pytest.mark.parametrize("kind", [kind for kind in WRITERS if "," not in kind])
@given(data=st.data())
@settings(
    max_examples=size(2, 12), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)
def test_no_cell_keeps_the_others_from_being_read(engine, folder, kind, data):
    """Totality, and the law of neighbours: without a row the other rows are stored as they were."""
    if not isinstance(engine, DuckDBEngine) and kind in ("bz2", "xz", "zst", "zip"):
        return  # the same bytes as a plain CSV
    rows = [["p", *row] for row in data.draw(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=2, max_size=5))]
    if kind == "excel":  # its writer spells carriage returns and other controls its own way
        rows = [
            [cell and "".join(each for each in cell if each >= " " or each == "\n") for cell in row] for row in rows
        ]
    columns = tuple(TextColumn(name=name) for name in NAMES[:3]) + COLUMNS[2:]
    whole, _ = made(engine, WRITERS[kind](folder, NAMES, rows), folder, columns=columns)
    expected, _ = made(engine, plain(folder, rows), folder, columns=columns)
    assert whole == expected
    gone = data.draw(st.integers(0, len(rows) - 1))
    less, _ = made(engine, WRITERS[kind](folder, NAMES, rows[:gone] + rows[gone + 1 :]), folder, columns=columns)
    assert less == whole[:gone] + whole[gone + 1 :]


def test_copies_are_for_their_owner_and_of_one_snapshot(folder, quick_files, monkeypatch):
    engine = DuckDBEngine(threads=1)
    written = WRITERS["json"](folder, NAMES, ROWS)
    copy_rows, modes = readable_copies._copy_rows, []

    def copied(source, copy):
        copy_rows(source, copy)
        modes.append(stat.S_IMODE(copy.parent.stat().st_mode))

    def changed(source, copy):
        copied(source, copy)
        with (folder / "s.jsonl").open("a") as stream:
            stream.write('{"id": "z"}\n')

    monkeypatch.setattr(readable_copies, "_copy_rows", copied)
    made(engine, written, folder)
    monkeypatch.setattr(readable_copies, "_copy_rows", changed)
    with pytest.raises(UsageError, match=r"s\.jsonl changed while it was read"):
        made(engine, written, folder)
    assert modes == [0o700, 0o700] and [each.name for each in (folder / "made").iterdir()] == []
    engine.close()


def test_postgresql_refuses_settings_of_files_by_name():
    layout = SourceLayout(skip_rows=1)
    for ask in (
        PostgresEngine.header,
        PostgresEngine.columns,
        lambda *words, **more: list(PostgresEngine.rows(*words, ["a"], **more)),
    ):
        with pytest.raises(SchemaError, match="has the setting `skip_rows`, which PostgreSQL does not have"):
            ask(object.__new__(PostgresEngine), "people", folder=Path(), layout=layout)


#: Bugs that were planted: how, and in which kind of file they are seen.
PLANTED = {
    "the title is part of the table": (text_lines, "skip_line", lambda text: "", "title"),
    "the copy loses its last rows": (readable_copies, "islice", lambda rows, n: list(rows)[:-1], "json"),
    "a missing key is a text": (json_lines, "_text", lambda value: value or "x", "json"),
    "columns by their places": (FileSource, "places_in", lambda source, part: range(len(source.names)), "reordered"),
    "always the small half first": (text_lines, "codec_of", lambda file, layout: "utf-16-le", "utf-16 big"),
    "cells are cut": (workbook_reader, "_text", lambda cell: str(cell)[:3] or None, "excel"),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_caught(folder, quick_files, monkeypatch, bug):
    module, name, wrong, kind = PLANTED[bug]
    engine = DuckDBEngine(threads=1)
    written = WRITERS[kind](folder, NAMES, ROWS)
    expected, _ = made(engine, plain(folder, ROWS), folder)
    monkeypatch.setattr(module, name, wrong)
    workbook_reader._top_rows.cache_clear()
    try:
        stored = made(engine, written, folder)[0]
    except Exception as problem:
        stored = problem
    assert stored != expected
    engine.close()
    shutil.rmtree(folder / "made", ignore_errors=True)


def test_networks_and_ways_to_persons(engine, tmp_path):
    """What names persons may lie in any kind of file: the ends of edges, and keys of a table on the way."""
    ends = PrivacyUnit(ends=("from", "to"), rows=3)
    edges = [["a", "b"], ["b", "c"], ["c", None], ["a", "a"]]
    written = WRITERS["json"](tmp_path, ["from", "to"], edges)
    _, outcome = made(engine, written, tmp_path, unit=ends, columns=())
    assert (outcome.exact_rows, outcome.exact_persons, outcome.exact_without_person) == (2, 3, 1)
    orders = WRITERS["excel"](tmp_path, ["order", "id"], [["1", "a"], ["2", "b"]])
    lines = WRITERS["sqlite"](tmp_path, ["order", "age"], [["1", "10"], ["2", "20"], ["9", "30"]])
    tables = [
        Table(
            schema=Schema(table=name, columns=columns, unit=unit), source=file.source, layout=file.layout,
            population="people", budget=None,
        )
        for name, columns, unit, file in (
            ("lines", COLUMNS[:1], PrivacyUnit(through="orders", on=("order",), rows=2), lines),
            ("orders", (TextColumn(name="order"),), PrivacyUnit(person=("id",), rows=2), orders),
        )
    ]  # fmt: skip
    target = tmp_path / "made" / "lines.parquet"
    outcome = engine.declare(tables[0], folder=tmp_path, target=target, path=(tables[1],), **KEYS)
    assert sorted(row["age"] for row in pq.read_table(target).to_pylist()) == [10, 20]
    assert outcome.exact_without_person == 1
