"""What is copied is what would be made, and whatever a test replaces is made anew."""

import pytest

from clinic import ROWS, make
from discreet.engines import declared_table_sql, duckdb_declared_table


def table(folder, **more):
    """The file of the clinic's declared table, and what was said when it was made."""
    folder.mkdir()
    project = make(folder, **more)
    _, outcome = project.refresh("patients")
    (file,) = (folder / ".discreet").rglob("*.parquet")
    return file.read_bytes(), outcome, file.stat().st_mode & 0o777


@pytest.fixture
def first(tmp_path):
    return table(tmp_path / "first")


def test_a_copy_is_what_would_be_made(tmp_path, first, monkeypatch):
    assert duckdb_declared_table.declare.__module__ == "made_tables"
    assert table(tmp_path / "second") == first
    monkeypatch.setattr("made_tables._made", {})
    assert table(tmp_path / "third") == first


def test_other_rows_and_other_declarations_are_made(tmp_path, first):
    assert table(tmp_path / "fewer", rows=ROWS[1:])[1].exact_rows == first[1].exact_rows - 1
    narrower = '\n[tables.patients.columns.age]\ntype = "integer"\nlow = 0\nhigh = 9\n'
    assert table(tmp_path / "narrower", columns=narrower)[1].exact_clamped == {"age": 900}


def test_a_planted_bug_does_not_hide(tmp_path, first, monkeypatch):
    monkeypatch.setattr(declared_table_sql, "_filled", lambda column, place: "0")
    assert table(tmp_path / "second")[0] != first[0]
