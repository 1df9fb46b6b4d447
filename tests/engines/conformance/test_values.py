"""What each declared type takes, by example, on every engine: texts that fit, are clamped or do not fit; typed sources.

All examples of one kind are the columns of one table, since making one is what takes long.
"""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from engines.conformance.agreeing import Declaration, agree
from engines.conformance.laying import has_type, held
from engines.persons_tables import File
from engines.tables import STEPS, decimal
from tiers import DEEP

MOST = 2**63 - 2
DAY = 86_400_000_000
NAN, INFINITY = float("nan"), float("inf")

INTEGER = NumberColumn(name="x", type="integer", low=-10, high=120)
CENTS = NumberColumn(name="x", type="decimal", step=Fraction("0.01"), low=0, high=2_000_000)
EVEN = NumberColumn(name="x", type="decimal", step=Fraction("0.02"), low=-1000, high=1000)
FIVES = NumberColumn(name="x", type="decimal", step=Fraction("0.05"), low=-1000, high=1000)
THOUSANDS = NumberColumn(name="x", type="decimal", step=Fraction(1000), low=0, high=50)
DATE = MomentColumn(name="x", type="date")
TIME = MomentColumn(name="x", type="timestamp")
SEX = CategoryColumn(name="x", values=("F", "M"))
CLOSED = CategoryColumn(name="x", values=("F", "M"), closed=True)
OTHER = CategoryColumn(name="x", values=("F", "M", "else"), other="else")
CLOSED_OTHER = CategoryColumn(name="x", values=("F", "M", "else"), other="else", closed=True)

#: For each column: texts that fit and their codes, texts that are clamped, and texts that do not fit.
EXAMPLES = [
    (
        INTEGER,
        {"12": 12, " 12\t": 12, "12.0": 12, "12.": 12, "+5": 5, "-0": 0, "007": 7, "1.2e1": 12, "": None,
         "NA": None, "nan": None, ".": None, "#N/A": None},
        {"121": 120, "-11": -10, "9" * 50: 120, "-" + "9" * 50: -10, "1e400": 120, "-1e400": -10},
        ["12.5", "125e-1", "abc", "1_0", "0x10", "１２", "inf", "-Infinity", "true", "\u00a012", "1e99999", " NA", "Na"],
    ),
    (
        NumberColumn(name="x", type="integer"),
        {str(MOST): MOST, str(-MOST): -MOST, "0e5": 0},
        {str(2**63 - 1): MOST, str(-(2**63)): -MOST, "1e19": MOST},
        ["5e-324"],
    ),
    (NumberColumn(name="x", type="integer", low=0), {str(2**62): 2**62}, {"-5": 0, "1e300": MOST}, []),
    (
        CENTS,
        {"12.34": 1234, "0.285": 29, "0.28499999999999999": 28, "0.285e0": 28, "-0.004": 0, "20000.004": 2_000_000, "-": None},
        {"-0.005": 0, "20000.005": 2_000_000, "1e300": 2_000_000, "-1e300": 0, "9" * 50: 2_000_000},
        ["-inf", "inf", "1,5", "$5", "1e", "n.a."],
    ),
    (EVEN, {"0.01": 1, "-0.01": -1, "0.0099": 0, "0.03": 2, "1e-300": 0}, {"20.01": 1000}, ["x"]),
    (FIVES, {"0.025": 1, "0.0249999999999": 0, "-0.075": -2}, {"-50.025": -1000}, []),
    (THOUSANDS, {"1500": 2, "1499.999": 1, "50499": 50}, {"50500": 50}, []),
    (
        DATE,
        {
            "1970-01-02": 1, " 1969-12-31 ": -1, "1969-12-31 23:59:59": -1, "2020-01-01T00:30:00+01:00": 18261,
            "0000-01-01": -719528, "NaT": None,
        },
        {},
        ["2020-02-30", "01/02/2020", "20200101", "epoch", "infinity", "12020-01-01"],
    ),
    (MomentColumn(name="x", type="date", low=0, high=10), {"1970-01-11": 10}, {"1970-01-12": 10, "1960-01-01": 0}, ["x"]),
    (
        TIME,
        {
            "1970-01-01": 0, "1970-01-01 00:00": 0, "1970-01-01T00:00:01.5Z": 1_500_000, "1970-01-01 02:00:00+02:00": 0,
            "1970-01-01 02:00:00+02": 0, "1970-01-01 00:00:00.0000019": 1, "1969-12-31 23:59:59.9999999": -1,
        },
        {},
        ["1970-01-02 24:00:00", "12:00", "1970-01-01 00:00:00 Europe/Berlin", "1970-01-01 00:00:60"],
    ),
    (BooleanColumn(name="x"), {"true": 1, " NO ": 0, "1.0": 1, "T": 1, "": None, "N/A": None}, {}, ["2", "ye\u017f", "on", "1.00"]),
    (CategoryColumn(name="x", values=("é", "e\u0301", "a", "A")), {"e\u0301": 1, "é": 0, "A": 3, "a": 2}, {}, ["E\u0301"]),
    (CategoryColumn(name="x", values=("EU", "NA", "-")), {"NA": 1, "-": 2, "N/A": None}, {}, ["na ", "eu"]),
    (SEX, {"M": 1, "F": 0, "": None, "NULL": None}, {}, ["m", "M ", " M", "FM"]),
    (OTHER, {"x": 2, "else": 2, "f": 2, "": None, "NA": None, "NA ": 2}, {}, []),
    (CLOSED_OTHER, {"x": 2, "": 0, "None": 0, "M": 1}, {}, []),
    (TextColumn(name="x"), {" as it is ": " as it is ", "a\nb\"c'": "a\nb\"c'", "": None, "NA": None, " NA": " NA", "nano": "nano"}, {}, []),
]  # fmt: skip


