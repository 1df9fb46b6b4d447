"""k-anonymity by suppression of single cells: the notes' four patients, the fewest stars, and the proved factor."""

import itertools
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import UsageError
from discreet.lab.anonymize import anonymize, check
from discreet.lab.anonymize import cell_suppression as cells
from discreet.lab.anonymize.cell_suppression import fewest_stars, greedy_classes, suppress_cells
from discreet.lab.anonymize.class_labels import alone_with_shown_value, class_label
from discreet.lab.anonymize.column_codes import code_columns
from discreet.lab.anonymize.labels import covers
from discreet.lab.anonymize.star_forest import forest_classes, near_forest, split_trees
from discreet.lab.anonymize.star_solver import solve_classes
from discreet.lab.attacks.homogeneity import homogeneity
from lab.anonymity_tables import holes
from tiers import size

PATIENTS = pa.table(
    {
        "First": ["Harry", "John", "Beatrice", "John"],
        "Last": ["Stone", "Reyser", "Stone", "Ramos"],
        "Age": [34, 36, 47, 22],
        "Race": ["Afr-am", "Cauc", "Afr-am", "Hisp"],
        "Disease": ["flue", "mumps", "mumps", "allergy"],
    }
)
NAMES = ["First", "Last", "Age", "Race"]


def rows(table):
    return [" ".join(map(str, row.values())) for row in table.to_pylist()]


def test_the_notes_four_patients_come_out_as_printed():
    made = anonymize(
        PATIENTS, quasi=NAMES, sensitive=["Disease"], k=2, method="suppression", labels="round", keep_order=True
    )
    assert rows(made.table) == [
        "* Stone 30-50 Afr-am flue",
        "John R* 20-40 * mumps",
        "* Stone 30-50 Afr-am mumps",
        "John R* 20-40 * allergy",
    ]
    without_names = anonymize(
        PATIENTS,
        quasi=["Age", "Race"],
        sensitive=["Disease"],
        k=2,
        method="suppression",
        labels="round",
        keep_order=True,
    )
    assert rows(without_names.table) == ["30-50 Afr-am flue", "20-40 * mumps", "30-50 Afr-am mumps", "20-40 * allergy"]


def test_the_notes_john_ramos_is_exposed():
    """ "BUT: does not provide protection": with mumps in both rows of his class."""
    ill = PATIENTS.set_column(4, "Disease", pa.array(["flue", "mumps", "mumps", "mumps"]))
    made = anonymize(ill, quasi=["Age", "Race"], sensitive=["Disease"], k=2, method="suppression", labels="round")
    assert made.after.k == 2
    assert homogeneity(made.table, quasi=["Age", "Race"], sensitive="Disease").success == 0.5


def test_stars_alone_and_tight_labels():
    made = anonymize(PATIENTS, quasi=NAMES, k=2, method="suppression", keep_order=True)
    assert rows(made.table) == ["* Stone * Afr-am", "John * * *"] * 2
    assert made.suppression.to_data() == {"stars": 10, "cells": 16, "fewest": 10, "optimal": True, "factor": 1.0}
    assert made.loss == 10 / 16 and made.shown_alone is None
    tight = anonymize(PATIENTS, quasi=NAMES, k=2, method="suppression", labels="tight", keep_order=True)
    assert rows(tight.table)[:2] == ["{Beatrice|Harry} Stone 34-47 Afr-am", "John {Ramos|Reyser} 22-36 {Cauc|Hisp}"]
    assert tight.shown_alone == 1 and tight.loss < made.loss


def brute(codes, k):
    """The fewest stars over all partitions into classes of k rows or more."""

    def cost(members):
        part = codes[list(members)]
        return len(members) * int((part != part[0]).any(axis=0).sum())

    @cache
    def least(left):
        if not left:
            return 0
        first, rest = left[0], left[1:]
        tried = [
            cost((first, *others)) + least(tuple(row for row in rest if row not in others))
            for count in range(k - 1, min(2 * k - 1, len(left)))
            for others in itertools.combinations(rest, count)
        ]
        return min(tried, default=10**9)

    return least(tuple(range(len(codes))))


def tables(count):
    draw = np.random.default_rng(7)
    for _ in range(count):
        k, values = (int(draw.integers(2, 4)) for _ in range(2))
        shape = int(draw.integers(2 * k, 9)), int(draw.integers(1, 5))
        yield draw.integers(0, values + 1, shape), [values + 1] * shape[1], k


def cost_of(codes, ids):
    return cells._suppression(codes, ids, 0)


