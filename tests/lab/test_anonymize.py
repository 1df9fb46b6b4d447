"""Releases: every class meets what was asked, Mondrian stops only where it must, the lattice finds the best."""

import itertools
import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import UsageError
from discreet.lab.anonymize import Criteria, anonymize, check
from discreet.lab.anonymize.column_codes import code_columns
from discreet.lab.anonymize.criteria import measure_spreads
from discreet.lab.anonymize.cut_points import cut_label
from discreet.lab.anonymize.default_hierarchies import default_hierarchy
from discreet.lab.anonymize.equivalence_classes import group, group_codes
from discreet.lab.anonymize.hierarchy import build_hierarchy
from discreet.lab.anonymize.labels import covers, interval_label
from discreet.lab.anonymize.lattice import LatticeSearch
from discreet.lab.anonymize.mondrian import partition, tiles
from lab.anonymity_tables import QUASI, holes, people

ASKED = [
    {"k": 5},
    {"k": 5, "l": 3},
    {"k": 3, "l": 2.5, "entropy": True},
    {"k": 4, "t": 0.3},
    {"k": 5, "l": 2, "t": 0.4},
]


SAME = ("k", "l", "t", "classes", "rows", "unique_share", "homogeneous_share", "entropy_l")


def meets(found, asked):
    assert found.k >= asked["k"]
    assert (found.entropy_l if asked.get("entropy") else found.l) >= asked.get("l", 1) - 1e-9
    assert found.t <= asked.get("t", 1) + 1e-9


@pytest.mark.thin(12)
@pytest.mark.parametrize("method", ["mondrian", "lattice"])
@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("sensitive", [["ill"], ["wage"], ["ill", "wage"]], ids=str)
def test_a_release_meets_what_was_asked_and_check_says_the_same(method, asked, sensitive):
    table = holes(400, 7)
    quasi = ["city", "age", "sex"]
    made = anonymize(table, quasi=quasi, sensitive=sensitive, method=method, **asked)
    found = check(made.table, quasi=quasi, sensitive=sensitive)
    meets(found, asked)
    plain = [{name: seen[name] for name in SAME} for seen in (found.to_data(), made.after.to_data())]
    assert plain[0] == pytest.approx(plain[1], abs=1e-12)
    assert found.rows == 400 - made.left_out
    assert made.left_out <= (0 if method == "mondrian" else 20)
    assert 0 < made.loss < 1


def test_only_named_columns_are_released_and_in_no_telling_order():
    table = people(400, 6, 1)
    made = anonymize(table, quasi=QUASI, sensitive=["illness"], k=5).table
    assert made.column_names == [*QUASI, "illness"]
    backwards = table.take(list(range(399, -1, -1)))
    assert anonymize(backwards, quasi=QUASI, sensitive=["illness"], k=5).table.equals(made)


def cuts(codes, k):
    """Every cut of a box in one column that leaves k rows on both sides."""
    for column in codes:
        for at in np.unique(column)[1:]:
            low = column < at
            if k <= low.sum() <= len(column) - k:
                yield low


@pytest.mark.parametrize("k", [1, 2, 5, 10])
def test_mondrian_cuts_until_no_cut_keeps_k(k):
    columns = code_columns(holes(500, 3), ["city", "age", "sex"])
    classes = partition(columns, (), Criteria(k=k))
    assert classes.sizes.min() >= k
    assert len(classes.sizes) > 500 / (8 * k)
    codes = np.stack([column.codes for column in columns])
    for number in range(len(classes.sizes)):
        assert not list(cuts(codes[:, classes.ids == number], k))


def test_mondrians_boxes_do_not_overlap():
    columns = code_columns(holes(500, 4), ["city", "age", "sex"])
    classes = partition(columns, (), Criteria(k=3))
    codes = np.stack([column.codes for column in columns])
    boxes = [
        (codes[:, classes.ids == number].min(axis=1), codes[:, classes.ids == number].max(axis=1))
        for number in range(len(classes.sizes))
    ]
    for (low, high), (other_low, other_high) in itertools.combinations(boxes, 2):
        assert ((low > other_high) | (other_low > high)).any()


