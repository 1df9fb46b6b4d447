"""Noisy tables made consistent: the notes' table b becomes their table c, with errors that hold and rows that fit."""

from __future__ import annotations

import numpy as np
import pytest

import discreet
from discreet.errors import UsageError
from discreet.inference.fit import FitSearch
from tiers import size

#: From lecture notes on private synthetic data: exact counts, the same with noise, and what Private-PGM makes of them.
EXACT = ([[156, 65, 316], [158, 282, 23]], [[159, 155], [288, 59], [336, 3]])
NOISY = (
    [[132.428, 124.549, 244.365], [173.633, 318.029, -21.358]],
    [[116.021, 186.826], [287.215, 171.134], [278.498, -46.497]],
)
CONSISTENT = (
    [[124.829, 121.696, 254.636], [166.034, 315.177, 0]],
    [[110.029, 180.834], [276.477, 160.396], [254.636, 0]],
)
COLUMNS = {"SEX": ["M", "F"], "LABFORCE": ["-", "N", "Y"], "SCHOOL": ["N", "Y"]}


def given(counts=NOISY, *, error=40, **more):
    sets = (["SEX", "LABFORCE"], ["LABFORCE", "SCHOOL"])
    tables = [
        {"columns": columns, "counts": own, "standard_error": error} for columns, own in zip(sets, counts, strict=True)
    ]
    return {"columns": COLUMNS, "tables": tables, **more}


def test_table_b_becomes_table_c():
    """To the last digit with the total of the notes; without it, by the mean of both sums, 0.05 above."""
    inferred = discreet.infer(given(total=982.372))
    for table, expected in zip(inferred.tables, CONSISTENT, strict=True):
        assert table.counts == pytest.approx(np.array(expected), abs=0.0015)
    estimated = discreet.infer(given())
    assert estimated.total == pytest.approx(982.4215)
    assert estimated.total_error == pytest.approx(40 * np.sqrt(6 / 2))
    for table, expected in zip(estimated.tables, CONSISTENT, strict=True):
        assert table.counts == pytest.approx(np.array(expected), abs=0.02)


def test_consistent_tables_are_nearer_to_the_exact_ones():
    inferred = discreet.infer(given())
    away = [np.abs(np.subtract(noisy, true)).sum() for noisy, true in zip(NOISY, EXACT, strict=True)]
    now = [np.abs(table.counts - true).sum() for table, true in zip(inferred.tables, EXACT, strict=True)]
    assert sum(now) < sum(away)
    left, right = inferred.tables
    assert left.counts.sum(axis=0) == pytest.approx(right.counts.sum(axis=1), abs=1e-6)
    assert min(left.counts.min(), right.counts.min()) >= 0


def test_rows_have_the_tables():
    inferred = discreet.infer(given(total=1000))
    rows = inferred.sample(seed=3).to_pylist()
    assert len(rows) == 1000
    for table in inferred.tables:
        for row in table.rows():
            count = sum([each[name] for name in table.columns] == row["values"] for each in rows)
            assert count == pytest.approx(row["count"], abs=4)
    assert inferred.counts("SEX", "SCHOOL").sum() == pytest.approx(1000)


def test_intervals_hold_the_exact_count_and_errors_are_right(monkeypatch):
    """In 95 of 100 draws at least; both laws, exact counts far from 0, so that nothing is cut. They need no model."""
    monkeypatch.setattr("discreet.tables.infer.inferred_tables.SEARCH", FitSearch(iterations=1))
    random, runs = np.random.default_rng(5), size(120, 5000)
    exact = (np.add(EXACT[0], 500), np.add(EXACT[1], 500))
    exact = (exact[0], exact[1] * (exact[0].sum(axis=0) / exact[1].sum(axis=1))[:, None])
    for law, draw in (
        ("gaussian", lambda shape: random.normal(0, 40, shape)),
        ("any", lambda shape: random.laplace(0, 40 / np.sqrt(2), shape)),
    ):
        inside, away = 0, []
        for _ in range(runs):
            inferred = discreet.infer(given([own + draw(own.shape) for own in exact], noise=law))
            for table, own in zip(inferred.tables, exact, strict=True):
                inside += int(((table.low <= own) & (own <= table.high)).sum())
                away.append(((table.agreed - own) / table.standard_error).ravel())
        least = 0.95 if law == "any" else 0.95 - 5 * np.sqrt(0.05 / runs)
        assert inside >= least * 12 * runs
        assert np.mean(np.square(away)) == pytest.approx(1, abs=8 / np.sqrt(runs))


def test_a_table_may_name_its_columns_in_any_order():
    tables = given()
    turned = {**tables["tables"][1], "columns": ["SCHOOL", "LABFORCE"], "counts": np.transpose(NOISY[1]).tolist()}
    turned = discreet.infer({**tables, "tables": [tables["tables"][0], turned]}).tables[1]
    straight = discreet.infer(tables).tables[1]
    for name in ("noisy", "agreed", "standard_error", "counts", "low", "high"):
        assert pytest.approx(getattr(straight, name), abs=1e-3) == getattr(turned, name).T


