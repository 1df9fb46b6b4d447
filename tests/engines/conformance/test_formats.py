"""Formats of values, by example and at length, on every engine: what fits, what does not, and that four agree.

All examples of one kind are the columns of one table, since making one is what takes long. (Generated tables have
formats, too: `engines.tables.columns` draws them, so the laws of neighbours and of agreement are checked with them.)
"""

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.engines.missing_values import MISSING
from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.project_file import read_table
from discreet.schema.schema import Schema
from engines.conformance.agreeing import Declaration, agree
from engines.conformance.test_values import side_by_side, stored
from engines.persons_tables import File
from engines.tables import (
    _BLANK_MOMENTS,
    _BLANK_NUMBERS,
    _LOCAL_FLAGS,
    _LOCAL_MOMENTS,
    _LOCAL_NUMBERS,
    _MOMENTS,
    _NUMBERS,
    BOOLEAN_FORMATS,
    MOMENT_FORMATS,
    NULLS,
    NUMBER_FORMATS,
)

EPOCH = date(1970, 1, 1)


def day(year, month, number):
    return (date(year, month, number) - EPOCH).days


def micros(*moment):
    return int((datetime(*moment) - datetime(1970, 1, 1)).total_seconds() * 1_000_000)


def column(**settings):
    """A column as discreet.toml declares it."""
    return read_table("t", {"source": "s.csv", "columns": {"x": settings}}).schema.columns[0]


CENTS = {"type": "decimal", "low": -100000, "high": 10_000_000, "step": Fraction("0.01")}
WHOLE = {"type": "integer", "low": -1000, "high": 1_000_000_000}

#: Settings, texts that fit and their codes, and texts that do not.
EXAMPLES = [
    ({**CENTS, "decimal": ","}, {"1,5": 150, "-,5": -50, "12": 1200, " 7, ": 700, "1,5e1": 1500}, ["1.5", "1.234,5", "1 234"]),
    (
        {**CENTS, "decimal": ",", "thousands": "."},
        {"1.234,5": 123450, "1.234.567": 123456700, "1234,5": 123450, "0,5": 50, "NA": None},
        ["1.23", "1.2345", "1234.567", "0.123", ".123", "1,234.5", "1..234"],
    ),
    (
        {**CENTS, "thousands": ","},
        {"1,234.50": 123450, "12,345": 1234500, "999": 99900},
        ["1,23", "1,2345", "12,34,567", "0,123", "1,234,", ",123", "1234,567"],
    ),
    (
        {**CENTS, "thousands": " ", "decimal": ","},
        {"1 234,5": 123450, "1\u00a0234": 123400, "1\u202f234\u00a0567": 123456700, "\u00a05": 500},
        ["1  234", "12 34", "1\u2003234"],
    ),
    ({**WHOLE, "thousands": "'"}, {"1'234": 1234, "1234": 1234, "1'234.0": 1234}, ["1'23", "1’234", "1'234.5"]),
    ({**WHOLE, "thousands": "_"}, {"1_000": 1000}, ["1_00", "_100"]),
    (
        {**CENTS, "symbols": ["€", "$", "%", "kg"]},
        {"5 €": 500, "€5": 500, "-€5": -500, "€ -5": -500, "12%": 1200, "3.5kg": 350, "3.5 kg": 350, "$\u00a05": 500, "5": 500},
        ["5 €€", "€5€", "€ 5 %", "5 EUR", "-€-5", "kg", "5 lb", "- 5"],
    ),
    ({"type": "date", "format": "%d.%m.%Y"}, {"31.01.2026": day(2026, 1, 31), "1.2.2026": day(2026, 2, 1)}, ["2026-01-31", "30.02.2026", "1.13.2026", "1.2.26", "0.1.2026"]),
    ({"type": "date", "format": "dd/mm/yyyy"}, {"31/01/2026": day(2026, 1, 31), " 4/5/2026 ": day(2026, 5, 4)}, ["01/31/2026", "31.01.2026"]),
    ({"type": "date", "format": "m/d/yy", "high": "2010-12-31"}, {"4/18/47": day(1947, 4, 18), "1/2/10": day(2010, 1, 2), "1/2/11": day(1911, 1, 2)}, ["4/18/1947", "18/4/47"]),
    ({"type": "date", "format": "m/d/yy"}, {"4/18/47": day(2047, 4, 18), "1/2/68": day(2068, 1, 2), "1/2/69": day(1969, 1, 2)}, []),
    ({"type": "date", "format": "d-MMM-yyyy"}, {"5-Jan-2020": day(2020, 1, 5), "05-MARCH-2020": day(2020, 3, 5), "5-may-2020": day(2020, 5, 5)}, ["5-Mrz-2020", "5-1-2020", "31-Feb-2020", "5-Sept-2020"]),
    ({"type": "date", "format": "%Y%m%d"}, {"20200105": day(2020, 1, 5)}, ["2020105", "2020-01-05"]),
    ({"type": "date", "format": "%m/%Y"}, {"3/2020": day(2020, 3, 1)}, ["2020"]),
    ({"type": "timestamp", "format": "dd.mm.yyyy hh:mm"}, {"1.2.2020 9:05": micros(2020, 2, 1, 9, 5)}, ["1.2.2020", "1.2.2020 24:00", "1.2.2020 9:5"]),
    (
        {"type": "timestamp", "format": "%m/%d/%Y %I:%M:%S %p"},
        {"1/2/2020 12:00:01 AM": micros(2020, 1, 2, 0, 0, 1), "1/2/2020 12:00:00 pm": micros(2020, 1, 2, 12), "1/2/2020 1:00:00 PM": micros(2020, 1, 2, 13)},
        ["1/2/2020 13:00:00 PM", "1/2/2020 0:00:00 AM", "1/2/2020 1:00:00"],
    ),
    ({"type": "timestamp", "format": "%d.%m.%Y %H:%M:%S.%f"}, {"31.12.1969 23:59:59.9999999": -1}, []),
    ({"type": "boolean", "true": ["Yes"], "false": ["No"]}, {"yes": 1, " NO ": 0, "YES": 1, "NA": None}, ["y", "1", "true"]),
    ({"type": "boolean", "true": ["1"], "false": ["2"]}, {"1": 1, "2": 0}, ["0", "1.0"]),
    ({"type": "boolean", "true": ["-"], "false": ["?"]}, {"-": 1, "?": 0, "NA": None}, ["--x"]),
    ({**WHOLE, "null": ["-9", "999"]}, {"-9": None, "999": None, "9": 9, "": None, "-9.0": -9}, ["NA", "-"]),
    ({"type": "date", "format": "%d.%m.%Y", "null": ["01.01.1900"]}, {"01.01.1900": None, "1.1.1900": day(1900, 1, 1)}, ["NA"]),
    ({"type": "boolean", "null": ["no"]}, {"no": None, "No": 0, "yes": 1}, ["NA"]),
    ({"type": "category", "values": ["a", "NA", "x"], "null": ["x", "none"]}, {"a": 0, "NA": 1, "x": 2, "none": None}, ["-"]),
    ({"type": "category", "values": ["a", "rest"], "other": "rest", "null": ["none"]}, {"none": None, "NA": 1, "-": 1, "": None}, []),
    ({"type": "text", "null": ["none"]}, {"none": None, "NA": "NA", "-": "-", "": None}, []),
]  # fmt: skip