def test_mondrian_refuses_a_cut_whose_half_falls_short():
    table = pa.table({"age": [1, 1, 2, 2], "s": ["a", "a", "a", "b"]})
    columns, sensitive = code_columns(table, ["age"]), code_columns(table, ["s"])
    assert len(partition(columns, sensitive, Criteria(k=2)).sizes) == 2
    assert len(partition(columns, sensitive, Criteria(k=2, l=2)).sizes) == 1
    assert len(partition(columns, sensitive, Criteria(k=2, t=0.24)).sizes) == 1
    assert len(partition(columns, sensitive, Criteria(k=2, t=0.25)).sizes) == 2


def brute(columns, ladders, sensitive, criteria, allowed):
    """The least loss over all nodes, by looking at every one, and how many rows it keeps."""
    rows, best = len(columns[0].codes), (np.inf, None)
    for node in itertools.product(*(range(len(ladder.levels)) for ladder in ladders)):
        levels = [ladder.levels[level] for ladder, level in zip(ladders, node, strict=True)]
        codes = [level.groups[column.codes] for level, column in zip(levels, columns, strict=True)]
        kept = np.arange(rows)
        while len(kept):
            classes = group_codes([one[kept] for one in codes], [len(level.labels) for level in levels])
            short = classes.sizes < criteria.k
            if criteria.needs_sensitive:
                for found in measure_spreads(classes, [column.take(kept) for column in sensitive]):
                    # the lattice leaves out what is too small or too few first, then what falls short of the rest
                    few = short | (found.distinct < criteria.l - 1e-9)
                    short = few if few.any() else short | criteria.falls_short(found)
            if not short.any():
                break
            kept = kept[~short[classes.ids]]
        if rows - len(kept) > allowed or not len(kept):
            continue
        lost = np.mean([level.loss()[column.codes[kept]].sum() for level, column in zip(levels, columns, strict=True)])
        best = min(best, ((lost + rows - len(kept)) / rows, node))
    return best


@pytest.mark.thin(10)
@pytest.mark.parametrize("suppress", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_lattice_finds_the_best_of_all_nodes(suppress, asked, seed):
    table = holes(150, seed)
    columns, sensitive = code_columns(table, ["city", "age", "sex"]), code_columns(table, ["ill"])
    ladders = [default_hierarchy(column) for column in columns]
    found = LatticeSearch(columns, ladders, sensitive, Criteria(**asked), suppress).best()
    loss, node = brute(columns, ladders, sensitive, Criteria(**asked), int(suppress * 150))
    assert found.loss == pytest.approx(loss, abs=1e-12)
    assert found.node == node
    assert found.nodes == np.prod([len(ladder.levels) for ladder in ladders])


def test_entropy_is_not_monotone_where_rows_may_be_left_out():
    """Two even towns, each joined with a one-sided one at level 1: there nothing is left, at level 0 nearly all is."""
    towns = {"A": (50, 50), "B": (10, 0), "C": (45, 45), "D": (0, 10)}
    rows = [
        (town, value) for town, counts in towns.items() for value, n in zip("xy", counts, strict=True) for _ in range(n)
    ]
    table = pa.table({"town": [town for town, _ in rows], "s": [value for _, value in rows]})
    columns, sensitive = code_columns(table, ["town"]), code_columns(table, ["s"])
    ladders = [build_hierarchy(columns[0], [["AB", "AB", "CD", "CD"]])]
    found = LatticeSearch(columns, ladders, sensitive, Criteria(k=2, l=1.999, entropy=True), 0.1).best()
    assert found.node == (0,) and found.kept.sum() == 190


def test_ranks_are_those_of_what_is_released():
    """The class that is left out held the only highest wage: distances are counted without it."""
    table = pa.table({"town": ["A"] * 10 + ["B"] * 10 + ["C"], "wage": [1, 9] * 5 + [1] * 6 + [9] * 4 + [99]})
    made = anonymize(table, quasi=["town"], sensitive=["wage"], k=5, t=0.5, method="lattice")
    assert made.left_out == 1
    assert made.after.t == pytest.approx(check(made.table, quasi=["town"], sensitive=["wage"]).t) == pytest.approx(0.05)


def test_pruning_saves_work():
    table = people(3000, 60, 5)
    columns = code_columns(table, [*QUASI, "wage"])
    found = LatticeSearch(columns, [default_hierarchy(column) for column in columns], (), Criteria(k=10), 0.02).best()
    assert found.tried < found.nodes / 4


def test_hopeless_levels_never_hide_the_top():
    """A table that only one class can protect."""
    table = pa.table({"a": [1, 2, 3, 4], "b": ["x", "y", "z", "w"]})
    made = anonymize(table, quasi=["a", "b"], k=4, method="lattice", suppress=0.0)
    assert set(made.table["a"].to_pylist()) == set(made.table["b"].to_pylist()) == {"*"}
    assert made.loss == 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"k": 21}, "no class can have 21"),
        ({"k": 2, "l": 9}, "not 9"),
        ({"k": 2, "l": 3.99, "entropy": True}, "entropy allows at most l"),
        ({"k": 2, "method": "magic"}, "no method"),
        ({"k": 2, "suppress": 0.1}, "removes no rows"),
        ({"k": 2, "suppress": 1.0, "method": "lattice"}, "between 0 and 1"),
        ({"k": 2, "l": 2, "sensitive": []}, "need a sensitive column"),
    ],
)
def test_what_cannot_be_is_refused(asked, said):
    with pytest.raises(UsageError, match=said):
        anonymize(holes(20, 1), **{"quasi": ["city"], "sensitive": ["ill"], **asked})


