"""Formats as discreet.toml declares them: what is taken, what is refused, and that older schemas mean what they did."""

import json

import pytest

from discreet.errors import SchemaError
from discreet.schema.column import BooleanColumn, MomentColumn, NumberColumn
from discreet.schema.project_file import plain, read_table
from discreet.schema.value_format import BooleanFormat, MomentFormat, NumberFormat


def columns(*, table=None, **settings):
    return read_table("t", {"source": "s.csv", "columns": settings} | (table or {})).schema.columns


def column(table=None, **settings):
    return columns(table=table, x=settings)[0]


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"decimal": ","}, NumberFormat(decimal=",")),
        ({"decimal": "."}, None),
        ({"thousands": "."}, NumberFormat(decimal=",", thousands=".")),
        ({"thousands": "\u00a0"}, NumberFormat(thousands=" ")),
        ({"thousands": "\u202f", "decimal": ","}, NumberFormat(decimal=",", thousands=" ")),
        ({"symbols": ["€", "%", "€"]}, NumberFormat(symbols=("€", "%"))),
        ({"thousands": ""}, None),
    ],
)
def test_numbers(settings, wanted):
    assert column(type="decimal", **settings).format == column(type="integer", **settings).format == wanted


@pytest.mark.parametrize(
    ("letters", "words"),
    [
        ("dd/mm/yyyy", "%d/%m/%Y"), ("DD.MM.YYYY", "%d.%m.%Y"), ("m/d/yy", "%m/%d/%y"), ("d-MMM-yyyy", "%d-%b-%Y"),
        ("d. MMMM yyyy", "%d. %B %Y"), ("yyyy-mm-dd hh:mm:ss", "%Y-%m-%d %H:%M:%S"), ("yyyymmdd", "%Y%m%d"),
        ("m/d/yyyy h:mm tt", "%m/%d/%Y %I:%M %p"), ("dd.mm.yyyy HH:MM", "%d.%m.%Y %H:%M"), ("mm:ss", None),
        ("yyyy-MM-ddTHH:mm:ss.SSS", "%Y-%m-%dT%H:%M:%S.%f"), ("mm/yyyy", "%m/%Y"), ("%d.%m.%Y", "%d.%m.%Y"),
        ("h:mm am/pm d/m/yy", "%I:%M %p %d/%m/%y"), (" dd.mm.yyyy ", "%d.%m.%Y"),
    ],
)  # fmt: skip
def test_letters_are_words(letters, words):
    if words is None:
        with pytest.raises(SchemaError, match=r"no year|a part of"):
            column(type="date", format=letters)
    else:
        form = column(type="timestamp", format=letters).format
        assert form == MomentFormat(words=words, unpadded=form.unpadded)
        assert column(type="timestamp", format=form.text).format == form


@pytest.mark.parametrize(
    ("letters", "unpadded"),
    [("m/d/yy", ("%m", "%d")), ("mm/dd/yy", ()), ("d.mm.yyyy h:mm tt", ("%d", "%I")), ("%m/%d/%y", ()), ("yymmdd", ())],
)
def test_a_single_letter_is_one_digit(letters, unpadded):
    assert column(type="timestamp", format=letters).format.unpadded == unpadded