TYPED = [
    (INTEGER, pa.int64(), [5, -(2**63), 2**63 - 1, None], [5, -10, 120, None]),
    (INTEGER, pa.uint64(), [2**64 - 1], [120]),
    (INTEGER, pa.float64(), [12.0, 12.5, NAN, INFINITY, -INFINITY, 1e300], [12, None, None, None, None, 120]),
    (INTEGER, pa.bool_(), [True, False], [1, 0]),
    (INTEGER, pa.string(), ["12.0", ""], [12, None]),
    (CENTS, pa.float64(), [0.285, 12.34, NAN, -INFINITY, -1e22, 5e-5, 1e22], [29, 1234, None, None, 0, 0, 2_000_000]),
    (CENTS, pa.float32(), [0.1, 1e30], [10, 2_000_000]),
    (CENTS, pa.int32(), [3, -3], [300, 0]),
    (CENTS, pa.decimal128(10, 4), ["1.2350", "1.2349"], [124, 123]),
    (DATE, pa.date32(), [1, -1, 2**31 - 1], [1, -1, None]),
    (DATE, pa.timestamp("us"), [-1, DAY], [-1, 1]),
    (DATE, pa.timestamp("ns", "UTC"), [-1, 0], [-1, 0]),
    (TIME, pa.date32(), [1, -1], [DAY, -DAY]),
    (TIME, pa.timestamp("ns"), [1999, -1, -1001, -(2**63), 2**63 - 1], [1, -1, -2, -9223372036854776, None]),
    (TIME, pa.timestamp("us"), [-(2**63), 2**63 - 2, -(2**63) + 1], [-MOST, MOST, None]),
    (TIME, pa.timestamp("us", "America/New_York"), [0, 2**63 - 1], [0, None]),
    (TIME, pa.timestamp("ms"), [-1], [-1000]),
    (BooleanColumn(name="x"), pa.bool_(), [True, None], [1, None]),
    (BooleanColumn(name="x"), pa.int64(), [1, 0, 2], [1, 0, None]),
    (CategoryColumn(name="x", values=("1", "true", "1.0", "2020-01-02")), pa.int64(), [1, 2], [0, None]),
    (CategoryColumn(name="x", values=("1", "true", "1.0", "2020-01-02")), pa.bool_(), [True, False], [1, None]),
    (CategoryColumn(name="x", values=("1", "true", "1.0", "2020-01-02")), pa.float64(), [1.0], [2]),
    (CategoryColumn(name="x", values=("1", "true", "1.0", "2020-01-02")), pa.date32(), [18263], [3]),
    (SEX, pa.dictionary(pa.int8(), pa.string()), ["F", "x"], [0, None]),
    (OTHER, pa.dictionary(pa.int8(), pa.string()), ["F", "x", "NA", None], [0, 2, None, None]),
    (OTHER, pa.float64(), [NAN, 1.0], [None, 2]),
    (TextColumn(name="x"), pa.float64(), [NAN, 0.5], [None, "0.5"]),
    (TextColumn(name="x"), pa.string(), ["", "a\0b", None], [None, "a\0b", None]),
    (TextColumn(name="x"), pa.timestamp("us"), [1_500_000], ["1970-01-01 00:00:01.5"]),
]  # fmt: skip