def test_too_many_combinations_are_refused(monkeypatch):
    monkeypatch.setattr("discreet.lab.anonymize.lattice.MOST_NODES", 10)
    with pytest.raises(UsageError, match="combinations of levels"):
        anonymize(holes(50, 1), quasi=["city", "age"], k=2, method="lattice")


def test_classes_of_a_release_are_the_classes_that_were_made():
    columns = code_columns(holes(500, 8), ["city", "age", "sex"])
    made = anonymize(holes(500, 8), quasi=["city", "age", "sex"], k=3)
    assert sorted(group(code_columns(made.table, ["city", "age", "sex"])).sizes) == sorted(
        partition(columns, (), Criteria(k=3)).sizes
    )


def told_by(label):
    return set(re.findall(r"[0-9]+:[0-9:.]+|[0-9]{4}-[0-9][0-9]-[0-9][0-9]|[0-9.]+", label))


def boxes_of(table, k):
    """For each column and class: the label, the texts of the class's own rows, and those of the whole column."""
    columns = code_columns(table, table.column_names)
    found = tiles(columns, (), Criteria(k=k))
    cuts = [*found.cuts, None]
    for place, column in enumerate(columns):
        for number in range(len(found.classes.sizes)):
            low, high = int(found.low[place, number]), int(found.high[place, number])
            start, end = cuts[found.start[place, number]], cuts[found.end[place, number]]
            label = interval_label(column, low, high, shared=np.zeros(column.size, bool), start=start, end=end)
            held = column.codes[found.classes.ids == number]
            if number % 25 == 0:
                inside = np.arange(column.size)
                assert covers(label, column).tolist() == ((low <= inside) & (inside <= high)).tolist(), label
            yield label, {column.text_of(int(each)) for each in held}


def apart_table(rows, *, days, cents, seconds):
    """Every date, wage, weight, time and duration belongs to one person."""
    order = np.random.default_rng(1)
    mixed = [order.permutation(rows).tolist() for _ in range(5)]
    return pa.table(
        {
            "birth": [date(1940, 1, 3) + timedelta(days=days * place) for place in mixed[0]],
            "wage": [10_003 + cents * place for place in mixed[1]],
            "weight": [50.0625 + 0.125 * place for place in mixed[2]],
            "came": [(datetime(2000, 1, 1, 6, 0, 7) + timedelta(seconds=seconds * place)).time() for place in mixed[3]],
            "stayed": [timedelta(seconds=17 + 100 * seconds * place) for place in mixed[4]],
        }
    )


def test_labels_show_no_value_of_a_single_person():
    """There is room between neighbours: no label is told by a value of the people in its class."""
    table = apart_table(400, days=7, cents=38, seconds=21)
    found = list(boxes_of(table, 5))
    assert len(found) > 200
    assert not [label for label, own in found if own & told_by(label)]