def test_an_exact_table_is_kept_and_has_no_error():
    tables = given()
    tables["tables"].append({"columns": ["LABFORCE"], "counts": [314, 347, 339], "exact": True})
    inferred = discreet.infer(tables)
    assert (inferred.total, inferred.total_error) == (1000, 0)
    assert inferred.counts("LABFORCE") == pytest.approx(np.array([314, 347, 339]), abs=1e-5)
    alone = discreet.infer(given())
    assert (inferred.tables[0].standard_error < alone.tables[0].standard_error).all()
    assert inferred.tables[2].high == pytest.approx(inferred.tables[2].low)


def test_a_table_with_the_smaller_variance_counts_more():
    tables = given()
    tables["tables"][0]["standard_error"] = 0.01
    inferred = discreet.infer(tables)
    assert inferred.tables[0].counts.sum(axis=0)[0] == pytest.approx(132.428 + 173.633, abs=9)
    assert inferred.total == pytest.approx(971.646, abs=0.01)


def test_tables_of_different_rows_are_told():
    assert discreet.infer(given()).warnings == ()
    (warning,) = discreet.infer(given(error=0.5)).warnings
    assert "disagree by far more than their noise explains" in warning


def test_the_same_table_twice_is_one_of_half_the_variance():
    tables = given()
    tables["tables"].append(tables["tables"][0])
    inferred = discreet.infer(tables)
    assert inferred.degrees == 3 + 6
    assert (inferred.tables[0].standard_error < discreet.infer(given()).tables[0].standard_error).all()


CELL = [["M", 1.0], ["F", 2.0]]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, "has no tables"),
        ({"table": []}, "unknown key 'table'"),
        ({"tables": [{"columns": ["a"], "cells": CELL}]}, "does not say how noisy its counts are"),
        ({"tables": [{"columns": ["a"], "cells": [["M", 1, 2], ["F", 1]]}]}, "does not say how noisy"),
        ({"tables": [{"columns": ["a"], "variance": 1}]}, "needs its counts once"),
        ({"tables": [{"columns": ["a"], "variance": -1, "cells": CELL}]}, "variance must be a number above 0"),
        ({"tables": [{"columns": ["a"], "variance": 1, "standard_error": 1, "cells": CELL}]}, "give one|variance and"),
        ({"tables": [{"columns": ["a"], "variance": 1, "cells": [*CELL, ["M", 1]]}]}, "has the cell a=M twice"),
        ({"tables": [{"columns": ["a", "b"], "variance": 1, "cells": [[1, 1, 1], [2, 2, 1]]}]}, "has no cell a=1, b=2"),
        ({"tables": [{"columns": ["a"], "variance": 1, "counts": [1, 2]}]}, "values of 'a' are not known"),
        (
            {"columns": {"a": [1, 2]}, "tables": [{"columns": ["a"], "variance": 1, "counts": [1, 2, 3]}]},
            "counts have the shape 3, the columns have 2",
        ),
        ({"columns": {"b": [1]}, "tables": [{"columns": ["a"], "variance": 1, "cells": CELL}]}, "no table has the col"),
        (
            {
                "tables": [
                    {"columns": ["a"], "variance": 1, "cells": CELL},
                    {"columns": ["a"], "variance": 1, "cells": [["M", 1], ["W", 1]]},
                ]
            },
            "table 2 .a. has the value 'W' of column 'a', table 1 .a. does not",
        ),
        ({"tables": [{"columns": ["a"], "variance": 1, "cells": [["M", float("nan")]]}]}, "finite number"),
        ({"tables": [{"columns": ["a"], "variance": 1, "cells": [["M", -5]]}]}, "sum to less than 0"),
        ({"total": 9, "tables": [{"columns": ["a"], "exact": True, "cells": CELL}]}, "does not sum to the total"),
        ({"tables": [{"columns": ["a"], "exact": True, "cells": [["M", -1]]}]}, "negative"),
        ({"noise": "uniform", "tables": [{"columns": ["a"], "variance": 1, "cells": CELL}]}, "noise must be one of"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_what_cannot_be_inferred_is_told(data, reason):
    with pytest.raises(UsageError, match=reason):
        discreet.infer(data)


def test_a_huge_model_is_refused_before_any_work():
    """A ring of columns of 300 values: its model needs tables of three."""
    values = [str(number) for number in range(300)]
    names = ["a", "b", "c", "d"]
    pairs = list(zip(names, [*names[1:], "a"], strict=True))
    counts = np.ones((300, 300))
    with pytest.raises(UsageError, match=r"a model of all these tables has .* cells; the maximum is"):
        discreet.infer(
            {
                "columns": dict.fromkeys(names, values),
                "tables": [{"columns": pair, "variance": 1, "counts": counts} for pair in pairs],
            }
        )