def test_each_format_takes_what_it_says(any_ground):
    columns = [column(**settings) for settings, *_ in EXAMPLES]
    texts = [[*kept, *nulled] for _, kept, nulled in EXAMPLES]
    given = [[text or None for text in these] for these in texts]
    rows, making = stored(any_ground, side_by_side(columns, given, [pa.string()] * len(columns)))
    for place, (settings, kept, nulled) in enumerate(EXAMPLES):
        wanted = {**kept, **dict.fromkeys(nulled)}
        found = [row[f"x{place}"] for row in rows][: len(wanted)]
        assert dict(zip(texts[place], found, strict=True)) == wanted, settings
        assert making.exact_nulled[f"x{place}"] == len(nulled), settings


def test_what_is_typed_in_its_source_has_no_format(any_ground):
    """A number, a day or a truth that a source holds as one is read as it is, and NaN is missing whatever is declared."""
    typed = [
        ({**CENTS, "decimal": ",", "thousands": ".", "null": ["1.5"]}, pa.float64(), [1.5, 1234.25, float("nan")], [150, 123425, None]),
        ({**WHOLE, "null": ["5"]}, pa.int64(), [5, 7], [5, 7]),
        ({"type": "date", "format": "%d.%m.%Y"}, pa.date32(), [1], [1]),
        ({"type": "boolean", "true": ["no"], "false": ["yes"]}, pa.bool_(), [True, False], [1, 0]),
        ({"type": "text", "null": []}, pa.float64(), [float("nan"), 0.5], [None, "0.5"]),
    ]  # fmt: skip
    columns = [column(**settings) for settings, *_ in typed]
    rows, making = stored(
        any_ground, side_by_side(columns, [given for *_, given, _ in typed], [type_ for _, type_, *_ in typed])
    )
    for place, (settings, _, _, wanted) in enumerate(typed):
        assert [row[f"x{place}"] for row in rows][: len(wanted)] == wanted, settings
    assert making.exact_marked["x0"] == making.exact_marked["x4"] == 1