def test_a_cut_is_written_between_the_people_who_are_cut():
    """Every day has somebody: in the whole column there is no room. Between the people of a box there mostly is."""
    table = apart_table(600, days=1, cents=1, seconds=1)
    found = list(boxes_of(table, 5))
    shown = [label for label, own in found if own & told_by(label)]
    assert len(shown) < 0.05 * len(found)  # where two neighbours of a box have nothing between them
    released = set(anonymize(table, quasi=["birth", "wage"], k=5).table["birth"].to_pylist())
    first_days = [day for label in released for day in told_by(label) if day.endswith("-01")]
    assert len(first_days) > len(released) / 4


def test_a_cut_is_told_by_the_neighbours_of_its_box_whoever_else_has_that_value():
    (column,) = code_columns(pa.table({"age": [1, 3, 10, 17, 40]}), ["age"])
    nobody = np.zeros(column.size, bool)
    assert interval_label(column, 2, 4, shared=nobody, start=(1, 3)) == ">=10"
    assert interval_label(column, 0, 1, shared=nobody, end=(1, 3)) == "<10"
    assert interval_label(column, 2, 4, shared=nobody) == ">=5"


def test_a_lattice_says_where_its_labels_are_words_of_the_table():
    table = pa.table({"city": ["Bern", "Bonn", "Kyiv", "Lima", "Oslo", "Rome"] * 5, "age": list(range(30))})
    made = anonymize(table, quasi=["city"], k=10, method="lattice", suppress=0.0)
    assert made.levels["city"] == 1 and made.shows_words == ("city",)
    assert anonymize(table, quasi=["age"], k=6, method="lattice").shows_words == ()
    assert anonymize(table, quasi=["city", "age"], k=6).shows_words == ()


def test_rare_words_are_not_listed():
    """Two common jobs are written out; eight that one person each has are told by their beginnings."""
    jobs = ["clerk"] * 10 + ["driver"] * 10 + [f"zoo keeper {place}" for place in range(8)]
    table = pa.table({"job": jobs, "age": [30 + place % 3 for place in range(28)]})
    labels = set(anonymize(table, quasi=["job"], k=5).table["job"].to_pylist())
    assert {"clerk", "driver"} <= labels
    assert not any("keeper" in label for label in labels), labels


@pytest.mark.parametrize("method", ["mondrian", "lattice"])
def test_identifiers_are_refused(method):
    table = pa.table({"person": [f"p{place}" for place in range(200)], "age": [place % 40 for place in range(200)]})
    with pytest.raises(UsageError, match="identifies people"):
        anonymize(table, quasi=["person", "age"], k=5, method=method)


@pytest.mark.parametrize(
    ("below", "above", "told"),
    [
        (51_234, 58_112, "55000"),
        (-7, -1, "-5"),
        (-3, 12, "0"),
        (24, 25, "25"),
        (9007199254740993, 9007199254740995, "9007199254740994"),
        (0.1, 0.30000000000000004, "0.2"),
        (1.0, float(np.nextafter(1.0, 2.0)), "1.0000000000000002"),
        (-float("inf"), 3.0, "3.0"),
        (Decimal("1.10"), Decimal("1.12"), "1.11"),
        (Decimal("1" * 37), Decimal("1" * 36 + "3"), "1" * 36 + "2"),
        (date(9999, 12, 30), date(9999, 12, 31), "9999-12-31"),
        (datetime(9999, 12, 31, 23, 59, 59, 1), datetime(9999, 12, 31, 23, 59, 59, 2), "9999-12-31 23:59:59.000002"),
        (datetime(1999, 5, 4, 10, 20, 30), datetime(1999, 5, 4, 11, 20), "1999-05-04 11:00:00"),
        (time(10, 7, 31), time(10, 52, 9), "10:30:00"),
        (time(10, 7, 31), time(10, 7, 32), "10:07:31.500000"),
        (time(10, 7, 31, 5), time(10, 7, 31, 6), "10:07:31.000006"),
        (timedelta(hours=-1, minutes=-7), timedelta(minutes=40), "0:00:00"),
        (timedelta(days=1), timedelta(days=1, minutes=59), "24:30:00"),
        ("Bern", "Bonn", "Bo"),
        ("a", "ab", "ab"),
    ],
    ids=str,
)
def test_a_cut_is_written_at_the_roundest_point(below, above, told):
    assert cut_label(below, above) == told
