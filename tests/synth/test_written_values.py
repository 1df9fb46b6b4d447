"""Sampled files have values as the source writes them, and are read back by the same declaration."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.engines.source_values import cell_code
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.schema.value_format import NumberFormat, read_moment_format
from discreet.synth import cell_decoder, column_data, written_values
from discreet.synth.sample_files import append_csv

FORMATS = [
    "m/d/yy",
    "mm/dd/yy",
    "d. mmmm yyyy",
    "dd-mmm-yyyy",
    "yyyymmdd",
    "h:mm tt d/m/yyyy",
    "dd.mm.yyyy hh:mm:ss.ffffff",
]
NUMBERS = [
    NumberFormat(decimal=",", thousands="."), NumberFormat(decimal=","), NumberFormat(thousands=" "),
    NumberFormat(decimal=",", thousands="'", symbols=("€",)), NumberFormat(symbols=("%",)),
]  # fmt: skip


def written(column, codes):
    """The texts of codes in a CSV file."""
    stream = io.BytesIO()
    rows = cell_decoder.arrow_table([column], {column.name: np.array(codes, dtype=np.int64)}, rows=len(codes))
    append_csv(rows, stream, [column], with_header=True)
    return [row[0] if row else "" for row in csv.reader(stream.getvalue().decode().splitlines())][1:]


@given(days=st.lists(st.integers(-15_000, 20_000), min_size=1, max_size=5), text=st.sampled_from(FORMATS))
def test_days_are_read_back(days, text):
    form = read_moment_format({"format": text}, last_year=2026, where="")
    column = MomentColumn(name="x", type="date", format=form)
    assert [cell_code(column, each) for each in written(column, days)] == days


@given(moment=st.datetimes(datetime(1930, 1, 1), datetime(2026, 1, 1)), text=st.sampled_from(FORMATS[-2:]))
def test_moments_are_read_back(moment, text):
    column = MomentColumn(
        name="x", type="timestamp", format=read_moment_format({"format": text}, last_year=2026, where="")
    )
    grain = 1 if "f" in text else 60_000_000
    code = (moment - datetime(1970, 1, 1)) // (datetime.resolution * grain) * grain
    assert [cell_code(column, each) for each in written(column, [code])] == [code]


@pytest.mark.parametrize("step", ["1", "1/100", "1/4", "5", "1/1000"])
@pytest.mark.parametrize("form", NUMBERS, ids=str)
def test_numbers_are_read_back(step, form):
    column = NumberColumn(name="x", type="decimal", step=Fraction(step), format=form)
    codes = [0, 1, -1, 7, 999, 123_456, -9_876_543_210]
    assert [cell_code(column, each) for each in written(column, codes)] == codes


def test_what_the_source_has():
    form = read_moment_format({"format": "m/d/yy"}, last_year=2026, where="")
    born = MomentColumn(name="x", type="date", format=form)
    assert written(born, [-8294, cell_decoder.NULL]) == ["4/18/47", ""]
    fee = NumberColumn(name="x", type="decimal", step=Fraction(1, 100), format=NUMBERS[0])
    assert written(fee, [123_450, -5, cell_decoder.NULL]) == ["1.234,50", "-0,05", ""]


@pytest.mark.parametrize("planted", ["padded", "point"])
def test_a_format_that_is_passed_over_is_caught(planted, monkeypatch):
    if planted == "padded":
        monkeypatch.setattr(written_values, "touches_digits", lambda parts, place: True)
    else:
        monkeypatch.setattr(written_values, "written_rows", lambda rows, columns: rows)
        monkeypatch.setattr("discreet.synth.sample_files.written_rows", lambda rows, columns: rows)
    with pytest.raises(AssertionError):
        test_what_the_source_has()


def test_a_saved_model_writes_the_same(tmp_path):
    """From the file of a table to the file of a sample: the same declaration reads both."""
    lines = [f'{1 + n % 12}/{1 + n % 28}/{30 + n % 60},"{1 + n % 8}.00{n % 7},50"' for n in range(900)]
    (tmp_path / "p.csv").write_text("dob,fee\n" + "\n".join(lines) + "\n", encoding="utf-8")
    project = discreet.init(tmp_path, epsilon=100)
    table = project.add(tmp_path / "p.csv")
    project.synthesize("p", epsilon=20, model="independent").save(tmp_path / "m.json")
    model = discreet.load(tmp_path / "m.json")
    born, fee = table.schema.column("dob"), table.schema.column("fee")
    from discreet.synth.sample_files import write_rows

    write_rows(model, tmp_path / "s.csv", n=200, given={}, seed=1)
    with (tmp_path / "s.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert all(cell_code(born, row["dob"]) is not None and cell_code(fee, row["fee"]) is not None for row in rows)
    assert any(row["dob"].startswith(("1/", "2/", "3/")) for row in rows) and not any(
        "/0" in row["dob"][:-3] for row in rows
    )
    assert all("," in row["fee"] for row in rows)
    assert {str(each)[:2] for each in model.sample(100, seed=1)["dob"].to_pylist()} == {"19"}
    assert model.sample(3, given={"dob": "4/18/47"}, seed=2)["dob"].to_pylist()[0].year == 1947


def test_columns_keep_their_formats_in_a_file():
    form = read_moment_format({"format": "m/d/yy"}, last_year=1999, where="")
    for column in (
        MomentColumn(name="x", type="date", format=form),
        *(NumberColumn(name="x", type="decimal", format=each) for each in NUMBERS),
    ):
        assert column_data.column_of(column_data.column_data(column)) == column