ROW = NumberColumn(name="row", type="integer", low=0, high=10_000)


def side_by_side(columns: list[Column], values: list[list[object]], types: list[pa.DataType]) -> Declaration:
    """One table of all: column i is called x{i}, and a row's number is a column, too."""
    size = max(map(len, values))
    padded = [[*these, *[None] * (size - len(these))] for these in values]
    named = [replace(column, name=f"x{place}") for place, column in enumerate(columns)]
    return Declaration(
        schema=Schema(table="people", columns=(ROW, *named), unit=PrivacyUnit()),
        file=File(
            names=("row", *(column.name for column in named)),
            rows=tuple(zip(range(size), *padded, strict=True)),
            types=(pa.int64(), *types),
        ),
    )


def stored(ground, declaration):
    """What was made, in the order of the source, and the making."""
    making, place = declaration.declare(ground)
    return sorted(ground.stored(place), key=lambda row: row["row"]), making


def test_each_type_takes_what_it_says(any_ground):
    texts = [[*kept, *clamped, *nulled] for _, kept, clamped, nulled in EXAMPLES]
    given = [[None if text == "" else text for text in these] for these in texts]
    columns = [column for column, *_ in EXAMPLES]
    rows, making = stored(any_ground, side_by_side(columns, given, [pa.string()] * len(columns)))
    for place, (column, kept, clamped, nulled) in enumerate(EXAMPLES):
        wanted = [*kept.values(), *clamped.values(), *(None for _ in nulled)]
        found = [row[f"x{place}"] for row in rows][: len(wanted)]
        assert dict(zip(texts[place], found, strict=True)) == dict(zip(texts[place], wanted, strict=True)), column
        assert making.exact_nulled[f"x{place}"] == len(nulled), column
        ordered = isinstance(column, NumberColumn | MomentColumn)
        assert making.exact_clamped.get(f"x{place}") == (len(clamped) if ordered else None), column
    assert making.exact_rows == len(rows) == max(map(len, texts))


@pytest.mark.parametrize("column", [CLOSED, BooleanColumn(name="x", closed=True)], ids=["category", "boolean"])
def test_closed_takes_the_first_value_and_the_owner_hears_of_what_did_not_fit(any_ground, column):
    rows, making = stored(any_ground, side_by_side([column], [["perhaps", None]], [pa.string()]))
    assert [row["x0"] for row in rows] == [0, 0]
    assert making.exact_nulled == {"row": 0, "x0": 1}


def test_the_owner_hears_how_many_cells_a_mark_made_missing(any_ground):
    """A category that lists a mark means it. An empty cell is no mark, and what does not fit is told as before."""
    cells = ["NA", "-", "null", "", None, " NA", "a", "N/A"]
    listing = CategoryColumn(name="x", values=("a", "-"))
    catching = CategoryColumn(name="x", values=("a", "rest"), other="rest")
    columns = [
        listing,
        catching,
        CategoryColumn(name="x", values=("a", "b"), closed=True),
        ROW,
        BooleanColumn(name="x"),
    ]
    columns += [TextColumn(name="x"), CENTS]
    values, types = [cells] * 6 + [[1.5, NAN, None, NAN]], [pa.string()] * 6 + [pa.float64()]
    rows, making = stored(any_ground, side_by_side(columns, values, types))
    assert making.exact_marked == {"row": 0, "x0": 3, "x1": 4, "x2": 4, "x3": 4, "x4": 4, "x5": 4, "x6": 2}
    assert making.exact_nulled == {"row": 0, "x0": 1, "x1": 0, "x2": 1, "x3": 2, "x4": 2, "x5": 0, "x6": 0}
    assert [row["x0"] for row in rows] == [None, 1, None, None, None, None, 0, None]
    assert [row["x1"] for row in rows] == [None, None, None, None, None, 1, 0, None]