def test_every_way_against_all_partitions():
    """The lower bound, the greedy classes, the forest's factor and the solver's optimum, beside brute force."""
    better = 0
    for codes, sizes, k in tables(size(25, 400)):
        least, bound = brute(codes, k), fewest_stars(codes, sizes, k)
        greedy, forest = (cost_of(codes, make(codes, sizes, k)) for make in (greedy_classes, forest_classes))
        solved = solve_classes(codes, k, most=greedy.stars)
        best = cost_of(codes, solved.ids)
        assert min(each.classes.sizes.min() for each in (greedy, forest, best)) >= k
        assert bound <= least == best.stars == solved.fewest <= greedy.stars
        assert least <= forest.stars <= 3 * (k - 1) * bound
        assert forest.classes.sizes.max() <= 3 * (k - 1)
        better += least < greedy.stars
    assert better  # the solver is worth something


def test_the_bound_is_the_distance_to_the_nearest_rows():
    for codes, sizes, k in tables(30):
        apart = (codes[:, None] != codes[None]).sum(axis=2)
        assert fewest_stars(codes, sizes, k) == np.sort(apart, axis=1)[:, k - 1].sum()


@pytest.mark.parametrize("k", [2, 3, 7])
def test_forests_and_their_parts(k):
    draw = np.random.default_rng(k)
    codes = draw.integers(0, 4, (size(120, 600), 4))
    neighbours = near_forest(codes, [4] * 4, k)
    edges = {(min(a, b), max(a, b)) for a, others in enumerate(neighbours) for b in others}
    apart = (codes[:, None] != codes[None]).sum(axis=2)
    assert sum(apart[a, b] for a, b in edges) <= np.sort(apart, axis=1)[:, k - 1].sum()
    parts = split_trees(neighbours, k)
    assert sorted(row for part in parts for row in part) == list(range(len(codes)))
    assert all(k <= len(part) <= 3 * (k - 1) for part in parts)


def test_a_long_path_and_a_star_are_split():
    """Trees of the two extreme shapes: one row after the other, and all rows around one."""
    path = [[each for each in (row - 1, row + 1) if 0 <= each < 50] for row in range(50)]
    around = [list(range(1, 50)), *([0] for _ in range(49))]
    for tree in (path, around):
        parts = split_trees(tree, 4)
        assert sorted(row for part in parts for row in part) == list(range(50))
        assert all(4 <= len(part) <= 9 for part in parts)


@pytest.mark.thin(3)
@pytest.mark.parametrize("labels", ["stars", "round", "tight"])
@pytest.mark.parametrize("method", ["suppression", "mondrian"])
def test_a_release_is_k_anonymous_and_its_labels_cover_its_rows(method, labels):
    if (method, labels) == ("mondrian", "stars"):
        pytest.skip("mondrian has no stars")
    table, quasi = holes(300, 5), ["city", "age", "sex"]
    made = anonymize(table, quasi=quasi, k=4, method=method, labels=labels, keep_order=True)
    found = check(made.table, quasi=quasi)
    assert found.k >= 4 and found.rows == 300 and found.classes == made.after.classes
    losses = []
    for column in code_columns(table, quasi):
        for row, label in enumerate(made.table[column.name].to_pylist()):
            meant = covers(label, column)
            assert meant[column.codes[row]], label
            losses.append((meant.sum() - 1) / (column.size - 1))
    assert made.loss == pytest.approx(np.mean(losses))


@pytest.mark.parametrize("solver", [True, False])
def test_the_order_of_the_table_has_no_say(solver, monkeypatch):
    """Many classes are equally good in such tables: which ones are chosen follows from values alone."""
    if not solver:
        monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    asked = {"quasi": ["a", "b", "c"], "sensitive": ["s"], "k": 3, "method": "suppression"}
    for seed in range(size(2, 6)):
        draw = np.random.default_rng(seed)
        table = pa.table({name: draw.integers(0, 6, 50) for name in ("a", "b", "c", "s")})
        made = anonymize(table, **asked).table
        assert anonymize(table.take(draw.permutation(50)), **asked).table.equals(made)


def test_without_the_solver_the_factor_is_still_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    made = suppress_cells(code_columns(holes(40, 2), ["city", "age", "sex"]), 3)
    assert made.fewest <= made.stars <= 3 * 2 * made.fewest
    monkeypatch.undo()
    solved = suppress_cells(code_columns(holes(40, 2), ["city", "age", "sex"]), 3)
    assert made.fewest <= solved.fewest == solved.stars <= made.stars


