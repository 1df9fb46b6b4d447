"""Keys of GROUP BY: how many there may be, what to write where there are too many, bins, and long calendars."""

import itertools
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet.errors import Refused
from discreet.plan.calendar import FIRST_DAY, LAST_DAY, first_start, start_of
from discreet.plan.evaluate import values
from discreet.schema.column import CategoryColumn
from discreet.schema.project_file import read_table
from discreet.sql.catalog import CatalogTable, PublicTable
from discreet.sql.group_keys import period_starts
from discreet.sql.query_parser import parse_query
from sql.test_read import reading
from tiers import examples

MANY = tuple(f"v{number:05}" for number in range(12_000))
SCHEMA = read_table(
    "t",
    {
        "source": "t.csv",
        "columns": {
            "city": {"type": "category", "values": list(MANY)},
            "n": {"type": "integer", "low": -7, "high": 123_456_789},
            "x": {"type": "decimal", "low": 0, "high": 3, "step": "0.000001"},
            "wide": {"type": "integer", "low": -(2**60), "high": 2**60},
            "born": {"type": "date", "low": "1800-01-01", "high": "2200-12-31"},
            "ever": {"type": "date", "low": "0001-01-01", "high": "9999-12-31"},
            "seen": {"type": "timestamp", "low": "2000-01-01", "high": "2019-01-01"},
            "recent": {"type": "timestamp", "low": "2024-01-01", "high": "2024-06-01"},
        },
    },
).schema
PUBLIC = read_table("p", {"source": "p.csv", "public": True, "columns": {"n": {"type": "integer"}}}).schema
PLACES = PublicTable(
    name="p",
    columns=(CategoryColumn(name="city", values=MANY), CategoryColumn(name="place", values=MANY)),
    codes={"city": tuple(range(12_000)), "place": tuple(range(12_000))},
)
CATALOG = {"t": CatalogTable(schema=SCHEMA, population="t"), "p": CatalogTable(schema=PUBLIC, public=lambda: PLACES)}


def axis(text):
    (found,) = parse_query(f"select {text} as k, count(*) from t group by k", CATALOG).inquiry.sets[0]
    return found


def test_all_values_of_a_category_are_keys():
    assert axis("city").size == 12_001
    joined = "select place, count(*) from t join p on t.city = p.city group by place"
    assert parse_query(joined, CATALOG).inquiry.sets[0][0].size == 12_000
    with pytest.raises(Refused, match="at most 2,000,000"):
        parse_query("select count(*) from t group by city, date_trunc('month', born)", CATALOG)


@pytest.mark.parametrize(
    "text", ["n", "x", "wide", "born", "ever", "seen", "recent", "n * 3", "date_trunc('day', seen)"]
)
def test_where_there_are_too_many_the_hint_passes(text):
    try:
        assert axis(text).size <= 10_001
    except Refused as problem:
        assert "more than 10,000 values" in problem.reason
        assert 10 < axis(problem.hint).size <= 10_001
    else:
        assert text in ("date_trunc('day', seen)",)


BINNED = [
    "select cost, count(*) from visits group by cost",
    "select cost, count(*) from stays s join visits v on s.id = v.id group by cost",
    "select c, count(*) from stays s left join (select id, cost c from visits) v on s.id = v.id group by c",
    "select cost, count(*) from (select id, cost, count(*) n from visits group by id, cost) group by cost",
    "select cost, count(*) from (select distinct id, cost from visits) group by cost",
]


@pytest.mark.parametrize("text", BINNED)
def test_declared_bins_are_kept(text):
    (found,) = reading(text).inquiry.sets[0]
    assert found.labels == ("[0, 5000)", "[5000, 10000)", "[10000, 15000)", "[15000, 20000]", None)
    assert found.edges == (0, 500_000, 1_000_000, 1_500_000, 2_000_001)


def slow_starts(unit, low, high):
    edges = [low]
    while edges[-1] <= high:
        edges.append(first_start(unit, edges[-1] + 1))
    return tuple(edges)


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(["year", "quarter", "month", "week"]), st.integers(FIRST_DAY, LAST_DAY), st.integers(0, 3000))
@example("month", LAST_DAY, 0)
@example("week", LAST_DAY, 0)
@example("year", FIRST_DAY, 3000)
def test_periods_are_those_of_the_calendar(unit, day, more):
    low, high = start_of(unit, day), min(LAST_DAY, day + more)
    expected = slow_starts(unit, low, high)
    assert period_starts(unit, low, high, most=len(expected)) == expected
    assert period_starts(unit, low, high, most=len(expected) - 1) is None


@pytest.mark.thin(3)
@pytest.mark.parametrize("unit", ["year", "quarter", "month"])
@pytest.mark.parametrize("column", ["born", "seen"])
def test_a_long_calendar_has_the_same_cells(unit, column):
    """Counted by the calendar, not searched: the cell of a day is the period that it lies in."""
    found = axis(f"date_trunc('{unit}', {column})")
    size = 1 if column == "born" else 86_400_000_000
    low, high = (
        date.fromisoformat(end) for end in (("1800-01-01", "2200-12-31") if size == 1 else ("2000-01-01", "2019-01-01"))
    )
    epoch = date(1970, 1, 1).toordinal()
    days = [*range(low.toordinal() - epoch, high.toordinal() - epoch + 1, 11), high.toordinal() - epoch]
    codes = values(found.of, [{column: day * size} for day in days])
    for day, code in zip(days, codes, strict=True):
        cell = next(place for place in _near(found.edges, code) if found.edges[place] <= code < found.edges[place + 1])
        start = date.fromordinal(start_of(unit, day) + epoch).isoformat()
        assert found.labels[cell] == (start if size == 1 else f"{start} 00:00:00")
    assert len(found.labels) == found.size and found.labels[-1] is None
    assert len(found.edges) < 100 or all(b - a == 1 for a, b in itertools.pairwise(found.edges))


def _near(edges, code):
    guess = int(Fraction(code - edges[0], edges[-1] - edges[0]) * (len(edges) - 1))
    return [place for place in range(guess - 2, guess + 3) if 0 <= place < len(edges) - 1]
