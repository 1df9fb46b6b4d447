"""The file that -o names: its format, old spellings beside it, and what is refused before a charge."""

import csv
import json

import pyarrow.csv
import pyarrow.parquet
import pytest

import discreet
from clinic import make, rows_of_ledger, run
from discreet.cli.row_file import RowFile, file_format
from discreet.errors import UsageError

BY_DISEASE = "select disease, count(*) from patients group by disease"
VERBS = {
    "query": ("query", BY_DISEASE, "--epsilon", "1"),
    "histogram": ("histogram", "patients", "disease", "--epsilon", "1"),
    "ranges": ("ranges", "patients", "age", "--epsilon", "1", "--strategy", "identity", "--between", "3..7"),
    "reconcile": ("reconcile", "patients"),
}


@pytest.fixture
def clinic(tmp_path):
    make(tmp_path, budget="{ epsilon = 100, delta = 1e-6 }")
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_both_formats_hold_the_same(capsys, clinic, verb):
    if verb == "reconcile":
        assert run(capsys, clinic, *VERBS["query"])[0] == 0
    for words in (("-o", "a.csv"), ("--output", "a.parquet"), ("-o", "a.txt", "--format", "parquet"), ("--csv", "b")):
        flag, name, *more = words
        assert run(capsys, clinic, *VERBS[verb], flag, str(clinic / name), *more)[0] == 0
    assert (clinic / "b").read_bytes() == (clinic / "a.csv").read_bytes()
    whole = pyarrow.parquet.read_table(clinic / "a.parquet")
    assert whole == pyarrow.parquet.read_table(clinic / "a.txt") and whole.num_rows >= 1
    with (clinic / "a.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == whole.column_names and len(rows) == whole.num_rows
    for row, values in zip(rows, whole.to_pylist(), strict=True):
        for text, value in zip(row, values.values(), strict=True):
            assert text == ("" if value is None else str(value)) or float(text) == pytest.approx(value)


def test_two_old_spellings_at_once(capsys, clinic):
    words = ("--csv", str(clinic / "a"), "--parquet", str(clinic / "b"), "-o", str(clinic / "c.csv"))
    assert run(capsys, clinic, *VERBS["query"], *words)[0] == 0
    assert (clinic / "a").read_bytes() == (clinic / "c.csv").read_bytes()
    assert pyarrow.parquet.read_table(clinic / "b").num_rows == pyarrow.csv.read_csv(clinic / "a").num_rows


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_folder_of_marginals(capsys, clinic, format_):
    words = ("marginals", "patients", "disease", "sex", "--epsilon", "1", "-o", str(clinic / "out"))
    assert run(capsys, clinic, *words, "--format", format_)[0] == 0
    files = sorted((clinic / "out").iterdir())
    assert len(files) == 3 and {file.suffix for file in files} == {f".{format_}"}
    read = pyarrow.csv.read_csv if format_ == "csv" else pyarrow.parquet.read_table
    assert {"disease", "sex", "value"} <= set(read(files[-1]).column_names)


@pytest.mark.parametrize("verb", ["query", "histogram", "ranges"])
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("-o", "a.txt"), "'a.txt' is neither .csv nor .parquet"),
        (("-o", "a.csv", "--format", "xml"), "there is no format 'xml'"),
        (("--format", "csv"), "--format needs a file to write"),
        (("-o", "patients.csv"), "would be overwritten"),
        (("--csv", "discreet.toml"), "would be overwritten"),
    ],
)
def test_what_is_refused_costs_nothing(capsys, clinic, monkeypatch, verb, words, reason):
    monkeypatch.chdir(clinic)
    before = rows_of_ledger(clinic)
    code, data, _ = run(capsys, clinic, *VERBS[verb], *words)
    assert code == 2 and reason in data["reason"]
    assert rows_of_ledger(clinic) == before and "[tables.patients]" in (clinic / "discreet.toml").read_text()


def test_a_format_by_name_or_by_suffix(tmp_path):
    assert file_format(tmp_path / "a.CSV", None) == "csv"
    assert file_format(tmp_path / "a.Parquet", None) == "parquet"
    assert file_format(tmp_path / "a.out", "parquet") == "parquet"
    with pytest.raises(UsageError, match=r"'a.csv' is named .csv, but the format is parquet"):
        file_format(tmp_path / "a.csv", "parquet")
    with pytest.raises(UsageError, match="neither"):
        file_format(tmp_path / "csv", None)


def test_values_of_several_kinds_are_written_as_text(tmp_path):
    """What was charged is never lost to a column that a format cannot type."""
    file = RowFile(path=tmp_path / "a.parquet", format="parquet")
    file.write_rows(["a", "b", "c"], [[1, "x", 2**70], [2.5, 3, 1], [None, None, None]])
    table = pyarrow.parquet.read_table(file.path)
    assert table.column("a").to_pylist() == [1.0, 2.5, None]
    assert table.column("b").to_pylist() == ["x", "3", None]
    file.write_rows(["a", "b"], [])
    assert pyarrow.parquet.read_table(file.path).num_rows == 0


@pytest.mark.parametrize("words", [(), ("rows.jsonl", "-o", "other.jsonl")])
def test_an_export_needs_one_file(capsys, clinic, monkeypatch, words):
    monkeypatch.chdir(clinic)
    assert run(capsys, clinic, "ledger", "export", *words)[0] == 2
    assert not list(clinic.glob("*.jsonl"))


def test_an_export_by_either_spelling(capsys, clinic):
    assert run(capsys, clinic, *VERBS["query"])[0] == 0
    assert run(capsys, clinic, "ledger", "export", str(clinic / "a.jsonl"))[0] == 0
    assert run(capsys, clinic, "ledger", "export", "-o", str(clinic / "b.jsonl"))[0] == 0
    assert (clinic / "a.jsonl").read_text() == (clinic / "b.jsonl").read_text() != ""
    assert json.loads((clinic / "a.jsonl").read_text().splitlines()[0])["seq"] is not None
    assert discreet.open(clinic).verify().sound