def test_the_owner_hears_how_many_values_were_rounded_and_how_far(any_ground):
    """The same on every engine; what was clamped or did not fit was not rounded, nor was what lies on the grid."""
    texts = [
        ["0.0038", "0.01", "0.015", "-5", "abc", "NaN", "0.0100000001", "0.1", "0.0051"],
        ["12.25", "12.5", "12.625", "1e-300", "1e300", None, "0.3", " 7 ", "+.125"],
        ["1e-12", "9e9", "1.0000000000004", "12345678901234567", "0.005", "-0.005", "0", "5e-4", "x"],
    ]
    columns = [
        NumberColumn(name="x", type="decimal", step=Fraction("0.01"), low=0, high=10),
        NumberColumn(name="x", type="decimal", step=Fraction("0.25"), low=0, high=400),
        NumberColumn(name="x", type="decimal", step=Fraction("0.01")),
    ]
    types = [pa.string()] * 3
    floats = [0.285, 0.1 + 0.2, NAN, 1e300, 5e-5, 0.0, 0.004999, 3.0, None]
    whole = NumberColumn(name="x", type="decimal", step=Fraction(1000), low=0, high=50)
    columns += [CENTS, whole]
    _, making = stored(
        any_ground,
        side_by_side(columns, [*texts, floats, [1, 1000, 1499, -5, 60000]], [*types, pa.float64(), pa.int64()]),
    )
    found = {name: (each.exact_values, each.exact_most) for name, each in making.exact_rounded.items()}
    assert found == {
        "x0": (3, Fraction("0.005")),
        "x1": (3, Fraction("0.125")),
        "x2": (3, Fraction("0.005")),
        "x3": (3, Fraction("0.005")),
        "x4": (3, Fraction(499)),
    }
    assert {name: making.exact_clamped[name] for name in found} == {"x0": 1, "x1": 1, "x2": 0, "x3": 1, "x4": 1}


def test_typed_sources(any_ground):
    """Where an engine has no such type, or a type no such value, that example is nobody's."""
    kept = []
    for column, type_, given, wanted in TYPED:
        pairs = list(zip(given, wanted, strict=True))
        if any_ground.name == "postgres":
            pairs = [pair for pair in pairs if has_type(type_) and held(pair[0], type_)]
        if pairs:
            kept.append((column, type_, pairs))
    assert len(kept) > len(TYPED) - 6
    declaration = side_by_side(
        [column for column, *_ in kept],
        [[Decimal(one) if pa.types.is_decimal(type_) else one for one, _ in pairs] for _, type_, pairs in kept],
        [type_ for _, type_, _ in kept],
    )
    rows, _ = stored(any_ground, declaration)
    for place, (column, type_, pairs) in enumerate(kept):
        found = [row[f"x{place}"] for row in rows][: len(pairs)]
        assert found == [wanted for _, wanted in pairs], (column, type_, pairs)


def test_numbers_of_every_size_on_every_grid(reference, light_ground):
    """Where a decimal type ends is where engines fail: as many nines as it takes, on both sides."""
    sizes = ["9" * size for size in range(1, 45)] + ["0." + "9" * size for size in range(1, 45)]
    ends = [(None, None), (0, 0), (-1, 1), (-(2**60), 2**60), (None, 5)]
    columns, values = [], []
    for place, step in enumerate(STEPS):
        near = [decimal(Fraction(step) * Fraction(2 * code + 1, 2)) for code in (0, 1, 7, 2**60)]
        few = light_ground.name == "spark" or not DEEP
        for low, high in [ends[place % len(ends)]] if few else ends:
            columns.append(NumberColumn(name="x", type="decimal", step=Fraction(step), low=low, high=high))
            values.append([sign + size for sign in ("", "-") for size in (*sizes, *near)])
    agree(reference, light_ground, side_by_side(columns, values, [pa.string()] * len(columns)))
