"""A hospital with all kinds of columns: visits and bills of persons, items reached through visits, beds that are rows.

Its rows are as bad as rows are: NULLs, values at bounds and beyond, texts that careless engines take for one another,
a person with many rows, rows of nobody. `full`, `empty` and `bare` (one row, all of it NULL) are its three states.
"""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from engines.conformance.agreeing import Declaration
from engines.persons_tables import File

DAY = 86_400_000_000
WIDE = 2**59

_VISITS = Schema(
    table="visits",
    columns=(
        CategoryColumn(name="sex", values=("F", "M"), constant=True),
        NumberColumn(name="age", type="integer", low=0, high=12),
        NumberColumn(name="years", type="integer", low=-3, high=40, edges=(-3, 0, 7, 41)),
        NumberColumn(name="cost", type="decimal", step=Fraction("0.25"), low=-8, high=20),
        NumberColumn(name="wide", type="integer", low=-WIDE, high=WIDE),
        NumberColumn(name="open", type="integer"),
        MomentColumn(name="day", type="date", low=18_250, high=18_400),
        MomentColumn(name="seen", type="timestamp", low=18_250 * DAY, high=18_300 * DAY),
        BooleanColumn(name="flag"),
        CategoryColumn(name="sort", values=("flu", "Flu", "é", "e\u0301", ""), other=""),
        TextColumn(name="note"),
    ),
    unit=PrivacyUnit(person=("pid",), rows=4),
)
_BILLS = Schema(
    table="bills",
    columns=(
        CategoryColumn(name="kind", values=("cash", "card"), constant=True),
        NumberColumn(name="amount", type="integer", low=-7, high=7),
        BooleanColumn(name="paid", closed=True),
        TextColumn(name="word"),
    ),
    unit=PrivacyUnit(person=("pid",), rows=2),
)
_ITEMS = Schema(
    table="items",
    columns=(NumberColumn(name="price", type="integer", low=0, high=9), TextColumn(name="label")),
    unit=PrivacyUnit(through="visits", on=("key",), rows=3),
)
_BEDS = Schema(
    table="beds",
    columns=(
        NumberColumn(name="ward", type="integer", low=1, high=5),
        NumberColumn(name="load", type="decimal", step=Fraction("0.01"), low=0, high=10_000),
        CategoryColumn(name="state", values=("free", "taken"), closed=True),
        TextColumn(name="note"),
    ),
    unit=PrivacyUnit(),
)

#: Texts that an engine may take for one another, for a pattern, for a number, or for nothing.
TEXTS = (
    "a", "A", "a ", " a", "á", "a\u0301", "é", "É", "ß", "ss", "SS", "İ", "i", "ﬁ", "fi", "", " ", "%", "_", "\\", "'", '"', "a'b",
    "NULL", "NaN", "1", "1.0", "01", "true", "\U0001f600", "\uffee", "\u200b", "\u00a0", "\t", "a\nb", "x" * 300, "Ａ", "ΑΣ", "ας",
    "\ud7ff", "\ue000", "--", ";", "$1", "%s", "{}",
)  # fmt: skip
_IDS = ("a", "A", "a ", "á", "a\u0301", "1", "01", "NULL", "\U0001f600", "ß", "ss", "f", "m", "g")


def _visits() -> tuple[tuple[object, ...], ...]:
    """One row for each text, so that each has some; "a" has a third of all rows, some rows are nobody's."""
    rows = []
    for place, text in enumerate(TEXTS):
        person = "a" if place % 3 == 0 else None if place % 11 == 7 else _IDS[place % len(_IDS)]
        rows.append((
            person, f"k{place % 5}" if place % 9 else None, ("F", "M", None, "x")[place % 4 if place % 3 else place % 8 // 4],
            (place - 2) % 15 if place % 7 else None, place - 5, (None, 5.0, -2.25, 0.1, 1e300, -1e300, 1.25)[place % 7],
            (2**62, -(2**62), WIDE - place, -WIDE + place, None)[place % 5], (2**63 - 1, -(2**63), place, -place, None)[place % 5],
            18_240 + 4 * place if place % 8 else None, (18_249 * 86_400 + place * 71_993) * 1_000_000 + place if place % 6 else None,
            (True, False, None)[place % 3], ("flu", "Flu", "é", "e\u0301", "FLU", "", None)[place % 7], text if place % 10 else None,
        ))  # fmt: skip
    return tuple(rows)


_FILES: Mapping[str, File] = {
    "visits": File(
        names=("pid", "key", *(column.name for column in _VISITS.columns)),
        rows=_visits(),
        types=(pa.string(), pa.string(), pa.string(), pa.int16(), pa.int32(), pa.float64(), pa.int64(), pa.int64(), pa.date32(),
               pa.timestamp("us"), pa.bool_(), pa.string(), pa.string()),
    ),
    "bills": File(
        names=("pid", *(column.name for column in _BILLS.columns)),
        rows=tuple(
            (_IDS[place % 9] if place % 5 else "nobody else", ("cash", "card")[place % 2], place % 19 - 9,
             (True, False, None)[place % 3], TEXTS[place % 20])
            for place in range(30)
        ),
        types=(pa.string(), pa.string(), pa.int64(), pa.bool_(), pa.string()),
    ),
    "items": File(
        names=("key", "price", "label"),
        rows=tuple((f"k{place % 7}" if place % 8 else None, str(place % 11), TEXTS[place % 6]) for place in range(20)),
        types=(pa.string(), pa.string(), pa.string()),
    ),
    "beds": File(
        names=("ward", "load", "state", "note"),
        rows=tuple(
            (place % 7, None if place % 9 == 4 else Decimal(place * place - 50) / 16, ("free", "taken", "x")[place % 3], TEXTS[place])
            for place in range(len(TEXTS))
        ),
        types=(pa.int64(), pa.decimal128(12, 4), pa.string(), pa.string()),
    ),
}  # fmt: skip

REGIONS = File(
    names=("age", "sex", "region", "people"),
    rows=tuple((age, sex, region, age * 3 - 9) for age in (0, 1, 1, 5, 12) for sex, region in (("F", "north"), ("M", None), (None, "south"))),
    types=(pa.int64(), pa.string(), pa.string(), pa.int64()),
)  # fmt: skip
REGIONS_SCHEMA = Schema(
    table="regions",
    columns=(
        NumberColumn(name="age", type="integer"),
        TextColumn(name="sex"),
        TextColumn(name="region"),
        NumberColumn(name="people", type="integer"),
    ),
    unit=PrivacyUnit(),
)

#: A text that PostgreSQL has not.
NUL = "a\0b"


def hospital(state: str) -> dict[str, Declaration]:
    """The tables in one of the three states."""
    files = {name: _in(state, file, {"visits": 1, "bills": 1}.get(name, 0)) for name, file in _FILES.items()}
    visits = Declaration(schema=_VISITS, file=files["visits"])
    return {
        "visits": visits,
        "bills": Declaration(schema=_BILLS, file=files["bills"]),
        "items": Declaration(schema=_ITEMS, file=files["items"], path=(visits,)),
        "beds": Declaration(schema=_BEDS, file=files["beds"]),
    }


def _in(state: str, file: File, parts: int) -> File:
    """`parts`: how many columns name a person, which a bare row needs."""
    bare = (*("a",) * parts, *(None,) * (len(file.names) - parts))
    return replace(file, rows={"full": file.rows, "empty": (), "bare": (bare,)}[state])
