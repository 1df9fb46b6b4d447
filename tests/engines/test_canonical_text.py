"""The text of a cell in its one form: against Python's own parsers, against DuckDB at length, and with planted bugs."""

from dataclasses import replace
from datetime import datetime
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines import canonical_sql, canonical_text, cell_patterns
from discreet.engines.duckdb_conversion import raw_sql
from discreet.engines.source_values import cell_code
from discreet.engines.table_file import code_bounds
from discreet.schema.column import BooleanColumn, MomentColumn, NumberColumn
from discreet.schema.value_format import MOST_CHARACTERS, MomentFormat, NumberFormat
from engines.tables import (
    _BLANK_MOMENTS,
    _BLANK_NUMBERS,
    _LOCAL_MOMENTS,
    _LOCAL_NUMBERS,
    BOOLEAN_FORMATS,
    MOMENT_FORMATS,
    NUMBER_FORMATS,
    cells_of_text,
)
from tiers import examples, size

CENTS = NumberColumn(name="x", type="decimal", step=Fraction("0.01"))
STAMP = MomentColumn(name="x", type="timestamp")
MICROS = datetime(1970, 1, 1)

#: Formats whose every word Python's own strptime reads in the same way.
PYTHONS = ["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d %H:%M", "%d-%b-%Y", "%d. %B %Y", "%m/%d/%Y %I:%M:%S %p",
           "%d.%m.%Y %H:%M:%S.%f", "%d%m%Y", "%Y"]  # fmt: skip


@settings(max_examples=examples(400), deadline=None)
@given(moment=st.datetimes(min_value=datetime(1000, 1, 1)), form=st.sampled_from(PYTHONS))
def test_moments_are_what_python_reads(moment, form):
    text = moment.strftime(form)
    wanted = (datetime.strptime(text, form) - MICROS).total_seconds()
    code = cell_code(replace(STAMP, format=MomentFormat(words=form)), text)
    assert code == round(wanted * 1_000_000) or abs(code - wanted * 1_000_000) < 64  # doubles