def test_the_forest_is_taken_where_the_greedy_classes_are_not_proved(monkeypatch):
    """A greedy way that puts all rows into one class: its cost is beyond the factor, so the forest replaces it."""
    codes = np.repeat(np.arange(30), 2)
    columns = code_columns(pa.table({"a": np.append(codes, 99), "b": np.append(codes, 99)}), ["a", "b"])
    monkeypatch.setattr(cells, "greedy_classes", lambda codes, sizes, k: np.zeros(len(codes), dtype=np.int64))
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    made = suppress_cells(columns, 2)
    assert made.stars <= 3 * made.fewest == 6


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"l": 2, "sensitive": ["ill"]}, "for k alone"),
        ({"suppress": 0.1}, "removes no rows"),
        ({"labels": "cuts"}, "no labels 'cuts'"),
        ({"labels": "round", "method": "lattice"}, "no labels 'round'"),
        ({"k": 21}, "no class can have 21"),
    ],
)
def test_what_does_not_go_together_is_refused(asked, said):
    with pytest.raises(UsageError, match=said):
        anonymize(holes(20, 1), **{"quasi": ["city"], "k": 2, "method": "suppression", **asked})


def test_too_many_columns_are_refused(monkeypatch):
    monkeypatch.setattr(cells, "MOST_CELLS", 100)
    with pytest.raises(UsageError, match="too many combinations"):
        anonymize(holes(20, 1), quasi=["city", "age", "sex"], k=2, method="suppression")


@pytest.mark.parametrize(
    ("values", "tight", "rounded"),
    [
        ([34, 47], "34-47", "30-50"),
        ([-7, 12], "[-7, 12]", "[-10, 20]"),
        ([100, 100_100], "100-100100", "0-200000"),
        ([1.25, 1.75], "[1.25, 1.75]", "[1, 2]"),
        ([float("-inf"), 3.5], "[-Infinity, 3.5]", "[-Infinity, 3.5]"),
        ([Decimal("1.10"), Decimal("1.12")], "[1.1, 1.12]", "[1.1, 1.12]"),
        ([date(1961, 3, 7), date(1961, 7, 19)], "[1961-03-07, 1961-07-19]", "[1961-03-01, 1961-08-01)"),
        ([date(1961, 3, 7), date(1985, 1, 1)], "[1961-03-07, 1985-01-01]", "[1960-01-01, 1990-01-01)"),
        ([date(9998, 12, 30), date(9999, 12, 31)], "[9998-12-30, 9999-12-31]", ">=9998-01-01"),
        (
            [datetime(1999, 5, 4, 10), datetime(1999, 5, 4, 12)],
            "[1999-05-04 10:00:00, 1999-05-04 12:00:00]",
            "[1999-05-04 00:00:00, 1999-05-05 00:00:00)",
        ),
        ([time(10, 7, 31), time(10, 52, 9)], "[10:07:31, 10:52:09]", "[10:00:00, 11:00:00]"),
        ([timedelta(hours=20), timedelta(hours=30)], "[20:00:00, 30:00:00]", "[18:00:00, 30:00:00]"),
        (["Bern", "Bonn"], "{Bern|Bonn}", "B*"),
        (["a", "b", "c", "d", "e"], "{a..e}", "*"),
        (["a|b", "ac"], "a*", "a*"),
        (["x", None], "x or NULL", "x or NULL"),
        ([3, 8, None], "3-8 or NULL", "0-10 or NULL"),
        (["a", "b", None], "{a|b} or NULL", "*"),
        (["**", "*a"], "{**|*a}", "*"),
    ],
    ids=str,
)
def test_labels_of_one_class(values, tight, rounded):
    (column,) = code_columns(pa.table({"v": values}), ["v"])
    for style, label in (("tight", tight), ("round", rounded)):
        assert class_label(column, list(range(column.size)), style=style) == label
        assert covers(label, column).all()


def test_who_is_alone_with_a_shown_value():
    (ages, words) = code_columns(pa.table({"a": [1, 2, 2, 3, 5, 5], "w": list("xxyzab")}), ["a", "w"])
    classes = np.array([0, 0, 0, 0, 1, 1])
    assert alone_with_shown_value(ages, classes).tolist() == [True, False, False, True, False, False]
    assert alone_with_shown_value(words, classes).tolist() == [False, False, True, True, True, True]


def test_a_star_of_the_data_is_no_suppressed_cell():
    """A column that has the value `*` would say that a cell was replaced where none was."""
    starred = pa.table({"age": ["1", "1", "*", "*"], "name": ["a", "a", "b", "b"]})
    with pytest.raises(UsageError, match=r"'age' has the value '\*'"):
        anonymize(starred, quasi=["age", "name"], k=2, method="suppression")
    assert anonymize(starred, quasi=["name"], k=2, method="suppression").suppression.stars == 0