def test_years_of_two_digits_end_with_the_year_of_high():
    assert column(type="date", format="m/d/yy").format.last_year == 2068
    assert column(type="date", format="m/d/yy", high="2010-12-31").format.last_year == 2010
    assert column(type="timestamp", format="m/d/yy", high="0999-01-01 10:00").format.last_year == 999


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"type": "decimal", "decimal": ",", "thousands": ","}, "two meanings"),
        ({"type": "decimal", "decimal": ".", "thousands": "."}, "two meanings"),
        ({"type": "decimal", "decimal": ";"}, "a point or a comma"),
        ({"type": "decimal", "decimal": 1}, "a point or a comma"),
        ({"type": "decimal", "thousands": "x"}, "thousands must be"),
        ({"type": "decimal", "thousands": ["."]}, "thousands must be"),
        ({"type": "decimal", "symbols": "€"}, "symbols must be"),
        ({"type": "decimal", "symbols": ["5"]}, "symbols must be"),
        ({"type": "decimal", "symbols": ["-"]}, "symbols must be"),
        ({"type": "decimal", "symbols": [""]}, "symbols must be"),
        ({"type": "decimal", "symbols": ["a b"]}, "symbols must be"),
        ({"type": "integer", "format": "%d.%m.%Y"}, "format"),
        ({"type": "date", "decimal": ","}, "decimal"),
        ({"type": "date", "format": "%d.%m"}, "has no year"),
        ({"type": "date", "format": "%Q.%m.%Y"}, "not known: %Q"),
        ({"type": "date", "format": "%d.%m.%Y%"}, "not known: %"),
        ({"type": "date", "format": "dd.mm.jjjj"}, "not known: j"),
        ({"type": "date", "format": "%d.%m.%Y %y"}, "twice"),
        ({"type": "date", "format": "%m %b %Y"}, "twice"),
        ({"type": "date", "format": "%d %Y"}, "a day but no month"),
        ({"type": "timestamp", "format": "%Y %I"}, "%p"),
        ({"type": "timestamp", "format": "%Y %M"}, "a part of"),
        ({"type": "date", "format": 5}, "format must be"),
        ({"type": "date", "format": ""}, "format must be"),
        ({"type": "boolean", "true": ["yes"], "false": ["YES "]}, "both a true and a false word"),
        ({"type": "boolean", "true": ["0"]}, "both a true and a false word"),
        ({"type": "boolean", "true": []}, "at least one word"),
        ({"type": "boolean", "true": "yes"}, "list of words"),
        ({"type": "boolean", "true": [" "]}, "list of words"),
        ({"type": "text", "null": "NA"}, "null must be"),
        ({"type": "text", "null": [1.5]}, "null must be"),
        ({"type": "text", "true": ["x"]}, "true"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(settings, says):
    with pytest.raises(SchemaError, match=says):
        column(**settings)


def test_a_table_says_it_for_its_columns():
    table = {"decimal": ",", "thousands": ".", "null": ["NA", -9]}
    settings = {
        "a": {"type": "decimal"},
        "b": {"type": "decimal", "decimal": ".", "thousands": "", "null": []},
        "c": {"type": "date", "format": "%Y"},
        "d": {"type": "text"},
    }
    a, b, c, d = columns(table=table, **settings)
    assert (a.format, a.null) == (NumberFormat(decimal=",", thousands="."), ("NA", "-9"))
    assert (b.format, b.null) == (None, ())
    assert c.null == d.null == ("NA", "-9")
    assert read_table("t", {"source": "s", **table}).null == ("NA", "-9")
    with pytest.raises(SchemaError, match="two meanings"):
        columns(table={"decimal": ",", "thousands": ","})
    with pytest.raises(SchemaError, match="two meanings"):
        column(table={"decimal": ",", "thousands": "."}, type="decimal", decimal=".")


def test_booleans():
    assert column(type="boolean", true=["Yes", "yes"], false=["No"]).format == BooleanFormat(
        true=("Yes", "yes"), false=("No",)
    )
    assert column(type="boolean", true=[1], false=[2]).format == BooleanFormat(true=("1",), false=("2",))
    assert column(type="boolean", true=["x"]).format.false == BooleanFormat().false


def test_what_the_ledger_keeps_reads_back_to_the_same():
    settings = {
        "source": "s.csv", "decimal": ",", "null": ["NA", -1],
        "columns": {
            "a": {"type": "decimal", "thousands": ".", "symbols": ["€"], "step": 1},
            "d": {"type": "date", "format": "d/m/yy", "high": "2010-12-31"},
            "b": {"type": "boolean", "true": ["ja"], "false": ["nein"]},
        },
    }  # fmt: skip
    assert read_table("t", json.loads(json.dumps(plain(settings)))) == read_table("t", settings)


def test_older_schemas_have_no_format():
    settings = {"n": {"type": "decimal"}, "d": {"type": "date", "high": "2010-12-31"}, "b": {"type": "boolean"}}
    number, moment, boolean = columns(**settings)
    assert number == NumberColumn(name="n", type="decimal", step=number.step)
    assert moment == MomentColumn(name="d", type="date", high=moment.high)
    assert boolean == BooleanColumn(name="b")
    assert read_table("t", {"source": "s"}).null is None
    # What is drawn for a rehearsal goes by it.
    assert repr(boolean) == "BooleanColumn(name='b', closed=False, constant=False)"