@given(days=st.dates(), last_year=st.integers(1000, 9999))
def test_years_of_two_digits(days, last_year):
    code = cell_code(replace(STAMP, format=MomentFormat(words="%y", last_year=last_year)), f"{days.year % 100:02d}")
    year = (MICROS.year + code // 31_556_952_000_000) if code else 1970
    found = int(canonical_text.full_year(f"{days.year % 100:02d}", last_year))
    assert abs(found - year) <= 1
    assert found % 100 == days.year % 100 and last_year - 100 < found <= last_year


@settings(max_examples=examples(400), deadline=None)
@given(
    number=st.decimals(-(10**12), 10**12, places=2),
    marks=st.sampled_from([("." , ","), (",", "."), (",", " "), (".", "'"), (",", ""), (".", "_")]),
    symbol=st.sampled_from(["", "€", "%", "kg"]),
    before=st.booleans(),
)  # fmt: skip
def test_numbers_are_what_was_written(number, marks, symbol, before):
    decimal, thousands = marks
    text = f"{number:,.2f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)
    text = f"{symbol} {text}" if before else f"{text} {symbol}"
    column = replace(CENTS, format=NumberFormat(decimal=decimal, thousands=thousands, symbols=("€", "%", "kg")))
    assert cell_code(column, text) == int(number * 100)


def formatted_columns():
    return st.one_of(
        st.builds(lambda form: replace(CENTS, format=form), st.sampled_from(NUMBER_FORMATS)),
        st.builds(lambda form: replace(STAMP, format=form), st.sampled_from(MOMENT_FORMATS)),
        st.builds(lambda form: BooleanColumn(name="x", format=form), st.sampled_from(BOOLEAN_FORMATS)),
    )


@st.composite
def formatted_cells(draw):
    column = draw(formatted_columns())
    return column, draw(st.lists(cells_of_text(column), min_size=1, max_size=20))


@pytest.fixture(scope="module")
def connection():
    return duckdb.connect()


def duckdb_codes(connection, column, cells):
    sql = f"SELECT {raw_sql(column, 'v', 'text')} FROM (SELECT unnest($1::VARCHAR[]) AS v)"
    return [_clamped(column, code) for (code,) in connection.execute(sql, [cells]).fetchall()]


def _clamped(column, code):
    bounds = code_bounds(column)
    return code if code is None or bounds is None else min(max(int(code), bounds[0]), bounds[1])


def memory_codes(column, cells):
    return [_clamped(column, cell_code(column, cell)) for cell in cells]


@settings(max_examples=size(40, 400), deadline=None)
@given(drawn=formatted_cells())
def test_duckdb_reads_the_same_and_never_fails(connection, drawn):
    column, cells = drawn
    assert duckdb_codes(connection, column, cells) == memory_codes(column, cells)


def test_one_cell_says_nothing_of_another(connection):
    """The neighbour law: a cell has the same code alone as among all others."""
    column = replace(CENTS, format=NUMBER_FORMATS[1])
    cells = [*_LOCAL_NUMBERS, *_BLANK_NUMBERS]
    together = duckdb_codes(connection, column, cells)
    assert together == [code for cell in cells for code in duckdb_codes(connection, column, [cell])]


def test_a_long_cell_fits_no_format(connection):
    for column, cell in [(replace(CENTS, format=NUMBER_FORMATS[3]), "1" * MOST_CHARACTERS)]:
        assert memory_codes(column, [cell, cell + "1"])[1] is None
        assert duckdb_codes(connection, column, [cell, cell + "1"]) == memory_codes(column, [cell, cell + "1"])


# Planted bugs: each must be seen.


def caught(check):
    with pytest.raises(AssertionError):
        check()


def compare(connection):
    for column, cells in [
        *((replace(STAMP, format=form), [*_LOCAL_MOMENTS, *_BLANK_MOMENTS]) for form in MOMENT_FORMATS),
        *((replace(CENTS, format=form), [*_LOCAL_NUMBERS, *_BLANK_NUMBERS]) for form in NUMBER_FORMATS),
    ]:
        assert duckdb_codes(connection, column, cells) == memory_codes(column, cells)


def test_the_comparison_passes(connection):
    compare(connection)


def test_day_and_month_swapped_in_one_engine_is_caught(connection, monkeypatch):
    right = canonical_sql.moment_pattern

    def swapped(moment_format):
        pattern = right(moment_format)
        groups = dict(pattern.groups)
        if "d" in groups and "m" in groups:
            groups["d"], groups["m"] = groups["m"], groups["d"]
        return replace(pattern, groups=groups)

    monkeypatch.setattr(canonical_sql, "moment_pattern", swapped)
    caught(lambda: compare(connection))


def test_an_unanchored_group_is_caught(connection, monkeypatch):
    from discreet.engines import duckdb_conversion as conversion

    def loose(text, pattern, place):
        return f"regexp_extract({text}, {conversion.text_literal(pattern)}, {place})"

    monkeypatch.setattr(conversion, "_TEXT_FORMS", replace(conversion._TEXT_FORMS, group=loose))
    caught(lambda: compare(connection))


def test_a_century_too_late_is_caught(connection, monkeypatch):
    right = canonical_sql._full_year
    monkeypatch.setattr(canonical_sql, "_full_year", lambda digits, last_year: right(digits, last_year + 1))
    caught(lambda: compare(connection))


def test_groups_that_are_not_of_three_digits_are_caught(monkeypatch):
    """In all engines at once: the example says what is right."""
    from engines.conformance import test_formats

    right = cell_patterns.number_pattern

    def loose(number_format):
        pattern = right(number_format)
        return replace(pattern, pattern=pattern.pattern.replace("[0-9]{3})+", "[0-9]+)+"))

    monkeypatch.setattr(canonical_text, "number_pattern", loose)

    def check():
        for declared, kept, nulled in test_formats.EXAMPLES:
            column = test_formats.column(**declared)
            if isinstance(column, NumberColumn):
                wanted = {**kept, **dict.fromkeys(nulled)}
                assert {text: cell_code(column, text) for text in wanted if text != "NA"} == {
                    text: code for text, code in wanted.items() if text != "NA"
                }

    caught(check)
    monkeypatch.undo()
    check()
