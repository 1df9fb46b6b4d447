"""Hierarchies made and given, and what labels stand for."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import UsageError
from discreet.lab.anonymize import anonymize
from discreet.lab.anonymize.column_codes import code_columns
from discreet.lab.anonymize.default_hierarchies import default_hierarchy
from discreet.lab.anonymize.hierarchy import read_hierarchies, read_hierarchy
from discreet.lab.anonymize.labels import covers, interval_label

COLUMNS = {
    "ages": list(range(17, 91, 3)),
    "negative": [-40, -3, 0, 2, 7, 90],
    "long": [2**62, 2**62 + 1, 2**62 + 2],
    "floats": [0.1, 0.25, 3.5, 7.75, 99.9, -4.5],
    "wide": [1e-9, 1.0, 1e12],
    "decimals": [Decimal("1.50"), Decimal("2.75"), Decimal("30.00")],
    "zips": ["13053", "13068", "14850", "14853", "90210"],
    "cities": ["Bern", "Bonn", "Kyiv", "Lima", "New York", "Oslo", "Rome", "Tallinn", "Ulm"],
    "dates": [date(1979, 12, 31), date(1980, 1, 1), date(1980, 1, 2), date(1980, 3, 1), date(1984, 5, 6)],
    "moments": [datetime(2020, 1, 1, 5), datetime(2020, 1, 1, 6), datetime(2021, 3, 1)],
    "times": [time(5, 6, 7), time(5, 6, 8), time(5, 7), time(23, 59, 59, 999_999), time(0)],
    "durations": [timedelta(days=-3, seconds=1), timedelta(0), timedelta(seconds=90), timedelta(days=400)],
    "flags": [True, False],
    "one": ["only"],
    "holes": [1, None, 5, 60, 61],
    "empty": pa.nulls(3),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_each_level_joins_groups_of_the_one_before_up_to_one(name):
    (column,) = code_columns(pa.table({name: COLUMNS[name]}), [name])
    levels = default_hierarchy(column).levels
    sizes = [len(level.labels) for level in levels]
    assert sizes[0] == column.size and sizes[-1] == 1
    assert sizes == sorted(set(sizes), reverse=True)
    assert levels[-1].labels == (("*",) if column.size > 1 else tuple(column.texts()))
    assert levels[0].loss().max() == 0
    assert levels[-1].loss().min() == (1 if column.size > 1 else 0)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_label_covers_its_values_and_no_others(name):
    (column,) = code_columns(pa.table({name: COLUMNS[name]}), [name])
    for level in default_hierarchy(column).levels:
        for number, label in enumerate(level.labels):
            assert covers(label, column).tolist() == (level.groups == number).tolist(), label
    for low in range(column.size):
        for high in range(low, column.size):
            expected = (np.arange(column.size) >= low) & (np.arange(column.size) <= high)
            for shared in (True, False):
                label = interval_label(column, low, high, shared=np.full(column.size, shared))
                assert covers(label, column).tolist() == expected.tolist(), label


@pytest.mark.parametrize(
    ("name", "level", "shown"),
    [
        ("ages", 1, "15-19"),
        ("ages", 2, "10-19"),
        ("ages", 3, "0-19"),
        ("negative", 1, "[-40, -31]"),
        ("zips", 1, "1305*"),
        ("cities", 1, "{Bern|Bonn|Kyiv|Lima}"),
        ("dates", 1, "1979-12"),
        ("dates", 2, "1979"),
        ("dates", 3, "1970s"),
        ("moments", 1, "2020-01-01"),
        ("times", 1, "[0:00:00, 0:01:00)"),
        ("durations", 1, "[-72:00:00, -71:50:00)"),
    ],
)
def test_labels_are_what_a_person_would_write(name, level, shown):
    (column,) = code_columns(pa.table({name: COLUMNS[name]}), [name])
    assert default_hierarchy(column).levels[level].labels[0] == shown


def test_labels_of_other_tools_are_understood():
    (ages,) = code_columns(pa.table({"a": [25, 30, 39, 40]}), ["a"])
    assert covers("<30", ages).tolist() == [True, False, False, False]
    assert covers(">= 40", ages).tolist() == [False, False, False, True]
    assert covers("[30, 40)", ages).tolist() == [False, True, True, False]
    assert covers("young", ages).tolist() == [False] * 4


def test_a_hierarchy_can_be_given(tmp_path):
    (tmp_path / "city.csv").write_text("Bonn,north,*\nOslo,north,*\nRome,south,*\n")
    table = pa.table({"city": ["Bonn", "Oslo", "Rome", "Rome"], "s": [1, 2, 3, 4]})
    made = anonymize(table, quasi=["city"], k=2, method="lattice", suppress=0, hierarchies=read_hierarchies([tmp_path]))
    assert sorted(made.table["city"].to_pylist()) == ["north", "north", "south", "south"]
    assert made.levels == {"city": 1}


def test_null_without_a_row_stays_itself_until_the_top(tmp_path):
    (tmp_path / "city.csv").write_text("Bonn,north\nOslo,north\n")
    (column,) = code_columns(pa.table({"city": ["Bonn", None, "Oslo"]}), ["city"])
    assert [level.labels for level in read_hierarchy(column, tmp_path / "city.csv").levels] == [
        ("Bonn", "Oslo", "NULL"),
        ("north", "NULL"),
        ("*",),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Bonn,north\n", "does not list 1 of the 2 values"),
        ("Bonn,north\nOslo\n", "same number of levels"),
        ("Bonn,a\nBonn,b\nOslo,b\n", "twice"),
        ("Bonn,a,x\nOslo,a,y\n", ""),
        ("", "no rows"),
    ],
)
def test_a_bad_hierarchy_is_refused(tmp_path, text, said):
    (tmp_path / "city.csv").write_text(text)
    (column,) = code_columns(pa.table({"city": ["Bonn", "Oslo"]}), ["city"])
    if not said:  # level 1 is already one group: what follows does not matter
        assert len(read_hierarchy(column, tmp_path / "city.csv").levels) == 2
        return
    with pytest.raises(UsageError, match=said):
        read_hierarchy(column, tmp_path / "city.csv")


def test_a_level_that_splits_what_was_joined_is_refused(tmp_path):
    (tmp_path / "c.csv").write_text("a,1,x\nb,1,y\nc,2,y\nd,3,y\n")
    (column,) = code_columns(pa.table({"c": ["a", "b", "c", "d"]}), ["c"])
    with pytest.raises(UsageError, match="again at level 2"):
        read_hierarchy(column, tmp_path / "c.csv")


def test_a_hierarchy_of_no_column_is_refused(tmp_path):
    (tmp_path / "town.csv").write_text("a,*\n")
    with pytest.raises(UsageError, match="not a quasi-identifier"):
        anonymize(pa.table({"c": ["a"]}), quasi=["c"], k=1, method="lattice", hierarchies=read_hierarchies([tmp_path]))
    with pytest.raises(UsageError, match="no hierarchy"):
        read_hierarchies([tmp_path / "nothing"])