def test_all_formats_agree_on_all_texts(reference, light_ground):
    """Every format with every text that some format takes, or nearly: no cell fails, and codes are the same."""
    numbers = [*_LOCAL_NUMBERS, *_BLANK_NUMBERS, *_NUMBERS.split()]
    moments = [*_LOCAL_MOMENTS, *_BLANK_MOMENTS, *_MOMENTS.split()]
    grid = NumberColumn(name="x", type="decimal", step=Fraction("0.01"))
    columns = [replace(grid, format=each) for each in NUMBER_FORMATS]
    columns += [NumberColumn(name="x", type="integer", format=NUMBER_FORMATS[-1], null=("-9",))]
    columns += [MomentColumn(name="x", type="timestamp", format=each) for each in MOMENT_FORMATS]
    columns += [MomentColumn(name="x", type="date", format=MOMENT_FORMATS[0], null=("1.2.2020",))]
    columns += [
        BooleanColumn(name="x", format=each, null=null) for each in BOOLEAN_FORMATS for null in (None, NULLS[5])
    ]
    columns += [TextColumn(name="x", null=NULLS[4]), CategoryColumn(name="x", values=("a", "999"), null=NULLS[4])]
    texts = [
        numbers
        if isinstance(each, NumberColumn)
        else moments
        if isinstance(each, MomentColumn)
        else [*_LOCAL_FLAGS, "NA", "999", "-9"]
        for each in columns
    ]
    texts = [[text.replace("\0", "") for text in each] for each in texts]
    agree(reference, light_ground, side_by_side(columns, texts, [pa.string()] * len(columns)))


@pytest.mark.parametrize("null", [None, [], ["nobody", "0"]], ids=["usual", "none", "own"])
def test_marks_of_nobody(reference, light_ground, null):
    """A table's `null` also says who nobody is: here, and in the tables on the way, each by its own."""
    ids = ["a", "NA", "nobody", "0", "-", None, "b"]
    settings = {"source": "x", "person": "who", "rows_per_person": 5, "columns": {"x": {"type": "integer"}}}
    settings |= {} if null is None else {"null": null}
    table = read_table("people", settings)
    declaration = Declaration(
        schema=table.schema,
        file=File(names=("who", "x"), rows=tuple((who, "1") for who in ids), types=(pa.string(), pa.string())),
        null=table.null,
    )
    agree(reference, light_ground, declaration)
    making, _ = declaration.declare(light_ground)
    nobody = {None: {"NA", "-", None}, (): {None}, ("nobody", "0"): {"nobody", "0", None}}[table.null]
    assert making.exact_without_person == len(nobody)
    assert making.exact_persons == len(set(ids) - nobody)


def test_marks_of_nobody_on_the_way(reference, light_ground):
    links = Declaration(
        schema=Schema(table="links", columns=(), unit=PrivacyUnit(person=("who",), rows=9)),
        file=File(
            names=("key", "who"), rows=(("k", "a"), ("k", "zero"), ("NA", "b"), ("l", "NA")), types=(pa.string(),) * 2
        ),
        null=("zero",),
    )
    rows = Declaration(
        schema=Schema(
            table="rows",
            columns=(NumberColumn(name="x", type="integer"),),
            unit=PrivacyUnit(through="links", on=("key",), rows=9),
        ),
        file=File(names=("key", "x"), rows=(("k", "1"), ("NA", "2"), ("l", "3")), types=(pa.string(),) * 2),
        path=(links,),
    )
    agree(reference, light_ground, rows)
    making, _ = rows.declare(light_ground)
    assert (making.exact_persons, making.exact_without_person) == (2, 1)  # a and NA; the key NA meets nobody


def test_marks_that_are_not_applied_to_persons_are_caught(reference, light_ground, monkeypatch):
    """The planted bug: an engine that knows the usual marks of nobody and not those that the table declares."""
    module = {
        "duckdb": "duckdb_person_path",
        "postgres": "postgres.postgres_person_path",
        "spark": "spark.spark_person_path",
    }[light_ground.name]
    monkeypatch.setattr(f"discreet.engines.{module}.declared_marks", lambda null: MISSING)
    with pytest.raises(AssertionError):
        test_marks_of_nobody(reference, light_ground, ["nobody", "0"])
