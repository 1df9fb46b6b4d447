"""k, l and t: pycanon's values to eight digits, the definitions spelled out, and NULL as a value."""

import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import UsageError
from discreet.lab.anonymize import Criteria, check
from discreet.lab.anonymize.equivalence_classes import group_codes
from lab.anonymity_tables import PYCANON, QUASI, holes, people


@pytest.mark.parametrize("key", PYCANON)
def test_values_are_pycanons(key):
    table = people(*key)
    for names, expected in PYCANON[key].items():
        if names == "k":
            assert check(table, quasi=QUASI).k == expected
            continue
        found = check(table, quasi=QUASI, sensitive=names.split("+"))
        assert found.l == expected[0]
        # two equally frequent values have l = 2: pycanon cuts 1.9999999999999998 down to 1
        assert expected[1] in {math.floor(found.entropy_l + 1e-9), math.floor(found.entropy_l - 1e-9)}
        assert found.t == pytest.approx(expected[2], rel=0, abs=5e-9)


def by_definition(table, quasi, sensitive, *, ordered):
    """Slow and obvious: k, l, exp(entropy), t, and the share of rows in a class with one value."""
    classes = defaultdict(list)
    for row in table.to_pylist():
        classes[tuple(row[name] for name in quasi)].append(row[sensitive])
    values = sorted({row[sensitive] for row in table.to_pylist()}, key=lambda value: (value is None, value))
    whole = Counter(row[sensitive] for row in table.to_pylist())
    far, even = 0.0, math.inf
    for rows in classes.values():
        inside = Counter(rows)
        apart = [inside[value] / len(rows) - whole[value] / table.num_rows for value in values]
        running = np.abs(np.cumsum(apart)).sum() / (len(values) - 1)
        far = max(far, running if ordered else sum(map(abs, apart)) / 2)
        even = min(even, math.exp(-sum(n / len(rows) * math.log(n / len(rows)) for n in inside.values())))
    sizes = [len(rows) for rows in classes.values()]
    alone = sum(len(rows) for rows in classes.values() if len(set(rows)) == 1)
    return min(sizes), min(len(set(rows)) for rows in classes.values()), even, far, alone / table.num_rows


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("sensitive", "ordered"), [("wage", True), ("ill", False)])
def test_null_is_a_value_and_definitions_hold(seed, sensitive, ordered):
    table = holes(10 + 20 * seed, seed)
    quasi = ["city", "sex"]
    found = check(table, quasi=quasi, sensitive=[sensitive])
    expected = by_definition(table, quasi, sensitive, ordered=ordered)
    got = (found.k, found.l, found.entropy_l, found.t, found.homogeneous_share)
    assert got == pytest.approx(expected, abs=1e-12)


def test_a_numbers_distance_counts_how_far_it_is():
    table = pa.table({"q": [0, 0, 1, 1], "n": [1, 2, 3, 4], "c": ["1", "2", "3", "4"]})
    assert check(table, quasi=["q"], sensitive=["n"]).t == pytest.approx((0.25 + 0.5 + 0.25) / 3)
    assert check(table, quasi=["q"], sensitive=["c"]).t == 0.5


def test_nan_is_null_and_minus_zero_is_zero():
    table = pa.table({"q": [float("nan"), None, 0.0, -0.0], "s": ["a", "b", "a", "b"]})
    found = check(table, quasi=["q"], sensitive=["s"])
    assert (found.k, found.classes) == (2, 2)


def test_a_column_with_one_value_is_at_distance_zero():
    found = check(pa.table({"q": [1, 1, 2], "s": [5, 5, 5]}), quasi=["q"], sensitive=["s"])
    assert (found.l, found.t, found.homogeneous_share) == (1, 0.0, 1.0)


def test_the_witness_is_a_class_with_that_value():
    table = people(400, 6, 1)
    found = check(table, quasi=QUASI, sensitive=["illness"])
    for name in ("k", "l", "t"):
        shown = found.witness[name]["class"]
        rows = [row for row in table.to_pylist() if all(str(row[column]) == shown[column] for column in QUASI)]
        assert len(rows) == found.witness[name]["rows"]
        if name == "k":
            assert len(rows) == found.k
        if name == "l":
            assert len({row["illness"] for row in rows}) == found.l
        if name == "t":
            whole, inside = Counter(table["illness"].to_pylist()), Counter(row["illness"] for row in rows)
            apart = sum(abs(inside[value] / len(rows) - whole[value] / 400) for value in whole) / 2
            assert apart == pytest.approx(found.t)


def test_every_row_has_its_risk():
    table = pa.table({"q": ["a", "a", "b", "a"], "s": ["x", "y", "x", "x"]})
    risks = check(table, quasi=["q"], sensitive=["s"]).risks()
    assert risks["row"].to_pylist() == [1, 2, 3, 4]
    assert risks["class_size"].to_pylist() == [3, 3, 1, 3]
    assert risks["reidentification"].to_pylist() == pytest.approx([1 / 3, 1 / 3, 1, 1 / 3])
    assert risks["disclosure"].to_pylist() == pytest.approx([2 / 3, 2 / 3, 1, 2 / 3])


def test_many_wide_columns_do_not_overflow():
    generator = np.random.default_rng(0)
    codes = [generator.integers(0, 3, 500) * (2**20) for _ in range(8)]
    found = group_codes(codes, [2**22] * 8)
    assert len(found.sizes) == len({tuple(row) for row in np.stack(codes).T.tolist()})
    assert found.sizes.sum() == 500


@pytest.mark.parametrize(
    ("quasi", "sensitive", "said"),
    [
        (["nowhere"], [], "no column 'nowhere'"),
        (["city"], ["city"], "cannot be both"),
        ([], ["ill"], "no quasi-identifier"),
        (["city"], ["empty"], "NULL in every row"),
    ],
)
def test_what_is_wrong_is_said(quasi, sensitive, said):
    table = holes(20, 1).append_column("empty", pa.nulls(20))
    with pytest.raises(UsageError, match=said):
        check(table, quasi=quasi, sensitive=sensitive)


def test_an_empty_quasi_identifier_says_nothing():
    table = holes(20, 1).append_column("empty", pa.nulls(20))
    assert check(table, quasi=["empty"]).k == 20


def test_nested_columns_are_refused():
    with pytest.raises(UsageError, match="no plain values"):
        check(pa.table({"q": [[1], [2]]}), quasi=["q"])


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"l": 0.5}, {"l": math.inf}, {"l": 1.5}, {"t": -0.1}, {"t": 1.1}, {"t": math.nan}]
)
def test_criteria_are_valid_from_birth(wrong):
    with pytest.raises(UsageError):
        Criteria(**wrong)
